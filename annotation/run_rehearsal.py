"""A dry run of a study of agent runs: reviews, comparisons and second thoughts of simulated seats.

Written in bulk, in the shape in which `reviewing` writes one at a time. Simulated seats keep no
chain, and their raters are marked as simulated, so that no statistic of people counts them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from django.db.models import Q, QuerySet

from annotation import reviewing
from annotation.imagined_reviewers import Place, Reviewed, Reviewer, RunCase, Skill
from annotation.models import (
    Assignment,
    Item,
    JudgeComparison,
    Review,
    RevisedReview,
    Seat,
    Study,
)
from annotation.review_links import PARTS
from benchmark.label_records import COMPONENTS, PERSON, RESPONSE, LabelRecord
from benchmark.labelling import records_of, store_labels
from benchmark.models import LabelSet, Rater, Trajectory, TrajectoryStep
from benchmark.records import BadRecord

BATCH = 500


def answer_runs(study: Study, *, seed: int, skill: Skill | None = None) -> int:
    """Answer every open run of the simulated seats; returns how many. In a transaction.

    What is wrong with a run is what was published about it, or else drawn from its name. An answer
    that is begun is gone on with as `reviewing` asks.
    """
    mine = Assignment.objects.filter(seat__study=study, seat__simulated=True, ended="")
    waiting = list(
        mine.filter(finished_at=None)
        .select_related(
            "seat__study", "item__trajectory", "item__judge_answer", "review__comparison"
        )
        .order_by("seat__number", "rank")
    )
    cases = _cases(study)
    said = [
        (a, _reviewer(a.seat, seed, skill).answer(cases[a.item.trajectory_id])) for a in waiting
    ]
    # Asked before any row is made: afterwards all of them have a review.
    begun = {a.pk for a in waiting if hasattr(a, "review")}
    _store([(a, answers) for a, answers in said if a.pk not in begun])
    for assignment, answers in said:
        if assignment.pk in begun:
            _go_on(assignment, answers)
    return len(waiting)


def _reviewer(seat: Seat, seed: int, skill: Skill | None) -> Reviewer:
    return Reviewer(seat.pseudonym, f"{seed} {seat.number}", skill or Skill())


def _cases(study: Study) -> dict[int, RunCase]:
    """run -> what its reviewers need to know, for the runs of simulated seats."""
    shown = Item.objects.filter(study=study, assignments__seat__simulated=True)
    runs = shown.order_by().values("trajectory")
    published = _labels(Q(rater__kind=Rater.Kind.PUBLISHED, trajectory__in=runs))
    judged = _labels(Q(judge_answer__items__study=study, trajectory__in=runs))
    places = _places(runs)
    names = Trajectory.objects.filter(pk__in=runs).values_list("pk", "corpus__slug", "external_id")
    return {
        pk: RunCase(f"{corpus} {name}", places[pk], published.get(pk), judged.get(pk))
        for pk, corpus, name in names
    }


def _labels(which: Q) -> dict[int, LabelRecord]:
    """run -> its blind label; of several raters the one whose name comes first."""
    rows = list(
        LabelSet.objects.filter(which, post_reveal=False, trial=1)
        .order_by("trajectory_id", "-rater__name")
        .distinct()
    )
    records = records_of(rows)
    return {row.trajectory_id: records[row.pk] for row in rows}


def _places(runs: QuerySet[Item, Any]) -> dict[int, list[Place]]:
    """run -> the parts that hold a text, in order, and the final response."""
    found: dict[int, list[Place]] = defaultdict(list)
    has = {f"has_{name}": ~Q(**{name: ""}) for name in COMPONENTS}
    steps = TrajectoryStep.objects.filter(trajectory__in=runs).annotate(**has)
    ordered = steps.order_by("trajectory_id", "position")
    for pk, position, *parts in ordered.values_list("trajectory_id", "position", *has):
        found[pk] += [
            (position, name) for name, part in zip(COMPONENTS, parts, strict=True) if part
        ]
    whole = Trajectory.objects.filter(pk__in=runs).exclude(response="")
    for pk in whole.values_list("pk", flat=True):
        found[pk].append((None, RESPONSE))
    return found


Said = Sequence[tuple[Assignment, Reviewed]]


def _store(rows: Said) -> None:
    """Write the answers of items that have none yet, one kind after the other."""
    names = {a.seat.pseudonym for a, _ in rows}
    Rater.objects.bulk_create(
        [Rater(name=name, kind=PERSON, simulated=True) for name in sorted(names)],
        ignore_conflicts=True,
    )
    labels = _label_sets([(a, answers.review) for a, answers in rows])
    reviews = Review.objects.bulk_create(
        [Review(assignment=a, labels_id=labels[a.pk]) for a, _ in rows], batch_size=BATCH
    )
    compared = [
        (review, a, answers)
        for review, (a, answers) in zip(reviews, rows, strict=True)
        if answers.compared
    ]
    comparisons = JudgeComparison.objects.bulk_create(
        [_comparison(review, a, answers) for review, a, answers in compared], batch_size=BATCH
    )
    revised = [
        (comparison, a, answers.revised)
        for comparison, (_, a, answers) in zip(comparisons, compared, strict=True)
        if answers.revised
    ]
    labels = _label_sets([(a, record) for _, a, record in revised])
    RevisedReview.objects.bulk_create(
        [RevisedReview(comparison=c, labels_id=labels[a.pk]) for c, a, _ in revised],
        batch_size=BATCH,
    )


def _label_sets(pairs: Sequence[tuple[Assignment, LabelRecord]]) -> dict[int, int]:
    """assignment -> the key of its stored label; raises BadRecord where one cannot be stored."""
    outcomes = store_labels([(a.item.trajectory_id, record) for a, record in pairs])
    for outcome in outcomes:
        if isinstance(outcome, BadRecord):
            raise outcome
    stages = {record.stage for _, record in pairs}
    held = LabelSet.objects.filter(
        rater__name__in={record.rater for _, record in pairs}, stage__in=stages, trial=1
    )
    keys = {
        (run, rater, stage): pk
        for pk, run, rater, stage in held.values_list("pk", "trajectory_id", "rater__name", "stage")
    }
    return {a.pk: keys[a.item.trajectory_id, record.rater, record.stage] for a, record in pairs}


def _comparison(review: Review, assignment: Assignment, answers: Reviewed) -> JudgeComparison:
    said: Any = answers.compared
    parts = {f"on_{name}": name in said.on for name in PARTS}
    return JudgeComparison(
        review=review,
        answer_id=assignment.item.judge_answer_id,
        agreement=said.agreement,
        changed=said.changed,
        **parts,
    )


def _go_on(assignment: Assignment, answers: Reviewed) -> None:
    """The steps that an interrupted item still has."""
    given = reviewing.answers(assignment)
    if reviewing.open_step(assignment, given) == "compare":
        values = {"agreement": "disagree", "on": ["presence"], "changed": False}
        reviewing.record_comparison(assignment, values)
    elif reviewing.open_step(assignment, given) == "revise":
        record = answers.revised or answers.review
        places = [{"at": f"{p.step}.{p.component}" if p.step else "final"} for p in record.places]
        reviewing.record_revision(
            assignment,
            {
                "present": record.present,
                "types": record.types,
                "flags": record.flags,
                "places": places,
                "rationale": record.rationale,
            },
        )
