"""API over runs: what there is to read, and the one thing to write: starting a run."""

from __future__ import annotations

from typing import Any

from django.db.models import Model, QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import status
from rest_framework.exceptions import APIException, NotFound, ValidationError
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.throttling import UserRateThrottle
from rest_framework.viewsets import ReadOnlyModelViewSet

from benchmark.models import Corpus
from dialfork_site.api_parts import KeysetPages, ShortJSONParser, described, narrowed, one_of, word
from scoring.encoders import EncoderUnavailable
from scoring.methods import Setting
from scoring.models import DialogueScore, OnsetAnswer, Run, SetDistance, TrajectoryScore
from scoring.serializers import (
    OnsetAnswerSerializer,
    RunDetailSerializer,
    RunRequestSerializer,
    RunSerializer,
    ScoreSerializer,
    SetDistanceSerializer,
    TrajectoryScoreSerializer,
)
from scoring.views.progress import with_progress
from scoring.views.starting import OFFERED, Wanted, start

RUN_FILTERS = {
    "corpus": ("corpus__slug", word),
    "kind": ("kind", word),
    "state": ("state", one_of(*Run.State.values)),
}


class StartThrottle(UserRateThrottle):
    """How many runs a person may ask for; each request reads whole corpora."""

    scope = "start-runs"
    rate = "60/min"


class Conflict(APIException):
    """The request is right, but this site cannot do it as it is now."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "conflict"


def bounds(setting: Setting) -> str:
    """What a setting allows, for the documentation."""
    if setting.choices:
        return ", ".join(f"`{each}`" for each in setting.choices)
    if isinstance(setting.default, bool):
        return "`true`, `false`"
    return f"{setting.low} to {setting.high}"


def documented_methods() -> str:
    """Kinds, methods and settings as Markdown, from the registry."""
    lines = []
    for kind, methods in OFFERED.items():
        lines.append(f"\n**{kind}**\n")
        for name, method in methods.items():
            settings = "; ".join(
                f"`{s.name}` ({bounds(s)}; default `{s.default}`)" for s in method.settings
            )
            needs = "" if method.encoder else " Needs no encoder."
            lines.append(f"- `{name}`: {method.summary}{needs} {settings}".rstrip())
    return "\n".join(lines)


START_DESCRIPTION = f"""Start a run, or find the one with the same parameters: 201 for a new run,
200 for one that was there (nothing is computed twice; a cancelled or failed one goes on).

`parameters` is flat: `method`, `encoder`, the settings of the method, and `bootstrap_seed`. What is
left out has its default. `surprisal` has no `method`. `labels` (detectors of agent runs) needs
`truth`, the rater whose labels are predicted; some of its methods take `judge`, another rater.
A `comparison` has `task`, `reference` (the
number of a run) and `baselines` (numbers of runs).
{documented_methods()}
"""
REFUSALS = {
    400: "A field is wrong; the answer names it and says what is allowed.",
    404: "There is no such corpus.",
    409: "An encoder's weights are not on this machine.",
    413: "The body is longer than 64 KB.",
    415: "The body is not JSON.",
    429: "Too many requests; `Retry-After` says when the next is heard.",
}


@extend_schema_view(
    list=extend_schema(parameters=described(RUN_FILTERS)),
    create=extend_schema(
        description=START_DESCRIPTION,
        request=RunRequestSerializer,
        responses={
            201: RunDetailSerializer,
            200: RunDetailSerializer,
            **{code: OpenApiResponse(description=words) for code, words in REFUSALS.items()},
        },
    ),
)
class RunViewSet(ReadOnlyModelViewSet):
    queryset = Run.objects.select_related("corpus")
    pagination_class = KeysetPages
    parser_classes = [ShortJSONParser]

    def get_throttles(self) -> list[Any]:
        return [StartThrottle()] if self.action == "create" else []

    def get_serializer_class(self) -> Any:
        if self.action == "create":
            return RunRequestSerializer
        return RunDetailSerializer if self.action == "retrieve" else RunSerializer

    def get_queryset(self) -> QuerySet[Run]:
        rows = with_progress(super().get_queryset())
        return rows if self.action == "list" else rows.prefetch_related("results")

    def filter_queryset(self, queryset: QuerySet[Run]) -> QuerySet[Run]:
        if self.action != "list":
            return queryset
        return narrowed(queryset, self.request.query_params, RUN_FILTERS)

    def create(self, request: Request) -> Response:
        asked = RunRequestSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        given = asked.validated_data
        wanted = Wanted(given["kind"], corpora_of(given["corpora"]), given["parameters"])
        try:
            started = start(wanted, request.user)
        except EncoderUnavailable as error:
            raise Conflict(str(error)) from error
        except ValueError as error:
            raise ValidationError({"parameters": [str(error)]}) from error
        row = RunDetailSerializer(self.get_queryset().get(pk=started.run.pk)).data
        return Response(
            row,
            status=status.HTTP_201_CREATED if started.new else status.HTTP_200_OK,
            headers={"Location": reverse("api:runs-detail", [started.run.pk], request=request)},
        )


def corpora_of(slugs: list[str]) -> list[Corpus]:
    """The corpora in the order of `slugs`; NotFound names the one there is not."""
    known = {corpus.slug: corpus for corpus in Corpus.objects.filter(slug__in=slugs)}
    for slug in slugs:
        if slug not in known:
            raise NotFound(f"There is no corpus {slug!r}.")
    return [known[slug] for slug in dict.fromkeys(slugs)]


class RowsOfRun(ListAPIView):
    """Rows of one run, in pages."""

    pagination_class = KeysetPages
    relation = ""
    related = "dialogue"
    model: type[Model]

    def get_queryset(self) -> QuerySet[Any]:
        if getattr(self, "swagger_fake_view", False):
            return self.model._default_manager.none()
        run = get_object_or_404(Run, pk=self.kwargs["pk"])
        return getattr(run, self.relation).select_related(self.related)


class ScoreList(RowsOfRun):
    """Scores of one run, a row per dialogue, with per-turn values where the method has them."""

    serializer_class = ScoreSerializer
    relation, model = "scores", DialogueScore


class SetDistanceList(RowsOfRun):
    """Distances of one run of task 1: one per workflow, type and k."""

    serializer_class = SetDistanceSerializer
    relation, related, model = "set_distances", "workflow", SetDistance


class OnsetAnswerList(RowsOfRun):
    """First alarms of one run of task 3, a row per dialogue, with the judged turns' values."""

    serializer_class = OnsetAnswerSerializer
    relation, model = "onset_answers", OnsetAnswer


class TrajectoryScoreList(RowsOfRun):
    """Scores of agent runs by one detector: a row per agent run, with the values of its steps."""

    serializer_class = TrajectoryScoreSerializer
    relation, related, model = "trajectory_scores", "trajectory", TrajectoryScore
