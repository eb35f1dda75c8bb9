"""Intervals of label statistics: whole questions drawn again, one draw for every statistic.

Runs of one question hang together, whatever the model, so questions are resampled, each with all
its runs. Every statistic here is a function of sums over runs. The sums of each question are taken
once, and all resamples of all statistics are one matrix product of how often each question was
drawn with these sums. Shares have Wilson's interval instead.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from annotation.agreement import wilson
from annotation.people_resampling import percentile_interval, person_weights
from scoring.estimates import Estimate, undefined

Floats = NDArray[np.float64]
# Sums of shape (..., K) to values of shape (...), NaN where the statistic has no value.
Statistic = Callable[[Floats], Floats]
RESAMPLES = 2000
MOST_CELLS = 4_000_000
MOST_KEPT = 40_000_000

NO_RUN = "no run to compute it from"
ONE_CLUSTER = "the runs are of one question, so there is no interval"
ALWAYS_THE_SAME = "every resample gives the same value, so there is no interval"
RARELY_DEFINED = "over half of the resamples have no value, so there is no interval"


@dataclass(frozen=True, slots=True)
class Draws:
    """Questions drawn again and again.

    `order` sorts the runs by their question, `starts` (C,) says where each question begins in that
    order. `seed` and `resamples` say how they are drawn: when first used, and the draws are `kept`
    for the next statistic up to MOST_KEPT cells (two bytes each).
    """

    order: NDArray[np.intp]
    starts: NDArray[np.intp]
    resamples: int = RESAMPLES
    seed: int = 0
    kept: dict[int, NDArray[np.uint16]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def clusters(self) -> int:
        return len(self.starts)

    def cluster_sums(self, parts: Floats) -> Floats:
        """Sums over the runs of each question: `parts` (n, ...) to (C, ...)."""
        if not len(parts):
            return np.zeros((0, *parts.shape[1:]))
        return np.asarray(
            np.add.reduceat(parts[self.order].astype(np.float64), self.starts, axis=0)
        )

    def resampled(self, sums: Floats) -> Floats:
        """Sums of each resample, (C, K) to (resamples, K)."""
        size = max(1, MOST_CELLS // max(1, self.clusters))
        starts = range(0, self.resamples, size)
        return np.concatenate(
            [
                self._weights(batch, min(size, self.resamples - start)) @ sums
                for batch, start in enumerate(starts)
            ]
        )

    def _weights(self, batch: int, drawn: int) -> Floats:
        if batch in self.kept:
            return self.kept[batch].astype(np.float64)
        weights = person_weights(self.clusters, resamples=drawn, seed=self.seed + batch)
        if self.resamples * self.clusters <= MOST_KEPT and weights.max() <= np.iinfo(np.uint16).max:
            self.kept[batch] = weights.astype(np.uint16)
        return weights


def draws_of(keys: Sequence[Hashable], *, resamples: int = RESAMPLES, seed: int = 0) -> Draws:
    """Draws over runs whose questions are `keys`, in rising order of their text."""
    names = {key: place for place, key in enumerate(sorted(set(keys), key=repr))}
    codes = np.array([names[key] for key in keys], dtype=np.intp)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(names)))
    return Draws(order, starts.astype(np.intp), resamples, seed)


def estimates(
    draws: Draws,
    parts: NDArray,
    statistics: Mapping[str, tuple[Statistic, str]],
    n: Sequence[int] | NDArray,
) -> dict[str, list[Estimate]]:
    """Statistics of groups with percentile intervals, `statistics` as (function, why undefined).

    `parts` has shape (runs, groups, K): what each run adds to the sums of each group, all 0 where
    it is not of the group. `n`, of shape (groups,), counts what the estimate stands on. A group
    whose runs are of one question has no interval and says so.
    """
    sums = draws.cluster_sums(parts)
    total = sums.sum(axis=0)
    of_questions = (sums != 0).any(axis=-1).sum(axis=0)
    many = None
    if draws.resamples and (of_questions > 1).any():
        flat = draws.resampled(sums.reshape(len(sums), -1))
        many = flat.reshape(draws.resamples, *total.shape)
    found: dict[str, list[Estimate]] = {}
    for name, (statistic, reason) in statistics.items():
        values = statistic(total)
        drawn = None if many is None else statistic(many)
        found[name] = [
            _estimate(values[g], None if drawn is None else drawn[:, g], int(n[g]), count, reason)
            for g, count in enumerate(of_questions)
        ]
    return found


def _estimate(value: float, drawn: Floats | None, n: int, clusters: int, reason: str) -> Estimate:
    detail = {"clusters": int(clusters)}
    if not n:
        return undefined(NO_RUN, **detail)
    if not np.isfinite(value):
        return undefined(reason, n=n, **detail)
    if clusters < 2:
        return Estimate(float(value), ONE_CLUSTER, n=n, detail=detail)
    if drawn is None:
        return Estimate(float(value), n=n, detail=detail)
    ci, missing = percentile_interval(drawn)
    detail["resamples_undefined"] = missing
    if ci and ci[0] == ci[1]:
        return Estimate(float(value), ALWAYS_THE_SAME, n=n, detail=detail)
    return Estimate(float(value), "" if ci else RARELY_DEFINED, n=n, ci=ci, detail=detail)


def cluster_share(found: Estimate) -> Estimate:
    """A bootstrapped share of 0 or 1 with Wilson's interval for as many units as questions.

    No resample can differ from such a share, so that the bootstrap is silent about it. Counting
    every question once errs on the wide side.
    """
    if found.value not in (0.0, 1.0) or found.reason != ALWAYS_THE_SAME:
        return found
    questions = int(found.detail["clusters"])
    ci = wilson(int(found.value) * questions, questions).ci
    return Estimate(found.value, n=found.n, ci=ci, detail=found.detail)


def share(part: float, whole: float, reason: str = NO_RUN) -> Estimate:
    """A share of counts with Wilson's interval; `reason` where the whole is 0."""
    return wilson(int(part), int(whole)) if whole else undefined(reason)
