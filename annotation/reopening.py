"""A finished item is opened once more: as a new attempt that is never counted as blind."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import Max

from annotation import auditing, commitments
from annotation.models import Assignment, Item, Seat


class ReopenRefused(ValueError):
    """An item that cannot be opened again; the message says why."""


@transaction.atomic
def reopen(assignment: Assignment, actor: Any) -> Assignment:
    """Give the person of `assignment` the same item again, after the items they have.

    What was answered stays. The new attempt is marked `post_reveal`, because the item has been
    seen in full before. A seat that was finished goes on with it.

    Raises ReopenRefused where the item is not finished, is no judgement proper, or has no person.
    """
    seat = commitments.lock(assignment.seat_id)
    _check(seat, assignment)
    places = seat.assignments.aggregate(rank=Max("rank"))
    tries = seat.assignments.filter(item=assignment.item_id)
    if tries.filter(finished_at=None, ended="").exists():
        raise ReopenRefused("The item is open: its person can answer it.")
    again = Assignment.objects.create(
        item_id=assignment.item_id,
        seat=seat,
        rank=places["rank"] + 1,
        attempt=tries.aggregate(last=Max("attempt"))["last"] + 1,
        post_reveal=True,
    )
    Seat.objects.filter(pk=seat.pk, state=Seat.State.FINISHED).update(
        state=Seat.State.ACTIVE, phase=Seat.Phase.MAIN, finished_at=None
    )
    auditing.record(
        "assignment.reopened",
        actor=actor,
        seat=seat,
        item=assignment.rank,
        attempt=again.attempt,
    )
    return again


def _check(seat: Seat, assignment: Assignment) -> None:
    if assignment.item.kind != Item.Kind.MAIN:
        raise ReopenRefused("Practice and attention items are not opened again.")
    if seat.simulated or seat.user_id is None:
        raise ReopenRefused("Nobody sits in this seat.")
    if seat.state not in (Seat.State.ACTIVE, Seat.State.PAUSED, Seat.State.FINISHED):
        raise ReopenRefused(
            f"The seat is {seat.get_state_display().lower()}: it takes no answers any more."
        )
