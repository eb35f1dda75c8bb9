"""The steps of an agent run: a blind review, then the judge's answer beside it, then a second
thought where there is one. Asked in order, answered once, as in `judging`.

Labels are stored beside those of judges and publishers (`benchmark.labelling`), under the pseudonym
of the seat; what hangs on the item says when, and after what, they were given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation import answering, commitments, review_answers
from annotation.answering import AnsweredBefore, AnswerRefused, Answers, Step, StepLocked
from annotation.commitment_chain import COMPARED, REVEALED, REVIEWED, REVISED
from annotation.models import Assignment, JudgeComparison, Review, RevisedReview, Seat, Skip
from annotation.review_links import PARTS, answer_of, comparison_of
from annotation.run_words import label_in_words
from benchmark.label_records import PERSON, REVIEW, REVISION, LabelRecord
from benchmark.labelling import records_of, same, store_label
from benchmark.models import LabelSet, Rater, Trajectory
from benchmark.records import BadRecord

AGREE = JudgeComparison.Agreement.AGREE
LONGEST_NOTE = 1000


def answers(assignment: Assignment) -> Answers:
    """All answers to a run, in at most two queries."""
    review = (
        Review.objects.filter(assignment=assignment)
        .select_related("labels", "comparison__revision__labels")
        .first()
    )
    comparison = getattr(review, "comparison", None)
    revision = getattr(comparison, "revision", None)
    done = revision or (comparison and not comparison.changed)
    skip = None if done else Skip.objects.filter(assignment=assignment).first()
    return Answers(skip=skip, review=review, comparison=comparison, revision=revision)


def has_comparison(assignment: Assignment) -> bool:
    """Whether there is a judge's answer to compare with, so that step 2 applies."""
    if answering.is_attention(assignment) or assignment.item.judge_answer is None:
        return False
    return assignment.item.judge_answer.labels_id is not None


def open_step(assignment: Assignment, given: Answers) -> Step | None:
    """The step that waits for an answer; None when the item is finished or skipped."""
    if assignment.finished_at or assignment.ended or given.skip:
        return None
    if not given.review:
        return "review"
    if not given.comparison:
        return "compare" if has_comparison(assignment) else None
    return "revise" if given.comparison.changed and not given.revision else None


def require_reached(assignment: Assignment, step: Step, given: Answers) -> None:
    """Raise StepLocked for a step that is not there yet, or that the item does not have."""
    if step == "compare" and not (given.review and has_comparison(assignment)):
        raise StepLocked(_("The run has no review yet."))
    if step == "revise" and not (given.comparison and given.comparison.changed):
        raise StepLocked(_("This item is not at that step."))


def reveal(assignment: Assignment) -> LabelRecord:
    """The judge's answer, which step 2 shows. Before it is given out for the first time, a link of
    the seat's chain says so: that the review was there first can be proved.

    Raises StepLocked (no review yet, or nothing to compare with), ItemEnded, NotNow.
    """
    require_reached(assignment, "compare", answers(assignment))
    if not assignment.seat.simulated and REVEALED not in commitments.kinds_of(assignment):
        with transaction.atomic():
            answering.commit_reveal(answering.lock_both(assignment)[0], assignment)
    return judge_record(assignment)


def judge_record(assignment: Assignment) -> LabelRecord:
    """What the judge said, for who may see it."""
    held = LabelSet.objects.get(judge_answer=assignment.item.judge_answer_id)
    return records_of([held])[held.pk]


def record_review(assignment: Assignment, values: Mapping[str, Any]) -> Review:
    """Store the blind review; `values` as in `review_answers.checked`.

    Raises AnswerRefused (naming the field), StepLocked (skipped), AnsweredBefore.
    """
    content = review_answers.checked(_run_of(assignment), values)
    with transaction.atomic():
        seat = answering.lock(assignment)
        record = _record(seat, assignment, content, REVIEW)
        stored = Review.objects.filter(assignment=assignment).select_related("labels").first()
        if stored:
            _require_same(stored.labels, record)
            return stored
        review = Review.objects.create(
            assignment=assignment, labels=_store(seat, assignment, record)
        )
        answering.commit(seat, assignment, REVIEWED, **answer_of(record))
        if not has_comparison(assignment):
            answering.finish(seat, assignment)
        return review


def record_comparison(assignment: Assignment, values: Mapping[str, Any]) -> JudgeComparison:
    """Store how the judge's answer compares.

    `values` are agreement ("agree", "partly", "disagree"), `on` (what the two differ on: presence,
    type, step, component; left out with "agree"), note, and changed ("yes", "no" or a bool).

    Raises AnswerRefused (naming the field), StepLocked (no review, or no judge), AnsweredBefore.
    """
    content = _comparison(values)
    with transaction.atomic():
        seat = answering.lock(assignment)
        given = answers(assignment)
        require_reached(assignment, "compare", given)
        if stored := given.comparison:
            if any(getattr(stored, name) != value for name, value in content.items()):
                raise AnsweredBefore(comparison_in_words(stored))
            return stored
        comparison = JudgeComparison.objects.create(
            review=given.review, answer=assignment.item.judge_answer, **content
        )
        answering.commit_reveal(seat, assignment)
        answering.commit(seat, assignment, COMPARED, **comparison_of(comparison))
        if not comparison.changed:
            answering.finish(seat, assignment)
        return comparison


def record_revision(assignment: Assignment, values: Mapping[str, Any]) -> RevisedReview:
    """Store the second thought of who saw the judge's answer; `values` as for `record_review`.

    Raises AnswerRefused (naming the field), StepLocked (no changed mind), AnsweredBefore.
    """
    content = review_answers.checked(_run_of(assignment), values)
    with transaction.atomic():
        seat = answering.lock(assignment)
        given = answers(assignment)
        require_reached(assignment, "revise", given)
        record = _record(seat, assignment, content, REVISION)
        if given.revision:
            _require_same(given.revision.labels, record)
            return given.revision
        revision = RevisedReview.objects.create(
            comparison=given.comparison, labels=_store(seat, assignment, record)
        )
        answering.commit(seat, assignment, REVISED, **answer_of(record))
        answering.finish(seat, assignment)
        return revision


def in_words(labels: LabelSet) -> str:
    """Such as "yes: factual, logical"."""
    return label_in_words(labels.present, labels.types)


def comparison_in_words(comparison: JudgeComparison) -> str:
    """Such as "partly agree"."""
    return comparison.get_agreement_display().lower()


def _comparison(values: Mapping[str, Any]) -> dict[str, Any]:
    agreement = values.get("agreement")
    if agreement not in JudgeComparison.Agreement.values:
        raise AnswerRefused("agreement", _("Choose agree, partly agree or disagree."))
    on = [values["on"]] if isinstance(values.get("on"), str) else list(values.get("on") or ())
    if unknown := set(on) - set(PARTS):
        words = {"known": ", ".join(PARTS), "given": str(min(unknown))[:40]}
        raise AnswerRefused("on", _("%(given)s is not among: %(known)s.") % words)
    if agreement != AGREE and not on:
        raise AnswerRefused("on", _("Say what the two answers differ on."))
    note = str(values.get("note") or "").replace("\r\n", "\n").strip()
    if len(note) > LONGEST_NOTE or "\x00" in note:
        raise AnswerRefused("note", _("Keep it under %d characters.") % LONGEST_NOTE)
    changed = {True: True, False: False, "yes": True, "no": False}.get(values.get("changed", ""))
    if changed is None:
        raise AnswerRefused("changed", _("Say whether you would answer differently now."))
    parts = {f"on_{name}": agreement != AGREE and name in on for name in PARTS}
    return {"agreement": agreement, "note": note, "changed": changed, **parts}


def _record(
    seat: Seat, assignment: Assignment, content: Mapping[str, Any], stage: str
) -> LabelRecord:
    return LabelRecord(
        rater=seat.pseudonym,
        kind=PERSON,
        trial=assignment.attempt,
        post_reveal=assignment.post_reveal or stage == REVISION,
        stage=stage,
        **content,
    )


def _store(seat: Seat, assignment: Assignment, record: LabelRecord) -> LabelSet:
    rater, _created = Rater.objects.get_or_create(
        name=seat.pseudonym, kind=PERSON, defaults={"simulated": seat.simulated}
    )
    try:
        return store_label(_run_of(assignment), record, rater=rater)
    except BadRecord:
        # A label of this seat that came back with a release, without its item.
        held = LabelSet.objects.get(
            trajectory=assignment.item.trajectory_id,
            rater=rater,
            trial=record.trial,
            stage=record.stage,
        )
        raise AnsweredBefore(in_words(held)) from None


def _run_of(assignment: Assignment) -> Trajectory:
    run = assignment.item.trajectory
    if run is None:
        raise StepLocked(_("This item has no such step."))
    return run


def _require_same(stored: LabelSet, record: LabelRecord) -> None:
    if not same(records_of([stored])[stored.pk], record):
        raise AnsweredBefore(in_words(stored))
