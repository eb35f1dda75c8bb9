"""What every step of every item shares: whose turn it is, the locks, the chain, the end of an item.

The steps of conversations are in `judging`, those of agent runs in `reviewing`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from django.utils import timezone
from django.utils.translation import gettext as _

from annotation import commitments
from annotation.announcing import announce
from annotation.commitment_chain import REVEALED
from annotation.models import (
    Assignment,
    InstructionConfirmation,
    Item,
    JudgeComparison,
    OnsetMark,
    PrefixJudgement,
    Review,
    RevisedReview,
    Seat,
    Skip,
    SliderRating,
    Study,
)

Step = Literal["rate", "instruction", "prefix", "review", "compare", "revise"]
GIVEN_UP = (
    Seat.State.EXPIRED,
    Seat.State.WITHDRAWN,
    Seat.State.SCREENED_OUT,
    Seat.State.DECLINED,
)


class NotYours(LookupError):
    """No such item among those of this person."""


class StepLocked(LookupError):
    """The step before has no answer yet, or this item does not have the step."""


class ItemEnded(LookupError):
    """The item takes no answers: the seat expired, its person withdrew, or it waits (`NotNow`)."""


class NotNow(ItemEnded):
    """The study or the seat is paused or closed. Nothing is lost; it may go on later."""


class AnswerRefused(ValueError):
    """An answer that is not allowed; `field` names the field at fault."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


class AnsweredBefore(ValueError):
    """The step has another answer, which stands; `stored` is that answer in words."""

    def __init__(self, stored: str) -> None:
        self.stored = stored
        super().__init__(_("This step was answered before: %s. The first answer stands.") % stored)


@dataclass(frozen=True, slots=True)
class Answers:
    """What an assignment holds so far; None where a step has no answer.

    The first four are of conversations, the last three of agent runs.
    """

    slider: SliderRating | None = None
    confirmation: InstructionConfirmation | None = None
    onset: OnsetMark | None = None
    prefix: PrefixJudgement | None = None
    skip: Skip | None = None
    review: Review | None = None
    comparison: JudgeComparison | None = None
    revision: RevisedReview | None = None


def is_run(assignment: Assignment) -> bool:
    """Whether the item is an agent run; otherwise it is a conversation."""
    return assignment.item.trajectory_id is not None


def is_attention(assignment: Assignment) -> bool:
    """Whether the item asks for a given answer: it ends with step 1."""
    return assignment.item.kind == Item.Kind.ATTENTION


def lock(assignment: Assignment) -> Seat:
    """Serialise the answers of a seat, also with skipping, pausing and expiry; the locked seat."""
    seat, current = lock_both(assignment)
    if hasattr(current, "skip"):
        raise StepLocked(_("This item was skipped."))
    return seat


def lock_both(assignment: Assignment) -> tuple[Seat, Assignment]:
    """Seat first, then the item, as everywhere; raises ItemEnded where neither takes answers."""
    seat = commitments.lock(assignment.seat_id)
    items = Assignment.objects.select_for_update(of=("self",), no_key=True)
    current = items.select_related("skip").get(pk=assignment.pk)
    if current.ended or seat.state in GIVEN_UP:
        raise ItemEnded(_("This item was given to somebody else, or its seat was given up."))
    # A dry run may come before the start of a study.
    if not seat.simulated:
        if seat.study.state != Study.State.OPEN:
            raise NotNow(
                _("The study is %s and takes no answers.") % seat.study.get_state_display().lower()
            )
        if seat.state == Seat.State.PAUSED:
            raise NotNow(_("This seat is paused. Go on with the study first."))
    return seat, current


def commit(seat: Seat, assignment: Assignment, kind: str, **answer: Any) -> None:
    """A simulated seat keeps no chain: there is nothing that it could prove."""
    if not seat.simulated:
        commitments.add(seat, assignment, kind, answer)


def commit_reveal(seat: Seat, assignment: Assignment) -> None:
    if not seat.simulated and REVEALED not in commitments.kinds_of(assignment):
        commit(seat, assignment, REVEALED)


def finish(seat: Seat, assignment: Assignment, status: str = "submitted") -> None:
    now: Any = timezone.now()
    Assignment.objects.filter(pk=assignment.pk).update(finished_at=now)
    assignment.finished_at = now
    if assignment.item.kind == Item.Kind.MAIN and not seat.simulated:
        payload = {"study": seat.study.slug, "annotator": seat.pseudonym, "status": status}
        announce("annotation.submitted", payload | {"attempt": assignment.attempt})
