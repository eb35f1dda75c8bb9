"""Order within groups: concordance of two columns, group by group, in a few array operations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from annotation.long_ratings import pairs_within

Ints = NDArray[np.intp]
Floats = NDArray[np.float64]
LARGE_GROUP = 300


@dataclass(frozen=True, slots=True)
class GroupOrders:
    """Per group, arrays of shape (groups,).

    `rows` counts rows; of pairs of rows with different x, `pairs` counts all and `wins` those in
    which the higher x has the higher y, ties counting a half. `balance` is concordant minus
    discordant pairs, `untied_x` and `untied_y` count pairs without a tie on that side.
    """

    rows: Floats
    pairs: Floats
    wins: Floats
    balance: Floats
    untied_x: Floats
    untied_y: Floats

    @property
    def taus(self) -> Floats:
        """Kendall's tau-b of each group; NaN where a side is constant or there is one row."""
        scale = np.sqrt(self.untied_x * self.untied_y)
        return np.divide(self.balance, scale, out=np.full(len(scale), np.nan), where=scale > 0)


def group_orders(groups: Ints, x: Floats, y: Floats) -> GroupOrders:
    """Orders of `y` against `x` within groups; all of shape (n,), groups numbered from 0.

    Small groups are compared pair by pair, all at once; one of more than 300 rows by sorting.
    """
    sizes = np.bincount(groups)
    small = sizes[groups] <= LARGE_GROUP
    sums = _by_pairs(groups[small], x[small], y[small], len(sizes))
    for group in np.flatnonzero(sizes > LARGE_GROUP):
        sums[:, group] = _by_sorting(x[groups == group], y[groups == group])
    balance, untied_x, untied_y = sums
    wins = (untied_x + balance) / 2
    return GroupOrders(sizes.astype(float), untied_x, wins, balance, untied_x, untied_y)


def _by_pairs(groups: Ints, x: Floats, y: Floats, count: int) -> Floats:
    """Balance, pairs untied in x, pairs untied in y: shape (3, groups)."""
    first, second = pairs_within(groups)
    side_x, side_y = np.sign(x[second] - x[first]), np.sign(y[second] - y[first])
    columns = (side_x * side_y, np.abs(side_x), np.abs(side_y))
    return np.array([np.bincount(groups[first], column, count) for column in columns])


def _by_sorting(x: Floats, y: Floats) -> tuple[float, float, float]:
    pairs = len(x) * (len(x) - 1) / 2
    untied_x, untied_y = (pairs - _tied(side) for side in (x, y))
    if not untied_x or not untied_y:
        return 0.0, untied_x, untied_y
    tau = float(stats.kendalltau(x, y).statistic)
    # The balance is a whole number: what the root has blurred is rounded off.
    return round(tau * float(np.sqrt(untied_x * untied_y))), untied_x, untied_y


def _tied(values: Floats) -> float:
    times = np.unique(values, return_counts=True)[1].astype(np.float64)
    return float((times * (times - 1) / 2).sum())
