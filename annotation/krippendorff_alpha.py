"""Krippendorff's alpha by the package `krippendorff`, guarded, with an interval."""

from __future__ import annotations

from collections.abc import Sequence

import krippendorff
import numpy as np
from numpy.typing import NDArray

from annotation.rating_tables import Counts, Label, Ratings, counts_of, seen_labels
from scoring.estimates import Estimate, undefined
from scoring.resampling import resampled

LEVELS = ("nominal", "ordinal", "interval", "ratio")
MOST_CELLS = 20_000_000


def krippendorff_alpha(
    ratings: Ratings,
    *,
    level: str = "nominal",
    categories: Sequence[Label] | None = None,
    resamples: int = 0,
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Alpha over units with at least two ratings; the others are ignored everywhere.

    `categories` gives the order for "ordinal" where labels are text; numbers order themselves.
    "interval" and "ratio" need numbers. With `resamples` a percentile interval over units comes
    along. No variation among pairable ratings: undefined.
    """
    domain = _domain(ratings, level, categories)
    return alpha_of_counts(
        counts_of(ratings, domain),
        domain,
        level=level,
        resamples=resamples,
        confidence=confidence,
        seed=seed,
    )


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
    if level not in LEVELS:
        raise ValueError(f"level is {level!r}; it must be one of {', '.join(LEVELS)}")
    pairable = counts[counts.sum(axis=1) >= 2]
    if not len(pairable):
        return undefined("no_pairable_values")
    used = pairable.sum(axis=0) > 0
    if used.sum() < 2:
        return undefined("no_variation", n=len(pairable))
    values = _values(domain, level)[used]
    pairable = pairable[:, used]
    value = _alpha(pairable, values, level)
    ci, missing = None, 0
    if resamples:
        ci, missing = resampled(
            len(pairable),
            lambda drawn: _alpha_by_matrix(pairable[drawn], values, level),
            confidence=confidence,
            resamples=resamples,
            seed=seed,
        )
    detail = {"pairable": int(pairable.sum()), "resamples_undefined": missing}
    return Estimate(value, n=len(pairable), ci=ci, detail=detail)


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


def _alpha(counts: Counts, values: NDArray[np.float64], level: str) -> float | None:
    # The package holds units x values x values numbers at once; beyond that, the same formula.
    if counts.shape[0] * counts.shape[1] ** 2 > MOST_CELLS:
        return _alpha_by_matrix(counts, values, level)
    found = krippendorff.alpha(value_counts=counts, value_domain=values, level_of_measurement=level)
    return float(found)


def _alpha_by_matrix(counts: Counts, values: NDArray[np.float64], level: str) -> float | None:
    """Alpha from the coincidence matrix by one matrix product; None without variation."""
    cells = counts.astype(np.float64)
    scaled = cells / (cells.sum(axis=1, keepdims=True) - 1)
    coincidences = scaled.T @ cells - np.diag(scaled.sum(axis=0))
    totals = cells.sum(axis=0)
    expected = (np.outer(totals, totals) - np.diag(totals)) / (totals.sum() - 1)
    away = _distances(values, totals, level)
    chance = float((expected * away).sum())
    return 1 - float((coincidences * away).sum()) / chance if chance > 0 else None


def _distances(
    values: NDArray[np.float64], totals: NDArray[np.float64], level: str
) -> NDArray[np.float64]:
    if level == "nominal":
        return 1 - np.eye(len(values))
    if level == "ordinal":
        upto = np.cumsum(totals) - totals / 2
        return np.asarray((upto[:, None] - upto[None, :]) ** 2)
    difference = values[:, None] - values[None, :]
    if level == "interval":
        return np.asarray(difference**2)
    total = values[:, None] + values[None, :]
    safe = np.where(total == 0, 1.0, total)
    return np.asarray(np.where(total == 0, 0.0, difference / safe) ** 2)
