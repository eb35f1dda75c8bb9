"""How large a study of agent runs is: the numbers it is drawn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from annotation.run_design import seats_needed
from annotation.study_shapes import MOST_PER_SEAT, MOST_SEATS

MOST_JUDGES = 20


@dataclass(frozen=True, slots=True)
class RunShape:
    """Everything the draw of runs depends on besides the runs and the seed.

    Each run is judged by `per_item` of the `n_seats` seats, of which `n_simulated` are simulated.
    With `n_seats` 0 there are as many as `runs_per_seat` asks for; with `runs_per_seat` 0 a seat
    holds as many as it takes. `models` and `questions` restrict the runs (empty: all), `limit`
    their number (0: all).
    """

    n_seats: int = 0
    n_simulated: int = 0
    per_item: int = 2
    runs_per_seat: int = 0
    limit: int = 0
    models: Sequence[str] = ()
    questions: Sequence[str] = ()

    # Agent runs have neither, and what asks any shape for them is answered.
    n_practice = 0
    n_attention = 0

    def problem(self) -> str:
        """What is out of range, in a sentence; "" if nothing is."""
        for name, (what, low, high) in LIMITS.items():
            value = getattr(self, name)
            if not low <= value <= high:
                return f"{what} is {value}; it must be a number from {low} to {high}."
        if not self.n_seats and not self.runs_per_seat:
            return "Give the number of seats, the number of runs of a seat, or both."
        if self.n_seats and self.n_simulated > self.n_seats:
            return f"Of {self.n_seats} seats {self.n_simulated} cannot be simulated."
        return ""

    def seats_for(self, n_runs: int) -> int:
        """How many seats there are when `n_runs` runs may be judged."""
        if self.n_seats:
            return self.n_seats
        judged = min(n_runs, self.limit or n_runs)
        return seats_needed(judged, per_item=self.per_item, runs_per_seat=self.runs_per_seat)

    def as_dict(self) -> dict[str, Any]:
        """JSON values, under the names of the fields."""
        return {
            name: list(value) if isinstance(value, list | tuple) else value
            for name, value in asdict(self).items()
        }


LIMITS = {
    "n_seats": ("The number of seats", 0, MOST_SEATS),
    "n_simulated": ("The number of simulated seats", 0, MOST_SEATS),
    "per_item": ("The number of judges of a run", 1, MOST_JUDGES),
    "runs_per_seat": ("The number of runs of a seat", 0, MOST_PER_SEAT),
    "limit": ("The number of runs", 0, 100_000),
}


def run_shape_of(design: Mapping[str, Any]) -> RunShape:
    """The shape stored in the `design` of a study of runs."""
    known = {f.name for f in fields(RunShape)}
    stored = {name: value for name, value in design.items() if name in known}
    return RunShape(**stored)
