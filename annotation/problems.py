"""Something is wrong with an item: people say so, and the item stays as it is."""

from __future__ import annotations

from django.utils.translation import gettext as _

from annotation.answering import AnswerRefused, is_run
from annotation.models import Assignment, ProblemReport
from benchmark.models import TrajectoryStep, Turn

LONGEST = 1000
MOST_PER_ITEM = 20


class TooManyReports(ValueError):
    """One person reports one item so often that nobody will read it all."""


def report(
    assignment: Assignment, text: str, turn: int | None = None, step: int | None = None
) -> ProblemReport:
    """Store what is wrong, in words, and at which turn, or step of a run (its number), if at one.

    Sending the same again returns the report that is there.

    Raises AnswerRefused (naming the field), TooManyReports (20 for an item).
    """
    words = text.strip()
    if not words:
        raise AnswerRefused("text", _("Say what is wrong."))
    if len(words) > LONGEST:
        raise AnswerRefused("text", _("Keep it under %d characters.") % LONGEST)
    at = None if is_run(assignment) else _turn(assignment, turn)
    within = _step(assignment, step) if is_run(assignment) else None
    place = (at.pk if at else None, within.pk if within else None)
    mine = list(ProblemReport.objects.filter(assignment=assignment))
    for known in mine:
        if (known.text, (known.turn_id, known.step_id)) == (words, place):
            return known
    if len(mine) >= MOST_PER_ITEM:
        raise TooManyReports(
            _("You have reported %d problems of this item already.") % MOST_PER_ITEM
        )
    return ProblemReport.objects.create(assignment=assignment, turn=at, step=within, text=words)


def _step(assignment: Assignment, number: int | None) -> TrajectoryStep | None:
    if number is None:
        return None
    found = TrajectoryStep.objects.filter(
        trajectory_id=assignment.item.trajectory_id, position=number
    ).first()
    if found is None:
        raise AnswerRefused("step", _("There is no step %d in this run.") % number)
    return found


def _turn(assignment: Assignment, number: int | None) -> Turn | None:
    if number is None:
        return None
    turn = Turn.objects.filter(dialogue_id=assignment.item.dialogue_id, number=number)
    found = turn.exclude(role=Turn.Role.SYSTEM).first()
    if found is None:
        raise AnswerRefused("turn", _("There is no turn %d in this conversation.") % number)
    return found
