"""A `figure_tables.Figure` as lines of a terminal and as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from annotation.figure_files import table_of
from annotation.figure_tables import Figure
from annotation.figure_words import NOTHING, cell_text


def lines_of(figure: Figure) -> Iterator[str]:
    """The title with n, what must be known, then a line per row with every number in it."""
    if not figure.rows:
        yield f"{figure.title}: nothing to show, {figure.reason or 'there are no rows'}"
        return
    yield f"{figure.title}: n = {figure.n:,}"
    if figure.note:
        yield f"  ({figure.note})"
    for row in figure.rows:
        yield f"  {_line(figure, row)}"


def _line(figure: Figure, row: Mapping[str, Any]) -> str:
    names = [cell_text(c, row.get(c.key)) for c in figure.columns if c.kind == "text"]
    told = [
        f"{column.title} {text}"
        for column in figure.columns
        if column.kind != "text" and (text := cell_text(column, row.get(column.key))) != NOTHING
    ]
    return ": ".join(part for part in (" / ".join(names), ", ".join(told)) if part)


def plain_of(figure: Figure) -> dict[str, Any]:
    """The figure as JSON takes it: its rows have the columns of its CSV file."""
    columns, rows = table_of(figure)
    head = {"title": figure.title, "n": figure.n, "note": figure.note, "reason": figure.reason}
    return head | {"rows": [dict(zip(columns, row, strict=True)) for row in rows]}
