"""Runs whose reviewers differ. They are listed, not settled: every answer stays as it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from annotation.models import Assignment, Item, Review, Study
from annotation.run_differences import differ_on
from benchmark.label_records import LabelRecord
from benchmark.labelling import records_of
from benchmark.models import JudgeAnswer, LabelSet, Trajectory


@dataclass(frozen=True, slots=True)
class Dispute:
    """A run with the blind answers that differ; `judge` is what the judge said, if anything.

    `changed` counts those who changed their mind after they saw it.
    """

    run: Trajectory
    on: tuple[str, ...]
    labels: Sequence[LabelRecord]
    judge: LabelRecord | None
    changed: int


def disputes(study: Study, *, simulated: bool = False, on: str = "") -> list[Dispute]:
    """Runs with two finished blind answers that differ, by key; nine queries for any number.

    `simulated` counts simulated seats as people too; `on` keeps those that differ on this part.
    """
    held = _reviews(study, simulated)
    labels = records_of(LabelSet.objects.filter(pk__in=[r.labels_id for r in held]))
    by_item: dict[int, list[Review]] = defaultdict(list)
    for review in held:
        by_item[review.assignment.item_id].append(review)
    differing = {}
    for item, reviews in by_item.items():
        parts = differ_on([labels[review.labels_id] for review in reviews])
        if parts and (not on or on in parts):
            differing[item] = parts
    items = Item.objects.filter(pk__in=differing).select_related("trajectory")
    judged = _judged(list(differing))
    found = []
    for item in items.defer("trajectory__task", "trajectory__response").order_by("pk"):
        mine = by_item[item.pk]
        said = [labels[review.labels_id] for review in mine]
        changed = sum(_changed(review) for review in mine)
        judge = judged.get(item.judge_answer_id or 0)
        found.append(Dispute(item.trajectory, differing[item.pk], said, judge, changed))
    return found


def _reviews(study: Study, simulated: bool) -> list[Review]:
    finished = Assignment.objects.main().blind()
    finished = finished.filter(seat__study=study, finished_at__isnull=False, ended="")
    if not simulated:
        finished = finished.filter(seat__simulated=False)
    rows = Review.objects.filter(assignment__in=finished.values("pk"))
    return list(
        rows.select_related("assignment", "comparison").order_by("assignment__seat__number")
    )


def _judged(items: Sequence[int]) -> dict[int, LabelRecord]:
    """answer -> what it was read as."""
    answers = dict(
        JudgeAnswer.objects.filter(items__in=items, labels__isnull=False).values_list(
            "labels_id", "pk"
        )
    )
    records = records_of(LabelSet.objects.filter(pk__in=answers))
    return {answers[key]: record for key, record in records.items()}


def _changed(review: Review) -> bool:
    comparison = getattr(review, "comparison", None)
    return bool(comparison and comparison.changed)
