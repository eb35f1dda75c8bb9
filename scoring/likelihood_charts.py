"""Densities of the path likelihoods of a workflow: conformant dialogues, and forks by k."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from scoring.charts import INKS, Figure, axis, layout
from scoring.densities import Density, common_grid, density
from scoring.leaderboard_tables import CONFORMANT

KS = (1, 2, 3, 4)
# A curve may rise this far towards the base of the one above it.
RISE = 0.9
Samples = Sequence[tuple[str, Sequence[float | None]]]


def ridges(
    fork_type: str, found: Mapping[str, Mapping[int, Sequence[float | None]]], of: str
) -> Figure | None:
    """One curve per set, one above the other: conformant on top, then k = 4 to k = 1.

    `found` holds likelihoods by condition and k (0 for conformant dialogues), None where a dialogue
    has none. A set with too few distinct values is a spike at its value. None where there is no
    conformant dialogue or no fork of the type.
    """
    forks = found.get(fork_type) or {}
    if not found.get(CONFORMANT) or not forks:
        return None
    samples: Samples = [(CONFORMANT, found[CONFORMANT].get(0, ()))] + [
        (f"k = {k}", forks[k]) for k in reversed(KS) if k in forks
    ]
    # All types of a workflow share the grid, so that their figures can be read side by side.
    grid = common_grid(*(values for by_k in found.values() for values in by_k.values()))
    curves = [(name, density(values, grid), len(values)) for name, values in samples]
    if not any(curve.rug for _, curve, _ in curves):
        return None
    highest = max((max(curve.height) for _, curve, _ in curves if curve.height), default=1.0)
    names = [name for name, _, _ in curves]
    return Figure(
        name=f"likelihoods-{fork_type}",
        heading=_heading(fork_type, curves),
        note=f"Path likelihood of each dialogue under the flow graph, {of}. Kernel density with "
        f"Scott's bandwidth; all areas are equal. n = {_counts(curves)} from the top.",
        label=f"Densities of path likelihoods, {fork_type}; medians: "
        + "; ".join(f"{name} {_median(curve)}" for name, curve, _ in curves),
        drawing={
            "data": [
                trace
                for place, (name, curve, _) in enumerate(curves)
                for trace in _ridge(curve, len(curves) - 1 - place, highest, _ink(fork_type, name))
            ],
            "layout": layout(
                90 + 52 * len(curves),
                axis("path likelihood"),
                axis(
                    showgrid=False,
                    ticks="",
                    range=[-0.15, len(curves) + 0.1],
                    tickmode="array",
                    tickvals=list(range(len(curves)))[::-1],
                    ticktext=names,
                ),
                margin={"l": 8, "r": 12, "t": 4, "b": 40},
            ),
        },
        columns=("set", "n", "without a value", "5 %", "50 %", "95 %", "note"),
        rows=[_row(name, curve, n) for name, curve, n in curves],
        points=(
            ("set", "likelihood", "density"),
            [
                (name, x, y)
                for name, curve, _ in curves
                for x, y in zip(curve.grid, curve.height, strict=True)
            ],
        ),
    )


def _counts(curves: Sequence[tuple[str, Density, int]]) -> str:
    return ", ".join(f"{n:,}" for _, _, n in curves)


def _heading(fork_type: str, curves: Sequence[tuple[str, Density, int]]) -> str:
    medians = [float(np.median(c.rug)) for name, c, _ in curves if c.rug and name != CONFORMANT]
    falls = all(a > b for a, b in pairwise(medians))
    if len(medians) > 1 and falls:
        return f"{fork_type}: the earlier the fork, the lower the median likelihood"
    return f"{fork_type}: the medians of the four k do not fall in order"


def _median(curve: Density) -> str:
    return f"{np.median(curve.rug):.3g}" if curve.rug else "none"


def _ink(fork_type: str, name: str) -> str:
    return INKS[CONFORMANT] if name == CONFORMANT else INKS[fork_type]


def _ridge(curve: Density, base: int, highest: float, ink: str) -> list[dict[str, Any]]:
    """The curve of a set above its base, filled towards it; a spike where there is no density."""
    line = {"color": ink, "width": 2}
    if not curve.height:
        if not curve.rug:
            return []
        at = curve.rug[0]
        spike = {"x": [at, at], "y": [base, base + RISE], "mode": "lines", "line": line}
        note = {
            "x": [at],
            "y": [base + RISE / 2],
            "mode": "text",
            "text": [curve.reason],
            "textposition": "middle right",
        }
        return [{"type": "scatter", "hoverinfo": "skip", **each} for each in (spike, note)]
    floor = {
        "type": "scatter",
        "mode": "lines",
        "x": [curve.grid[0], curve.grid[-1]],
        "y": [base, base],
        "line": {"color": "--line-strong", "width": 1},
        "hoverinfo": "skip",
    }
    body = {
        "type": "scatter",
        "mode": "lines",
        "x": curve.grid,
        "y": [round(base + RISE * height / highest, 5) for height in curve.height],
        "fill": "tonexty",
        "fillcolor": "--surface-3",
        "line": line,
        "hoverinfo": "skip",
    }
    return [floor, body]


def _row(name: str, curve: Density, n: int) -> tuple[Any, ...]:
    if not curve.rug:
        return (name, n, curve.left_out, None, None, None, "no value")
    spread = (float(q) for q in np.percentile(curve.rug, (5, 50, 95)))
    return (name, n, curve.left_out, *spread, curve.reason)
