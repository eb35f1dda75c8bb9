"""Counts beside a queryset, as subqueries: a list of any length costs one statement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from benchmark.models import Corpus, Dialogue, Fork, LabelSet, Trajectory, Workflow


def count_of(rows: QuerySet[Any], group: str) -> Coalesce:
    """How many of `rows` belong to the outer row, through the field `group`; 0 for none."""
    counted = rows.filter(**{group: OuterRef("pk")}).order_by().values(group)
    counted = counted.annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def with_counts(corpora: QuerySet[Corpus]) -> QuerySet[Corpus]:
    """Corpora with `n_workflows`, `n_dialogues`, `n_conformant`, `n_forks`, `n_trajectories`."""
    return corpora.annotate(
        n_workflows=count_of(Workflow.objects.all(), "corpus"),
        n_dialogues=count_of(Dialogue.objects.all(), "corpus"),
        n_conformant=count_of(Dialogue.objects.filter(conformant=True), "corpus"),
        n_forks=count_of(Fork.objects.all(), "dialogue__corpus"),
        n_trajectories=count_of(Trajectory.objects.all(), "corpus"),
    )


def labelled_counts(corpora: Iterable[int]) -> dict[int, int]:
    """How many agent runs of each corpus, by its key, have a label; one statement."""
    sets = LabelSet.objects.filter(trajectory__corpus__in=list(corpora)).order_by()
    counted = sets.values_list("trajectory__corpus").annotate(n=Count("trajectory", distinct=True))
    return dict(counted)
