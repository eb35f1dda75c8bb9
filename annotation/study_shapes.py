"""How large a study is and how it is balanced: the numbers it is drawn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from annotation.design import POSITIONS, TYPES

MOST_SEATS, MOST_PER_SEAT = 2000, 400


@dataclass(frozen=True, slots=True)
class Shape:
    """Everything the draw depends on besides the candidates and the seed.

    `n_simulated` of the `n_seats` seats are simulated. `workflows` restricts the study to
    workflows of these names; empty: all. Practice and attention items come on top, in every seat.
    """

    n_seats: int
    n_simulated: int = 0
    forks_per_seat: int = 16
    conformant_per_seat: int = 2
    overlap: float = 0.2
    foil_share: float = 0.5
    types: Sequence[str] = TYPES
    positions: Sequence[int] = POSITIONS
    workflows: Sequence[str] = ()
    n_practice: int = 0
    n_attention: int = 0

    def problem(self) -> str:
        """What is out of range, in a sentence; "" if nothing is.

        Shares, types and positions are checked by the draw.
        """
        for name, (what, low, high) in LIMITS.items():
            value = getattr(self, name)
            if not low <= value <= high:
                return f"{what} is {value}; it must be a number from {low} to {high}."
        if self.n_simulated > self.n_seats:
            return f"Of {self.n_seats} seats {self.n_simulated} cannot be simulated."
        return ""

    def as_dict(self) -> dict[str, Any]:
        """JSON values, under the names of the fields."""
        return {
            name: list(value) if isinstance(value, list | tuple) else value
            for name, value in asdict(self).items()
        }


LIMITS = {
    "n_seats": ("The number of seats", 1, MOST_SEATS),
    "n_simulated": ("The number of simulated seats", 0, MOST_SEATS),
    "forks_per_seat": ("The number of forks of a seat", 0, MOST_PER_SEAT),
    "conformant_per_seat": ("The number of conformant dialogues of a seat", 0, MOST_PER_SEAT),
    "n_practice": ("The number of practice items", 0, 20),
    "n_attention": ("The number of attention items", 0, 20),
}


def shape_of(design: Mapping[str, Any], *, n_seats: int, n_simulated: int = 0) -> Shape:
    """The shape stored in a study's `design`; one drawn before all was stored has our defaults."""
    known = {f.name for f in fields(Shape)}
    stored = {name: value for name, value in design.items() if name in known}
    return Shape(**{"n_seats": n_seats, "n_simulated": n_simulated} | stored)
