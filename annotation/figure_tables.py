"""A table of results that can be shown, charted and written as CSV from one description.

Whoever computes says what the columns are and how the table is drawn; whoever shows it needs to
know nothing of what it means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["text", "count", "share", "number", "estimate"]
Drawing = Literal["bars", "stacked", "heat", "points"]


@dataclass(frozen=True, slots=True)
class Column:
    """`kind` "share" is shown as a percentage; a cell of kind "estimate" is an
    `scoring.estimates.Estimate` (value, n, interval, or a reason), whose value is a share where
    `percent` is set."""

    key: str
    title: str
    kind: Kind = "text"
    percent: bool = False


@dataclass(frozen=True, slots=True)
class Drawn:
    """How a table is drawn: `x` and `y` are keys of columns, `group` of the one that tells series
    apart ("" none). An estimate as `y` brings its interval. A heat map takes `x`, `group` as rows
    and `y` as the colour."""

    kind: Drawing
    x: str
    y: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """One table of results.

    `name` is its name in addresses and files (letters, digits, hyphens), `rows` map column keys to
    cells (None where there is nothing to show), `n` counts the units it was computed from, `reason`
    says why there are no rows, `note` what a reader must know.
    """

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    n: int
    note: str = ""
    reason: str = ""
    drawn: Drawn | None = None
