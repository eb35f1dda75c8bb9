"""How well distances order the four forks of each source, per fork type (DialFork, task 2).

A later fork deviates later, so it lies nearer to its source: for k = 1, 2, 3, 4 the gold distances
are 4, 3, 2, 1, and Kendall's tau-b is taken against the predicted ones (`rankings.order_taus`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.records import FORK_TYPES
from scoring.estimates import Estimate, undefined
from scoring.rankings import SAME_DECIMALS, exact_recovery, order_taus

KS = (1, 2, 3, 4)
ALL = "all"
NO_UNIT = "no source has all four forks of this type scored"
NO_WHOLE_SOURCE = "no source has all forks of all four types scored"

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ForkDistance:
    """The distance of one fork from its source; `value` is None exactly where `reason` is set."""

    source: int
    type: str
    k: int
    value: float | None
    reason: str = ""


class Units(NamedTuple):
    """Rows of four distances (k = 1 to 4), one per source with all four forks of a type."""

    values: dict[int, list[float]]
    reasons: Counter[str]

    @property
    def taus(self) -> dict[int, float]:
        """Tau-b of each source's four forks."""
        if not self.values:
            return {}
        found = order_taus(list(self.values.values())).tolist()
        return dict(zip(self.values, found, strict=True))


def units_by_type(rows: Sequence[ForkDistance]) -> dict[str, Units]:
    """The complete units of each fork type present, and why other sources have none."""
    table: dict[str, dict[int, list[ForkDistance]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        table[row.type][row.source].append(row)
    return {name: _complete(table[name]) for name in FORK_TYPES if name in table}


def taus_by_type(
    rows: Sequence[ForkDistance], *, seed: int, resamples: int = 2000
) -> dict[str, Estimate]:
    """Mean tau of each fork type present, over sources with all four forks, and "all".

    "all" is the plain mean of the types. Intervals are 95 % percentile bootstrap over sources
    (all types of a source drawn together, as they share it), None below two sources. `detail`
    holds `skipped` (sources of the type left out), `reasons` (why, counted), `constant` (number of
    sources whose forks the method could not order), `constant_share` and `exact_recovery` (shares
    of the sources), and `seed`; of "all" also `sixteen`: all forks of a source in one order, see
    `sixteen_tau`.
    """
    units = units_by_type(rows)
    sources = sorted({row.source for row in rows})
    place = {source: row for row, source in enumerate(sources)}
    taus = np.full((len(sources), len(units)), np.nan)
    draws = _draws(len(sources), resamples, seed)
    found: dict[str, Estimate] = {}
    for column, (name, unit) in enumerate(units.items()):
        known = unit.taus
        taus[[place[source] for source in known], column] = list(known.values())
        found[name] = _of_type(taus[:, column], draws, _detail(unit, seed))
    if units:
        found[ALL] = _of_all(taus, found, draws, seed, sixteen_tau(units))
    return found


def taus_of_units(rows: Sequence[ForkDistance]) -> dict[tuple[Hashable, str], float]:
    """The tau of every source and fork type that has all four distances."""
    return {
        (source, type_): tau
        for type_, units in units_by_type(rows).items()
        for source, tau in units.taus.items()
    }


def taus_by_workflow(
    rows: Sequence[ForkDistance],
    workflow_of: Mapping[int, str],
    *,
    seed: int,
    resamples: int = 2000,
) -> dict[str, dict[str, Estimate]]:
    """`taus_by_type` of the sources of each workflow, by its name; sources without one are out.

    `workflow_of` names the workflow of a source.
    """
    parts: dict[str, list[ForkDistance]] = defaultdict(list)
    for row in rows:
        if name := workflow_of.get(row.source):
            parts[name].append(row)
    return {
        name: taus_by_type(parts[name], seed=seed, resamples=resamples) for name in sorted(parts)
    }


def sixteen_tau(units: Mapping[str, Units]) -> dict[str, Any]:
    """Mean tau-b of all sixteen forks of a source in one order against falling k.

    Harder than four orders of four: distances must agree across types, too. {"value", "reason",
    "n"}; over sources with all sixteen forks.
    """
    whole = [unit.values for unit in units.values()]
    sources = set.intersection(*map(set, whole)) if len(whole) == len(FORK_TYPES) else set()
    if not sources:
        return {"value": None, "reason": NO_WHOLE_SOURCE, "n": 0}
    rows = np.array([[four[source] for four in whole] for source in sorted(sources)])
    rows = np.round(rows.reshape(len(rows), -1), SAME_DECIMALS)
    k = np.tile(KS, len(FORK_TYPES))
    before, after = np.triu_indices(len(k), k=1)
    gold = np.sign(k[after] - k[before])
    signs = np.sign(rows[:, before] - rows[:, after])
    scale = np.sqrt(np.abs(signs).sum(axis=1) * np.abs(gold).sum())
    taus = np.divide(signs @ gold, scale, out=np.zeros(len(rows)), where=scale > 0)
    return {"value": float(taus.mean()), "reason": "", "n": len(rows)}


def _complete(units: Mapping[int, list[ForkDistance]]) -> Units:
    """The four distances of each source that has them, and why the others are left out."""
    whole: dict[int, list[float]] = {}
    reasons: Counter[str] = Counter()
    for source in sorted(units):
        forks = units[source]
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
    return Units(whole, reasons)


def _detail(unit: Units, seed: int) -> dict[str, Any]:
    detail: dict[str, Any] = {
        "skipped": sum(unit.reasons.values()),
        "reasons": dict(sorted(unit.reasons.items())),
        "constant": 0,
        "constant_share": None,
        "exact_recovery": None,
        "seed": seed,
    }
    if unit.values:
        values = np.round(list(unit.values.values()), SAME_DECIMALS)
        constant = int((np.ptp(values, axis=1) == 0).sum())
        detail["constant"] = constant
        detail["constant_share"] = constant / len(values)
        detail["exact_recovery"] = exact_recovery(values).value
    return detail


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
    taus: Floats,
    found: dict[str, Estimate],
    draws: NDArray[np.int64],
    seed: int,
    sixteen: dict[str, Any],
) -> Estimate:
    defined = [estimate for estimate in found.values() if estimate.value is not None]
    n = sum(estimate.n for estimate in defined)
    detail: dict[str, Any] = {
        "skipped": sum(estimate.detail["skipped"] for estimate in found.values()),
        "types": len(defined),
        "seed": seed,
    }
    if not defined:
        return undefined(NO_UNIT, **detail)
    for name in ("constant_share", "exact_recovery"):
        detail[name] = float(np.mean([estimate.detail[name] for estimate in defined]))
    detail["sixteen"] = sixteen
    columns = [taus[:, i] for i in range(taus.shape[1]) if not np.isnan(taus[:, i]).all()]
    means = np.mean([_resampled(column, draws) for column in columns], axis=0)
    value = float(np.mean([estimate.value for estimate in defined]))
    return Estimate(value, n=n, ci=_interval(means, len(taus)), detail=detail)
