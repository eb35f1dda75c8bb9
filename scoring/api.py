"""Read-only API over runs, their results and the scores of dialogues."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.generics import ListAPIView
from rest_framework.viewsets import ReadOnlyModelViewSet

from dialfork_site.api_parts import KeysetPages, described, narrowed, one_of, word
from scoring.models import DialogueScore, Run
from scoring.serializers import RunDetailSerializer, RunSerializer, ScoreSerializer
from scoring.views.progress import with_progress

RUN_FILTERS = {
    "corpus": ("corpus__slug", word),
    "kind": ("kind", word),
    "state": ("state", one_of(*Run.State.values)),
}


@extend_schema_view(list=extend_schema(parameters=described(RUN_FILTERS)))
class RunViewSet(ReadOnlyModelViewSet):
    queryset = Run.objects.select_related("corpus")
    pagination_class = KeysetPages

    def get_serializer_class(self) -> Any:
        return RunDetailSerializer if self.action == "retrieve" else RunSerializer

    def get_queryset(self) -> QuerySet[Run]:
        rows = with_progress(super().get_queryset())
        return rows.prefetch_related("results") if self.action == "retrieve" else rows

    def filter_queryset(self, queryset: QuerySet[Run]) -> QuerySet[Run]:
        if self.action != "list":
            return queryset
        return narrowed(queryset, self.request.query_params, RUN_FILTERS)


class ScoreList(ListAPIView):
    """Scores of one run, a row per dialogue, with per-turn values where the method has them."""

    serializer_class = ScoreSerializer
    pagination_class = KeysetPages
    queryset = DialogueScore.objects.none()

    def get_queryset(self) -> QuerySet[DialogueScore]:
        if getattr(self, "swagger_fake_view", False):
            return DialogueScore.objects.none()
        run = get_object_or_404(Run, pk=self.kwargs["pk"])
        return run.scores.select_related("dialogue")
