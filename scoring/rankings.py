"""Does a distance order the forks of a source as their fork points do? Kendall's tau, recovery.

The four forks of a source and type leave it at k = 1, 2, 3, 4; the earlier, the farther. A method
is right on a unit when its distances fall with k (DialFork, tasks 1 and 2).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from scoring.estimates import Estimate, undefined

SAME_DECIMALS = 9


def kendall_tau_b(x: Sequence[float | None], y: Sequence[float | None]) -> Estimate:
    """Kendall's tau-b; pairs with a missing side are dropped.

    Undefined for fewer than two pairs and where a side is constant. O(n log n).
    """
    pairs = [(a, b) for a, b in zip(x, y, strict=True) if a is not None and b is not None]
    if len(pairs) < 2:
        return undefined("fewer_than_two_pairs", n=len(pairs))
    left, right = np.array(pairs, dtype=np.float64).T
    if np.ptp(left) == 0 or np.ptp(right) == 0:
        return undefined("constant_input", n=len(pairs))
    return Estimate(float(stats.kendalltau(left, right).statistic), n=len(pairs))


def order_taus(distances: ArrayLike) -> NDArray[np.float64]:
    """Tau-b of each row against falling order: shape (units, K) to shape (units,).

    Distances equal to nine decimals are tied. A constant row gives 0, not "undefined": a method
    that cannot order the forks earns nothing (the one exception to the rule for undefined values).
    """
    rows = np.round(np.asarray(distances, dtype=np.float64), SAME_DECIMALS)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise ValueError("distances must be finite, one row of K numbers per unit")
    before, after = np.triu_indices(rows.shape[1], k=1)
    signs = np.sign(rows[:, before] - rows[:, after])
    untied = np.abs(signs).sum(axis=1)
    scale = np.sqrt(np.maximum(untied, 1) * len(before))
    return np.where(untied > 0, signs.sum(axis=1) / scale, 0.0)


def exact_recovery(distances: ArrayLike) -> Estimate:
    """Share of rows that fall strictly (chance: 1 / K!); distances tied to nine decimals do not."""
    rows = np.round(np.asarray(distances, dtype=np.float64), SAME_DECIMALS)
    if not len(rows):
        return undefined("no_observations")
    return Estimate(float((np.diff(rows, axis=1) < 0).all(axis=1).mean()), n=len(rows))


def superiority(higher: Sequence[float], lower: Sequence[float]) -> Estimate:
    """Probability that a value of `higher` exceeds one of `lower`, ties counting a half.

    The area under the ROC curve of a signal is this for its positive and negative cases.
    """
    if not len(higher) or not len(lower):
        return undefined("empty_group", n=len(higher) + len(lower), pairs=0)
    ranks = stats.rankdata(np.concatenate([np.asarray(higher, float), np.asarray(lower, float)]))
    pairs = len(higher) * len(lower)
    above = float(ranks[: len(higher)].sum()) - len(higher) * (len(higher) + 1) / 2
    return Estimate(above / pairs, n=len(higher) + len(lower), detail={"pairs": pairs})


def roc_auc(truth: Sequence[int], signal: Sequence[float]) -> Estimate:
    """Area under the ROC curve of a signal for a yes-or-no truth; direction as given."""
    pairs = list(zip(truth, signal, strict=True))
    found = superiority([s for t, s in pairs if t], [s for t, s in pairs if not t])
    return found if found.value is not None else undefined("one_class_only", n=len(pairs))
