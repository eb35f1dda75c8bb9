"""Which figures a leaderboard shows, for which of its runs."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.exceptions import BadRequest

from benchmark.records import FORK_TYPES
from scoring import leaderboard_charts, likelihood_charts, onset_charts
from scoring.charts import Figure
from scoring.leaderboard_tables import AVERAGE, Entry
from scoring.leaderboards import FLOW_METHODS, Board, Choice, likelihoods

SCORE = f"score-{AVERAGE}"


def figures_of(board: Board, chosen: Choice, picked: Entry | None) -> list[Figure]:
    """The figures that have something to show; `picked` is the run that single ones are about."""
    rows = [*board.entries, *board.controls]
    first = board.columns[0].statistic
    typed = [c for c in board.columns if c.statistic == first and c.group in FORK_TYPES]
    drawn: list[Figure | None] = [
        leaderboard_charts.type_bars(rows, column, beside=typed) for column in typed
    ]
    drawn.append(leaderboard_charts.by_encoder(rows, board.main))
    if chosen.task == "task3":
        drawn.append(onset_charts.score_curves(board.entries, SCORE))
    if picked:
        drawn += densities(board, chosen, picked) + histograms(chosen, picked)
    return [figure for figure in drawn if figure]


def single_runs(board: Board, chosen: Choice) -> list[Entry]:
    """The runs that a figure of one run can be about: FlowKL in task 1, detectors in task 3."""
    rows = [*board.entries, *board.controls]
    if chosen.task == "task1":
        return [entry for entry in rows if entry.method in FLOW_METHODS]
    return [e for e in rows if SCORE in e.cells and e.cells[SCORE].detail.get("histogram")]


def pick(able: Sequence[Entry], run: int | None) -> Entry | None:
    """The run asked for, else the first. Raises BadRequest for one that has no such figure."""
    found = next((entry for entry in able if run in (None, entry.run)), None)
    if found is None and run is not None:
        allowed = ", ".join(str(entry.run) for entry in able) or "left out"
        raise BadRequest(f"run is {run}; it must be one of {allowed}.")
    return found


def histograms(chosen: Choice, of: Entry) -> list[Figure]:
    """Onset errors per type."""
    if SCORE not in of.cells:
        return []
    counts = of.cells[SCORE].detail["histogram"]
    return onset_charts.error_histograms(counts, types(chosen), f"{of.name} (run {of.run})")


def densities(board: Board, chosen: Choice, of: Entry) -> list[Figure | None]:
    """Likelihoods of one workflow: the one filtered for, else the first."""
    workflow = chosen.workflow or next(iter(board.workflows), "")
    if of.method not in FLOW_METHODS or not workflow:
        return []
    found = likelihoods(of.run, workflow)
    words = f"workflow {workflow}, {of.name} (run {of.run})"
    return [likelihood_charts.ridges(name, found, words) for name in types(chosen)]


def types(chosen: Choice) -> Sequence[str]:
    return (chosen.fork_type,) if chosen.fork_type else FORK_TYPES
