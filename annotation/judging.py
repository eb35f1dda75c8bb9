"""The three steps of a conversation: asked in order, answered once. Those of an agent run are in
`reviewing`; what waits, what was answered and what was skipped is asked here for both.

The keys of the answers make the order certain (a confirmation needs a rating, and so on) and the
unique keys settle races: whoever writes first is stored, everyone else is told what is stored.
"""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation import commitments, reviewing
from annotation.answering import (
    AnsweredBefore,
    AnswerRefused,
    Answers,
    ItemEnded,
    NotNow,
    NotYours,
    Step,
    StepLocked,
    commit,
    commit_reveal,
    finish,
    is_attention,
    is_run,
    lock,
    lock_both,
)
from annotation.commitment_chain import CONFIRMED, PREFIX, RATED, REVEALED, SKIPPED
from annotation.models import (
    Assignment,
    InstructionConfirmation,
    OnsetMark,
    PrefixJudgement,
    Skip,
    SliderRating,
)
from annotation.titles import behaviour_of
from benchmark.models import Fork, Turn

__all__ = [
    "AnswerRefused",
    "AnsweredBefore",
    "Answers",
    "ItemEnded",
    "NotNow",
    "NotYours",
    "Step",
    "StepLocked",
    "answers",
    "confirmation_in_words",
    "fork_of",
    "has_prefix",
    "is_attention",
    "is_run",
    "open_item",
    "open_step",
    "record_confirmation",
    "record_prefix",
    "record_skip",
    "record_slider",
    "reveal",
]

NO = InstructionConfirmation.Answer.NO


def answers(assignment: Assignment) -> Answers:
    """All answers of an assignment, in at most two queries."""
    if is_run(assignment):
        return reviewing.answers(assignment)
    slider = (
        SliderRating.objects.filter(assignment=assignment)
        .select_related("confirmation__onset__turn", "confirmation__onset__prefix")
        .first()
    )
    confirmation = getattr(slider, "confirmation", None)
    onset = getattr(confirmation, "onset", None)
    prefix = getattr(onset, "prefix", None)
    skip = Skip.objects.filter(assignment=assignment).first() if not slider or not onset else None
    return Answers(slider, confirmation, onset, prefix, skip)


def fork_of(assignment: Assignment) -> Fork | None:
    """The fork that is judged, or None when the conversation is a whole one."""
    return Fork.objects.filter(dialogue_id=assignment.item.dialogue_id).order_by("ordinal").first()


def has_prefix(fork: Fork | None) -> bool:
    """Whether there is an assistant turn before the fork, so that step 3 applies."""
    return fork is not None and fork.fork_assistant_turn > 1


def open_step(assignment: Assignment, given: Answers | None = None) -> Step | None:
    """The step that waits for an answer; None when the item is finished or skipped."""
    if assignment.finished_at or assignment.ended:
        return None
    given = given or answers(assignment)
    if is_run(assignment):
        return reviewing.open_step(assignment, given)
    if given.skip:
        return None
    if not given.slider:
        return "rate"
    if is_attention(assignment):
        return None
    if not given.confirmation or not given.onset:
        return "instruction"
    return "prefix" if has_prefix(fork_of(assignment)) and not given.prefix else None


def open_item(assignment: Assignment) -> None:
    """Note when the item was first shown."""
    Assignment.objects.filter(pk=assignment.pk, opened_at=None).update(opened_at=timezone.now())


def reveal(assignment: Assignment) -> str:
    """The words that step 2 shows. Before they are given out for the first time, a link of the
    seat's chain says so: that the rating was there first can be proved.

    Raises StepLocked (no rating yet, or the item has one step only), ItemEnded, NotNow.
    """
    if REVEALED not in commitments.kinds_of(assignment):
        if is_attention(assignment) or not SliderRating.objects.filter(assignment=assignment):
            raise StepLocked(_("The conversation has no rating yet."))
        with transaction.atomic():
            commit_reveal(lock_both(assignment)[0], assignment)
    return behaviour_of(assignment.item.instruction)


def record_slider(assignment: Assignment, value: int) -> SliderRating:
    """Store the blind rating, from 0 to 100.

    Raises AnswerRefused (out of range), StepLocked (skipped), AnsweredBefore (another value).
    """
    if not 0 <= value <= 100:
        raise AnswerRefused("rating", _("Give a whole number from 0 to 100."))
    if is_run(assignment):
        raise StepLocked(_("This item has no such step."))
    try:
        with transaction.atomic():
            seat = lock(assignment)
            rating = SliderRating.objects.create(assignment=assignment, value=value)
            commit(seat, assignment, RATED, rating=value)
            if is_attention(assignment):
                finish(seat, assignment)
            return rating
    except IntegrityError:
        stored = SliderRating.objects.get(assignment=assignment)
    if stored.value != value:
        raise AnsweredBefore(_("%(value)d of 100") % {"value": stored.value})
    return stored


def record_confirmation(
    assignment: Assignment, answer: str, onset: int | None = None
) -> InstructionConfirmation:
    """Store whether the shown instruction appears, and from which assistant turn on.

    `onset` is a turn number (counted over all turns) of an assistant turn; with "no" it is
    ignored and an onset row without a turn is stored.

    Raises StepLocked (no rating yet), AnswerRefused (naming the field), AnsweredBefore.
    """
    if answer not in InstructionConfirmation.Answer.values:
        raise AnswerRefused("appears", _("Choose yes, partly or no."))
    turn = None if answer == NO else _assistant_turn(assignment, onset)
    slider = SliderRating.objects.filter(assignment=assignment).first()
    if slider is None or is_attention(assignment):
        raise StepLocked(_("The conversation has no rating yet."))
    try:
        with transaction.atomic():
            seat = lock(assignment)
            confirmation = InstructionConfirmation.objects.create(slider=slider, answer=answer)
            OnsetMark.objects.create(confirmation=confirmation, turn=turn)
            commit_reveal(seat, assignment)
            onset = turn.number if turn else None
            commit(seat, assignment, CONFIRMED, appears=answer, onset=onset)
            if not has_prefix(fork_of(assignment)):
                finish(seat, assignment)
            return confirmation
    except IntegrityError:
        stored = InstructionConfirmation.objects.select_related("onset__turn").get(slider=slider)
    if (stored.answer, stored.onset.turn_id) != (answer, turn.pk if turn else None):
        raise AnsweredBefore(confirmation_in_words(stored))
    return stored


def record_prefix(assignment: Assignment, answer: str) -> PrefixJudgement:
    """Store whether the turns before the fork followed the workflow.

    Raises StepLocked (step 2 is open, or the item has no such step), AnswerRefused, AnsweredBefore.
    """
    if answer not in PrefixJudgement.Answer.values:
        raise AnswerRefused("prefix", _("Choose yes, mostly or no."))
    onset = OnsetMark.objects.filter(confirmation__slider__assignment=assignment).first()
    if onset is None or not has_prefix(fork_of(assignment)):
        raise StepLocked(_("This item is not at that step."))
    try:
        with transaction.atomic():
            seat = lock(assignment)
            judgement = PrefixJudgement.objects.create(onset=onset, answer=answer)
            commit(seat, assignment, PREFIX, prefix=answer)
            finish(seat, assignment)
            return judgement
    except IntegrityError:
        stored = PrefixJudgement.objects.get(onset=onset)
    if stored.answer != answer:
        raise AnsweredBefore(stored.get_answer_display().lower())
    return stored


def record_skip(assignment: Assignment, reason: str, note: str = "") -> Skip:
    """Put an unfinished item aside for good, with a reason.

    Raises AnswerRefused (unknown reason), AnsweredBefore (finished, or skipped before).
    """
    if reason not in Skip.Reason.values:
        raise AnswerRefused("reason", _("Choose one of the reasons."))
    try:
        with transaction.atomic():
            seat, current = lock_both(assignment)
            if current.finished_at:
                skipped = hasattr(current, "skip")
                raise AnsweredBefore(
                    _("the item was skipped") if skipped else _("the item is finished")
                )
            skip = Skip.objects.create(assignment=assignment, reason=reason, note=note.strip())
            commit(seat, assignment, SKIPPED, reason=reason)
            finish(seat, assignment, "skipped")
            return skip
    except IntegrityError as error:
        raise AnsweredBefore(_("the item was skipped")) from error


def confirmation_in_words(confirmation: InstructionConfirmation) -> str:
    """Such as "yes, from turn 8" or "no"."""
    answer = confirmation.get_answer_display().lower()
    turn = confirmation.onset.turn
    if turn is None:
        return answer
    return _("%(answer)s, from turn %(number)d") % {"answer": answer, "number": turn.number}


def _assistant_turn(assignment: Assignment, number: int | None) -> Turn:
    if number is None:
        raise AnswerRefused("onset", _("Choose the first assistant turn that shows it."))
    turn = Turn.objects.filter(
        dialogue_id=assignment.item.dialogue_id, number=number, role=Turn.Role.ASSISTANT
    ).first()
    if turn is None:
        raise AnswerRefused("onset", _("Turn %d is not an assistant turn of this item.") % number)
    return turn
