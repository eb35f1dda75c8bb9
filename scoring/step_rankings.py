"""Which step is the decisive one: how high a detector ranks it, beside first, last and any step.

The truth of a run is the first step its label names (Who&When: the step of the decisive mistake).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scoring.estimates import Estimate
from scoring.resampling import cluster_bootstrap_ci

HIT, MRR = "hit_at_1", "mrr"
DETECTOR, FIRST, LAST, RANDOM = "detector", "first step", "last step", "random step"


@dataclass(frozen=True, slots=True)
class RankedRun:
    """A run with its question, the value of each step, and the place (from 0) of the true one."""

    question: str
    values: Sequence[float]
    truth: int


def step_ranking(
    runs: Sequence[RankedRun], *, resamples: int = 2000, seed: int = 0
) -> dict[tuple[str, str], Estimate]:
    """(statistic, ranker) -> the mean over runs, with an interval over whole questions.

    Statistics are "hit_at_1" (the true step ranks first) and "mrr" (mean of 1 / its rank). Beside
    the detector stand an order from the first step on, from the last step on, and the expectation
    of a random order. Steps of equal value share their ranks: a hit among m equals counts 1 / m.
    """
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for run in runs:
        for ranker, values in _orders(run).items():
            for statistic, value in _figures(values, run.truth).items():
                held = found.setdefault((statistic, ranker), {})
                held.setdefault(run.question, []).append(value)
    return {
        key: cluster_bootstrap_ci(clusters, resamples=resamples, seed=seed)
        for key, clusters in found.items()
    }


def _orders(run: RankedRun) -> Mapping[str, NDArray[np.float64]]:
    places = np.arange(len(run.values), dtype=np.float64)
    return {
        DETECTOR: np.asarray(run.values, dtype=np.float64),
        FIRST: -places,
        LAST: places,
        # All equal: ties share the ranks, which is the expectation of a random order.
        RANDOM: np.zeros(len(places)),
    }


def _figures(values: NDArray[np.float64], truth: int) -> dict[str, float]:
    """Hit and reciprocal rank of the place `truth`, in expectation over the order of equals."""
    above = int((values > values[truth]).sum())
    equal = int((values == values[truth]).sum())
    ranks = np.arange(above + 1, above + equal + 1)
    return {HIT: float((ranks == 1).mean()), MRR: float((1 / ranks).mean())}
