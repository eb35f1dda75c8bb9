"""Who sits in a study and how far they are: for researchers, without a name."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from annotation import auditing, pay
from annotation.models import Assignment, CrowdIdentity, Item, ProblemReport, Seat, StepTime, Study


def rows(study: Study) -> list[Any]:
    """The seats of people in `study`, by number, each with what the page of the people shows.

    Added to a seat: `total` and `done` (main items given, and finished; first attempts), `skipped`,
    `problems` (open reports), `active_ms`, `active` (in words) and `owed` (None without a rate).
    Three queries; no account is loaded.
    """
    problems = (
        ProblemReport.objects.filter(assignment__seat__study=study, resolved_at=None)
        .values_list("assignment__seat")
        .annotate(n=Count("pk"))
        .order_by()
    )
    reported = dict(problems)
    times = pay.active_ms(study)
    seats = list(_counted(study.seats.filter(simulated=False)).order_by("number"))
    for seat in seats:
        seat.problems = reported.get(seat.pk, 0)
        seat.active_ms = times.get(seat.pk, 0)
        seat.active = pay.in_words(seat.active_ms)
        seat.owed = pay.amount(seat.active_ms, study.rate_per_hour)
    return seats


def items(seat: Seat) -> list[Assignment]:
    """All items of a seat in order, each with `active_ms`, `active`, `started` (an answer was
    confirmed), `skipped` and `can_reopen`; one query."""
    times = StepTime.objects.filter(assignment=OuterRef("pk")).values("assignment").order_by()
    found = list(
        seat.assignments.select_related("item", "skip")
        .defer("item__instruction", "item__altered", "item__expected", "item__feedback")
        .annotate(
            active_ms=Subquery(times.annotate(ms=Sum("active_ms")).values("ms")),
            answered=Coalesce("slider__id", "review__id"),
        )
        .order_by("rank")
    )
    last = {one.item_id: one.pk for one in sorted(found, key=lambda one: one.attempt)}
    for one in found:
        one.active = pay.in_words(one.active_ms)
        one.skipped = hasattr(one, "skip")
        one.started = one.answered is not None
        one.can_reopen = (
            one.item.kind == Item.Kind.MAIN
            and bool(one.finished_at)
            and last[one.item_id] == one.pk
        )
    return found


def identities(study: Study, actor: Any) -> list[tuple[str, str, str]]:
    """Pseudonym, platform and id there, for every seat that has one; that it was asked is kept.

    People who came by themselves have no such id, and their account is not told.
    """
    found = list(
        CrowdIdentity.objects.filter(study=study, seat__isnull=False)
        .order_by("seat__number")
        .values_list("seat__pseudonym", "platform", "person")
    )
    auditing.record("identities.shown", actor=actor, study=study, people=len(found))
    return found


def _counted(seats: QuerySet[Seat]) -> QuerySet[Seat]:
    main = Q(assignments__item__kind=Item.Kind.MAIN, assignments__attempt=1)
    finished = Q(assignments__finished_at__isnull=False)
    # What was passed on unfinished is the next person's, here as on the bar and at home.
    kept = Q(assignments__ended="") | finished
    return seats.defer("resume_hash").annotate(
        total=Count("assignments", filter=main & kept),
        done=Count("assignments", filter=main & finished),
        skipped=Count("assignments__skip"),
    )
