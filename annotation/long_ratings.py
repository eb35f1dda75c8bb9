"""Ratings as three columns: who, which unit, what. One row per answer, nothing for no answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.rating_tables import Label, normalised

Ints = NDArray[np.intp]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LongRatings:
    """`n` answers, each array of shape (n,).

    `annotators` and `units` number the names; `values` are numbers, or with `categories` their
    places in declared order. No annotator answers a unit twice.
    """

    annotators: Ints
    units: Ints
    values: Floats
    annotator_names: tuple[Label, ...]
    unit_names: tuple[Label, ...]
    categories: tuple[Label, ...] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def per_unit(self) -> Ints:
        """How many answers each unit has, shape (units,)."""
        return np.bincount(self.units, minlength=len(self.unit_names))

    def shared(self) -> LongRatings:
        """The answers to units that two or more have answered."""
        return self.where(self.per_unit()[self.units] >= 2)

    def where(self, kept: NDArray[np.bool_]) -> LongRatings:
        """The answers marked in `kept`; names keep their numbers."""
        columns = (self.annotators[kept], self.units[kept], self.values[kept])
        return LongRatings(*columns, self.annotator_names, self.unit_names, self.categories)

    def counts(self) -> NDArray[np.int64]:
        """How often each rated unit got each category, shape (units with an answer, categories)."""
        if self.categories is None:
            raise ValueError("numbers have no categories to count")
        width = len(self.categories)
        keys = self.units * width + self.values.astype(np.intp)
        cells = np.bincount(keys, minlength=len(self.unit_names) * width)
        table = cells.reshape(len(self.unit_names), width)
        return table[table.sum(axis=1) > 0]

    def shown(self, value: float) -> Any:
        """A value as it was given: the category's label, or the number."""
        return value if self.categories is None else self.categories[int(value)]


def long_ratings(
    records: Iterable[tuple[Label, Label, Any]], categories: Sequence[Label] | None = None
) -> LongRatings:
    """Records (annotator, unit, value) as columns; a value of None is no answer.

    With `categories` values are labels, compared as in `rating_tables`; without, numbers. Names are
    numbered in rising order of their text. Raises ValueError for a label that is no category, for
    what is no number, and where an annotator has answered a unit twice.
    """
    rows = [record for record in records if record[2] is not None]
    annotators, people = numbered([row[0] for row in rows])
    units, things = numbered([row[1] for row in rows])
    found = LongRatings(
        annotators,
        units,
        _values([row[2] for row in rows], categories),
        people,
        things,
        None if categories is None else tuple(categories),
    )
    _once_each(found)
    return found


def numbered(names: Sequence[Label]) -> tuple[Ints, tuple[Label, ...]]:
    """Names as numbers from 0, and the names by number, in rising order of their text."""
    order = sorted(set(names), key=lambda name: (str(name), repr(name)))
    place = {name: i for i, name in enumerate(order)}
    return np.array([place[name] for name in names], dtype=np.intp), tuple(order)


def _values(values: Sequence[Any], categories: Sequence[Label] | None) -> Floats:
    if categories is None:
        try:
            found = np.array([float(value) for value in values], dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError("without categories every value must be a number") from None
        if not np.isfinite(found).all():
            raise ValueError("every value must be a finite number; leave out what is missing")
        return found
    places = {normalised(label): i for i, label in enumerate(categories)}
    if len(places) < len(categories):
        raise ValueError("the categories name one label twice")
    try:
        return np.array([places[normalised(value)] for value in values], dtype=np.float64)
    except KeyError as error:
        raise ValueError(f"{error.args[0]!r} is not one of the categories") from None


def _once_each(ratings: LongRatings) -> None:
    keys = ratings.annotators * max(1, len(ratings.unit_names)) + ratings.units
    order = np.sort(keys)
    twice = order[1:][order[1:] == order[:-1]]
    if len(twice):
        annotator, unit = divmod(int(twice[0]), len(ratings.unit_names))
        raise ValueError(
            f"annotator {ratings.annotator_names[annotator]} has answered unit "
            f"{ratings.unit_names[unit]} twice"
        )


def pairs_within(groups: Ints) -> tuple[Ints, Ints]:
    """Row numbers (first, second) of every two rows of one group; groups are numbers from 0.

    Pairs come group by group, and in each the first row stands before the second.
    """
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    sizes = np.bincount(groups)
    starts = (np.cumsum(sizes) - sizes)[ordered]
    earlier = np.arange(len(groups)) - starts
    second = np.repeat(np.arange(len(groups)), earlier)
    within = np.arange(len(second)) - np.repeat(np.cumsum(earlier) - earlier, earlier)
    return order[starts[second] + within], order[second]
