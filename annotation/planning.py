"""The plan of a study, read from its stored items: what people will meet, and what it will tell."""

from __future__ import annotations

from dataclasses import dataclass

from annotation import plan_tables
from annotation.imagined_judges import Strength
from annotation.interval_forecasts import Forecasts, forecast
from annotation.models import Assignment, Item, Study
from annotation.plan_tables import Planned
from benchmark.models import Fork


@dataclass(frozen=True, slots=True)
class Plan:
    """The main items of every seat as drawn, and how many others there are."""

    rows: list[Planned]
    practice: int
    attention: int

    def forecast(self, strength: Strength, *, draws: int, seed: int) -> Forecasts | None:
        """The widths of the report's intervals to be expected; None without items."""
        if not self.rows:
            return None
        return forecast(plan_tables.layout(self.rows), strength, draws=draws, seed=seed)


def plan_of(study: Study) -> Plan:
    """Read the design of `study` in three queries, whatever its size.

    Seats that took over another's items and second attempts are no part of the design.
    """
    forks = _forks(study)
    kinds = dict.fromkeys(Item.Kind.values, 0)
    for kind in study.items.values_list("kind", flat=True):
        kinds[kind] += 1
    drawn = (
        Assignment.objects.main()
        .filter(seat__study=study, seat__succeeds=None, attempt=1)
        .order_by("seat__number", "rank")
        .values_list(
            "seat__number",
            "item_id",
            "item__dialogue_id",
            "item__dialogue__workflow__name",
            "item__is_foil",
            "item__dialogue__n_assistant_turns",
        )
    )
    rows = []
    for seat, item, dialogue, workflow, is_foil, turns in drawn:
        source, type_, k, fork = forks.get(dialogue, (dialogue, "", 0, 0))
        rows.append(Planned(seat, item, source, workflow or "", type_, k, is_foil, fork, turns))
    return Plan(rows, kinds[Item.Kind.PRACTICE], kinds[Item.Kind.ATTENTION])


def _forks(study: Study) -> dict[int, tuple[int, str, int, int]]:
    """dialogue id -> (source id, type, k, fork in assistant turns) of its first injection."""
    forks = Fork.objects.filter(dialogue__items__study=study).order_by("-ordinal")
    rows = forks.values_list("dialogue_id", "source_id", "type", "k", "fork_assistant_turn")
    return {dialogue: (source, type_, k, at) for dialogue, source, type_, k, at in rows}
