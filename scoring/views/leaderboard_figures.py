"""Which figures a leaderboard shows, for which of its runs."""

from __future__ import annotations

from django.core.exceptions import BadRequest

from benchmark.records import FORK_TYPES
from scoring import leaderboard_charts, onset_charts
from scoring.charts import Figure
from scoring.leaderboard_tables import AVERAGE, Entry
from scoring.leaderboards import Board, Choice

SCORE = f"score-{AVERAGE}"


def figures_of(board: Board, chosen: Choice, run: int | None) -> list[Figure]:
    """The figures that have something to show. `run` picks the run that single ones are about.

    Raises BadRequest for a run that is not on the board.
    """
    rows = [*board.entries, *board.controls]
    if run is not None and run not in {entry.run for entry in rows}:
        raise BadRequest(f"run is {run}; it must be one of {_runs(rows)}.")
    first = board.columns[0].statistic
    drawn: list[Figure | None] = [
        leaderboard_charts.type_bars(rows, column)
        for column in board.columns
        if column.statistic == first and column.group in FORK_TYPES
    ]
    drawn.append(leaderboard_charts.by_encoder(rows, board.main))
    if chosen.task == "task3":
        drawn.append(onset_charts.score_curves(board.entries, SCORE))
        drawn += histograms(board.entries, chosen, run)
    return [figure for figure in drawn if figure]


def _runs(rows: list[Entry]) -> str:
    return ", ".join(str(entry.run) for entry in rows) or "none: there is no run yet"


def histograms(entries: list[Entry], chosen: Choice, run: int | None) -> list[Figure | None]:
    """Onset errors per type of one run: the one asked for, else the first with a histogram."""
    able = [e for e in entries if SCORE in e.cells and e.cells[SCORE].detail.get("histogram")]
    of = next((entry for entry in able if run in (None, entry.run)), None)
    if of is None:
        return []
    counts = of.cells[SCORE].detail["histogram"]
    types = [chosen.fork_type] if chosen.fork_type else FORK_TYPES
    return [
        onset_charts.error_histogram(name, counts.get(name), f"{of.name} (run {of.run})")
        for name in types
    ]
