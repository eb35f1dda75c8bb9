"""The plan of a study of agent runs, read from its stored items."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.interval_forecasts import Forecasts
from annotation.models import Assignment, Study
from annotation.run_forecasts import RunStrength, forecast_runs, layout_of
from annotation.run_plan_tables import PlannedRun

FIELDS = (
    "seat__number",
    "item_id",
    "item__trajectory__corpus__slug",
    "item__trajectory__model",
    "item__trajectory__question",
    "item__trajectory__n_steps",
    "item__judge_answer_id",
)


@dataclass(frozen=True, slots=True)
class RunsPlan:
    """The runs of every seat as drawn."""

    rows: list[PlannedRun]

    def forecast(self, strength: RunStrength, *, draws: int, seed: int) -> Forecasts | None:
        """The widths of the report's intervals to be expected; None without runs."""
        if not self.rows:
            return None
        rows = self.rows
        layout = layout_of(
            [row.item for row in rows],
            [row.question for row in rows],
            [row.answered for row in rows],
        )
        return forecast_runs(layout, strength, draws=draws, seed=seed)


def plan_of_runs(study: Study) -> RunsPlan:
    """Read the design of `study` in one query, whatever its size.

    Seats that took over another's items and second attempts are no part of the design.
    """
    drawn = Assignment.objects.main().filter(seat__study=study, seat__succeeds=None, attempt=1)
    rows = drawn.order_by("seat__number", "rank").values_list(*FIELDS)
    return RunsPlan([PlannedRun(*row, answer is not None) for *row, answer in rows])
