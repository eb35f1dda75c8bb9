"""A `figure_tables.Figure` as CSV: numbers as they are, every estimate with all that it says."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from annotation.figure_tables import Column, Figure
from benchmark.spreadsheet_cells import cell
from scoring.estimates import Estimate

ESTIMATE_PARTS = ("low", "high", "n", "reason")


def table_of(figure: Figure) -> tuple[list[str], list[list[Any]]]:
    """Columns and rows of the file.

    An estimate `f1` becomes f1, f1_low, f1_high, f1_n and f1_reason; a number that does not exist
    is None. Shares are from 0 to 1. Rows of a figure without rows are none.
    """
    names = [name for column in figure.columns for name in _names(column)]
    rows = [
        [part for column in figure.columns for part in _parts(column, row.get(column.key))]
        for row in figure.rows
    ]
    return names, rows


def csv_text(figure: Figure) -> str:
    """The file as text, formulas disarmed."""
    columns, rows = table_of(figure)
    out = io.StringIO()
    writer = csv.writer(out)
    for row in (columns, *rows):
        writer.writerow([cell(value) for value in row])
    return out.getvalue()


def _names(column: Column) -> list[str]:
    if column.kind != "estimate":
        return [column.key]
    return [column.key, *(f"{column.key}_{part}" for part in ESTIMATE_PARTS)]


def _parts(column: Column, value: Any) -> Sequence[Any]:
    if column.kind != "estimate":
        return [value]
    if not isinstance(value, Estimate):
        return [value, None, None, None, None]
    low, high = value.ci or (None, None)
    return [value.value, low, high, value.n, value.reason]
