"""The report's statistics and the widths of their intervals, for many draws of a study at once.

Arrays of answers have shape (draws, n); what is found has shape (draws,), NaN where undefined.
The formulas are those of `agreement` and `study_statistics`; resamples are weights, so that all of
them, for all draws, are one matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from annotation.imagined_draws import Layout

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Found:
    """A statistic of every draw: value, width of its 95 % interval, number of observations."""

    value: Floats
    width: Floats
    n: Floats


@dataclass(frozen=True, slots=True)
class Resampling:
    """How often each unit is drawn in each resample, shape (resamples, units)."""

    weights: Floats

    @classmethod
    def of(cls, units: int, resamples: int, rng: np.random.Generator) -> Resampling:
        """Draw the resamples of `units` units."""
        even = np.full(units, 1 / units)
        return cls(rng.multinomial(units, even, size=resamples).astype(np.float64))

    def totals(self, *sums: Floats) -> list[Floats]:
        """Resampled totals of sums per draw and unit: shapes (resamples, draws)."""
        return [self.weights @ part.T for part in sums]


def mean_of_people(values: Floats, person: Ints, chosen: Bools, people: Resampling) -> Found:
    """Mean of the chosen columns; interval by resampling people."""
    n_people = people.weights.shape[1]
    where = person[chosen]
    sums = by_unit(values[:, chosen], where, n_people)
    sizes = np.broadcast_to(np.bincount(where, minlength=n_people).astype(float), sums.shape)
    return _ratio(sums, sizes, people)


def orders(
    layout: Layout, ratings: Floats, groups: Ints, chosen: Bools, people: Resampling
) -> tuple[Found, Found]:
    """Tau-b (mean of the groups) and superiority (share of pairs) of rating against position.

    `groups`, shape (n,), lie within people. Intervals by resampling people.
    """
    first, second = _pairs(groups, chosen)
    side_k = np.sign(layout.k[second] - layout.k[first])
    side = np.sign(ratings[:, second] - ratings[:, first])
    numbers, places = np.unique(groups[first], return_inverse=True)
    owner = np.zeros(len(numbers), dtype=np.int64)
    owner[places] = layout.person[first]
    balance = by_unit(side * side_k, places, len(numbers))
    untied = by_unit(abs(side), places, len(numbers))
    scale = np.sqrt(untied * np.bincount(places, weights=abs(side_k), minlength=len(numbers)))
    with np.errstate(divide="ignore", invalid="ignore"):
        taus = np.where(scale > 0, balance / scale, np.nan)
    n_people, defined = people.weights.shape[1], ~np.isnan(taus)
    tau = _ratio(
        by_unit(np.where(defined, taus, 0.0), owner, n_people),
        by_unit(defined.astype(float), owner, n_people),
        people,
    )
    apart = side_k != 0
    wins = (side[:, apart] * side_k[apart] + 1) / 2
    whose = layout.person[first[apart]]
    sums = by_unit(wins, whose, n_people)
    pairs = np.broadcast_to(np.bincount(whose, minlength=n_people).astype(float), sums.shape)
    return tau, _ratio(sums, pairs, people)


def wilson_share(hits: Ints, n: Ints) -> Found:
    """Shares with the width of Wilson's interval (1927)."""
    z = float(stats.norm.ppf(0.975))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = hits / n
        half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    nothing = n == 0
    return Found(
        np.where(nothing, np.nan, share),
        np.where(nothing, np.nan, 2 * half),
        n.astype(float),
    )


def interval_alpha(item: Ints, values: NDArray, answered: Bools, units: Resampling) -> Found:
    """Krippendorff's alpha for numbers; interval by resampling the items that are shared."""
    where, chosen, n_units = _shared(item)
    given = answered[:, chosen].astype(float)
    numbers = values[:, chosen] * given
    sizes = by_unit(given, where, n_units)
    sums, squares = by_unit(numbers, where, n_units), by_unit(numbers**2, where, n_units)
    kept = sizes >= 2
    sizes, sums, squares = (np.where(kept, part, 0.0) for part in (sizes, sums, squares))
    within = 2 * (sizes * squares - sums**2) / np.maximum(sizes - 1, 1)

    def alpha(n: Floats, total: Floats, square: Floats, apart: Floats) -> Floats:
        chance = 2 * (n * square - total**2) / np.maximum(n - 1, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(chance > 1e-9, 1 - apart / chance, np.nan)

    parts = (sizes, sums, squares, within)
    value = alpha(*(part.sum(axis=1) for part in parts))
    return _of_units(value, width_of(alpha(*units.totals(*parts))), kept)


def nominal_alpha(
    item: Ints, answers: Ints, answered: Bools, categories: int, units: Resampling
) -> Found:
    """Krippendorff's alpha for words, coded from 0; interval by resampling the shared items."""
    where, chosen, n_units = _shared(item)
    counts = _counts(answers[:, chosen], answered[:, chosen], where, n_units, categories)
    sizes = sum(counts)
    kept = sizes >= 2
    counts = [np.where(kept, part, 0.0) for part in counts]
    sizes = np.where(kept, sizes, 0.0)
    squares = sum(part**2 for part in counts)
    within = (sizes**2 - squares) / np.maximum(sizes - 1, 1)

    def alpha(n: Floats, apart: Floats, *totals: Floats) -> Floats:
        chance = (n**2 - sum(total**2 for total in totals)) / np.maximum(n - 1, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(chance > 1e-9, 1 - apart / chance, np.nan)

    parts = (sizes, within, *counts)
    value = alpha(*(part.sum(axis=1) for part in parts))
    return _of_units(value, width_of(alpha(*units.totals(*parts))), kept)


def ac1(item: Ints, answers: Ints, answered: Bools, categories: int) -> Found:
    """Gwet's AC1 with the width of its t interval, its upper end cut at 1 (Gwet 2014)."""
    n_units = int(item.max()) + 1
    counts = np.stack(_counts(answers, answered, item, n_units, categories), axis=-1)
    sizes = counts.sum(axis=-1)
    rated, paired = sizes >= 1, sizes >= 2
    n_rated, n_paired = rated.sum(axis=1), paired.sum(axis=1)
    shares = counts / np.maximum(sizes, 1)[..., None]
    spread = 1 / (categories - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        prevalence = shares.sum(axis=1) / n_rated[:, None]
        expected = spread * (prevalence * (1 - prevalence)).sum(axis=1)
        agreeing = (counts * (counts - 1)).sum(axis=-1) / np.maximum(sizes * (sizes - 1), 1)
        seen = np.where(paired, agreeing, 0).sum(axis=1) / n_paired
        value = (seen - expected) / (1 - expected)
        chance = spread * (shares * (1 - prevalence)[:, None, :]).sum(axis=-1)
        of_unit = (n_rated / n_paired)[:, None] * (agreeing - expected[:, None])
        gammas = np.where(paired, of_unit, 0.0) / (1 - expected)[:, None]
        pull = (1 - value) / (1 - expected)
        gammas = gammas - 2 * pull[:, None] * (chance - expected[:, None])
        away = np.where(rated, (gammas - value[:, None]) ** 2, 0.0).sum(axis=1)
        half = stats.t.ppf(0.975, n_rated - 1) * np.sqrt(away / (n_rated * (n_rated - 1)))
    width = np.minimum(1, value + half) - (value - half)
    return Found(value, width, n_paired.astype(float))


def _of_units(value: Floats, width: Floats, kept: Bools) -> Found:
    """One item alone has no interval."""
    n = kept.sum(axis=1).astype(float)
    return Found(value, np.where(n >= 2, width, np.nan), n)


def _ratio(sums: Floats, sizes: Floats, units: Resampling) -> Found:
    """Sum over size, over all units, with the width of its interval; shapes (draws, units)."""
    n = sizes.sum(axis=1)
    top, bottom = units.totals(sums, sizes)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(n > 0, sums.sum(axis=1) / n, np.nan)
        width = width_of(np.where(bottom > 0, top / bottom, np.nan))
    return Found(value, np.where((sizes > 0).sum(axis=1) >= 2, width, np.nan), n)


def width_of(resampled: Floats) -> Floats:
    """Width of the percentile interval of each column; NaN where over half are undefined."""
    missing = np.isnan(resampled).sum(axis=0)
    if not missing.any():
        low, high = np.quantile(resampled, [0.025, 0.975], axis=0)
        return np.asarray(high - low)
    usable = missing * 2 < len(resampled)
    found = np.full(resampled.shape[1], np.nan)
    if usable.any():
        low, high = np.nanquantile(resampled[:, usable], [0.025, 0.975], axis=0)
        found[usable] = high - low
    return found


def by_unit(values: Floats, where: Ints, n_units: int) -> Floats:
    """Sums of columns by unit: (draws, n) to (draws, units)."""
    draws = len(values)
    places = where + n_units * np.arange(draws)[:, None]
    flat = np.bincount(places.ravel(), weights=values.ravel(), minlength=draws * n_units)
    return flat.reshape(draws, n_units)


def _counts(
    answers: Ints, answered: Bools, where: Ints, n_units: int, categories: int
) -> list[Floats]:
    return [
        by_unit(((answers == category) & answered).astype(float), where, n_units)
        for category in range(categories)
    ]


def _shared(item: Ints) -> tuple[Ints, Bools, int]:
    """Items that are judged twice or more, renumbered: (unit of each chosen, chosen, number)."""
    often = np.bincount(item) > 1
    numbers = np.cumsum(often) - 1
    chosen = often[item]
    return numbers[item[chosen]], chosen, int(often.sum())


def _pairs(groups: Ints, chosen: Bools) -> tuple[Ints, Ints]:
    """All pairs of chosen columns within a group."""
    places = np.flatnonzero(chosen)
    places = places[np.argsort(groups[places], kind="stable")]
    own = groups[places]
    starts = np.flatnonzero(np.r_[True, own[1:] != own[:-1]])
    firsts, seconds = [], []
    for start, end in zip(starts, [*starts[1:], len(places)], strict=True):
        one, other = np.triu_indices(end - start, k=1)
        firsts.append(places[start:end][one])
        seconds.append(places[start:end][other])
    return np.concatenate(firsts), np.concatenate(seconds)
