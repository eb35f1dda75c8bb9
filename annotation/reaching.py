"""Whether an item of one's own can be worked on now, and if not, why not."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation import reviewing
from annotation.judging import (
    AnsweredBefore,
    Answers,
    NotYours,
    Step,
    StepLocked,
    answers,
    confirmation_in_words,
    fork_of,
    has_prefix,
    is_attention,
    is_run,
    open_step,
)
from annotation.models import Assignment, Item, Review, Seat, Skip, SliderRating, Study
from annotation.seating import RESEARCHERS

SENTENCES = {
    "passed_on": gettext_lazy(
        "Nothing was done here for a long time, so this item was given to somebody else, or waits "
        "for them. What you had confirmed stays yours, and what you had entered is kept. The page "
        "of the study says whether you can have your place back."
    ),
    "withdrawn": gettext_lazy("You left this study. Its items are closed."),
    "closed": gettext_lazy("The study takes no more answers. What you confirmed before is kept."),
    "paused": gettext_lazy(
        "The study is paused. Nothing is lost; come back later and go on where you were."
    ),
    "resting": gettext_lazy("You have paused. Nothing is lost; go on from the page of the study."),
    "over": gettext_lazy("Your part in this study is over. What you confirmed before is kept."),
    "elsewhere": gettext_lazy(
        "This item is not part of where you are in the study now. Go on from its page."
    ),
}
# Columns that are of no use to a save.
LONG = (
    *(f"item__{name}" for name in ("instruction", "altered", "expected", "feedback")),
    *(f"seat__study__{name}" for name in ("design", "phases", "consent", "codes")),
)
RUN_STEPS = ("review", "compare", "revise")
OVER = (Seat.State.SCREENED_OUT, Seat.State.DECLINED, Seat.State.FINISHED)


class OutOfReach(LookupError):
    """The item takes nothing now; `why` is a key of SENTENCES, and the message its sentence."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(str(SENTENCES[why]))


def find(user: Any, token: str) -> Assignment:
    """The assignment that `user` knows as `token`, with item, workflow, seat and study.

    Raises NotYours when there is none, or when `user` can see the conditions.
    """
    shown = ("item__dialogue__workflow", "item__trajectory", "item__judge_answer")
    mine = _mine(user, token).select_related(*shown, "seat__study")
    return _only(mine.defer("item__judge_answer__raw"))


def find_to_save(user: Any, token: str, step: Step) -> tuple[Assignment, Answers]:
    """As `find`, for who saves once a second: no conversation, no long texts, and the answers.

    An item without an answer, where most is entered, takes one query.
    """
    rated = SliderRating.objects.filter(assignment=OuterRef("pk"))
    reviewed = Review.objects.filter(assignment=OuterRef("pk"))
    skipped = Skip.objects.filter(assignment=OuterRef("pk"))
    mine = _mine(user, token).select_related("item", "seat__study").defer(*LONG)
    assignment = _only(mine.annotate(begun=Exists(rated) | Exists(skipped) | Exists(reviewed)))
    if step in ("rate", "review") and not vars(assignment)["begun"]:
        return assignment, Answers()
    return assignment, answers(assignment)


def _mine(user: Any, token: str) -> QuerySet[Assignment]:
    """The assignment, unless its person can see the conditions (see `seating`)."""
    if user.is_superuser or user.is_staff:
        return Assignment.objects.none()
    researcher = user.groups.through.objects.filter(user=user, group__name=RESEARCHERS)
    return Assignment.objects.filter(~Exists(researcher), seat__user=user, token=token)


def _only(found: QuerySet[Assignment]) -> Assignment:
    try:
        return found.get()
    except Assignment.DoesNotExist:
        raise NotYours("No such item.") from None


def require(assignment: Assignment) -> None:
    """Raise OutOfReach unless the item may be worked on, or was finished and may be looked at.

    A finished item is only looked at, so it hangs neither on the study's state nor on the phase.
    """
    why = _gone(assignment)
    if why is None and not assignment.finished_at:
        why = _not_now(assignment.seat) or _not_here(assignment)
    if why:
        raise OutOfReach(why)


def _gone(assignment: Assignment) -> str | None:
    seat = assignment.seat
    if Seat.State.WITHDRAWN in (assignment.ended, seat.state):
        return "withdrawn"
    if assignment.ended or (seat.state == Seat.State.EXPIRED and not assignment.finished_at):
        return "passed_on"
    return None


def _not_now(seat: Seat) -> str | None:
    if seat.study.state != Study.State.OPEN:
        return "paused" if seat.study.state == Study.State.PAUSED else "closed"
    return "resting" if seat.state == Seat.State.PAUSED else None


def _not_here(assignment: Assignment) -> str | None:
    """A reopened item can be worked on until the end: its phase may be over by then."""
    seat = assignment.seat
    if seat.state in OVER:
        return "over"
    practice = assignment.item.kind == Item.Kind.PRACTICE
    allowed = [Seat.Phase.PRACTICE if practice else Seat.Phase.MAIN]
    if assignment.post_reveal:
        allowed.append(Seat.Phase.QUESTIONNAIRE)
    return None if seat.phase in allowed else "elsewhere"


def require_reached(assignment: Assignment, step: Step, given: Answers) -> None:
    """Raise StepLocked for a step that is not there yet, or that the item does not have."""
    if (step in RUN_STEPS) != is_run(assignment):
        raise StepLocked("This item has no such step.")
    if is_run(assignment):
        return reviewing.require_reached(assignment, step, given)
    if step != "rate" and (is_attention(assignment) or not given.slider):
        raise StepLocked("The conversation has no rating yet.")
    if step == "prefix" and not (given.onset and has_prefix(fork_of(assignment))):
        raise StepLocked("This item is not at that step.")


def require_waiting(assignment: Assignment, step: Step, given: Answers) -> None:
    """Raise StepLocked before, and AnsweredBefore after, the time at which `step` is asked."""
    require_reached(assignment, step, given)
    if open_step(assignment, given) != step:
        raise AnsweredBefore(in_words(step, given))


def in_words(step: Step, given: Answers) -> str:
    """The answer to a step, such as "80 of 100"; of a step without one, that it was skipped."""
    if step == "rate" and given.slider:
        return _("%(value)d of 100") % {"value": given.slider.value}
    if step == "instruction" and given.confirmation and given.onset:
        return confirmation_in_words(given.confirmation)
    if step == "prefix" and given.prefix:
        return given.prefix.get_answer_display().lower()
    if step == "review" and given.review:
        return reviewing.in_words(given.review.labels)
    if step == "compare" and given.comparison:
        return reviewing.comparison_in_words(given.comparison)
    if step == "revise" and given.revision:
        return reviewing.in_words(given.revision.labels)
    return _("the item was skipped")
