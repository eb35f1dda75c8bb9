"""What a release says of reviews of agent runs: who gave which label when, and after what.

The labels themselves are in the table of labels, under the pseudonym of their seat; a row here says
that a seat reviewed a run, what it was shown then, and what it said to that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Q, QuerySet

from annotation.models import Assignment, Study
from annotation.release_judgements import (
    counts_of,
    durations,
    entries_of,
    head_of,
    withdrawn_from,
)
from benchmark.release_rows import Row, Scope
from benchmark.release_tables import RUN_STEPS

DIFFERS = ("on_presence", "on_type", "on_step", "on_component")


def assignments_of(scope: Scope) -> QuerySet[Assignment]:
    """Assignments to runs of the release, answered or not."""
    return Assignment.objects.main().filter(item__trajectory__corpus__in=scope.corpora).order_by()


def review_rows(scope: Scope) -> Iterator[Row]:
    """One row per reviewed or skipped run and seat."""
    for row in _answered(scope):
        yield _row(scope, row)


def study_entries(scope: Scope) -> list[dict[str, Any]]:
    """The studies of runs, as the manifest tells of them, by slug."""
    found = entries_of(_answered(scope), withdrawn_from(scope, Study.Kind.RUNS))
    return [
        entry | {"kind": study.kind, "judge": study.judge.name if study.judge else ""}
        for study, entry in found
    ]


def state(scope: Scope) -> tuple[Any, ...]:
    """What a review given meanwhile would change."""
    paths = ("review", "review__comparison", "review__comparison__revision", "skip", "finished_at")
    return (*counts_of(assignments_of(scope), paths), withdrawn_from(scope, Study.Kind.RUNS))


def _answered(scope: Scope) -> list[Assignment]:
    answered = Q(review__isnull=False) | Q(skip__isnull=False)
    rows = assignments_of(scope).filter(answered)
    rows = rows.select_related(
        "seat__study",
        "seat__withdrawal",
        "item__trajectory",
        "item__judge_answer__rater",
        "skip",
        "review__comparison__revision",
    ).prefetch_related("times")
    return sorted(rows, key=lambda a: (a.seat.study.slug, a.seat.pseudonym, a.rank))


def _row(scope: Scope, row: Assignment) -> Row:
    item, run = row.item, row.item.trajectory
    skip, review = getattr(row, "skip", None), getattr(row, "review", None)
    comparison = getattr(review, "comparison", None)
    answer = item.judge_answer
    return {
        **head_of(row),
        "corpus": scope.name(run.corpus_id),
        "format": run.format,
        "trajectory": run.external_id,
        "judge": answer.rater.name if answer else "",
        "judge_trial": answer.trial if answer else None,
        "reviewed": review is not None,
        "revised": getattr(comparison, "revision", None) is not None,
        "changed": comparison.changed if comparison else None,
        "agreement": comparison.agreement if comparison else None,
        **{name: getattr(comparison, name) if comparison else None for name in DIFFERS},
        "skipped": skip.reason if skip else None,
        "finished": row.finished_at is not None,
        **durations(row, RUN_STEPS),
    }
