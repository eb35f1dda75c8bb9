"""What people are owed: their active time at the promised rate, and whether the reward is fair.

Active time is what `StepTime` counts: a visible page that is in use, on every item of the seat,
practice and attention items too, finished or not. Reading the consent and the instructions is not
in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from statistics import median
from typing import Any

from django.db.models import Sum

from annotation.models import Seat, StepTime, Study

CENT = Decimal("0.01")
COLUMNS = (
    "annotator",
    "seat",
    "state",
    "taken_at",
    "last_active_at",
    "items_finished",
    "items_of",
    "active_seconds",
    "rate_per_hour",
    "currency",
    "amount",
)


@dataclass(frozen=True, slots=True)
class Fairness:
    """`median_seconds` over the seats that are finished (None without one). With `minutes` per
    seat paid for, `hourly` is what the median person earned an hour, and `fair` whether that is
    the promised rate at least; both None where there is nothing to compare."""

    n_seats: int
    median_seconds: float | None
    minutes: int | None = None
    reward: Decimal | None = None
    hourly: Decimal | None = None
    fair: bool | None = None

    @property
    def median_in_words(self) -> str:
        return in_words(round((self.median_seconds or 0) * 1000))


def active_ms(study: Study) -> dict[int, int]:
    """Active milliseconds by key of the seat; seats without any are left out. One query."""
    times = StepTime.objects.filter(assignment__seat__study=study)
    rows = times.values("assignment__seat").annotate(ms=Sum("active_ms")).order_by()
    return {row["assignment__seat"]: row["ms"] for row in rows}


def amount(milliseconds: int, rate: Decimal | None) -> Decimal | None:
    """Time at `rate` per hour, to the cent, halves up; None without a rate.

    >>> amount(1_800_000, Decimal("9.99"))
    Decimal('5.00')
    """
    if rate is None:
        return None
    return (Decimal(milliseconds) * rate / 3_600_000).quantize(CENT, ROUND_HALF_UP)


def fairness(study: Study, people: Iterable[Any], minutes: int | None = None) -> Fairness:
    """The median active time of finished seats against the promised rate.

    `people` are seats with `active_ms` (see `people.rows`); `minutes` is the time that the reward
    of a seat pays for at the promised rate.
    """
    times = [one.active_ms for one in people if one.state == Seat.State.FINISHED and one.active_ms]
    middle = median(times) if times else None
    rate = study.rate_per_hour
    reward = amount(minutes * 60_000, rate) if minutes else None
    hourly = fair = None
    if reward is not None and rate is not None and middle:
        hourly = (reward * 3_600_000 / Decimal(middle)).quantize(CENT, ROUND_HALF_UP)
        fair = hourly >= rate
    return Fairness(
        len(times), middle / 1000 if middle is not None else None, minutes, reward, hourly, fair
    )


def ledger(study: Study, people: Iterable[Any]) -> list[Sequence[Any]]:
    """One row per taken seat in the order of COLUMNS; times are UTC, no person is named."""
    return [
        (
            one.pseudonym,
            one.number,
            one.state,
            stamp(one.taken_at),
            stamp(one.last_active_at),
            one.done,
            one.total,
            round(one.active_ms / 1000),
            study.rate_per_hour,
            study.currency,
            amount(one.active_ms, study.rate_per_hour),
        )
        for one in people
        if one.taken_at
    ]


def in_words(milliseconds: int | None) -> str:
    """Time as people say it: "1 h 05 min", "12 min 40 s", "40 s"; "0 s" for None.

    >>> [in_words(ms) for ms in (3_900_000, 720_000, 40_400, None)]
    ['1 h 05 min', '12 min', '40 s', '0 s']
    """
    seconds = round((milliseconds or 0) / 1000)
    hours, minutes = divmod(seconds // 60, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    parts = [f"{minutes} min"] if minutes else []
    if seconds % 60 or not minutes:
        parts.append(f"{seconds % 60} s")
    return " ".join(parts)


def stamp(at: datetime | None) -> str | None:
    """ISO 8601 in UTC with a Z."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ") if at else None
