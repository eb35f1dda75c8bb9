"""People take their seats and see where they stand. Studies are drawn in `launching`."""

from __future__ import annotations

from typing import Any

from annotation import phases, seating
from annotation.launching import create_study
from annotation.models import Seat, Study
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
    """The studies of `user` as `phases.cards` gives them; none for who can see the conditions."""
    return [] if knows_conditions(user) else phases.cards(user)
