"""Krippendorff's alpha: the package `krippendorff` where the table is small, else closed form.

The package (GPL-3.0-or-later, imported here only) is the reference; its work grows with units x
values x values. Intervals and large tables go by the sums of `alpha_sums`, which are the same
numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import krippendorff
import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotation.alpha_sums import Pairable, closed_form, pairable, resampled_alphas
from annotation.rating_tables import Counts, Label, Ratings, counts_of, seen_labels
from scoring.estimates import Estimate, undefined

LEVELS = ("nominal", "ordinal", "interval", "ratio")
MOST_CELLS = 2_000_000
MOST_DRAWN = 4_000_000


def krippendorff_alpha(
    ratings: Ratings | NDArray[np.float64],
    *,
    level: str = "nominal",
    categories: Sequence[Label] | None = None,
    resamples: int = 0,
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Alpha over units with at least two ratings; the others are ignored everywhere.

    Rows are raters, columns units; an array of numbers has NaN where there is no rating.
    `categories` gives the order for "ordinal" where labels are text; numbers order themselves.
    "interval" and "ratio" need numbers. With `resamples` a percentile interval over units comes
    along. No variation among pairable ratings: undefined.
    """
    settings = {"resamples": resamples, "confidence": confidence, "seed": seed}
    if isinstance(ratings, np.ndarray) and ratings.dtype.kind in "fiu" and categories is None:
        units, raters = np.nonzero(~np.isnan(ratings.T))
        return alpha_of_long(units, ratings[raters, units], level=level, **settings)
    domain = _domain(ratings, level, categories)
    return alpha_of_counts(counts_of(ratings, domain), domain, level=level, **settings)


def alpha_of_counts(
    counts: Counts,
    domain: Sequence[Label],
    *,
    level: str = "nominal",
    resamples: int = 0,
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """`krippendorff_alpha` of counts, shape (units, values of `domain` in rising order)."""
    values = _values(domain, _known(level))
    units, codes = np.nonzero(counts)
    times = np.asarray(counts)[units, codes]
    return alpha_of_long(
        np.repeat(units, times),
        values[np.repeat(codes, times)],
        level=level,
        resamples=resamples,
        confidence=confidence,
        seed=seed,
    )


def alpha_of_long(
    units: ArrayLike,
    values: ArrayLike,
    *,
    level: str = "nominal",
    resamples: int = 0,
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """`krippendorff_alpha` of ratings in long form: two arrays of shape (n,), one row per rating.

    `values` are numbers; those of categories are their places in declared order. `n` of the answer
    counts pairable units, `pairable` their ratings.
    """
    ratings = pairable(units, values)
    _known(level)
    if not len(ratings.units):
        return undefined("no_pairable_values")
    n = int(ratings.units.max()) + 1
    if len(ratings.domain) < 2:
        return undefined("no_variation", n=n)
    ci, missing = None, 0
    if resamples:
        ci, missing = _interval(ratings, level, resamples, confidence, seed)
    detail = {"pairable": len(ratings.units), "resamples_undefined": missing}
    return Estimate(_point(ratings, level), n=n, ci=ci, detail=detail)


def _known(level: str) -> str:
    if level not in LEVELS:
        raise ValueError(f"level is {level!r}; it must be one of {', '.join(LEVELS)}")
    return level


def _domain(ratings: Ratings, level: str, categories: Sequence[Label] | None) -> Sequence[Label]:
    if level in ("interval", "ratio") or categories is None:
        return seen_labels(ratings)
    return categories


def _values(domain: Sequence[Label], level: str) -> NDArray[np.float64]:
    if level in ("nominal", "ordinal"):
        return np.arange(len(domain), dtype=np.float64)
    try:
        return np.array([float(label) for label in domain])  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ValueError(f"level {level!r} needs numbers as ratings") from None


def _point(ratings: Pairable, level: str) -> float:
    if len(ratings.sizes) * len(ratings.domain) ** 2 > MOST_CELLS:
        return closed_form(ratings, level)
    return by_package(ratings, level)


def by_package(ratings: Pairable, level: str) -> float:
    """Alpha by the package, of ratings with two different values at least."""
    counts = ratings.table().toarray().astype(np.int64)
    return float(
        krippendorff.alpha(
            value_counts=counts, value_domain=ratings.domain, level_of_measurement=level
        )
    )


def _interval(
    ratings: Pairable, level: str, resamples: int, confidence: float, seed: int
) -> tuple[tuple[float, float] | None, int]:
    """Percentile interval over units, and how many resamples had no variation."""
    units = len(ratings.sizes)
    if units < 2:
        return None, 0
    rng = np.random.default_rng(seed)
    size = max(1, MOST_DRAWN // units)
    found = np.concatenate(
        [
            resampled_alphas(
                ratings, level, rng.integers(0, units, (min(size, resamples - start), units))
            )
            for start in range(0, resamples, size)
        ]
    )
    defined = found[np.isfinite(found)]
    missing = resamples - len(defined)
    if len(defined) * 2 <= resamples:
        return None, missing
    tail = (1 - confidence) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return (float(low), float(high)), missing
