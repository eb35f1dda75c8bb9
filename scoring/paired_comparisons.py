"""Paired comparisons of methods on the same units, corrected for their number (DialFork, table 7).

A unit is what one tau belongs to: a source dialogue (task 2) or a workflow (task 1), with a fork
type. Differences are the reference minus the other method, so that positive ones favour the
reference. Units are named by (cluster, type): the types of one cluster are not independent, so
beside the interval over units stands one over clusters.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.records import FORK_TYPES
from scoring.estimates import Estimate, undefined
from scoring.significance import SAME_DECIMALS, holm, paired_t, wilcoxon_signed_rank

ALL = "all"
RESAMPLES = 10_000
NO_COMMON_UNIT = "no unit has a value in both runs"
CELLS = 2_000_000

# Task 1 asks whether methods differ, task 2 whether the reference is ahead.
SIDES = {"task1": "two-sided", "task2": "greater"}

Unit = tuple[Hashable, str]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Compared:
    """One row of the table: `first` minus `second` over the units of a fork type or "all"."""

    first: Hashable
    second: Hashable
    group: str
    estimate: Estimate

    def result(self, *, pair: bool = False) -> tuple[str, str, dict[str, Any]]:
        """Statistic, group and fields of the row as a result of a run.

        The group is "<type>|<run>" against the reference, "<type>|<run>|<run>" of a pair.
        """
        runs = (self.first, self.second) if pair else (self.second,)
        fields = self.estimate.as_row(skipped="unpaired")
        fields["detail"]["unpaired"] = fields["skipped"]
        return (
            "pair" if pair else "difference",
            "|".join(map(str, (self.group, *runs))),
            fields,
        )


def compared_taus(
    task: str,
    units_by_run: Mapping[Hashable, Mapping[Unit, float]],
    reference: Hashable,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[tuple[str, str, dict[str, Any]]]:
    """Every result row of a comparison of tasks 1 or 2 (see `Compared.result`).

    The reference against each other run; of task 1 also every pair.
    """
    drawn = {"alternative": SIDES[task], "resamples": resamples, "seed": seed}
    found = [row.result() for row in compare(units_by_run, reference, **drawn)]
    if task == "task1":
        found += [row.result(pair=True) for row in compare_all(units_by_run, **drawn)]
    return found


def compare(
    units_by_run: Mapping[Hashable, Mapping[Unit, float]],
    reference: Hashable,
    *,
    alternative: str = "greater",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Compared]:
    """The reference against every other run, per fork type and "all" (all units pooled).

    The estimate is the mean difference over units that have a value in both runs, `n` their number,
    `ci` the 95 % percentile interval of the paired bootstrap over units. `detail` holds
    `cluster_ci` (whole clusters resampled) and `clusters`; Wilcoxon's `w` (sum of positive ranks)
    with `n_eff`, `p` and `holm_p`; Student's `t` with `t_p` and `t_holm_p`; `ties` (share of units
    with equal values), `unpaired` (units that one run alone has), `alternative` (of the tests),
    `family` (tests Holm's correction counts), `resamples` and `seed`. Holm's correction runs over
    the other runs, within each test and group. A test that is undefined has None and its reason
    under `reasons`. The same resamples serve every comparison of a group.
    """
    pairs = [(reference, other) for other in units_by_run if other != reference]
    return compare_pairs(
        units_by_run, pairs, alternative=alternative, resamples=resamples, seed=seed
    )


def compare_all(
    units_by_run: Mapping[Hashable, Mapping[Unit, float]],
    *,
    alternative: str = "two-sided",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Compared]:
    """Every run against every later one; Holm's correction runs over all of these pairs."""
    pairs = list(itertools.combinations(units_by_run, 2))
    return compare_pairs(
        units_by_run, pairs, alternative=alternative, resamples=resamples, seed=seed
    )


def compare_pairs(
    units_by_run: Mapping[Hashable, Mapping[Unit, float]],
    pairs: Sequence[tuple[Hashable, Hashable]],
    *,
    alternative: str,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Compared]:
    """The given pairs of runs: as `compare`, one family of tests per group."""
    found = []
    every = sorted({unit for units in units_by_run.values() for unit in units}, key=_order)
    for group in (*FORK_TYPES, ALL):
        units = [unit for unit in every if group in (ALL, unit[1])]
        if not units:
            continue
        table = np.array([_differences(units_by_run, pair, units) for pair in pairs]).T
        table = table.reshape(len(units), len(pairs))
        intervals = _intervals(table, units, resamples, seed)
        rows = []
        for column, (_, (ci, cluster_ci)) in enumerate(zip(pairs, intervals, strict=True)):
            detail = {
                "cluster_ci": list(cluster_ci) if cluster_ci else None,
                "alternative": alternative,
                "resamples": resamples,
                "seed": seed,
            }
            unpaired = _unpaired(units_by_run, pairs[column], units)
            rows.append(_tested(table[:, column], units, ci, detail | {"unpaired": unpaired}))
        found += _corrected(pairs, group, rows)
    return found


def _order(unit: Unit) -> tuple[int, str]:
    return FORK_TYPES.index(unit[1]), str(unit[0])


def _differences(
    units_by_run: Mapping[Hashable, Mapping[Unit, float]],
    pair: tuple[Hashable, Hashable],
    units: Sequence[Unit],
) -> list[float]:
    """First minus second, NaN where a side is missing."""
    first, second = (units_by_run[run] for run in pair)
    return [first.get(unit, np.nan) - second.get(unit, np.nan) for unit in units]


def _unpaired(
    units_by_run: Mapping[Hashable, Mapping[Unit, float]],
    pair: tuple[Hashable, Hashable],
    units: Sequence[Unit],
) -> int:
    first, second = (units_by_run[run] for run in pair)
    return sum((unit in first) != (unit in second) for unit in units)


def _tested(
    column: Floats, units: Sequence[Unit], ci: tuple[float, float] | None, detail: dict[str, Any]
) -> Estimate:
    there = ~np.isnan(column)
    if not there.any():
        return undefined(NO_COMMON_UNIT, **detail)
    rows = np.round(column[there], SAME_DECIMALS)
    alternative = detail["alternative"]
    ranks = wilcoxon_signed_rank(rows.tolist(), alternative=alternative)
    student = paired_t(rows.tolist(), np.zeros(len(rows)).tolist(), alternative=alternative)
    tests = {"wilcoxon": ranks, "t": student}
    return Estimate(
        float(rows.mean()),
        n=len(rows),
        ci=ci,
        detail={
            **detail,
            "clusters": len({unit[0] for unit, kept in zip(units, there, strict=True) if kept}),
            "w": ranks.detail["statistic"],
            "n_eff": ranks.detail["n_eff"],
            "p": ranks.value,
            "t": student.detail["statistic"],
            "t_p": student.value,
            "ties": float((rows == 0).mean()),
            "reasons": {name: test.reason for name, test in tests.items() if test.value is None},
        },
    )


def _corrected(
    pairs: Sequence[tuple[Hashable, Hashable]], group: str, rows: Sequence[Estimate]
) -> Iterator[Compared]:
    """The rows with Holm's p over all of them, for each test by itself."""
    adjusted = {
        name: holm([row.detail.get(p) for row in rows])
        for name, p in (("holm_p", "p"), ("t_holm_p", "t_p"))
    }
    family = sum(row.detail.get("p") is not None for row in rows)
    for place, ((first, second), row) in enumerate(zip(pairs, rows, strict=True)):
        more = {name: values[place] for name, values in adjusted.items()} | {"family": family}
        estimate = Estimate(row.value, row.reason, row.n, row.ci, {**row.detail, **more})
        yield Compared(first, second, group, estimate)


# -- resampling --------------------------------------------------------------------------------


Interval = tuple[float, float] | None


def _intervals(
    table: Floats, units: Sequence[Unit], resamples: int, seed: int
) -> list[tuple[Interval, Interval]]:
    """Intervals of each column's mean, over units and over clusters; the draws are shared."""
    there = ~np.isnan(table)
    values = np.where(there, table, 0.0)
    over_units = _percentiles(values, there.astype(float), resamples, seed)
    names = {cluster: row for row, cluster in enumerate(dict.fromkeys(unit[0] for unit in units))}
    if len(names) == len(units):
        return list(zip(over_units, over_units, strict=True))
    rows = np.array([names[cluster] for cluster, _ in units])
    sums, sizes = (np.zeros((len(names), table.shape[1])) for _ in range(2))
    np.add.at(sums, rows, values)
    np.add.at(sizes, rows, there.astype(float))
    return list(zip(over_units, _percentiles(sums, sizes, resamples, seed), strict=True))


def _percentiles(sums: Floats, sizes: Floats, resamples: int, seed: int) -> list[Interval]:
    """95 % percentile intervals of sum / size with rows resampled; None below two rows."""
    means = np.concatenate(
        [_ratio(weights @ sums, weights @ sizes) for weights in draws(len(sums), resamples, seed)]
    )
    found: list[Interval] = []
    for column, filled in zip(means.T, (sizes > 0).sum(axis=0), strict=True):
        column = column[~np.isnan(column)]
        if filled < 2 or not len(column):
            found.append(None)
        else:
            low, high = np.percentile(column, [2.5, 97.5])
            found.append((float(low), float(high)))
    return found


def draws(n: int, resamples: int, seed: int) -> Iterator[Floats]:
    """How often each of n rows is drawn, in batches of shape (b, n) that add up to `resamples`."""
    rng = np.random.default_rng(seed)
    most = max(1, CELLS // n)
    for start in range(0, resamples, most):
        size = min(most, resamples - start)
        drawn = rng.integers(0, n, (size, n))
        drawn += np.arange(size)[:, None] * n
        yield np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)


def _ratio(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
