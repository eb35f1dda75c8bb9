"""A `figure_tables.Figure` as plain dictionaries that plotly draws, in the look of the house.

Bars and points lie along x with one line of text each, so that long names can be read and a phone
has room for them. Colours are names of design tokens (see `scoring.charts`). What has no value has
no mark; what is too much for a drawing has none, and its table says it all.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from annotation.figure_tables import Drawn, Figure
from annotation.figure_words import (
    NOTHING,
    column_named,
    interval_of,
    is_share,
    name_of,
    number_text,
    value_of,
)
from annotation.report_marks import margin_note, note, whiskers
from scoring.charts import axis, layout, plain

MOST_LINES = 48
MOST_SERIES = 6
MOST_CELLS = 400
LINE_CHARS = 22
JOINT = "\x1f"
LINE_PX, WRAPPED_PX, CELL_PX = 26, 6, 34
FILLS = ("--text", "--ramp-3", "--ramp-1", "--surface-3", "--user-bg", "--ramp-4")
RAMP = ("--ramp-0", "--ramp-1", "--ramp-2", "--ramp-3", "--ramp-4")


def chart(figure: Figure) -> dict[str, Any] | None:
    """{"data", "layout"} for plotly; None where nothing is to be drawn, or too much.

    Raises KeyError where the drawing names a column that is not there, TypeError where its y is
    text.
    """
    drawn = figure.drawn
    if drawn is None or not any(value_of(row.get(drawn.y)) is not None for row in figure.rows):
        return None
    return {"bars": _bars, "points": _points, "stacked": _stacked, "heat": _heat}[drawn.kind](
        figure, drawn
    )


def short(name: str) -> str:
    """A name as a chart has room for it: two lines at most, markup shown and not followed."""
    # A text that begins like the name of a token would be painted as one.
    name = f"\u200b{name}" if name.startswith("--") else name
    # Names of signals and models have no spaces: they part after a bar or a slash.
    parted = re.sub(r"([_/])(?=\w)", rf"\1{JOINT} ", name)
    lines = textwrap.wrap(parted, LINE_CHARS + 1, break_on_hyphens=True) or [""]
    lines = [line.replace(f"{JOINT} ", "").replace(JOINT, "") for line in lines]
    kept = lines[:2]
    if len(lines) > 2:
        kept[1] = f"{kept[1][: LINE_CHARS - 1]}…"
    return "<br>".join(plain(line) for line in kept)


def _line_px(names: Sequence[str]) -> int:
    return LINE_PX + WRAPPED_PX * any("<br>" in name for name in names)


# -- bars and points -----------------------------------------------------------------------------


def _bars(figure: Figure, drawn: Drawn) -> dict[str, Any] | None:
    places, values, found = _lines(figure, drawn)
    bars = {
        "type": "bar",
        "orientation": "h",
        "y": places,
        "x": values,
        "width": 0.6,
        "marker": {"color": "--surface-3", "line": {"color": "--line-strong", "width": 1}},
        "error_x": whiskers(found, "--text"),
        "hoverinfo": "skip",
    }
    return _along(figure, drawn, bars)


def _points(figure: Figure, drawn: Drawn) -> dict[str, Any] | None:
    places, values, found = _lines(figure, drawn)
    points = {
        "type": "scatter",
        "mode": "markers",
        "y": places,
        "x": values,
        "marker": {"color": "--text", "symbol": "circle", "size": 9},
        "error_x": whiskers(found, "--text"),
        "cliponaxis": False,
        "hoverinfo": "skip",
    }
    return _along(figure, drawn, points)


def _lines(figure: Figure, drawn: Drawn) -> tuple[list[int], list[float], list[Mapping[str, Any]]]:
    """Places, values and intervals of the rows that have a value."""
    found = [
        (place, value, {"value": value, "ci": interval_of(row.get(drawn.y))})
        for place, row in enumerate(figure.rows)
        if (value := value_of(row.get(drawn.y))) is not None
    ]
    return [p for p, _, _ in found], [v for _, v, _ in found], [each for _, _, each in found]


def _along(figure: Figure, drawn: Drawn, trace: Mapping[str, Any]) -> dict[str, Any] | None:
    """Marks along x, one line per row, each with its value at the right edge."""
    rows, y = figure.rows, column_named(figure, drawn.y)
    if len(rows) > MOST_LINES:
        return None
    texts = [number_text(y, value_of(row.get(drawn.y))) for row in rows]
    names = [short(name_of(figure, row)) for row in rows]
    return {
        "data": [trace],
        "layout": layout(
            72 + _line_px(names) * len(rows),
            axis(short(y.title), **_scale(figure, drawn)),
            axis(
                showgrid=False,
                ticks="",
                range=[len(rows) - 0.4, -0.6],
                tickvals=list(range(len(rows))),
                ticktext=names,
            ),
            margin={"l": 8, "r": 70, "t": 8, "b": 44},
            annotations=[margin_note(place, text) for place, text in enumerate(texts)],
        ),
    }


def _scale(figure: Figure, drawn: Drawn) -> dict[str, Any]:
    """The range of the axis of numbers: 0 to 1 for shares and coefficients; from end to end, with
    a line at 0, where any end is below 0, as differences have them."""
    ends = [
        end
        for row in figure.rows
        if (value := value_of(row.get(drawn.y))) is not None
        for end in (value, *(interval_of(row.get(drawn.y)) or ()))
    ]
    column = column_named(figure, drawn.y)
    percent = {"tickformat": ".0%"} if is_share(column) else {}
    low, high = min(ends), max(0.0, *ends)
    if low < 0:
        room = 0.04 * (high - low)
        line = {"zeroline": True, "zerolinecolor": "--line-strong"}
        return {"range": [low - room, high + room], **line, **percent}
    if percent:
        return {"range": [0, 1.02], **percent}
    return (
        {"range": [-0.02, 1.02]}
        if high <= 1 and column.kind == "estimate"
        else {"rangemode": "tozero"}
    )


# -- stacked -------------------------------------------------------------------------------------


def _stacked(figure: Figure, drawn: Drawn) -> dict[str, Any] | None:
    """Bars of parts, one after the other, with a key of the parts above."""
    xs, groups = _different(figure, drawn.x), _different(figure, drawn.group)
    if len(groups) > MOST_SERIES or len(xs) > MOST_LINES:
        return None
    y, place = column_named(figure, drawn.y), {x: at for at, x in enumerate(xs)}
    data = []
    for group, fill in zip(groups, FILLS, strict=False):
        rows = [row for row in figure.rows if _name(row, drawn.group) == group]
        data.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": short(group),
                "y": [place[_name(row, drawn.x)] for row in rows],
                "x": [value_of(row.get(drawn.y)) for row in rows],
                "width": 0.6,
                "marker": {"color": fill, "line": {"color": "--line-strong", "width": 1}},
                "hoverinfo": "skip",
            }
        )
    names = [short(x) for x in xs]
    scale = {"tickformat": ".0%"} if is_share(y) else {}
    return {
        "data": data,
        "layout": layout(
            84 + 22 * len(groups) + _line_px(names) * len(xs),
            axis(short(y.title), rangemode="tozero", **scale),
            axis(
                showgrid=False,
                ticks="",
                range=[len(xs) - 0.4, -0.6],
                tickvals=list(range(len(xs))),
                ticktext=names,
            ),
            barmode="stack",
            showlegend=len(groups) > 1,
            legend={"orientation": "v", "x": 0, "y": 1.02, "yanchor": "bottom", "itemclick": False}
            | {"itemdoubleclick": False, "traceorder": "normal"},
            margin={"l": 8, "r": 16, "t": 8 + 22 * len(groups), "b": 44},
        ),
    }


def _different(figure: Figure, key: str) -> list[str]:
    """The different values of a column, in the order they come."""
    return list(dict.fromkeys(_name(row, key) for row in figure.rows))


def _name(row: Mapping[str, Any], key: str) -> str:
    """A cell as the name of a line or a series; without a key there is one series."""
    return str(row.get(key, NOTHING)) if key else ""


# -- heat ----------------------------------------------------------------------------------------


def _heat(figure: Figure, drawn: Drawn) -> dict[str, Any] | None:
    """Cells with their numbers, shaded in five steps from the least to the most there is."""
    xs, groups = _different(figure, drawn.x), _different(figure, drawn.group)
    if len(xs) > MOST_CELLS // 20 or len(xs) * len(groups) > MOST_CELLS:
        return None
    column = column_named(figure, drawn.y)
    cells = {
        (xs.index(_name(row, drawn.x)), groups.index(_name(row, drawn.group))): value
        for row in figure.rows
        if (value := value_of(row.get(drawn.y))) is not None
    }
    high, low = max(cells.values()), min(0.0, *cells.values())
    short_text = {at: number_text(column, value).removesuffix(" %") for at, value in cells.items()}
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "markers",
                "x": [x for x, _ in cells],
                "y": [y for _, y in cells],
                "marker": {"opacity": 0},
                "hoverinfo": "skip",
            }
        ],
        "layout": layout(
            64 + CELL_PX * len(groups),
            _cell_axis(figure, drawn.x, xs) | {"side": "top"},
            _cell_axis(figure, drawn.group, groups) | {"range": [len(groups) - 0.5, -0.5]},
            margin={"l": 8, "r": 8, "t": 44, "b": 12},
            shapes=[_square(at, _step(value, low, high)) for at, value in cells.items()],
            annotations=[note(x, y, text) for (x, y), text in short_text.items()],
        ),
    }


def _cell_axis(figure: Figure, key: str, names: Sequence[str]) -> dict[str, Any]:
    title = {"text": plain(column_named(figure, key).title), "font": {"size": 12}, "standoff": 10}
    return axis(
        showgrid=False,
        ticks="",
        range=[-0.5, len(names) - 0.5],
        tickvals=list(range(len(names))),
        ticktext=[short(name) for name in names],
    ) | {"title": title}


def _step(value: float, low: float, high: float) -> int:
    """Which of the five shades, the darkest for the highest value."""
    return min(4, int(5 * (value - low) / (high - low))) if high > low else 0


def _square(at: tuple[int, int], step: int) -> dict[str, Any]:
    return {
        "type": "rect",
        "layer": "below",
        "x0": at[0] - 0.48,
        "x1": at[0] + 0.48,
        "y0": at[1] - 0.46,
        "y1": at[1] + 0.46,
        "fillcolor": RAMP[step],
        "line": {"width": 0},
    }
