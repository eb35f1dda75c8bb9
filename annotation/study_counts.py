"""How far a study is: four numbers, defined here and nowhere else.

Only judgements proper count, each once: no practice and no attention items, no second attempt at a
reopened item, and nothing that was taken away unfinished.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q, QuerySet

from annotation.models import Assignment, Seat, Study
from annotation.models.studies import AssignmentQuerySet
from annotation.phases import COUNTED, FINISHED

AGGREGATES: dict[str, Count] = {
    "assigned": Count("pk"),
    "completed": Count("pk", filter=FINISHED),
    "in_progress": Count("pk", filter=Q(opened_at__isnull=False) & ~FINISHED),
}
PEOPLE, SIMULATED = False, True


@dataclass(frozen=True, slots=True)
class Counters:
    """`assigned` = `completed` + `needed`; `in_progress` are those of `needed` that were opened.

    Skipped items are among the completed: nobody is asked for them again.
    """

    assigned: int = 0
    completed: int = 0
    in_progress: int = 0

    @property
    def needed(self) -> int:
        return self.assigned - self.completed


@dataclass(frozen=True, slots=True)
class Places:
    """Seats of people: `taken` of `seats` have a person, `finished` of these are done.

    Who took over a seat that was left counts in its place.
    """

    seats: int = 0
    taken: int = 0
    finished: int = 0
    simulated: int = 0


def counted(assignments: AssignmentQuerySet) -> AssignmentQuerySet:
    """Those of `assignments` that count."""
    return assignments.main().filter(COUNTED)


def counters(assignments: AssignmentQuerySet) -> Counters:
    """The numbers over `assignments`, in one query."""
    return Counters(**counted(assignments).aggregate(**AGGREGATES))


def by_study(studies: Iterable[Study]) -> dict[tuple[int, bool], Counters]:
    """(study id, simulated) -> its numbers, for any number of studies in one query."""
    mine = Assignment.objects.filter(seat__study__in=list(studies))
    rows = counted(mine).values("seat__study", "seat__simulated").annotate(**AGGREGATES)
    return {
        (row["seat__study"], row["seat__simulated"]): Counters(
            **{name: row[name] for name in AGGREGATES}
        )
        for row in rows.order_by("seat__study", "seat__simulated")
    }


def by_seat(seats: QuerySet[Seat]) -> dict[int, Counters]:
    """seat id -> its numbers, in one query; a seat without any has none."""
    rows = counted(Assignment.objects.filter(seat__in=seats)).values("seat").annotate(**AGGREGATES)
    return {
        row["seat"]: Counters(**{name: row[name] for name in AGGREGATES})
        for row in rows.order_by("seat")
    }


def places(studies: Iterable[Study]) -> dict[int, Places]:
    """study id -> its places, in one query."""
    held = Q(simulated=False, successor=None)
    taken = held & ~Q(state=Seat.State.FREE)
    rows: Any = (
        Seat.objects.filter(study__in=list(studies))
        .values("study")
        .annotate(
            seats=Count("pk", filter=held),
            taken=Count("pk", filter=taken),
            finished=Count("pk", filter=held & Q(state=Seat.State.FINISHED)),
            simulated_seats=Count("pk", filter=Q(simulated=True)),
        )
        .order_by("study")
    )
    return {
        row["study"]: Places(row["seats"], row["taken"], row["finished"], row["simulated_seats"])
        for row in rows
    }
