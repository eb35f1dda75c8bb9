"""How far people agree: raw, Cohen, Fleiss, Gwet's AC1 and AC2, Krippendorff's alpha, Wilson.

Categories are the question's declared options in declared order, never those seen. Undefined is a
value of None with a reason. Sources: Cohen 1960 and 1968; Fleiss 1971; Gwet 2014 (Handbook of
Inter-Rater Reliability, 4th ed.); Krippendorff 2011 (Computing Krippendorff's alpha-reliability);
Wilson 1927.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from annotation.krippendorff_alpha import krippendorff_alpha
from annotation.people_resampling import percentile_interval, ratio
from annotation.rating_tables import (
    Counts,
    Label,
    Ratings,
    counts_of,
    counts_of_table,
    ratings_of,
    seen_labels,
    table_of,
    weights_of,
)
from scoring.estimates import Estimate, undefined

__all__ = [
    "cohen_kappa",
    "fleiss_kappa",
    "gwet_ac",
    "kappa_error",
    "krippendorff_alpha",
    "ratings_of",
    "raw_agreement",
    "wilson",
]
CHANCE_IS_ONE = "chance_agreement_is_one"
MOST_DRAWN = 1_000_000


def raw_agreement(
    ratings: Ratings, *, pooling: str = "item_mean", resamples: int = 0, seed: int = 0
) -> Estimate:
    """Share of agreeing pairs of raters.

    "item_mean": mean over units of the unit's share; "pairs": all pairs pooled. `n` is the number
    of units with two ratings, `pairs` that of pairs. With `resamples` a percentile interval over
    units comes along.
    """
    if pooling not in ("item_mean", "pairs"):
        raise ValueError(f"pooling is {pooling!r}; it must be 'item_mean' or 'pairs'")
    agreeing, all_pairs = _pairs(counts_of(ratings, seen_labels(ratings)))
    units, total = len(all_pairs), int(all_pairs.sum())
    if not units:
        return undefined("no_pairable_values", pairs=0)
    above, below = agreeing, all_pairs
    if pooling == "item_mean":
        above, below = agreeing / all_pairs, np.ones(units)
    ci = _over_units(
        units, lambda drawn: above[drawn].sum(1) / below[drawn].sum(1), resamples, seed
    )
    value = float(above.sum() / below.sum())
    return Estimate(value, _no_interval(units, resamples), n=units, ci=ci, detail={"pairs": total})


def _over_units(
    units: int,
    value_of: Callable[[NDArray[np.intp]], NDArray[np.float64]],
    resamples: int,
    seed: int,
) -> tuple[float, float] | None:
    """A 95 % percentile interval; `value_of` gets drawn units (R, units) and gives (R,) values."""
    if not resamples or units < 2:
        return None
    rng = np.random.default_rng(seed)
    size = max(1, MOST_DRAWN // units)
    parts = [
        value_of(rng.integers(0, units, (min(size, resamples - start), units)))
        for start in range(0, resamples, size)
    ]
    return percentile_interval(np.concatenate(parts))[0]


def _no_interval(units: int, resamples: int) -> str:
    return "fewer_than_two_observations" if resamples and units < 2 else ""


def _pairs(counts: Counts) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Agreeing and all pairs of each unit with at least two ratings."""
    rated = counts[counts.sum(axis=1) >= 2].astype(np.float64)
    totals = rated.sum(axis=1)
    return (rated * (rated - 1)).sum(axis=1) / 2, totals * (totals - 1) / 2


def cohen_kappa(
    first: Sequence[Label | None],
    second: Sequence[Label | None],
    *,
    categories: Sequence[Label],
    weights: str | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Cohen's kappa of two raters over the units both rated; weights as in `weights_of`."""
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    return cohen_kappa_of_table(
        table_of(pairs, categories), categories=categories, weights=weights, confidence=confidence
    )


def cohen_kappa_of_table(
    table: Sequence[Sequence[int]] | Counts,
    *,
    categories: Sequence[Label],
    weights: str | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """`cohen_kappa` of a table, rows the first rater's labels, columns the second's.

    The interval is the large-sample one of Fleiss, Cohen and Everitt (1969), cut at -1 and 1; `se`
    is its standard error.
    """
    cells = np.asarray(table, dtype=np.float64)
    n = int(cells.sum())
    if not n:
        return undefined("no_pairable_values")
    agreement = weights_of(weights, categories)
    shares = cells / n
    chance = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    seen, expected = float((agreement * shares).sum()), float((agreement * chance).sum())
    found = _beyond_chance(seen, expected, n)
    if found.value is None:
        return found
    se = kappa_error(cells, agreement, found.value, expected)
    half = float(stats.norm.ppf((1 + confidence) / 2)) * se
    ci = (max(-1.0, found.value - half), min(1.0, found.value + half))
    return Estimate(found.value, n=n, ci=ci, detail={**found.detail, "se": se})


def kappa_error(
    table: NDArray[np.float64], agreement: NDArray[np.float64], kappa: float, chance: float
) -> float:
    """Standard error of (weighted) kappa by the delta method; `table` has shape (q, q)."""
    n = table.sum()
    shares = table / n
    # How much each rater's label can be expected to agree with the other rater's.
    of_rows, of_columns = agreement @ shares.sum(axis=0), shares.sum(axis=1) @ agreement
    pull = agreement - (of_rows[:, None] + of_columns[None, :]) * (1 - kappa)
    spread = float((shares * pull**2).sum()) - (kappa - chance * (1 - kappa)) ** 2
    return math.sqrt(max(0.0, spread) / n) / (1 - chance)


def _beyond_chance(seen: float, expected: float, n: int) -> Estimate:
    if math.isclose(expected, 1.0, rel_tol=0, abs_tol=1e-12):
        return undefined(CHANCE_IS_ONE, n=n, pa=seen, pe=1.0)
    detail = {"pa": seen, "pe": expected}
    return Estimate((seen - expected) / (1 - expected), n=n, detail=detail)


def fleiss_kappa(
    counts: Sequence[Sequence[int]] | Counts,
    *,
    categories: Sequence[Label] | None = None,
    weights: str | None = None,
    resamples: int = 0,
    seed: int = 0,
) -> Estimate:
    """Fleiss' kappa; rows are subjects, columns categories, cells numbers of raters.

    Subjects rated once or not at all are left out; numbers of raters may differ. With `resamples` a
    percentile interval over subjects comes along.
    """
    cells = np.asarray(counts, dtype=np.float64)
    cells = cells[cells.sum(axis=1) >= 2] if cells.size else cells
    if not len(cells):
        return undefined("no_pairable_values")
    agreement = weights_of(weights, categories or range(cells.shape[1]))
    shares = cells / cells.sum(axis=1, keepdims=True)
    of_units = _unit_agreement(cells, agreement)

    def kappas(drawn: NDArray[np.intp]) -> NDArray[np.float64]:
        prevalence = shares[drawn].mean(axis=1)
        chance = np.einsum("ri,ij,rj->r", prevalence, agreement, prevalence)
        return ratio(
            of_units[drawn].mean(axis=1) - chance, np.where(chance < 1 - 1e-12, 1 - chance, 0)
        )

    mean = shares.mean(axis=0)
    found = _beyond_chance(float(of_units.mean()), float(mean @ agreement @ mean), len(cells))
    if found.value is None:
        return found
    ci = _over_units(len(cells), kappas, resamples, seed)
    reason = _no_interval(len(cells), resamples)
    return Estimate(found.value, reason, n=found.n, ci=ci, detail=found.detail)


def _unit_agreement(
    counts: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weighted share of agreeing pairs of each unit; every unit has at least two ratings."""
    totals = counts.sum(axis=1)
    partners = counts @ weights - 1
    return np.asarray((counts * partners).sum(axis=1) / (totals * (totals - 1)))


def gwet_ac(
    ratings: Ratings,
    *,
    categories: Sequence[Label],
    weights: str = "identity",
    confidence: float = 0.95,
) -> Estimate:
    """Gwet's AC1 ("identity" weights) or AC2, with `pa`, `pe`, `se` and a t interval.

    Any number of raters, missing ratings allowed. The agreement is over units with two ratings, the
    chance term over all rated units; the upper end of the interval is cut at 1.
    """
    return gwet_ac_of_counts(
        counts_of(ratings, categories),
        categories=categories,
        weights=weights,
        confidence=confidence,
    )


def gwet_ac_of_table(
    table: Sequence[Sequence[int]], *, categories: Sequence[Label], **settings: object
) -> Estimate:
    """`gwet_ac` of a two-rater table."""
    return gwet_ac_of_counts(counts_of_table(table), categories=categories, **settings)  # type: ignore[arg-type]


def gwet_ac_of_counts(
    counts: Counts,
    *,
    categories: Sequence[Label],
    weights: str = "identity",
    confidence: float = 0.95,
) -> Estimate:
    """`gwet_ac` of counts, shape (units, categories)."""
    q = len(categories)
    if q < 2:
        return undefined("fewer_than_two_possible_categories")
    rated = counts[counts.sum(axis=1) >= 1].astype(np.float64)
    paired = rated.sum(axis=1) >= 2
    if not paired.any():
        return undefined("no_pairable_values", n=len(rated))
    agreement = weights_of(weights, categories)
    shares = rated / rated.sum(axis=1, keepdims=True)
    spread = agreement.sum() / (q * (q - 1))
    prevalence = shares.mean(axis=0)
    expected = float(spread * (prevalence * (1 - prevalence)).sum())
    of_units = np.zeros(len(rated))
    of_units[paired] = _unit_agreement(rated[paired], agreement)
    seen = float(of_units.sum() / paired.sum())
    if math.isclose(expected, 1.0, rel_tol=0, abs_tol=1e-12):
        return undefined(CHANCE_IS_ONE, n=int(paired.sum()), pa=seen, pe=expected)
    value = (seen - expected) / (1 - expected)
    units_expected = spread * (shares @ (1 - prevalence))
    gammas = np.where(paired, len(rated) / paired.sum() * (of_units - expected), 0.0)
    gammas = gammas / (1 - expected)
    gammas = gammas - 2 * (1 - value) * (units_expected - expected) / (1 - expected)
    return _with_t_interval(value, gammas, confidence, int(paired.sum()), seen, expected)


def _with_t_interval(
    value: float,
    gammas: NDArray[np.float64],
    confidence: float,
    paired: int,
    seen: float,
    expected: float,
) -> Estimate:
    n = len(gammas)
    detail: dict[str, float | None] = {"pa": seen, "pe": expected, "se": None}
    if n < 2:
        return Estimate(value, "fewer_than_two_observations", n=paired, detail=detail)
    detail["se"] = se = math.sqrt(float(((gammas - value) ** 2).sum()) / (n * (n - 1)))
    half = float(stats.t.ppf((1 + confidence) / 2, n - 1)) * se
    return Estimate(value, n=paired, ci=(value - half, min(1.0, value + half)), detail=detail)


def wilson(successes: int, n: int, *, confidence: float = 0.95) -> Estimate:
    """A share with Wilson's interval, which lies within 0 and 1 exactly."""
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} is no share")
    if n == 0:
        return undefined("no_observations", k=0)
    z = _quantile((1 + confidence) / 2)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Estimate(share, n=n, ci=(low, high), detail={"k": successes})


@cache
def _quantile(share: float) -> float:
    """A quantile of the normal distribution; one report asks for it thousands of times."""
    return float(stats.norm.ppf(share))
