"""Do distances of sets fall with k? The figures of task 1 over workflows and fork types.

A unit is a workflow and a fork type: four distances, k = 1 to 4, of the sets of forks from the
conformant set. Kendall's tau-b against falling order, exact recovery, and a permutation test.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from scoring.estimates import Estimate, undefined
from scoring.fork_order import ALL, KS, ForkDistance, Units, taus_by_type, units_by_type
from scoring.rankings import SAME_DECIMALS
from scoring.set_resampling import RESAMPLES as SOURCE_RESAMPLES
from scoring.set_resampling import mean_interval
from scoring.significance import fisher_combined, permutation_p_tau

CHANCE = 1 / math.factorial(len(KS))
GOLD = tuple(float(len(KS) + 1 - k) for k in KS)
NOT_RESAMPLED = "the method is not measured again on resampled sources"
NO_UNIT = "no workflow has all four sets of this type measured"
NO_RESAMPLES = "no unit had a tau with its sources resampled"

Taus = Mapping[int, Mapping[str, Sequence[float | None]]]


class SetRow(NamedTuple):
    """The distance of one set of forks; `value` is None exactly where `reason` is set."""

    workflow: int
    type: str
    k: int
    value: float | None
    reason: str = ""


class Summary(NamedTuple):
    """One figure: of a type or "all", of one workflow or ("") over all. `detail` of the estimate
    holds `skipped`."""

    statistic: str
    group: str
    workflow: str
    estimate: Estimate


def summaries(
    rows: Sequence[SetRow],
    names: Mapping[int, str],
    *,
    seed: int,
    resamples: int = 2000,
    taus: Taus | None = None,
) -> list[Summary]:
    """tau, exact_recovery, order_share and fisher_p, per type and "all", then per workflow.

    `names` are the workflows' names. Intervals are 95 % percentile bootstrap over workflows, all
    types of a workflow drawn together (DialFork, task 1, has units of workflow x type); a single
    workflow has none. `taus` are each workflow's resampled taus by type: with them the tau rows
    carry `source_ci`, the interval over sources (within workflows), else why they do not.
    """
    found = _of(rows, "", seed, resamples, list((taus or {}).values()))
    for workflow in sorted(names, key=names.__getitem__):
        own = [row for row in rows if row.workflow == workflow]
        if own:
            drawn = [taus[workflow]] if taus and workflow in taus else []
            found += _of(own, names[workflow], seed, resamples, drawn)
    return found


def _of(
    rows: Sequence[SetRow],
    name: str,
    seed: int,
    resamples: int,
    drawn: Sequence[Mapping[str, Sequence[float | None]]],
) -> list[Summary]:
    forks = [ForkDistance(*row) for row in rows]
    units = units_by_type(forks)
    found = []
    for group, estimate in taus_by_type(forks, seed=seed, resamples=resamples).items():
        detail = {key: value for key, value in estimate.detail.items() if key != "sixteen"}
        detail |= _source_interval(drawn, [group] if group != ALL else list(units), seed)
        found.append(Summary("tau", group, name, _with(estimate, detail)))
    shares = {
        "exact_recovery": {type_: _recovered(unit) for type_, unit in units.items()},
        "order_share": {type_: _pair_shares(unit) for type_, unit in units.items()},
    }
    for statistic, by_type in shares.items():
        more = {"chance": CHANCE if statistic == "exact_recovery" else 0.5}
        for group, estimate in _means(by_type, units, seed, resamples).items():
            detail = {**estimate.detail, **more}
            found.append(Summary(statistic, group, name, _with(estimate, detail)))
    return found + [Summary("fisher_p", group, name, p) for group, p in _fisher(units).items()]


def _with(estimate: Estimate, detail: Mapping[str, Any]) -> Estimate:
    reason = "" if estimate.value is not None else NO_UNIT
    return Estimate(estimate.value, reason, estimate.n, estimate.ci, detail)


def _source_interval(
    drawn: Sequence[Mapping[str, Sequence[float | None]]], types: Sequence[str], seed: int
) -> dict[str, Any]:
    """The interval of the plain mean of `types`, each the mean over workflows, by resample."""
    if not drawn:
        return {"source_ci": None, "source_ci_reason": NOT_RESAMPLED}
    columns = []
    for type_ in types:
        own = [each[type_] for each in drawn if type_ in each]
        if own:
            columns.append(_column_means(own))
    interval = mean_interval(columns)
    if interval is None:
        return {"source_ci": None, "source_ci_reason": NO_RESAMPLES}
    settings = {"resamples": SOURCE_RESAMPLES, "seed": seed}
    return {"source_ci": list(interval), "source_ci_settings": settings}


def _column_means(rows: Sequence[Sequence[float | None]]) -> list[float | None]:
    """The mean over units of each resample, None where no unit has a tau in it."""
    columns = zip(*rows, strict=True)
    defined = ([value for value in column if value is not None] for column in columns)
    return [math.fsum(values) / len(values) if values else None for values in defined]


def _rounded(unit: Units) -> dict[int, np.ndarray[Any, np.dtype[np.float64]]]:
    return {key: np.round(four, SAME_DECIMALS) for key, four in unit.values.items()}


def _recovered(unit: Units) -> dict[int, float]:
    """1 for a unit whose four distances fall strictly, else 0."""
    return {key: float((np.diff(four) < 0).all()) for key, four in _rounded(unit).items()}


def _pair_shares(unit: Units) -> dict[int, float]:
    """Of each unit's six pairs the share in which the earlier fork is strictly farther."""
    before, after = np.triu_indices(len(KS), k=1)
    return {key: float((four[before] > four[after]).mean()) for key, four in _rounded(unit).items()}


def _means(
    by_type: Mapping[str, Mapping[int, float]],
    units: Mapping[str, Units],
    seed: int,
    resamples: int,
) -> dict[str, Estimate]:
    """The mean of each type over workflows and the plain mean of the types, with intervals."""
    workflows = sorted({key for values in by_type.values() for key in values})
    n = len(workflows)
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(n, np.full(n, 1 / n), size=resamples) if n else np.zeros((0, 0))
    found, means = {}, []
    for type_, values in by_type.items():
        skipped = {"skipped": units[type_].reasons.total(), "seed": seed}
        if not values:
            found[type_] = undefined(NO_UNIT, **skipped)
            continue
        row = np.array([values.get(key, 0.0) for key in workflows])
        there = np.array([key in values for key in workflows])
        totals = weights @ there
        drawn = np.divide(weights @ row, totals, out=np.full(len(totals), np.nan), where=totals > 0)
        means.append(drawn)
        value = math.fsum(values.values()) / len(values)
        interval = _interval(drawn, len(values))
        found[type_] = Estimate(value, n=len(values), ci=interval, detail=skipped)
    if by_type:
        found[ALL] = _mean_of_types(found, means, n, seed)
    return found


def _mean_of_types(
    found: Mapping[str, Estimate], means: Sequence[Any], workflows: int, seed: int
) -> Estimate:
    defined = [each.value for each in found.values() if each.value is not None]
    detail = {"skipped": sum(each.detail["skipped"] for each in found.values()), "seed": seed}
    if not defined:
        return undefined(NO_UNIT, **detail)
    n = sum(each.n for each in found.values())
    interval = _interval(np.mean(means, axis=0), workflows)
    return Estimate(math.fsum(defined) / len(defined), n=n, ci=interval, detail=detail)


def _interval(drawn: Any, n: int) -> tuple[float, float] | None:
    defined = drawn[~np.isnan(drawn)]
    if n < 2 or not len(defined):
        return None
    low, high = np.percentile(defined, [2.5, 97.5])
    return float(low), float(high)


def _fisher(units: Mapping[str, Units]) -> dict[str, Estimate]:
    """One-sided p against chance per type and over all units.

    Each unit's p is the share of the 24 orders of its distances with at least its tau, so it is
    1/24 at least and Fisher's combination errs on the careful side. A constant unit has p 1.
    """
    p_of = {
        type_: [_unit_p(four) for four in _rounded(unit).values()] for type_, unit in units.items()
    }
    found = {}
    for group, ps in {**p_of, ALL: [p for own in p_of.values() for p in own]}.items():
        own = units.values() if group == ALL else [units[group]]
        skipped = sum(unit.reasons.total() for unit in own)
        combined = fisher_combined(ps) if ps else undefined(NO_UNIT)
        detail = {**combined.detail, "skipped": skipped}
        found[group] = Estimate(combined.value, combined.reason, n=len(ps), detail=detail)
    return found if units else {}


def _unit_p(four: Any) -> float:
    found = permutation_p_tau(GOLD, four.tolist(), alternative="greater")
    return 1.0 if found.value is None else found.value
