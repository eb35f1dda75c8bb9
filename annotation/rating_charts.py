"""Figures of the first question: mean ratings by fork position, all together and by type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from annotation.design import POSITIONS, TYPES
from annotation.report_marks import marks, note, rating_text, whiskers
from annotation.report_tables import BREAK
from scoring.charts import INKS, SHAPES, Figure, axis, layout, line_numbers

Stats = Mapping[str, Any]
KS = tuple(str(k) for k in POSITIONS)
MEAN_COLUMNS = ("dialogues", "k", "mean", "low", "high", "n")


def rating_bars(rq1: Stats) -> Figure | None:
    """Mean rating by k: bars for the types that break the workflow, crosses for all types."""
    bars = [*(rq1["mean_breaking"][k] for k in KS), rq1["conformant"]]
    crosses = [rq1["mean_by_k"][k] for k in KS]
    if all(each["value"] is None for each in (*bars, *crosses)):
        return None
    labels = [*(f"k = {k}" for k in KS), "conformant"]
    places = list(range(len(labels)))
    shown = [(p, each) for p, each in zip(places, bars, strict=True) if each["value"] is not None]
    data = [
        {
            "type": "bar",
            "x": [p for p, _ in shown],
            "y": [each["value"] for _, each in shown],
            "width": 0.5,
            "marker": {
                "color": ["--surface-3" if p < len(KS) else "--surface" for p, _ in shown],
                "line": {"color": "--line-strong", "width": 1},
            },
            "error_y": whiskers([each for _, each in shown], "--text"),
            "hoverinfo": "skip",
        },
        marks([0.36 + p for p in range(len(KS))], crosses, "--text", "x-thin-open", 9),
    ]
    numbers = [note(p, 0, f"{each['value']:.0f}", yanchor="bottom", yshift=3) for p, each in shown]
    return Figure(
        name="ratings",
        heading=f"RQ1 · {_order(rq1['tau_breaking'])}",
        note=f"Mean rating. Bars: {BREAK}; crosses: all four types; outlined: conformant. "
        f"Lines: 95 % bootstrap by person. n = {sum(each['n'] for each in crosses)} on forks, "
        f"{rq1['conformant']['n']} on conformant dialogues.",
        label="Mean rating by fork position: "
        + "; ".join(
            f"{label} {rating_text(each)}" for label, each in zip(labels, bars, strict=True)
        ),
        drawing={
            "data": data,
            "layout": layout(
                300,
                axis(showgrid=False, ticks="", tickmode="array", tickvals=places, ticktext=labels),
                axis("rating, 0 to 100", range=[0, 104], tickvals=[0, 25, 50, 75, 100]),
                margin={"l": 44, "r": 12, "t": 8, "b": 32},
                annotations=numbers,
            ),
        },
        columns=MEAN_COLUMNS,
        rows=[
            *(_mean_row(BREAK, k, rq1["mean_breaking"][k]) for k in KS),
            *(_mean_row("all types", k, rq1["mean_by_k"][k]) for k in KS),
            _mean_row("conformant", None, rq1["conformant"]),
        ],
    )


def _order(tau: Stats) -> str:
    """What the ratings say of the order of forks."""
    if tau["value"] is None:
        return "Blind rating by fork position"
    words = f"tau-b {tau['value']:.2f}"
    if not tau["ci"] or tau["ci"][0] <= 0 <= tau["ci"][1]:
        return f"No order of ratings by fork position is shown ({words})"
    which = "lower" if tau["value"] > 0 else "higher"
    return f"The earlier the fork, the {which} the rating ({words})"


def rating_lines(rq1: Stats) -> Figure | None:
    """Mean rating by k, one line per type, and the conformant mean at the right."""
    data, ends, names = [], [], []
    for place, type_ in enumerate(TYPES):
        points = [(int(k), rq1["mean_by_type"][type_][k]) for k in KS]
        shown = [(k, each) for k, each in points if each["value"] is not None]
        if not shown:
            continue
        xs = [k + 0.08 * (place - 1.5) for k, _ in shown]
        line = marks(xs, [each for _, each in shown], INKS[type_], SHAPES[type_], 8)
        data.append(line | {"mode": "lines+markers", "line": {"color": INKS[type_], "width": 1.5}})
        ends.append((xs[-1], shown[-1][1]["value"]))
        names.append(type_)
    if not data:
        return None
    anchor = rq1["conformant"]
    data.append(marks([5], [anchor], INKS["conformant"], SHAPES["conformant"], 10))
    numbers = line_numbers(ends, height=round(250 * _spread(ends) / 104))
    labels = [each | {"text": names[int(each["text"]) - 1], "x": 4.2} for each in numbers]
    return Figure(
        name="ratings-by-type",
        heading="RQ1 · Ratings by type",
        note="Mean rating by fork position. Uprights: 95 % bootstrap by person. "
        f"The ring: {anchor['n']} ratings of conformant dialogues.",
        label="Mean rating by type and fork position: "
        + "; ".join(
            f"{t} " + ", ".join(rating_text(rq1["mean_by_type"][t][k]) for k in KS) for t in TYPES
        ),
        drawing={
            "data": data,
            "layout": layout(
                300,
                axis(
                    showgrid=False,
                    ticks="",
                    tickvals=[1, 2, 3, 4, 5],
                    ticktext=[*(f"k = {k}" for k in KS), "conformant"],
                    range=[0.6, 5.5],
                ),
                axis("rating, 0 to 100", range=[0, 104], tickvals=[0, 25, 50, 75, 100]),
                margin={"l": 44, "r": 12, "t": 8, "b": 32},
                annotations=labels,
            ),
        },
        columns=MEAN_COLUMNS,
        rows=[
            *(_mean_row(t, k, rq1["mean_by_type"][t][k]) for t in TYPES for k in KS),
            _mean_row("conformant", None, anchor),
        ],
    )


def _spread(ends: Sequence[tuple[Any, float]]) -> float:
    return max(y for _, y in ends) - min(y for _, y in ends)


def _mean_row(name: str, k: str | None, mean: Stats) -> tuple[Any, ...]:
    low, high = mean["ci"] or (None, None)
    return (name, int(k) if k else None, mean["value"], low, high, mean["n"])
