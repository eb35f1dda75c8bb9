"""Figures of task 3: onset errors per type, and the Score as the threshold moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scoring.charts import INKS, Figure, axis, layout, line_numbers, plain
from scoring.leaderboard_charts import DASHES
from scoring.leaderboard_tables import CONFORMANT, Entry

MOST_LINES = 6
WIDEST_ERROR = 12


def error_histograms(
    by_type: Mapping[str, Mapping[str, int]], types: Sequence[str], of: str
) -> list[Figure]:
    """Signed onset errors (alarm turn minus fork turn) of each type that has a flagged fork.

    `by_type` maps the error (as text, in turns) to how often it occurred. All figures have the same
    axes; errors beyond WIDEST_ERROR are collected in the outermost bars.
    """
    binned = {name: _bins(by_type.get(name) or {}) for name in types}
    highest = max((max(bins.values()) for bins in binned.values()), default=0)
    return [
        _histogram(name, by_type[name], binned[name], highest, of)
        for name in types
        if any(binned[name].values())
    ]


def _bins(counts: Mapping[str, int]) -> dict[int, int]:
    bins: dict[int, int] = dict.fromkeys(range(-WIDEST_ERROR, WIDEST_ERROR + 1), 0)
    for error, n in counts.items():
        bins[min(max(int(error), -WIDEST_ERROR), WIDEST_ERROR)] += n
    return bins


def _histogram(
    fork_type: str, counts: Mapping[str, int], bins: Mapping[int, int], highest: int, of: str
) -> Figure:
    pairs = sorted((int(error), n) for error, n in counts.items())
    total = sum(n for _, n in pairs)
    hit = dict(pairs).get(0, 0)
    bars = {
        "type": "bar",
        "x": list(bins),
        "y": list(bins.values()),
        "marker": {"color": INKS[fork_type]},
        "hovertemplate": "%{x} turns: %{y} forks<extra></extra>",
    }
    note = (
        f"Alarm turn minus fork turn, {of}. Left of the upright: before the fork. n = {total:,} "
        f"flagged forks; the outermost bars collect {WIDEST_ERROR} turns and more."
    )
    return Figure(
        name=f"errors-{fork_type}",
        heading=f"{fork_type}: {100 * hit / total:.0f} % of the flagged forks at the exact turn",
        note=note,
        label=f"Histogram of onset errors of {fork_type}: {hit} of {total} exact, "
        f"{sum(n for error, n in pairs if error < 0)} early, "
        f"{sum(n for error, n in pairs if error > 0)} late",
        drawing={
            "data": [bars],
            "layout": layout(
                260,
                axis("error, turns", showgrid=False, dtick=4, range=[-12.8, 12.8]),
                axis("forks", range=[0, highest * 1.05]),
                margin={"l": 44, "r": 12, "t": 12, "b": 40},
                bargap=0.15,
                shapes=[
                    {
                        "type": "line",
                        "x0": 0,
                        "x1": 0,
                        "yref": "paper",
                        "y0": 0,
                        "y1": 1,
                        "layer": "below",
                        "line": {"color": "--fork", "width": 2},
                    }
                ],
            ),
        },
        columns=("error in turns", "forks"),
        rows=pairs,
    )


def score_curves(entries: Sequence[Entry], key: str) -> Figure | None:
    """Score against the rate of false alarms as the threshold moves, for the first entries.

    Each entry's cell `key` carries "curve" in its detail. A point without a Score is not drawn.
    """
    lines = [(entry, curve_of(entry, key)) for entry in entries]
    every = [(entry, points) for entry, points in lines if len(points) > 1]
    shown = every[:MOST_LINES]
    if not shown:
        return None
    peaks = [max(points, key=lambda p: p["score"]) for _, points in shown]
    top = max(range(len(shown)), key=lambda place: peaks[place]["score"])
    note = "Each point is a threshold. Disc: the threshold of the run."
    if len(every) > len(shown):
        note += f" The first {len(shown)} of {len(every)} rows with a curve."
    return Figure(
        name="curve",
        heading=f"{shown[top][0].label} reaches a Score of {peaks[top]['score']:.1f} at "
        f"{peaks[top]['false_alarms']:.0f} % false alarms",
        note=note,
        label="Score against false alarms: "
        + "; ".join(
            f"{entry.name} at most {peak['score']:.1f} at {peak['false_alarms']:.0f} %"
            for (entry, _), peak in zip(shown, peaks, strict=True)
        ),
        drawing={
            "data": [
                trace
                for place, (entry, points) in enumerate(shown)
                for trace in _curve(entry, points, key, place)
            ],
            "layout": layout(
                420,
                axis("false alarms, % of conformant dialogues", rangemode="tozero"),
                axis("Score", rangemode="tozero"),
                margin={"l": 44, "r": 24, "t": 12, "b": 44},
                annotations=line_numbers(
                    [(points[-1]["false_alarms"], points[-1]["score"]) for _, points in shown],
                    height=300,
                ),
            ),
        },
        columns=(
            "method",
            "run",
            "alpha",
            "false alarms",
            "forks flagged",
            "error",
            "conformant error",
            "Score",
        ),
        rows=[
            (
                entry.name,
                entry.run,
                *(
                    point.get(name)
                    for name in (
                        "alpha",
                        "false_alarms",
                        "coverage",
                        "error",
                        "conformant_error",
                        "score",
                    )
                ),
            )
            for entry, points in shown
            for point in points
        ],
        key=[entry.name for entry, _ in shown],
    )


def curve_of(entry: Entry, key: str) -> list[Mapping[str, Any]]:
    """The points of an entry's curve that have a Score, by rate of false alarms."""
    cell = entry.cells.get(key)
    points = cell.detail.get("curve") or [] if cell else []
    defined = [
        p for p in points if p.get("score") is not None and p.get("false_alarms") is not None
    ]
    return sorted(defined, key=lambda p: (p["false_alarms"], p.get("alpha") or 0.0))


def _curve(
    entry: Entry, points: Sequence[Mapping[str, Any]], key: str, place: int
) -> list[dict[str, Any]]:
    line = {
        "type": "scatter",
        "mode": "lines",
        "name": plain(entry.name),
        "x": [point["false_alarms"] for point in points],
        "y": [point["score"] for point in points],
        "line": {"color": "--text-2", "width": 1.75, "dash": DASHES[place % len(DASHES)]},
        "hovertemplate": "%{fullData.name}: Score %{y:.1f} at %{x:.1f} %<extra></extra>",
    }
    rate = entry.cells.get(f"false_alarms-{CONFORMANT}")
    score = entry.cells[key].value
    if rate is None or rate.value is None or score is None:
        return [line]
    mark = {
        "type": "scatter",
        "mode": "markers",
        "name": plain(entry.name),
        "x": [rate.value],
        "y": [score],
        "marker": {"color": "--text", "size": 9},
        "hovertemplate": "%{fullData.name}, as run: %{y:.1f}<extra></extra>",
    }
    return [line, mark]
