"""Figures of what a corpus is made of: domains and tasks, lengths, both sides of a fork."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scoring.charts import INKS, SHAPES, Figure, axis, layout, plain
from scoring.composition_tables import ALL, CONFORMANT, AroundFork, Spread, WorkflowRow

NO_DOMAIN = "no domain"
INNER, OUTER, RIM = "--ramp-2", "--ramp-1", "--surface"


def domains(rows: Sequence[WorkflowRow]) -> Figure | None:
    """Two rings: conformant dialogues by domain, and by workflow within it; None without any."""
    counted = [row for row in rows if row.workflow != ALL and row.conformant.n]
    if not counted:
        return None
    names = list(dict.fromkeys(row.domain or NO_DOMAIN for row in counted))
    sums = {
        name: sum(row.conformant.n for row in counted if (row.domain or NO_DOMAIN) == name)
        for name in names
    }
    total = sum(sums.values())
    trace = {
        "type": "sunburst",
        "ids": [f"d/{name}" for name in names] + [f"w/{row.workflow}" for row in counted],
        "labels": [plain(name) for name in names] + [plain(row.workflow) for row in counted],
        "parents": [""] * len(names) + [f"d/{row.domain or NO_DOMAIN}" for row in counted],
        "values": list(sums.values()) + [row.conformant.n for row in counted],
        "branchvalues": "total",
        "sort": False,
        "insidetextorientation": "radial",
        "marker": {
            "colors": [INNER] * len(names) + [OUTER] * len(counted),
            "line": {"color": RIM, "width": 1.5},
        },
        "insidetextfont": {"color": "--text"},
        "hovertemplate": "%{label}: %{value} of " + str(total) + "<extra></extra>",
    }
    largest = max(counted, key=lambda row: row.conformant.n)
    return Figure(
        name="domains",
        heading=f"{len(names)} domains, {len(counted)} workflows",
        note="Conformant dialogues. Inner ring: domain. Outer ring: workflow. A name without room "
        "is in the table.",
        label=f"Sunburst of {total} conformant dialogues by domain and workflow; most are of "
        f"{largest.workflow}, {largest.conformant.n}",
        drawing={
            "data": [trace],
            "layout": {
                "height": 440,
                "margin": {"l": 4, "r": 4, "t": 4, "b": 4},
                "uniformtext": {"minsize": 11, "mode": "hide"},
            },
        },
        columns=("domain", "workflow", "conformant dialogues"),
        rows=[(row.domain, row.workflow, row.conformant.n) for row in counted],
    )


def lengths(rows: Sequence[WorkflowRow]) -> Figure | None:
    """Mean turns of conformant and forked dialogues, one line of two marks per workflow."""
    named = [row for row in rows if row.workflow != ALL]
    shown = [row for row in named if row.conformant.n or row.forks.n]
    if not shown or not any(row.forks.n for row in shown):
        return None
    shown.sort(key=lambda row: (row.conformant.mean_turns is None, row.conformant.mean_turns or 0))
    names = [plain(row.workflow) for row in shown]
    both = [row for row in shown if row.conformant.n and row.forks.n]
    longer = sum(row.forks.mean_turns > row.conformant.mean_turns for row in both)
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [x for row in both for x in (*_ends(row), None)],
            "y": [y for row in both for y in [plain(row.workflow)] * 2 + [None]],
            "line": {"color": "--line-strong", "width": 2},
            "hoverinfo": "skip",
        },
        _means(names, [row.conformant.mean_turns for row in shown], "conformant", "circle-open"),
        _means(names, [row.forks.mean_turns for row in shown], "forked", "circle"),
    ]
    return Figure(
        name="lengths",
        heading=f"Forks are longer than their conformant dialogues in {longer} of {len(both)} "
        "workflows",
        note="Mean turns per dialogue. Ring: conformant. Disc: forked.",
        label=f"Mean turns per workflow, conformant and forked, {len(shown)} workflows",
        drawing={
            "data": data,
            "layout": layout(
                90 + 22 * len(shown),
                axis("mean turns", rangemode="tozero"),
                axis(showgrid=False, ticks="", categoryorder="array", categoryarray=names),
            ),
        },
        columns=("workflow", "conformant mean turns", "forked mean turns"),
        rows=[(row.workflow, row.conformant.mean_turns, row.forks.mean_turns) for row in shown],
    )


def _ends(row: WorkflowRow) -> tuple[float | None, float | None]:
    return row.conformant.mean_turns, row.forks.mean_turns


def _means(names: list[str], values: list[float | None], word: str, symbol: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": values,
        "y": names,
        "marker": {
            "color": "--text" if symbol == "circle" else "--conformant",
            "symbol": symbol,
            "size": 9,
            "line": {"width": 2},
        },
        "hovertemplate": "%{y}, " + word + ": %{x:.2f} turns<extra></extra>",
    }


def boxes(spreads: Sequence[Spread]) -> Figure | None:
    """A box per condition, whiskers from the 5th to the 95th percentile, a mark at the mean."""
    if not spreads:
        return None
    names = [spread.condition for spread in spreads]
    data: list[dict[str, Any]] = [
        {
            "type": "box",
            "x": [spread.condition],
            "lowerfence": [spread.quantiles[0]],
            "q1": [spread.quantiles[1]],
            "median": [spread.quantiles[2]],
            "q3": [spread.quantiles[3]],
            "upperfence": [spread.quantiles[4]],
            "line": {"color": INKS[spread.condition], "width": 2},
            "fillcolor": "--surface",
            "width": 0.5,
            "hoverinfo": "y",
        }
        for spread in spreads
    ]
    data.append(
        {
            "type": "scatter",
            "mode": "markers",
            "x": names,
            "y": [spread.mean for spread in spreads],
            "marker": {
                "color": [INKS[name] for name in names],
                "symbol": [SHAPES[name] for name in names],
                "size": 10,
            },
            "hovertemplate": "%{x}, mean %{y:.2f} turns<extra></extra>",
        }
    )
    return Figure(
        name="spreads",
        heading=_medians(spreads),
        note="Turns per dialogue. Box: middle half and median. Whiskers: 5th to 95th percentile. "
        "Mark: mean. n = " + ", ".join(f"{s.condition} {s.n:,}" for s in spreads) + ".",
        label="Turns per dialogue by condition, medians "
        + ", ".join(f"{s.condition} {s.quantiles[2]:.0f}" for s in spreads),
        drawing={
            "data": data,
            "layout": layout(
                360, axis(showgrid=False, ticks=""), axis("turns", rangemode="tozero")
            ),
        },
        columns=("condition", "n", "5 %", "25 %", "50 %", "75 %", "95 %", "mean"),
        rows=[(s.condition, s.n, *s.quantiles, s.mean) for s in spreads],
    )


def _medians(spreads: Sequence[Spread]) -> str:
    """The heading: the median of each side, a range where the types of forks differ."""
    middle = {spread.condition: spread.quantiles[2] for spread in spreads}
    own = middle.pop(CONFORMANT, None)
    parts = [] if own is None else [f"half of the conformant dialogues have up to {own:.0f} turns"]
    if middle:
        low, high = min(middle.values()), max(middle.values())
        ends = f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"
        parts.append(f"half of the forks up to {ends}{'' if parts else ' turns'}")
    text = ", ".join(parts)
    return text[:1].upper() + text[1:]


def around(sides: Sequence[AroundFork]) -> Figure | None:
    """Mean turns before the fork (outlined) and from it on (filled), one bar per k."""
    if not sides:
        return None
    names = [f"k = {side.k}" for side in sides]

    def bars(values: list[float], fill: str, word: str) -> dict[str, Any]:
        return {
            "type": "bar",
            "orientation": "h",
            "y": names,
            "x": values,
            "marker": {"color": fill, "line": {"color": "--text-3", "width": 1}},
            "text": [f"{value:.1f}" for value in values],
            "textposition": "inside",
            "insidetextanchor": "middle",
            "textangle": 0,
            "constraintext": "none",
            "insidetextfont": {"color": "--text" if fill == "--surface" else "--surface"},
            "hovertemplate": "%{y}: %{x:.2f} turns " + word + "<extra></extra>",
        }

    first, last = sides[0], sides[-1]
    return Figure(
        name="around",
        heading=f"After the fork come {first.after:.1f} turns at k = {first.k}, "
        f"{last.after:.1f} at k = {last.k}",
        note="Mean turns per fork. Outlined: before the fork turn. Filled: from it on. n = "
        + ", ".join(f"{side.n:,}" for side in sides)
        + ".",
        label="; ".join(
            f"k = {side.k}: {side.before:.1f} turns before the fork, {side.after:.1f} after"
            for side in sides
        ),
        drawing={
            "data": [
                bars([side.before for side in sides], "--surface", "before"),
                bars([side.after for side in sides], "--text-3", "from the fork on"),
            ],
            "layout": layout(
                110 + 44 * len(sides),
                axis("mean turns"),
                axis(showgrid=False, ticks="", autorange="reversed"),
                barmode="stack",
                bargap=0.35,
            ),
        },
        columns=("k", "n", "mean turns before", "mean turns from the fork on"),
        rows=[(side.k, side.n, side.before, side.after) for side in sides],
    )
