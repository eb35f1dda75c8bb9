"""How well distances order the four forks of each source, per fork type (DialFork, task 2).

A later fork deviates later, so it lies nearer to its source: for k = 1, 2, 3, 4 the gold distances
are 4, 3, 2, 1, and Kendall's tau-b is taken against the predicted ones (`rankings.order_taus`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.records import FORK_TYPES
from scoring.estimates import Estimate, undefined
from scoring.rankings import SAME_DECIMALS, order_taus

KS = (1, 2, 3, 4)
ALL = "all"
NO_UNIT = "no source has all four forks of this type scored"

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ForkDistance:
    """The distance of one fork from its source; `value` is None exactly where `reason` is set."""

    source: int
    type: str
    k: int
    value: float | None
    reason: str = ""


def taus_by_type(
    rows: Sequence[ForkDistance], *, seed: int, resamples: int = 2000
) -> dict[str, Estimate]:
    """Mean tau of each fork type present, over sources with all four forks, and "all".

    "all" is the plain mean of the types. Intervals are 95 % percentile bootstrap over sources
    (all types of a source drawn together, as they share it), None below two sources. `detail`
    holds `skipped` (sources of the type left out), `reasons` (why, counted), `constant` (number of
    sources whose forks the method could not order) and `seed`.
    """
    table = _by_unit(rows)
    sources = sorted({source for source, _ in table})
    place = {source: row for row, source in enumerate(sources)}
    types = [name for name in FORK_TYPES if any(type_ == name for _, type_ in table)]
    taus = np.full((len(sources), len(types)), np.nan)
    draws = _draws(len(sources), resamples, seed)
    found: dict[str, Estimate] = {}
    for column, name in enumerate(types):
        units, reasons = _complete({s: table[s, name] for s in sources if (s, name) in table})
        constant = 0
        if units:
            taus[[place[source] for source in units], column] = order_taus(list(units.values()))
            rounded = np.round(list(units.values()), SAME_DECIMALS)
            constant = int((np.ptp(rounded, axis=1) == 0).sum())
        detail = {
            "skipped": sum(reasons.values()),
            "reasons": dict(sorted(reasons.items())),
            "constant": constant,
            "seed": seed,
        }
        found[name] = _of_type(taus[:, column], draws, detail)
    if types:
        found[ALL] = _of_all(taus, found, draws, seed)
    return found


def _by_unit(rows: Sequence[ForkDistance]) -> dict[tuple[int, str], list[ForkDistance]]:
    table: dict[tuple[int, str], list[ForkDistance]] = defaultdict(list)
    for row in rows:
        table[row.source, row.type].append(row)
    return table


def _complete(
    units: dict[int, list[ForkDistance]],
) -> tuple[dict[int, list[float]], Counter[str]]:
    """The four distances of each source that has them, and why the others are left out."""
    whole: dict[int, list[float]] = {}
    reasons: Counter[str] = Counter()
    for source, forks in units.items():
        values = {fork.k: fork.value for fork in forks if fork.value is not None}
        undefined_ones = [fork.reason for fork in forks if fork.value is None]
        if undefined_ones:
            reasons[undefined_ones[0]] += 1
        elif len(forks) > len(values):
            reasons["several forks at one k"] += 1
        elif set(values) != set(KS):
            reasons["fewer than four forks"] += 1
        else:
            whole[source] = [float(values[k]) for k in KS]
    return whole, reasons


def _draws(n: int, resamples: int, seed: int) -> NDArray[np.int64]:
    """How often each of n sources is drawn in each resample: shape (resamples, n)."""
    if not n:
        return np.zeros((0, 0), dtype=np.int64)
    return np.random.default_rng(seed).multinomial(n, np.full(n, 1.0 / n), size=resamples)


def _resampled(taus: Floats, draws: NDArray[np.int64]) -> Floats:
    """The mean tau of each resample; NaN where it drew none of the sources with a tau."""
    there = ~np.isnan(taus)
    weights = draws[:, there]
    totals = weights.sum(axis=1)
    sums = weights @ taus[there]
    return np.divide(sums, totals, out=np.full(len(draws), np.nan), where=totals > 0)


def _interval(means: Floats, n: int) -> tuple[float, float] | None:
    means = means[~np.isnan(means)]
    if n < 2 or not len(means):
        return None
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def _of_type(taus: Floats, draws: NDArray[np.int64], detail: dict[str, Any]) -> Estimate:
    there = taus[~np.isnan(taus)]
    if not len(there):
        return undefined(NO_UNIT, **detail)
    interval = _interval(_resampled(taus, draws), len(there))
    return Estimate(float(there.mean()), n=len(there), ci=interval, detail=detail)


def _of_all(
    taus: Floats, found: dict[str, Estimate], draws: NDArray[np.int64], seed: int
) -> Estimate:
    defined = [estimate for estimate in found.values() if estimate.value is not None]
    n = sum(estimate.n for estimate in defined)
    detail = {
        "skipped": sum(estimate.detail["skipped"] for estimate in found.values()),
        "types": len(defined),
        "seed": seed,
    }
    if not defined:
        return undefined(NO_UNIT, **detail)
    columns = [taus[:, i] for i in range(taus.shape[1]) if not np.isnan(taus[:, i]).all()]
    means = np.mean([_resampled(column, draws) for column in columns], axis=0)
    value = float(np.mean([estimate.value for estimate in defined]))
    return Estimate(value, n=n, ci=_interval(means, len(taus)), detail=detail)
