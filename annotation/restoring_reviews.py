"""Reviews of agent runs become rows again: the labels are there, here is when they were given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.utils import timezone

from annotation.models import (
    Assignment,
    Item,
    JudgeComparison,
    Review,
    RevisedReview,
    Seat,
    Skip,
    StepTime,
    Study,
)
from benchmark.label_records import REVIEW, REVISION
from benchmark.models import Corpus, JudgeAnswer, LabelSet, Trajectory
from benchmark.records import BadRecord
from benchmark.release_tables import RUN_STEPS

DIFFERS = ("on_presence", "on_type", "on_step", "on_component")
Row = Mapping[str, Any]


def store(study: Study, seat: Seat, corpora: Mapping[str, Corpus], row: Row) -> bool:
    """Store one row of the reviews; False when it is there already.

    Raises BadRecord where its run, its judge's answer or its labels are not there, or another
    answer is.
    """
    run = Trajectory.objects.filter(
        corpus=corpora.get(row["corpus"]), format=row["format"], external_id=row["trajectory"]
    ).first()
    if run is None:
        raise BadRecord(row["where"], f"the run {row['trajectory']} is not there")
    held = Assignment.objects.main().filter(seat=seat, item__trajectory=run, attempt=row["attempt"])
    assignment = held.first()
    if assignment is not None:
        if hasattr(assignment, "review") != row["reviewed"]:
            raise BadRecord(row["where"], "another answer to this item is here already")
        return False
    answer = _judge_answer(run, row)
    item, _ = Item.objects.get_or_create(
        study=study, trajectory=run, kind=Item.Kind.MAIN, defaults={"judge_answer": answer}
    )
    assignment = Assignment.objects.create(
        seat=seat,
        item=item,
        rank=row["order"],
        attempt=row["attempt"],
        post_reveal=row["post_reveal"],
        finished_at=timezone.now() if row["finished"] else None,
        **ended(row),
    )
    _answers(assignment, run, answer, row)
    restore_times(assignment, row, RUN_STEPS)
    return True


def ended(row: Row) -> dict[str, Any]:
    """The fields of an assignment that takes no more answers for another reason."""
    status = row.get("status")
    if status not in Assignment.Ended.values:
        return {}
    return {"ended": status, "ended_at": timezone.now()}


def restore_times(assignment: Assignment, row: Row, steps: Sequence[str]) -> None:
    """Durations become times that start now: when it was is not told."""
    now = timezone.now()
    for step in steps:
        wall, active = row.get(f"{step}_wall_ms"), row.get(f"{step}_active_ms")
        if wall is None and active is None:
            continue
        StepTime.objects.create(
            assignment=assignment,
            step=step,
            opened_at=now,
            submitted_at=None if wall is None else now + timedelta(milliseconds=wall),
            active_ms=active or 0,
        )


def _judge_answer(run: Trajectory, row: Row) -> JudgeAnswer | None:
    if not row["judge"]:
        return None
    answer = JudgeAnswer.objects.filter(
        trajectory=run, rater__name=row["judge"], trial=row["judge_trial"]
    ).first()
    if answer is None:
        raise BadRecord(row["where"], f"the answer of {row['judge']} that was shown is not there")
    return answer


def _answers(assignment: Assignment, run: Trajectory, answer: JudgeAnswer | None, row: Row) -> None:
    if row["skipped"] is not None:
        Skip.objects.create(assignment=assignment, reason=row["skipped"])
    if not row["reviewed"]:
        return
    review = Review.objects.create(assignment=assignment, labels=_labels(run, row, REVIEW))
    if row["agreement"] is None:
        return
    if answer is None:
        raise BadRecord(row["where"], "compares with a judge's answer and names none")
    comparison = JudgeComparison.objects.create(
        review=review,
        answer=answer,
        agreement=row["agreement"],
        changed=bool(row["changed"]),
        **{name: bool(row[name]) for name in DIFFERS},
    )
    if row["revised"]:
        RevisedReview.objects.create(comparison=comparison, labels=_labels(run, row, REVISION))


def _labels(run: Trajectory, row: Row, stage: str) -> LabelSet:
    found = LabelSet.objects.filter(
        trajectory=run, rater__name=row["annotator"], trial=row["attempt"], stage=stage
    ).first()
    if found is None:
        raise BadRecord(row["where"], f"the {stage} of {row['annotator']} is not among the labels")
    return found
