"""Read-only API over corpora, workflows, dialogues, forks and trajectories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Prefetch, QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.exceptions import ValidationError
from rest_framework.viewsets import ReadOnlyModelViewSet

from benchmark.label_records import COMPONENTS, TYPES
from benchmark.models import (
    Corpus,
    Dialogue,
    Fork,
    JudgeAnswer,
    Trajectory,
    Workflow,
    WorkflowTransition,
)
from benchmark.records import FORK_TYPES
from benchmark.run_filters import LABELLED, SAYS, VALUES, narrow_runs
from benchmark.serializers import (
    CorpusSerializer,
    DialogueDetailSerializer,
    DialogueSerializer,
    ForkSerializer,
    TrajectoryDetailSerializer,
    TrajectorySerializer,
    WorkflowDetailSerializer,
    WorkflowSerializer,
)
from benchmark.views.counting import with_counts
from dialfork_site.api_parts import (
    KeysetPages,
    described,
    narrowed,
    one_of,
    true_false_null,
    whole,
    word,
)


def signal(text: str) -> str:
    """A signal with what it says, such as "task_completion=no"."""
    name, _, value = text.rpartition("=")
    if not name or value not in VALUES:
        raise ValueError(f"it must be NAME=VALUE with a value of {', '.join(VALUES)}")
    return word(text)


WORKFLOW_FILTERS = {"corpus": ("corpus__slug", word), "domain": ("domain", word)}
DIALOGUE_FILTERS = {
    "corpus": ("corpus__slug", word),
    "workflow": ("workflow__name", word),
    "external_id": ("external_id", word),
    "conformant": ("conformant", true_false_null),
    "split": ("split", one_of("train", "test")),
    "type": ("forks__type", one_of(*FORK_TYPES)),
    "k": ("forks__k", whole),
}
FORK_FILTERS = {
    "corpus": ("dialogue__corpus__slug", word),
    "source": ("source_id", whole),
    "type": ("type", one_of(*FORK_TYPES)),
    "k": ("k", whole),
}
TRAJECTORY_FILTERS = {"corpus": ("corpus__slug", word), "external_id": ("external_id", word)}
# The words of the list of runs; `narrow_runs` knows what they mean.
RUN_FILTERS = {
    **{name: (name, word) for name in ("q", "model", "question", "agent", "rater", "warning")},
    "says": ("says", one_of(*SAYS)),
    "type": ("type", one_of(*TYPES)),
    "component": ("component", one_of(*COMPONENTS)),
    "labelled": ("labelled", one_of(*LABELLED)),
    "signal": ("signal", signal),
}


def read(query: Mapping[str, str], filters: Mapping[str, Any]) -> dict[str, str]:
    """The filters named in `query`, each read by its parser; ValidationError (400) for others."""
    found, wrong = {}, {}
    for name, (_, parse) in filters.items():
        if name not in query:
            continue
        try:
            found[name] = parse(query[name])
        except ValueError as error:
            wrong[name] = [f"{query[name][:60]!r}: {error}."]
    if wrong:
        raise ValidationError(wrong)
    return found


class Listed(ReadOnlyModelViewSet):
    """A list with keyset pages and filters, and one row in full."""

    pagination_class = KeysetPages
    filters: dict[str, Any] = {}
    detail_serializer: Any = None

    def get_serializer_class(self) -> Any:
        detail = self.action == "retrieve" and self.detail_serializer
        return detail or self.serializer_class

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.action != "list":
            return queryset
        return narrowed(queryset, self.request.query_params, self.filters)


class CorpusViewSet(Listed):
    queryset = with_counts(Corpus.objects.all())
    serializer_class = CorpusSerializer
    lookup_field = "slug"


@extend_schema_view(list=extend_schema(parameters=described(WORKFLOW_FILTERS)))
class WorkflowViewSet(Listed):
    queryset = Workflow.objects.select_related("corpus")
    serializer_class = WorkflowSerializer
    detail_serializer = WorkflowDetailSerializer
    filters = WORKFLOW_FILTERS

    def get_queryset(self) -> QuerySet[Workflow]:
        rows = super().get_queryset()
        if self.action != "retrieve":
            return rows
        moves = WorkflowTransition.objects.select_related("source", "target")
        return rows.prefetch_related("steps", Prefetch("transitions", queryset=moves))


@extend_schema_view(list=extend_schema(parameters=described(DIALOGUE_FILTERS)))
class DialogueViewSet(Listed):
    queryset = Dialogue.objects.select_related("corpus").prefetch_related("forks")
    serializer_class = DialogueSerializer
    detail_serializer = DialogueDetailSerializer
    filters = DIALOGUE_FILTERS

    def get_queryset(self) -> QuerySet[Dialogue]:
        rows = super().get_queryset()
        return rows.prefetch_related("turns") if self.action == "retrieve" else rows

    def filter_queryset(self, queryset: QuerySet[Dialogue]) -> QuerySet[Dialogue]:
        rows = super().filter_queryset(queryset)
        by_fork = {"type", "k"} & set(self.request.query_params)
        return rows.distinct() if by_fork and self.action == "list" else rows


@extend_schema_view(list=extend_schema(parameters=described(FORK_FILTERS)))
class ForkViewSet(Listed):
    queryset = Fork.objects.all()
    serializer_class = ForkSerializer
    filters = FORK_FILTERS


@extend_schema_view(list=extend_schema(parameters=described(TRAJECTORY_FILTERS | RUN_FILTERS)))
class TrajectoryViewSet(Listed):
    queryset = Trajectory.objects.select_related("corpus")
    serializer_class = TrajectorySerializer
    detail_serializer = TrajectoryDetailSerializer
    filters = TRAJECTORY_FILTERS

    def get_queryset(self) -> QuerySet[Trajectory]:
        rows = super().get_queryset()
        if self.action != "retrieve":
            return rows.defer("expected", "response", "meta")
        answers = JudgeAnswer.objects.select_related("rater")
        beside = Prefetch("judge_answers", queryset=answers)
        return rows.prefetch_related("steps", "signals", beside)

    def filter_queryset(self, queryset: QuerySet[Trajectory]) -> QuerySet[Trajectory]:
        rows = super().filter_queryset(queryset)
        if self.action != "list":
            return rows
        return narrow_runs(rows, read(self.request.query_params, RUN_FILTERS))
