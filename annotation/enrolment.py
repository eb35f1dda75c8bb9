"""People take their seats and see where they stand. Studies are drawn in `launching`."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Q
from django.urls import reverse

from annotation import seating
from annotation.launching import create_study
from annotation.models import Assignment, Seat, Study
from annotation.seating import EnrolmentRefused, knows_conditions

__all__ = ["EnrolmentRefused", "assign_seat", "create_study", "knows_conditions", "overview"]


def assign_seat(study: Study, user: Any) -> Seat:
    """Give `user` a seat of `study`; the seat they have, if they have one. See `seating.take`.

    Raises
    ------
    EnrolmentRefused
        if they know the conditions, the study is closed, or every seat is taken.
    """
    return seating.take(study, user)


def overview(user: Any) -> list[dict[str, Any]]:
    """The open studies of `user`, one dict each: title, done, skipped, total, left, next item.

    `next_number` and `next_url` are None when nothing is left; `started` says whether the next
    item has been opened before.
    """
    if knows_conditions(user):
        return []
    seats = (
        Seat.objects.filter(user=user, study__state=Study.State.OPEN)
        .select_related("study")
        .annotate(
            total=Count("assignments"),
            done=Count("assignments", filter=Q(assignments__finished_at__isnull=False)),
            skipped=Count("assignments__skip"),
        )
        .order_by("study_id")
    )
    waiting: dict[int, Assignment] = {}
    for assignment in Assignment.objects.of(user).unfinished().order_by("seat", "rank"):
        waiting.setdefault(assignment.seat_id, assignment)
    return [_card(seat, waiting.get(seat.pk)) for seat in seats]


def _card(seat: Any, following: Assignment | None) -> dict[str, Any]:
    return {
        "title": seat.study.title,
        "pseudonym": seat.pseudonym,
        "done": seat.done,
        "skipped": seat.skipped,
        "total": seat.total,
        "left": seat.total - seat.done,
        "next_number": following.rank if following else None,
        "next_url": reverse("annotation:item", args=[following.token]) if following else None,
        "started": bool(following and following.opened_at),
    }
