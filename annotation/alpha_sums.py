"""Krippendorff's alpha in closed form: sums over units, no matrix of values by values by units.

A unit with m ratings disagrees by the sum of squared distances over its ordered pairs, divided by
m - 1. For interval data that is 2m / (m - 1) times the squared deviations from the unit's mean.
Ordinal distances are those of interval data on mid-ranks: the package's "ranks between, less half
of both ends" is the difference of two mid-ranks. (Krippendorff 2011, Computing Krippendorff's
alpha-reliability.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

Ints = NDArray[np.intp]
Floats = NDArray[np.float64]
BLOCK = 2000


@dataclass(frozen=True, slots=True)
class Pairable:
    """The ratings alpha looks at: those of units with two at least.

    `units` and `codes` have shape (n,) and count from 0; `domain`, shape (V,), holds the values in
    rising order, each of them given at least once.
    """

    units: Ints
    codes: Ints
    domain: Floats

    @property
    def sizes(self) -> Floats:
        """Ratings of each unit, shape (U,)."""
        return np.bincount(self.units).astype(np.float64)

    @property
    def totals(self) -> Floats:
        """How often each value was given, shape (V,)."""
        return np.bincount(self.codes, minlength=len(self.domain)).astype(np.float64)

    def table(self) -> sparse.csr_array:
        """Counts of values by unit, shape (U, V)."""
        shape = (int(self.units.max()) + 1, len(self.domain))
        ones = np.ones(len(self.units))
        return sparse.coo_array((ones, (self.units, self.codes)), shape=shape).tocsr()


def pairable(units: ArrayLike, values: ArrayLike) -> Pairable:
    """Ratings of units with two or more, renumbered; both arrays have shape (n,), values numbers.

    Raises ValueError for unequal lengths and for values that are not finite.
    """
    which, given = np.asarray(units), np.asarray(values)
    if which.shape != given.shape or which.ndim != 1:
        raise ValueError(f"units and values have shapes {which.shape} and {given.shape}")
    if not np.isfinite(given).all():
        raise ValueError("every rating must be a finite number; leave out what is missing")
    which = _numbers(which)[1]
    kept = np.bincount(which)[which] >= 2 if len(which) else np.zeros(0, dtype=bool)
    domain, codes = _numbers(given[kept])
    return Pairable(_numbers(which[kept])[1], codes, domain.astype(np.float64))


def _numbers(values: NDArray) -> tuple[NDArray, Ints]:
    """The different values in rising order, and for each value its place among them."""
    whole = values.dtype.kind in "iu" and len(values)
    low = int(values.min()) if whole else 0
    if not whole or int(values.max()) - low > 4 * len(values) + 1000:
        found, places = np.unique(values, return_inverse=True)
        return found, places.astype(np.intp)
    # Whole numbers close together need no sorting.
    shifted = (values - low).astype(np.intp)
    seen = np.bincount(shifted) > 0
    return np.flatnonzero(seen) + low, (np.cumsum(seen) - 1)[shifted]


def midranks(totals: Floats) -> Floats:
    """Mean ranks of the values, from 0 to n; `totals` has shape (..., V)."""
    return np.asarray(np.cumsum(totals, axis=-1) - totals / 2)


def observed(ratings: Pairable, level: str, scale: Floats | None = None) -> Floats:
    """Disagreement of each unit, shape (U,); `scale` (V,) replaces the values' places.

    "ordinal" takes the mid-ranks of all ratings unless another scale is given.
    """
    if level == "nominal":
        return _unequal_pairs(ratings)
    if level == "ratio":
        return _ratio_pairs(ratings)
    if scale is None:
        scale = midranks(ratings.totals) if level == "ordinal" else ratings.domain
    sizes = ratings.sizes
    at = scale[ratings.codes]
    at = at - at.mean()
    means = np.bincount(ratings.units, weights=at) / sizes
    spread = np.bincount(ratings.units, weights=(at - means[ratings.units]) ** 2)
    return np.asarray(2 * sizes / (sizes - 1) * spread)


def _unequal_pairs(ratings: Pairable) -> Floats:
    table, sizes = ratings.table(), ratings.sizes
    same = np.asarray(table.multiply(table).sum(axis=1)).ravel()
    return np.asarray((sizes**2 - same) / (sizes - 1))


def _ratio_pairs(ratings: Pairable) -> Floats:
    table, sizes = ratings.table(), ratings.sizes
    found = np.zeros(len(sizes))
    for start in range(0, len(ratings.domain), BLOCK):
        block = slice(start, start + BLOCK)
        away = ratio_distances(ratings.domain, ratings.domain[block])
        found += np.asarray(table[:, block].multiply(table @ away).sum(axis=1)).ravel()
    return np.asarray(found / (sizes - 1))


def ratio_distances(first: Floats, second: Floats) -> Floats:
    """((a - b) / (a + b)) squared, shape (first, second); 0 where a + b is 0, as in the package."""
    difference, total = first[:, None] - second[None, :], first[:, None] + second[None, :]
    shares = np.divide(difference, total, out=np.zeros_like(total), where=total != 0)
    return np.asarray(shares**2)


def expected(totals: Floats, domain: Floats, level: str) -> Floats:
    """Disagreement by chance for value counts of shape (R, V), shape (R,).

    Counts may be weighted; rows without two ratings give 0 or less.
    """
    n = totals.sum(axis=-1)
    if level == "nominal":
        pairs = n**2 - (totals**2).sum(axis=-1)
    elif level == "ratio":
        pairs = np.zeros(len(totals))
        for start in range(0, len(domain), BLOCK):
            block = slice(start, start + BLOCK)
            pairs += ((totals @ ratio_distances(domain, domain[block])) * totals[:, block]).sum(1)
    else:
        at = midranks(totals) if level == "ordinal" else np.broadcast_to(domain, totals.shape)
        mean = (totals * at).sum(axis=-1) / np.where(n > 0, n, 1)
        pairs = 2 * n * (totals * (at - mean[:, None]) ** 2).sum(axis=-1)
    return np.asarray(pairs / np.where(n > 1, n - 1, 1))


def closed_form(ratings: Pairable, level: str) -> float:
    """Alpha of ratings with two different values at least."""
    chance = expected(ratings.totals[None, :], ratings.domain, level)[0]
    return float(1 - observed(ratings, level).sum() / chance)


def resampled_alphas(ratings: Pairable, level: str, drawn: Ints) -> Floats:
    """Alpha of each row of drawn units, `drawn` of shape (R, U); NaN where there is no variation.

    A unit drawn twice counts as two units.
    """
    units = drawn.shape[1]
    rows = np.arange(len(drawn))[:, None] * units
    weights = np.bincount((drawn + rows).ravel(), minlength=drawn.size)
    weights = weights.reshape(drawn.shape).astype(np.float64)
    totals = np.asarray((ratings.table().T @ weights.T).T)
    if level == "ordinal":
        scales = midranks(totals)
        pairs = zip(weights, scales, strict=True)
        seen = np.array([row @ observed(ratings, level, scale) for row, scale in pairs])
    else:
        seen = weights @ observed(ratings, level)
    chance = expected(totals, ratings.domain, level)
    varied = (totals > 0).sum(axis=1) > 1
    ratio = np.divide(seen, chance, out=np.full(len(drawn), np.nan), where=varied & (chance > 0))
    return np.asarray(1 - ratio)
