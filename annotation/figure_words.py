"""The cells of a `figure_tables.Figure` as people read them: text, interval, and why there is none.

Reasons that stand in several cells are numbered once per figure, so that a table stays narrow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.figure_tables import Column, Figure
from scoring.estimates import Estimate

NOTHING = "–"
PERCENT_PLACES, NUMBER_PLACES = 1, 3


@dataclass(frozen=True, slots=True)
class ShownCell:
    """One cell: its text, its interval ("" none), and the number of the reason below the table
    (0 none). `numeric` cells stand at the end of their column."""

    text: str
    interval: str = ""
    reason: int = 0
    numeric: bool = False


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A figure's rows as text, and the `reasons` that its cells number from 1."""

    rows: Sequence[Sequence[ShownCell]]
    reasons: Sequence[str]


def value_of(cell: Any) -> float | None:
    """The number that a cell stands for, None where there is none.

    Raises TypeError where the cell is text: a chart of words is a mistake of whoever describes it.
    """
    if isinstance(cell, Estimate):
        return cell.value
    if cell is None:
        return None
    if isinstance(cell, str):
        raise TypeError(f"{cell!r} is text; a chart needs a number")
    return float(cell)


def interval_of(cell: Any) -> tuple[float, float] | None:
    """The interval that a cell brings, None where it has none."""
    return cell.ci if isinstance(cell, Estimate) else None


def is_share(column: Column) -> bool:
    """Whether the column is read in percent."""
    return column.kind == "share" or (column.kind == "estimate" and column.percent)


def number_text(column: Column, value: float | None) -> str:
    """A number as its column shows it, such as "57.3 %", "0.412" or "1,205"."""
    if value is None:
        return NOTHING
    if is_share(column):
        return f"{100 * value:.{PERCENT_PLACES}f} %"
    if column.kind == "count":
        return f"{int(value):,}"
    return f"{value:,.{_places(value)}f}"


def _places(value: float) -> int:
    """Three decimals for coefficients, one for what is in tens: seconds, steps."""
    return NUMBER_PLACES if abs(value) < 10 else 1


def interval_text(column: Column, ci: tuple[float, float] | None) -> str:
    """An interval such as "[50.7, 63.7]", in the unit of its column; "" where there is none."""
    if ci is None:
        return ""
    if is_share(column):
        return f"[{100 * ci[0]:.{PERCENT_PLACES}f}, {100 * ci[1]:.{PERCENT_PLACES}f}]"
    low, high = (f"{end:,.{_places(max(ci))}f}" for end in ci)
    return f"[{low}, {high}]"


def cell_text(column: Column, cell: Any) -> str:
    """A cell in one line: value and interval, or the reason why there is no value."""
    if column.kind == "text":
        return NOTHING if cell is None else str(cell)
    if isinstance(cell, Estimate) and cell.value is None:
        return f"undefined ({reason_text(cell.reason)})"
    words = number_text(column, value_of(cell))
    return f"{words} {interval_text(column, interval_of(cell))}".strip()


def shown_table(figure: Figure) -> ShownTable:
    """All rows of a figure as text."""
    reasons: dict[str, int] = {}
    rows = [
        [_shown(column, row.get(column.key), reasons) for column in figure.columns]
        for row in figure.rows
    ]
    return ShownTable(rows, list(reasons))


def _shown(column: Column, cell: Any, reasons: dict[str, int]) -> ShownCell:
    if column.kind == "text":
        return ShownCell(cell_text(column, cell))
    reason = reason_text(cell.reason) if isinstance(cell, Estimate) else ""
    number = reasons.setdefault(reason, len(reasons) + 1) if reason else 0
    text = number_text(column, value_of(cell))
    return ShownCell(text, interval_text(column, interval_of(cell)), number, numeric=True)


def reason_text(reason: str) -> str:
    """Why there is no value, as people read it: some reasons are the codes of a statistic."""
    if reason == "no_observations":
        return "there is nothing to count"
    return reason if " " in reason else reason.replace("_", " ")


def column_named(figure: Figure, key: str) -> Column:
    """The column of a key. Raises KeyError naming the figure where it has none."""
    for column in figure.columns:
        if column.key == key:
            return column
    raise KeyError(f"figure {figure.name} has no column {key!r}")


def described(figure: Figure) -> str:
    """What a screen reader says of the chart: each mark with its value, in the order drawn."""
    drawn = figure.drawn
    if drawn is None or not figure.rows:
        return figure.title
    y = column_named(figure, drawn.y)
    marks = [f"{name_of(figure, row)}: {cell_text(y, row.get(drawn.y))}" for row in figure.rows]
    return f"{figure.title}. {y.title}. " + "; ".join(marks)


def name_of(figure: Figure, row: Mapping[str, Any]) -> str:
    """What a mark is called: its place on x, after its group where there are groups."""
    drawn = figure.drawn
    if drawn is None:
        raise ValueError(f"figure {figure.name} is not drawn")
    x = cell_text(column_named(figure, drawn.x), row.get(drawn.x))
    if not drawn.group:
        return x
    return f"{cell_text(column_named(figure, drawn.group), row.get(drawn.group))}, {x}"
