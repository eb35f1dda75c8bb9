"""Charts as plain dicts that plotly draws. Colours are names of design tokens, written `--name`.

The page resolves the names, so that a chart follows the theme; nothing here knows a colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MAX_BARS = 400
MAX_OUTLINED = 100
ROLE_FILL = {"assistant": "--text-3", "user": "--user-bg"}
ROLE_LINE = {"assistant": "--text-3", "user": "--user-line"}
# Each condition has a colour and a shape; the baseline has no hue.
INKS = {
    "conformant": "--conformant",
    "WIC": "--wic",
    "SSPC": "--sspc",
    "GR": "--gr",
    "CSC": "--csc",
}
SHAPES = {
    "conformant": "circle-open",
    "WIC": "square",
    "SSPC": "triangle-up",
    "GR": "diamond",
    "CSC": "circle",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing, what it says in words, and its numbers as a table (`columns` and `rows`).

    `name` is its name in addresses and files, `label` what a screen reader says of it. A cell that
    is None is a number that does not exist. `key` names the lines that the drawing numbers from 1.
    `points` are the columns and rows of the file to save where the table only sums them up.
    """

    name: str
    heading: str
    note: str
    label: str
    drawing: Mapping[str, Any]
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    key: Sequence[str] = ()
    points: tuple[Sequence[str], Sequence[Sequence[Any]]] | None = None

    @property
    def file(self) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        """Columns and rows of the figure saved as a file."""
        return self.points or (self.columns, self.rows)


def plain(text: str) -> str:
    """`text` as plotly shows it: markup in names is shown, not followed."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """An axis in the style that all charts share; `more` adds to it or overrules it."""
    return {
        "gridcolor": "--line",
        "linecolor": "--line-strong",
        "zeroline": False,
        "ticks": "outside",
        "ticklen": 4,
        "tickcolor": "--line-strong",
        "automargin": True,
        "fixedrange": True,
        **({"title": {"text": title, "font": {"size": 12}}} if title else {}),
        **more,
    }


def layout(
    height: int, xaxis: Mapping[str, Any], yaxis: Mapping[str, Any], **more: Any
) -> dict[str, Any]:
    """A layout of `height` px without a legend: lines and bars are labelled directly."""
    return {
        "height": height,
        "margin": {"l": 44, "r": 12, "t": 28, "b": 40},
        "showlegend": False,
        "hovermode": "closest",
        "xaxis": xaxis,
        "yaxis": yaxis,
        **more,
    }


def downsample(
    rows: Sequence[Mapping[str, Any]], *, keep: frozenset[int], most: int = MAX_BARS
) -> list[Mapping[str, Any]]:
    """At most about `most` of `rows`: the highest surprisal of each stretch, and all of `keep`.

    `rows` are objects with "number" (turn number) and "surprisal" (nats, or None); `keep` are turn
    numbers that must stay (a fork, an alarm). Order is kept, and no maximum is lost.
    """
    if len(rows) <= most:
        return list(rows)
    width = -(-len(rows) // most)
    kept = []
    for start in range(0, len(rows), width):
        stretch = rows[start : start + width]
        top = max(stretch, key=lambda row: -1.0 if row["surprisal"] is None else row["surprisal"])
        kept += [row for row in stretch if row is top or row["number"] in keep]
    return kept


def turn_strip(
    turns: Sequence[Mapping[str, Any]],
    roles: Mapping[int, str],
    *,
    forks: Mapping[int, str] = {},
) -> dict[str, Any]:
    """Surprisal per turn as bars: filled for the assistant, outlined for the user.

    Parameters
    ----------
    turns
        Objects with "number" (turn number, from 1), "surprisal" (nats, or None where the turn has
        none) and "p" (probability of the move, or None).
    roles
        Role of each turn number.
    forks
        Turn number -> label of an upright drawn before that turn.

    Returns
    -------
    {"data", "layout"} for plotly. A turn without surprisal has no bar; it is never a bar of 0.
    """
    rows = downsample(turns, keep=frozenset(forks))
    shown = [row for row in rows if row["surprisal"] is not None]
    who = [roles.get(row["number"], "assistant") for row in shown]
    # Narrow bars would be all outline: there the colour of the outline fills them.
    fill = ROLE_FILL if len(rows) <= MAX_OUTLINED else ROLE_LINE
    bars = {
        "type": "bar",
        "x": [row["number"] for row in shown],
        "y": [round(row["surprisal"], 4) for row in shown],
        "marker": {
            "color": [fill.get(role, "--surface-3") for role in who],
            "line": {
                "color": [ROLE_LINE.get(role, "--line-strong") for role in who],
                "width": 1 if len(rows) <= MAX_OUTLINED else 0,
            },
        },
        "text": [
            f"Turn {row['number']}, {role}: {row['surprisal']:.2f} nats"
            for row, role in zip(shown, who, strict=True)
        ],
        "textposition": "none",
        "hoverinfo": "text",
    }
    numbers = [row["number"] for row in turns] or [1]
    return {"data": [bars], "layout": _strip_layout(min(numbers), max(numbers), forks)}


def _strip_layout(first: int, last: int, forks: Mapping[int, str]) -> dict[str, Any]:
    upright = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "layer": "above"}
    label = {"yref": "paper", "y": 1, "yanchor": "bottom", "showarrow": False}
    middle = (first + last) / 2
    return layout(
        240,
        axis(
            "turn",
            range=[first - 0.7, last + 0.7],
            dtick=1 if last - first < 30 else None,
            showgrid=False,
        ),
        axis("surprisal, nats", rangemode="tozero"),
        bargap=0.4,
        shapes=[
            {
                **upright,
                "x0": number - 0.5,
                "x1": number - 0.5,
                "line": {"color": "--fork", "width": 2},
            }
            for number in forks
        ],
        annotations=[
            {
                **label,
                "x": number - 0.5,
                "xanchor": "left" if number <= middle else "right",
                "text": text,
                "font": {"color": "--text"},
            }
            for number, text in forks.items()
        ],
    )


def line_numbers(ends: Sequence[tuple[Any, float]], *, height: int) -> list[dict[str, Any]]:
    """The number of each line at its right end (x, y), moved up where two would lie on each other.

    `height` is that of the plotted area in px; the axis is taken to end near the extreme ends.
    """
    order = sorted(range(len(ends)), key=lambda place: ends[place][1])
    spread = (ends[order[-1]][1] - ends[order[0]][1]) or 1.0
    found, before = [], None
    for place in order:
        x, y = ends[place]
        at = (y - ends[order[0]][1]) / spread * height
        free = at if before is None else max(at, before + NUMBER_PX)
        before = free
        found.append(
            {
                "x": x,
                "y": y,
                "xanchor": "left",
                "xshift": 6,
                "yshift": round(free - at, 1),
                "text": str(place + 1),
                "showarrow": False,
                "font": {"color": "--text"},
            }
        )
    return found


NUMBER_PX = 14
AREAS = ("auc", "auc_by_corpus", "auc_by_model", "auc_by_type", "step_auc")
AXES = {
    "tau": (-1.0, 1.0),
    **dict.fromkeys((*AREAS, "hit_at_1", "hit_at_1_by_corpus", "mrr"), (0.0, 1.0)),
}
CI_WIDTH, CI_MARGIN = 120, 4


def axis_of(statistic: str, values: Sequence[float]) -> tuple[float, float]:
    """Both ends of the axis that all rows of one statistic share: fixed where it has a range."""
    if statistic in AXES:
        return AXES[statistic]
    low, high = min([0.0, *values]), max([0.0, *values])
    return (low, high) if high > low else (0.0, 1.0)


def interval_bar(
    value: float | None,
    low: float | None,
    high: float | None,
    left: float,
    right: float,
    reference: float = 0.0,
) -> dict[str, float] | None:
    """Places in px of a value and its interval on an axis from `left` to `right`.

    "zero" is the place of the `reference`, what a method gives that knows nothing. None where there
    is no value; without an interval "x" and "width" are left out. What lies
    beyond the axis is cut at its end.
    """
    if value is None:
        return None

    def place(v: float) -> float:
        share = (min(max(v, left), right) - left) / (right - left)
        return round(CI_MARGIN + share * (CI_WIDTH - 2 * CI_MARGIN), 1)

    drawn = {"at": place(value), "zero": place(reference)}
    if low is not None and high is not None:
        drawn |= {"x": place(low), "width": round(max(place(high) - place(low), 1.0), 1)}
    return drawn
