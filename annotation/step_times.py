"""How long a step took: opened, first input, submitted, and the time somebody was at it.

All times are the server's. The browser says how many milliseconds it was visible and in use since
it last said so; more than has passed here since then is not believed, so that neither a wrong clock
nor a second tab can count a second twice.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from annotation.models import Assignment, StepTime

MILLISECOND = timedelta(milliseconds=1)
# What fits the column; no step takes 24 days.
LONGEST_MS = 2**31 - 1
READ = ("first_input_at", "beat_at", "submitted_at", "active_ms")


def now() -> datetime:
    """The clock of all times of steps."""
    return timezone.now()


def opened(assignment: Assignment, step: str) -> None:
    """Note when a step was first shown; later times change nothing."""
    StepTime.objects.bulk_create(
        [StepTime(assignment=assignment, step=step, opened_at=now())], ignore_conflicts=True
    )


def beat(assignment: Assignment, step: str, active_ms: int, *, entered: bool = False) -> int:
    """Add `active_ms` of use since the last beat, and return how much of it was counted.

    Counted is at most what passed since the last beat, or since the step was opened; after the
    answer, up to the answer. With `entered` the first such beat is the time of the first input.

    Raises ValueError for a negative number.
    """
    if active_ms < 0:
        raise ValueError("active_ms must be 0 or more.")
    while True:
        time = _stored(assignment, step)
        counted, change = _counted(time, active_ms, entered)
        # No lock, which would take three statements more: what is written stands on what was read,
        # and whoever was faster leaves no time to count, so that this ends.
        read = {name: getattr(time, name) for name in READ}
        if not change or StepTime.objects.filter(pk=time.pk, **read).update(**change):
            return counted


def _counted(time: StepTime, active_ms: int, entered: bool) -> tuple[int, dict[str, Any]]:
    """How much of `active_ms` is believed, and what changes by it."""
    change: dict[str, Any] = {}
    moment = now()
    end = min(moment, time.submitted_at or moment)
    since = max(time.opened_at, time.beat_at or time.opened_at)
    counted = max(0, min(active_ms, (end - since) // MILLISECOND))
    if entered and time.first_input_at is None:
        change["first_input_at"] = end
    if counted:
        change |= {"active_ms": min(LONGEST_MS, time.active_ms + counted), "beat_at": end}
    return counted, change


def submitted(assignment: Assignment, step: str) -> None:
    """Note when a step was first answered; a repeated answer changes nothing."""
    moment = now()
    mine = StepTime.objects.filter(assignment=assignment, step=step)
    if mine.filter(submitted_at=None).update(submitted_at=moment) or mine.exists():
        return
    # Answered without the page: there was no time on it.
    StepTime.objects.bulk_create(
        [StepTime(assignment=assignment, step=step, opened_at=moment, submitted_at=moment)],
        ignore_conflicts=True,
    )


def _stored(assignment: Assignment, step: str) -> StepTime:
    mine = StepTime.objects.filter(assignment=assignment, step=step)
    found = mine.first()
    if found is None:
        opened(assignment, step)
        found = mine.get()
    return found
