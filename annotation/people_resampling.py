"""Resampling people: every statistic recomputed from how often each person was drawn.

One person's answers hang together, so people are drawn with replacement, each with all they said.
A statistic that is a ratio of sums over people needs two products per resample; agreement needs the
product of two people's weights per pair of answers. Someone drawn twice counts as two people who
happen to have said the same, but is never paired with themselves: such a pair would agree by
construction. Products of weights vary more than weights, so intervals of agreement are on the safe
side (Owen 2007, The pigeonhole bootstrap).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from annotation.alpha_sums import expected, midranks
from annotation.long_ratings import LongRatings
from annotation.rated_pairs import PeoplePairs, RatedPairs, people_pairs, rated_pairs

Floats = NDArray[np.float64]
Ratio = tuple[Floats, Floats]
MOST_CELLS = 4_000_000
NO_CHANCE_LEFT = 1e-12


def person_weights(people: int, *, resamples: int, seed: int) -> Floats:
    """How often each person was drawn, shape (resamples, people); each row sums to `people`."""
    drawn = np.random.default_rng(seed).integers(0, people, (resamples, people))
    keys = drawn + np.arange(resamples)[:, None] * people
    times = np.bincount(keys.ravel(), minlength=resamples * people)
    return times.reshape(resamples, people).astype(np.float64)


def percentile_interval(
    values: Floats, confidence: float = 0.95
) -> tuple[tuple[float, float] | None, int]:
    """(low, high) of resampled values and how many were undefined (NaN).

    None where half or more were undefined. Quantiles are interpolated linearly.
    """
    defined = values[np.isfinite(values)]
    missing = len(values) - len(defined)
    if len(defined) * 2 <= len(values):
        return None, missing
    tail = (1 - confidence) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return (float(low), float(high)), missing


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """numerator / denominator, NaN where the denominator is not above 0."""
    nothing = np.full(np.broadcast(numerator, denominator).shape, np.nan)
    return np.divide(numerator, denominator, out=nothing, where=denominator > 0)


def resampled_ratios(ratios: Mapping[str, Ratio], weights: Floats) -> dict[str, Floats]:
    """Each ratio of sums over people, shape (resamples,); a ratio holds two arrays (people,)."""
    if not ratios:
        return {}
    above, below = (np.stack(side) for side in zip(*ratios.values(), strict=True))
    found = ratio(weights @ above.T, weights @ below.T)
    return dict(zip(ratios, found.T, strict=True))


def resampled_agreement(
    ratings: LongRatings, weights: Floats, *, level: str = "nominal"
) -> dict[str, Floats]:
    """`raw` and `alpha`, and for categories `ac1` and `kappa`, each of shape (resamples,).

    `weights` has shape (resamples, annotators). With all weights 1 these are the statistics of
    `agreement`; kappa is the mean over pairs of people by their shared units.
    """
    pairs = rated_pairs(ratings)
    statistics: dict[str, Callable[[Floats, Floats], Floats]] = {
        "raw": lambda both, _: _raw(pairs, both),
        "alpha": _alpha_by_pairs(pairs, level),
    }
    if ratings.categories is not None:
        prevalence = _prevalence(ratings)
        statistics["ac1"] = lambda both, single: _ac1(pairs, both, single, *prevalence)
    size = max(1, MOST_CELLS // max(1, len(pairs)))
    parts: dict[str, list[Floats]] = {name: [] for name in statistics}
    for start in range(0, len(weights), size):
        single = weights[start : start + size]
        both = single[:, pairs.first] * single[:, pairs.second]
        for name, statistic in statistics.items():
            parts[name].append(statistic(both, single))
    found = {name: np.concatenate(part) for name, part in parts.items()}
    if ratings.categories is not None:
        found["kappa"] = resampled_kappa(people_pairs(ratings), weights)
    return found


def _raw(pairs: RatedPairs, both: Floats) -> Floats:
    """Share of agreeing pairs, every unit counting once; `both` has shape (R, P)."""
    same = (pairs.x == pairs.y) * pairs.unit_share
    return ratio(both @ same, both @ pairs.unit_share)


def _alpha_by_pairs(pairs: RatedPairs, level: str) -> Callable[[Floats, Floats], Floats]:
    domain, places = np.unique(np.concatenate([pairs.x, pairs.y]), return_inverse=True)
    x, y = places[: len(pairs)], places[len(pairs) :]
    rows = np.arange(len(pairs))
    ends = sparse.coo_array(
        (np.full(2 * len(pairs), 0.5), (np.tile(rows, 2), np.concatenate([x, y]))),
        shape=(len(pairs), len(domain)),
    ).tocsr()
    away = (x != y) * 1.0 if level == "nominal" else (pairs.x - pairs.y) ** 2

    def alpha(both: Floats, _: Floats) -> Floats:
        mass = both * pairs.alpha_mass
        totals = np.asarray((ends.T @ mass.T).T)
        if level == "ordinal":
            at = midranks(totals)
            seen = (mass * (at[:, x] - at[:, y]) ** 2).sum(axis=1)
        else:
            seen = mass @ away
        enough = (mass.sum(axis=1) > 1) & ((totals > 0).sum(axis=1) > 1)
        return 1 - ratio(seen, np.where(enough, expected(totals, domain, level), 0.0))

    return alpha


def _prevalence(ratings: LongRatings) -> tuple[Floats, Floats]:
    """What each person adds to the mean shares of categories: (people, q), and to units: (people,).

    A unit with r answers gives 1 / r to each of them.
    """
    part = 1 / ratings.per_unit()[ratings.units]
    people, q = len(ratings.annotator_names), len(ratings.categories or ())
    cells = np.zeros((people, q))
    np.add.at(cells, (ratings.annotators, ratings.values.astype(np.intp)), part)
    return cells, np.bincount(ratings.annotators, part, people)


def _ac1(pairs: RatedPairs, both: Floats, single: Floats, cells: Floats, units: Floats) -> Floats:
    shares = ratio(single @ cells, (single @ units)[:, None])
    q = cells.shape[1]
    if q < 2:
        return np.full(len(both), np.nan)
    chance = (shares * (1 - shares)).sum(axis=1) / (q - 1)
    left = 1 - chance
    return ratio(_raw(pairs, both) - chance, np.where(left > NO_CHANCE_LEFT, left, 0.0))


def resampled_kappa(pairs: PeoplePairs, weights: Floats) -> Floats:
    """Mean of the defined kappas of pairs of people by their shared units, shape (resamples,)."""
    kappas = pairs.kappa if pairs.kappa is not None else np.zeros(0)
    defined = np.isfinite(kappas)
    first, second, n = (side[defined] for side in (pairs.first, pairs.second, pairs.n))
    both = weights[:, first] * weights[:, second]
    return ratio(both @ (n * kappas[defined]), both @ n)
