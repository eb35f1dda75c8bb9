"""The figures of a study report: one per research question, and ratings by type.

Bars and marks are drawn by plotly from plain dictionaries (see `scoring.charts`). A figure without
a value has no mark; a question without any value has no figure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from annotation.design import TYPES
from annotation.rating_charts import rating_bars, rating_lines
from annotation.report_marks import margin_note, marks, note, percent_text
from scoring.charts import INKS, SHAPES, Figure, axis, layout

Stats = Mapping[str, Any]
FURTHEST = 5
SHARE_COLUMNS = ("instruction", "confirmed", "of", "share", "low", "high")


def figures(statistics: Stats, prefix: str) -> list[Figure]:
    """The figures that have something to show; their names begin with `prefix`."""
    drawn: Sequence[tuple[Callable[[Stats], Figure | None], str]] = (
        (rating_bars, "rq1"),
        (recognised, "rq2"),
        (onsets, "rq3"),
        (before_the_fork, "rq4"),
        (rating_lines, "rq1"),
    )
    found = [draw(statistics[part]) for draw, part in drawn]
    return [_named(figure, prefix) for figure in found if figure]


def _named(figure: Figure, prefix: str) -> Figure:
    return Figure(
        name=f"{prefix}-{figure.name}",
        heading=figure.heading,
        note=figure.note,
        label=figure.label,
        drawing=figure.drawing,
        columns=figure.columns,
        rows=figure.rows,
    )


# -- RQ2 ---------------------------------------------------------------------------------------


def recognised(rq2: Stats) -> Figure | None:
    """Share confirmed with Wilson's interval: the true instruction per type, then the foils."""
    rows = [(t, t, rq2["true_by_type"][t]) for t in TYPES]
    rows += [("", "foil, on a fork", rq2["foil_on_fork"])]
    rows += [("conformant", "foil, conformant", rq2["foil_on_conformant"])]
    shown = [(p, name, each) for p, (name, _, each) in enumerate(rows) if each["n"]]
    if not shown:
        return None
    drawn = [
        marks([p], [each], INKS.get(name, "--text"), SHAPES.get(name, "star"), 10, across=True)
        for p, name, each in shown
    ]
    return Figure(
        name="recognised",
        heading=f"RQ2 · Confirmed: true instructions {percent_text(rq2['true'])}, "
        f"foils on conformant dialogues {percent_text(rq2['foil_on_conformant'])}",
        note="Share who answered yes or partly. Lines: 95 % Wilson.",
        label="Share confirmed: "
        + "; ".join(f"{label} {percent_text(each)} of {each['n']}" for _, label, each in rows),
        drawing={
            "data": drawn,
            "layout": layout(
                300,
                axis("share confirmed", range=[-0.02, 1.02], tickformat=".0%"),
                axis(
                    showgrid=False,
                    ticklen=8,
                    tickcolor="rgba(0,0,0,0)",
                    range=[len(rows) - 0.5, -0.5],
                    tickvals=list(range(len(rows))),
                    ticktext=[label for _, label, _ in rows],
                ),
                margin={"l": 8, "r": 76, "t": 8, "b": 40},
                annotations=[
                    margin_note(p, f"{each['k']} of {each['n']}" if each["n"] else "no answer")
                    for p, (_, _, each) in enumerate(rows)
                ],
            ),
        },
        columns=SHARE_COLUMNS,
        rows=[
            (label if name in ("", "conformant") else f"true, {label}", *_share_cells(each))
            for name, label, each in rows
        ],
    )


def _share_cells(share: Stats) -> tuple[Any, ...]:
    low, high = share["ci"] or (None, None)
    return (share.get("k", 0), share["n"], share["value"], low, high)


# -- RQ3 ---------------------------------------------------------------------------------------


def onsets(rq3: Stats) -> Figure | None:
    """How far onsets lie from the fork turn; early ones are outlined."""
    found = rq3["all"]
    if found["value"] is None:
        return None
    counts = {int(away): n for away, n in rq3["differences"].items()}
    far = f"{FURTHEST} or more"
    labels = [*(str(away) for away in range(FURTHEST)), far]
    late = [_at(counts, away, 1) for away in range(FURTHEST + 1)]
    early = [0, *(_at(counts, away, -1) for away in range(1, FURTHEST + 1))]
    exact, near = (round(100 * found[name]) for name in ("exact", "within_1"))
    totals = [a + b for a, b in zip(late, early, strict=True)]
    return Figure(
        name="onsets",
        heading=f"RQ3 · {exact} % of onsets lie at the fork turn, {near} % within one turn",
        note="Distance of the chosen onset from the fork turn. Filled: at or after it; outlined: "
        f"before it. n = {found['n']} confirmed true instructions.",
        label="Onsets by distance in assistant turns: "
        + "; ".join(f"{label}: {n}" for label, n in zip(labels, totals, strict=True)),
        drawing={
            "data": [
                _bars(labels, late, ["--text", *["--text-3"] * FURTHEST], "--text-3"),
                _bars(labels, early, "--surface-3", "--line-strong"),
            ],
            "layout": layout(
                300,
                axis("assistant turns between onset and fork", type="category", showgrid=False),
                axis("judgements", rangemode="tozero", **({"dtick": 1} if max(totals) < 6 else {})),
                barmode="stack",
                bargap=0.35,
                margin={"l": 44, "r": 12, "t": 20, "b": 44},
                annotations=[
                    note(label, total, str(total), yanchor="bottom")
                    for label, total in zip(labels, totals, strict=True)
                ],
            ),
        },
        columns=("assistant turns from the fork", "at or after it", "before it", "all"),
        rows=list(zip(labels, late, early, totals, strict=True)),
    )


def _at(counts: Mapping[int, int], away: int, side: int) -> int:
    """How many lie `away` turns on one side (1 after, -1 before); the last place gathers."""
    last = away == FURTHEST
    return sum(n for d, n in counts.items() if d * side == away or (last and d * side > away))


def _bars(labels: Sequence[str], counts: Sequence[int], fill: Any, line: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "x": list(labels),
        "y": list(counts),
        "marker": {"color": fill, "line": {"color": line, "width": 1}},
        "hoverinfo": "skip",
    }


# -- RQ4 ---------------------------------------------------------------------------------------

FILLS = {"yes": "--text", "mostly": "--text-3", "no": "--surface-3"}


def before_the_fork(rq4: Stats) -> Figure | None:
    """Shares of yes, mostly and no per k, with Wilson's interval of yes or mostly below."""
    rows = [(k, share) for k, share in sorted(rq4["by_k"].items()) if share["n"]]
    if not rows:
        return None
    places = list(range(len(rows)))
    bars = [
        {
            "type": "bar",
            "orientation": "h",
            "y": places,
            "x": [share["answers"].get(word, 0) / share["n"] for _, share in rows],
            "width": 0.42,
            "marker": {"color": fill, "line": {"color": "--line-strong", "width": 1}},
            "hoverinfo": "skip",
        }
        for word, fill in FILLS.items()
    ]
    lines = marks([p + 0.36 for p in places], [s for _, s in rows], "--text", "circle", 7, True)
    return Figure(
        name="before-the-fork",
        heading=f"RQ4 · {percent_text(rq4['all'])} say the turns before the fork followed the "
        "workflow, or mostly",
        note="Filled: yes; grey: mostly; outlined: no. Lines: yes or mostly, 95 % Wilson. "
        "Forks with an assistant turn before them.",
        label="Share of yes or mostly: "
        + "; ".join(f"k = {k}: {percent_text(share)} of {share['n']}" for k, share in rows),
        drawing={
            "data": [*bars, lines],
            "layout": layout(
                300,
                axis("share of judgements", range=[0, 1.02], tickformat=".0%"),
                axis(
                    showgrid=False,
                    ticklen=8,
                    tickcolor="rgba(0,0,0,0)",
                    range=[len(rows) - 0.4, -0.5],
                    tickvals=places,
                    ticktext=[f"k = {k}" for k, _ in rows],
                ),
                barmode="stack",
                margin={"l": 8, "r": 76, "t": 8, "b": 40},
                annotations=[
                    margin_note(p, f"{share['k']} of {share['n']}")
                    for p, (_, share) in enumerate(rows)
                ],
            ),
        },
        columns=("k", "yes", "mostly", "no", "n", "yes or mostly", "low", "high"),
        rows=[
            (
                int(k),
                *(share["answers"].get(word, 0) for word in FILLS),
                share["n"],
                share["value"],
                *(share["ci"] or (None, None)),
            )
            for k, share in rows
        ],
    )
