"""Tests: signed ranks, paired t, permutation, Holm, Fisher; bootstrap from `resampling`.

A test's `value` is its p.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from scoring.estimates import Estimate, undefined
from scoring.resampling import (
    bootstrap_ci,
    cluster_bootstrap_ci,
    differences,
    paired_bootstrap_ci,
    resampled,
)

__all__ = [
    "bootstrap_ci",
    "cluster_bootstrap_ci",
    "fisher_combined",
    "holm",
    "kendall_p",
    "paired_bootstrap_ci",
    "paired_t",
    "permutation_p_tau",
    "resampled",
    "wilcoxon_signed_rank",
]

Floats = NDArray[np.float64]
SAME_DECIMALS = 9
MOST_EXHAUSTIVE = 8


# -- paired tests ------------------------------------------------------------------------------


def wilcoxon_signed_rank(
    values: Sequence[float],
    *,
    alternative: str = "greater",
    method: str = "auto",
    correction: bool = False,
) -> Estimate:
    """Wilcoxon's signed-rank test; `statistic` is the sum of the positive ranks.

    Differences are rounded to nine decimals, zeros dropped, ties get mid-ranks. "exact" counts all
    sign flips over the mid-ranks, so ties are allowed; "asymptotic" takes the normal limit with the
    tie-corrected variance (and gives `z`); "auto" is exact up to 50 non-zero differences.
    """
    _known(alternative, "alternative", ("greater", "less", "two-sided"))
    _known(method, "method", ("auto", "exact", "asymptotic"))
    rows = np.round(np.asarray(values, dtype=np.float64), SAME_DECIMALS)
    rows = rows[rows != 0]
    n = len(rows)
    if not n:
        reason = "all_differences_zero" if len(values) else "no_observations"
        return undefined(reason, statistic=None, n_eff=0)
    ranks = stats.rankdata(np.abs(rows))
    statistic = float(ranks[rows > 0].sum())
    detail = {"statistic": statistic, "n_eff": n}
    if method == "exact" or (method == "auto" and n <= 50):
        return Estimate(_flipped_p(ranks, statistic, alternative), n=n, detail=detail)
    z = _rank_z(ranks, statistic, alternative, correction)
    return Estimate(_normal_p(z, alternative), n=n, detail={**detail, "z": z})


def _flipped_p(ranks: Floats, statistic: float, alternative: str) -> float:
    """Exact p over all 2^n sign flips, counted by the sum of doubled (whole) ranks."""
    doubled = np.round(2 * ranks).astype(int)
    share = np.zeros(doubled.sum() + 1)
    share[0] = 1.0
    for rank in doubled:
        shifted = np.zeros_like(share)
        shifted[rank:] = share[: len(share) - rank]
        share = (share + shifted) / 2
    at = round(2 * statistic)
    upper, lower = float(share[at:].sum()), float(share[: at + 1].sum())
    by_side = {"greater": upper, "less": lower, "two-sided": 2 * min(upper, lower)}
    return min(1.0, by_side[alternative])


def _rank_z(ranks: Floats, statistic: float, alternative: str, correction: bool) -> float:
    # The variance over sign flips is the sum of squared mid-ranks / 4, ties included.
    away = statistic - ranks.sum() / 2
    if correction:
        side = {"greater": 1.0, "less": -1.0, "two-sided": float(np.sign(away))}[alternative]
        away -= side / 2
    return float(away / math.sqrt(float((ranks**2).sum()) / 4))


def _normal_p(z: float, alternative: str) -> float:
    if alternative == "two-sided":
        return float(2 * stats.norm.sf(abs(z)))
    return float(stats.norm.sf(z if alternative == "greater" else -z))


def paired_t(x: Sequence[float], y: Sequence[float], *, alternative: str = "greater") -> Estimate:
    """Student's t test of paired values (x - y)."""
    _known(alternative, "alternative", ("greater", "less", "two-sided"))
    rows = differences(x, y)
    if len(rows) < 2:
        return undefined("fewer_than_two_observations", n=len(rows), statistic=None)
    spread = float(np.round(rows, SAME_DECIMALS).std(ddof=1))
    if spread == 0:
        return undefined("zero_variance_of_differences", n=len(rows), statistic=None)
    statistic = float(rows.mean() / (rows.std(ddof=1) / math.sqrt(len(rows))))
    df = len(rows) - 1
    upper = float(stats.t.sf(statistic, df))
    by_side = {"greater": upper, "less": float(stats.t.cdf(statistic, df))}
    by_side["two-sided"] = float(2 * stats.t.sf(abs(statistic), df))
    return Estimate(by_side[alternative], n=len(rows), detail={"statistic": statistic, "df": df})


def _known(value: str, name: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(allowed)}")


# -- order ------------------------------------------------------------------------------------


def kendall_p(x: ArrayLike, y: ArrayLike, *, alternative: str = "two-sided") -> Estimate:
    """Asymptotic p of Kendall's tau-b with the tie-corrected variance."""
    left, right = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if len(left) < 2:
        return undefined("fewer_than_two_pairs", n=len(left), tau=None)
    if np.ptp(left) == 0 or np.ptp(right) == 0:
        return undefined("constant_input", n=len(left), tau=None)
    found = stats.kendalltau(left, right, method="asymptotic", alternative=alternative)
    return Estimate(float(found.pvalue), n=len(left), detail={"tau": float(found.statistic)})


def permutation_p_tau(
    x: Sequence[float],
    y: Sequence[float],
    *,
    alternative: str = "greater",
    draws: int | None = None,
    seed: int = 0,
) -> Estimate:
    """p of tau-b under re-orderings of y: all of them, or `draws` seeded ones.

    All n! are taken where `draws` is None (n up to 8). Of sampled ones p = (hits + 1) / (m + 1),
    never 0.
    """
    _known(alternative, "alternative", ("greater", "less", "two-sided"))
    left, right = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n = len(left)
    if n < 2:
        return undefined("fewer_than_two_pairs", n=n, tau=None)
    if np.ptp(left) == 0 or np.ptp(right) == 0:
        return undefined("constant_input", n=n, tau=None)
    if draws is None and n > MOST_EXHAUSTIVE:
        raise ValueError(f"{n} values have too many orders to try all; give a number of draws")
    observed, taus = _tau_of(left, right[None, :])[0], _tau_of(left, _orders(right, draws, seed))
    hits = _as_far(taus, observed, alternative)
    p = hits / len(taus) if draws is None else (hits + 1) / (len(taus) + 1)
    return Estimate(p, n=n, detail={"tau": float(observed), "orders": len(taus)})


def _orders(values: Floats, draws: int | None, seed: int) -> Floats:
    if draws is None:
        return np.array(list(itertools.permutations(values)))
    return np.random.default_rng(seed).permuted(np.tile(values, (draws, 1)), axis=1)


def _tau_of(x: Floats, rows: Floats) -> Floats:
    i, j = np.triu_indices(len(x), k=1)
    left = np.sign(x[i] - x[j])
    right = np.sign(rows[:, i] - rows[:, j])
    scale = math.sqrt(float(np.abs(left).sum())) * np.sqrt(np.abs(right).sum(axis=1))
    return np.asarray(right @ left / scale)


def _as_far(taus: Floats, observed: float, alternative: str) -> int:
    slack = 1e-12
    if alternative == "greater":
        return int((taus >= observed - slack).sum())
    if alternative == "less":
        return int((taus <= observed + slack).sum())
    return int((np.abs(taus) >= abs(observed) - slack).sum())


# -- many tests --------------------------------------------------------------------------------


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjusted p, in the order given; an undefined p stays None and is not counted."""
    defined = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, i) in enumerate(defined):
        highest = max(highest, min(1.0, p * (len(defined) - rank)))
        adjusted[i] = highest
    return adjusted


def fisher_combined(p_values: Sequence[float | None]) -> Estimate:
    """Fisher's combination of independent p: chi-squared of -2 sum ln p; undefined p are left out.

    A p of 0 gives p = 0 and no statistic.
    """
    defined = [p for p in p_values if p is not None]
    if not defined:
        return undefined("no_p_values", statistic=None)
    if any(not 0 <= p <= 1 for p in defined):
        raise ValueError("a p-value lies between 0 and 1")
    if 0 in defined:
        return Estimate(0.0, "p_of_zero", n=len(defined), detail={"statistic": None})
    statistic = -2 * math.fsum(math.log(p) for p in defined) + 0.0
    value = float(stats.chi2.sf(statistic, 2 * len(defined)))
    return Estimate(value, n=len(defined), detail={"statistic": statistic})
