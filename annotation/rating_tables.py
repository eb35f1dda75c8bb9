"""Ratings in the forms that agreement is computed from.

A rating table is a matrix, rows raters, columns units, None where a rater did not rate a unit.
Labels are compared by value, text by its letters: composed and decomposed forms are one label and
white space at the ends does not count.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Label = Hashable
Ratings = Sequence[Sequence[Label | None]]
Counts = NDArray[np.int64]


def normalised(label: Label | None) -> Label | None:
    """A label as compared: text in composed form without white space at its ends."""
    return unicodedata.normalize("NFC", label).strip() if isinstance(label, str) else label


def seen_labels(ratings: Ratings) -> list[Any]:
    """The labels that occur, in rising order (text by its letters)."""
    found = {normalised(label) for row in ratings for label in row} - {None}
    return sorted(found, key=lambda label: (isinstance(label, str), label))


def counts_of(ratings: Ratings, categories: Sequence[Label]) -> Counts:
    """How many raters gave each unit each label: shape (units, categories).

    Raises ValueError for rows of unequal length and for a label that is no declared category.
    """
    columns = {normalised(label): k for k, label in enumerate(categories)}
    if len(columns) < len(categories):
        raise ValueError("the categories name one label twice")
    units = len(ratings[0]) if ratings else 0
    counts = np.zeros((units, len(categories)), dtype=np.int64)
    for row in ratings:
        if len(row) != units:
            raise ValueError(f"a rater has {len(row)} entries where another has {units}")
        places = [(i, label) for i, label in enumerate(row) if label is not None]
        try:
            labels = [columns[normalised(label)] for _, label in places]
        except KeyError as error:
            raise ValueError(f"{error.args[0]!r} is not one of the categories") from None
        np.add.at(counts, ([i for i, _ in places], labels), 1)
    return counts


def counts_of_table(table: Sequence[Sequence[int]]) -> Counts:
    """A two-rater table (rows the first, columns the second) as one row of counts per unit."""
    cells = np.asarray(table, dtype=np.int64)
    if cells.ndim != 2 or cells.shape[0] != cells.shape[1]:
        raise ValueError("a two-rater table has as many rows as columns")
    units = np.zeros((int(cells.sum()), len(cells)), dtype=np.int64)
    rows, columns = np.indices(cells.shape)
    first, second = (np.repeat(side.ravel(), cells.ravel()) for side in (rows, columns))
    places = np.arange(len(units))
    np.add.at(units, (places, first), 1)
    np.add.at(units, (places, second), 1)
    return units


def table_of(pairs: Iterable[tuple[Label, Label]], categories: Sequence[Label]) -> Counts:
    """Label pairs of two raters as a table, rows the first rater's."""
    columns = {normalised(label): k for k, label in enumerate(categories)}
    table = np.zeros((len(categories), len(categories)), dtype=np.int64)
    for a, b in pairs:
        for label in (a, b):
            if normalised(label) not in columns:
                raise ValueError(f"{label!r} is not one of the categories")
        table[columns[normalised(a)], columns[normalised(b)]] += 1
    return table


def ratings_of(records: Iterable[tuple[Label, Label, Label]]) -> list[list[Label | None]]:
    """Records (rater, unit, label) as a rating table; raters and units in rising order.

    Raises ValueError where one rater gives one unit two labels.
    """
    found: dict[tuple[Label, Label], Label] = {}
    for rater, unit, label in records:
        if (rater, unit) in found:
            raise ValueError(f"rater {rater} has rated unit {unit} twice")
        found[rater, unit] = label
    raters = sorted({rater for rater, _ in found}, key=str)
    units = sorted({unit for _, unit in found}, key=str)
    return [[found.get((rater, unit)) for unit in units] for rater in raters]


def weights_of(kind: str | None, categories: Sequence[Label]) -> NDArray[np.float64]:
    """Agreement weights between categories in declared order: 1 on the diagonal, shape (q, q).

    "identity" (or None), "linear", "quadratic": by the distance of the categories, which is that of
    their values where all are numbers, else of their ranks. "ordinal": by the number of ranks
    between (Gwet 2014, 3.5).
    """
    q = len(categories)
    if kind in (None, "identity"):
        return np.eye(q)
    if kind not in ("linear", "quadratic", "ordinal"):
        raise ValueError(
            f"weights are {kind!r}; they must be identity, linear, quadratic or ordinal"
        )
    if q < 2:
        return np.ones((q, q))
    numeric = all(isinstance(c, int | float) and not isinstance(c, bool) for c in categories)
    at = np.array(categories if numeric and kind != "ordinal" else range(q), dtype=np.float64)
    away = np.abs(at[:, None] - at[None, :])
    if kind == "quadratic":
        away = away**2
    elif kind == "ordinal":
        away = away * (away + 1) / 2
    return np.asarray(1 - away / away.max())
