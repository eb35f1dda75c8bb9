"""Cells of CSV files that a spreadsheet opens without running anything in them."""

from __future__ import annotations

from typing import Any

# A cell that starts with one of these is a formula to a spreadsheet.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def cell(value: Any) -> Any:
    """`value` as written: None is an empty cell, and text that a spreadsheet would take for a
    formula gets a leading quote.

    >>> [cell(value) for value in ("=1+1", "fine", -3, None)]
    ["'=1+1", 'fine', -3, '']
    """
    if value is None:
        return ""
    if isinstance(value, str) and value.startswith(FORMULA_STARTS):
        return f"'{value}"
    return value
