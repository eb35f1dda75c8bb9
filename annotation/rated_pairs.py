"""Every two answers of one unit: what agreement between people is counted from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.long_ratings import LongRatings, pairs_within
from annotation.rating_tables import weights_of

Ints = NDArray[np.intp]
Floats = NDArray[np.float64]
NO_CHANCE_LEFT = 1e-12


@dataclass(frozen=True, slots=True)
class RatedPairs:
    """P pairs of answers to one unit by two people, all arrays of shape (P,).

    `first` < `second` number the people, `x` and `y` are their answers. `sizes` counts the answers
    of the unit.
    """

    units: Ints
    first: Ints
    second: Ints
    x: Floats
    y: Floats
    sizes: Floats

    def __len__(self) -> int:
        return len(self.units)

    @property
    def alpha_mass(self) -> Floats:
        """2 / (m - 1): over a unit's pairs they sum to its answers, as alpha weighs units."""
        return np.asarray(2 / (self.sizes - 1))

    @property
    def unit_share(self) -> Floats:
        """2 / (m (m - 1)): over a unit's pairs they sum to 1, as raw agreement and AC1 weigh."""
        return np.asarray(2 / (self.sizes * (self.sizes - 1)))


def rated_pairs(ratings: LongRatings) -> RatedPairs:
    """All pairs of answers, unit by unit."""
    one, other = pairs_within(ratings.units)
    turned = ratings.annotators[one] > ratings.annotators[other]
    first, second = np.where(turned, other, one), np.where(turned, one, other)
    units = ratings.units[first]
    return RatedPairs(
        units,
        ratings.annotators[first],
        ratings.annotators[second],
        ratings.values[first],
        ratings.values[second],
        ratings.per_unit()[units].astype(np.float64),
    )


@dataclass(frozen=True, slots=True)
class PeoplePairs:
    """Each two people who share units, arrays of shape (K,).

    `n` counts shared units, `same` those with equal answers. `kappa` is Cohen's (NaN where chance
    alone would agree) and None for numbers; `away` is the mean absolute difference, None for words.
    """

    first: Ints
    second: Ints
    n: Floats
    same: Floats
    kappa: Floats | None
    away: Floats | None


def people_pairs(ratings: LongRatings, *, weights: str | None = None) -> PeoplePairs:
    """How far each two people agree; `weights` of kappa as in `rating_tables.weights_of`."""
    pairs = rated_pairs(ratings)
    width = max(1, len(ratings.annotator_names))
    keys, which = np.unique(pairs.first * width + pairs.second, return_inverse=True)
    which = which.astype(np.intp)
    n = np.bincount(which, minlength=len(keys)).astype(np.float64)
    same = np.bincount(which, pairs.x == pairs.y, len(keys))
    kappa = away = None
    if ratings.categories is None:
        away = np.bincount(which, np.abs(pairs.x - pairs.y), len(keys)) / n
    else:
        kappa = _kappas(
            _tables(pairs, which, len(keys), len(ratings.categories)),
            weights_of(weights, ratings.categories),
        )
    return PeoplePairs(keys // width, keys % width, n, same, kappa, away)


def _tables(pairs: RatedPairs, which: Ints, count: int, q: int) -> Floats:
    """Answers of both people, shape (K, q, q)."""
    cells = (which * q + pairs.x.astype(np.intp)) * q + pairs.y.astype(np.intp)
    return np.bincount(cells, minlength=count * q * q).reshape(count, q, q).astype(np.float64)


def _kappas(tables: Floats, agreement: Floats) -> Floats:
    shares = tables / tables.sum(axis=(1, 2), keepdims=True)
    seen = (shares * agreement).sum(axis=(1, 2))
    rows, columns = shares.sum(axis=2), shares.sum(axis=1)
    chance = np.einsum("ki,ij,kj->k", rows, agreement, columns)
    left = 1 - chance
    nothing = np.full(len(tables), np.nan)
    return np.divide(seen - chance, left, out=nothing, where=left > NO_CHANCE_LEFT)
