"""Agreement by item, by pair of people and by person, over long-form ratings.

One number hides who disagrees on what. Each row can be recomputed from the exported answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.agreement import wilson
from annotation.long_ratings import LongRatings
from annotation.rated_pairs import PeoplePairs, people_pairs, rated_pairs
from scoring.estimates import Estimate, undefined

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One unit with two or more answers.

    `agreement` is the share of its pairs that are equal, `spread` the largest minus the smallest
    (of categories: in steps of their order). `answers` are (annotator, answer) pairs.
    """

    unit: Any
    n: int
    agreement: float
    spread: float
    answers: tuple[tuple[Any, Any], ...]


def by_item(ratings: LongRatings) -> list[ItemRow]:
    """Shared units, those with the least agreement first, then the widest spread."""
    shared = ratings.shared()
    pairs = rated_pairs(shared)
    same = np.bincount(
        pairs.units, (pairs.x == pairs.y) * pairs.unit_share, len(ratings.unit_names)
    )
    order = np.lexsort((shared.annotators, shared.units))
    cuts = np.flatnonzero(np.diff(shared.units[order])) + 1
    rows = [_item(shared, part, same) for part in np.split(order, cuts) if len(part)]
    return sorted(rows, key=lambda row: (row.agreement, -row.spread, str(row.unit)))


def _item(shared: LongRatings, rows: NDArray[np.intp], same: Floats) -> ItemRow:
    values = shared.values[rows]
    unit = int(shared.units[rows[0]])
    answers = tuple(
        (shared.annotator_names[who], shared.shown(value))
        for who, value in zip(shared.annotators[rows], values.tolist(), strict=True)
    )
    spread = float(values.max() - values.min())
    # A sum of thirds may miss 1 by a rounding.
    agreement = 1.0 if not spread else float(same[unit])
    return ItemRow(shared.unit_names[unit], len(rows), agreement, spread, answers)


@dataclass(frozen=True, slots=True)
class PairRow:
    """Two people over the `n` units both answered.

    `raw` is the share of equal answers (Wilson interval). `kappa` is Cohen's for categories, `away`
    the mean absolute difference for numbers; the other one is None.
    """

    first: Any
    second: Any
    n: int
    raw: Estimate
    kappa: Estimate | None
    away: float | None


def by_pair(ratings: LongRatings, *, weights: str | None = None) -> list[PairRow]:
    """Each two people who share a unit, in rising order of their names."""
    found = people_pairs(ratings, weights=weights)
    return [_pair(ratings.annotator_names, found, i) for i in range(len(found.n))]


def _pair(names: Sequence[Any], found: PeoplePairs, i: int) -> PairRow:
    n = int(found.n[i])
    kappa = None
    if found.kappa is not None:
        value = float(found.kappa[i])
        kappa = Estimate(value, n=n) if np.isfinite(value) else None
        kappa = kappa or undefined("chance_agreement_is_one", n=n)
    return PairRow(
        first=names[found.first[i]],
        second=names[found.second[i]],
        n=n,
        raw=wilson(int(found.same[i]), n),
        kappa=kappa,
        away=None if found.away is None else float(found.away[i]),
    )


def by_annotator(ratings: LongRatings) -> dict[Any, Estimate]:
    """Share of equal answers of each person with all others they share units with.

    `n` counts pairs of answers. Pairs of one person hang together, so there is no interval.
    """
    found = people_pairs(ratings)
    ends = np.concatenate([found.first, found.second])
    people = len(ratings.annotator_names)
    n = np.bincount(ends, np.tile(found.n, 2), people)
    same = np.bincount(ends, np.tile(found.same, 2), people)
    return {
        name: Estimate(float(same[i] / n[i]), n=int(n[i]))
        if n[i]
        else undefined("no_pairable_values")
        for i, name in enumerate(ratings.annotator_names)
    }
