"""The way a person walks through a study: consent, instructions, practice, items, questions."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from django.utils import timezone

from annotation.models import Assignment, Item, Seat, Study

BEFORE = ("consent", "instructions", "practice")
AFTER = ("questionnaire",)


def walk(study: Study) -> list[str]:
    """The phases of `study` in order; the items and the end are always among them."""
    chosen = set(study.phases)
    before = [phase for phase in BEFORE if phase in chosen]
    after = [phase for phase in AFTER if phase in chosen]
    return [*before, Seat.Phase.MAIN, *after, Seat.Phase.DONE]


def first(study: Study) -> str:
    """Where a person begins."""
    return walk(study)[0]


def advance(seat: Seat, done: str) -> bool:
    """Lead on from the phase `done`; False, and nothing changes, when the seat is not there.

    Reaching the end finishes the seat.
    """
    way = walk(seat.study)
    if done not in way or done == Seat.Phase.DONE:
        return False
    following = way[way.index(done) + 1]
    change: dict[str, Any] = {"phase": following}
    if following == Seat.Phase.DONE:
        change |= {"state": Seat.State.FINISHED, "finished_at": timezone.now()}
    moved = Seat.objects.filter(pk=seat.pk, phase=done, state=Seat.State.ACTIVE).update(**change)
    for name, value in change.items() if moved else ():
        setattr(seat, name, value)
    return bool(moved)


def waiting(seat: Seat) -> Assignment | None:
    """The next item of the phase the seat is in; None when none is left, or it has no items."""
    if seat.phase not in (Seat.Phase.MAIN, Seat.Phase.PRACTICE):
        return None
    items = seat.assignments.unfinished().order_by("rank")
    practice = seat.phase == Seat.Phase.PRACTICE
    kind = {"item__kind": Item.Kind.PRACTICE}
    return (items.filter(**kind) if practice else items.exclude(**kind)).first()


def next_url(seat: Seat) -> str:
    """Where the person of `seat` goes on: the open item, or the page of the phase."""
    if assignment := waiting(seat):
        return reverse("annotation:item", args=[assignment.token])
    return reverse("annotation:seat", args=[seat.pseudonym])
