"""The area under the ROC curve, with an interval that resamples whole questions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scoring.estimates import Estimate, undefined

Floats = NDArray[np.float64]
RESAMPLES = 2000
MAX_CELLS = 4_000_000
ONE_CLASS = "all are of one class"


def roc_auc(scores: ArrayLike, positive: ArrayLike) -> float | None:
    """The share of pairs of a positive and a negative in which the positive has the higher score.

    Ties count half (Hanley and McNeil 1982, doi:10.1148/radiology.143.1.7063747). None where there
    is no positive or no negative.
    """
    weights = np.ones((1, np.size(scores)))
    area = _areas(np.asarray(scores, np.float64), np.asarray(positive, bool), weights)[0]
    return None if np.isnan(area) else float(area)


def auc_estimate(
    scores: Sequence[float],
    positive: Sequence[bool],
    groups: Sequence[str],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = 0.95,
) -> Estimate:
    """ROC-AUC with a percentile interval, whole `groups` (questions) resampled.

    Runs of one question are not independent, so they are drawn together. Resamples without a
    positive or a negative have no area: they are left out and counted as `undefined_resamples`, and
    where they are half or more there is no interval. `n` counts scores; the detail counts
    positives, negatives and groups. Undefined where a class is missing or there are no scores.
    """
    values, truth = np.asarray(scores, np.float64), np.asarray(positive, bool)
    names, member = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
    detail = {
        "positives": int(truth.sum()),
        "negatives": int((~truth).sum()),
        "questions": len(names),
    }
    if not len(values):
        return undefined("nothing is scored", **detail)
    area = roc_auc(values, truth)
    if area is None:
        return undefined(ONE_CLASS, n=len(values), **detail)
    if len(names) < 2:
        return Estimate(area, "there is one question only", n=len(values), detail=detail)
    drawn = _resampled(values, truth, member, len(names), resamples, seed)
    missing = int(np.isnan(drawn).sum())
    detail["undefined_resamples"] = missing
    if missing * 2 >= resamples:
        return Estimate(area, "most resamples hold one class only", n=len(values), detail=detail)
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn[~np.isnan(drawn)], [tail, 1 - tail])
    return Estimate(area, n=len(values), ci=(float(low), float(high)), detail=detail)


def _resampled(
    values: Floats,
    truth: NDArray[np.bool_],
    member: NDArray[np.intp],
    groups: int,
    n: int,
    seed: int,
) -> Floats:
    """Areas of `n` draws of groups; NaN where a draw holds one class only."""
    rng = np.random.default_rng(seed)
    parts = []
    for size in _batches(n, len(values)):
        times = rng.multinomial(groups, np.full(groups, 1 / groups), size=size)
        parts.append(_areas(values, truth, times[:, member].astype(np.float64)))
    return np.concatenate(parts)


def _areas(values: Floats, truth: NDArray[np.bool_], weights: Floats) -> Floats:
    """The area under each row of `weights`, shape (draws, scores): pairs weigh as their product."""
    order = np.argsort(values, kind="stable")
    _, starts = np.unique(values[order], return_index=True)
    by_score = np.where(truth[order], weights[:, order], 0.0)
    below = np.where(truth[order], 0.0, weights[:, order])
    if not len(starts):
        return np.full(len(weights), np.nan)
    positive = np.add.reduceat(by_score, starts, axis=1)
    negative = np.add.reduceat(below, starts, axis=1)
    under = np.cumsum(negative, axis=1) - negative / 2
    pairs = positive.sum(axis=1) * negative.sum(axis=1)
    won = (positive * under).sum(axis=1)
    return np.divide(won, pairs, out=np.full(len(weights), np.nan), where=pairs > 0)


def _batches(resamples: int, n: int) -> list[int]:
    most = max(1, MAX_CELLS // n)
    whole, rest = divmod(resamples, most)
    return [most] * whole + ([rest] if rest else [])
