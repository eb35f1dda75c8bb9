"""k-means clusters of rows, many times over by seed, with one table of distances for all starts.

The procedure is MiniBatchKMeans with `n_init` k-means++ starts of which the least inertia goes on.
What it costs is the starts: each computes the same distances anew. Here they are computed once, in
single precision, and every start of every run reads them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import MiniBatchKMeans
from threadpoolctl import threadpool_limits

STARTS = 10
# Rows that starts are drawn from: beyond this a start is no better, and the table grows by squares.
POOL = 4096

Rows = NDArray[np.float32]


class SharedClusters:
    """Clusterings of the same rows, shape (n, d), or of draws from them.

    `distinct` is the number of distinct rows, `copies` the distinct row each row equals.
    """

    def __init__(self, rows: NDArray[np.floating], *, seed: int = 0) -> None:
        # Large common offsets would cost single precision its digits; distances do not see them.
        exact = np.asarray(rows, dtype=np.float64)
        _, self.copies = np.unique(exact, axis=0, return_inverse=True)
        self.distinct = int(self.copies.max(initial=-1)) + 1
        centre = exact.mean(axis=0) if len(exact) else 0.0
        self.rows: Rows = (exact - centre).astype(np.float32)
        pool = np.arange(len(exact))
        if len(pool) > POOL:
            pool = np.sort(np.random.default_rng(seed).choice(len(pool), POOL, replace=False))
        self.pool = pool
        self._table: Rows | None = None

    def labels(self, drawn: NDArray[np.intp], clusters: int, *, seed: int) -> NDArray[np.intp]:
        """The cluster of each of the rows `drawn` (numbers of rows), from 0.

        No more clusters than distinct rows among them; then every distinct row is its own.
        """
        found, copies = np.unique(self.copies[drawn], return_inverse=True)
        if len(found) <= clusters:
            return copies
        # Small sets: handing them out to threads costs more than the work itself.
        with threadpool_limits(limits=1):
            start = self._start(drawn, clusters, seed)
            model = MiniBatchKMeans(clusters, init=start, n_init=1, random_state=seed)
            return np.asarray(model.fit_predict(self.rows[drawn]))

    def _start(self, drawn: NDArray[np.intp], clusters: int, seed: int) -> Rows:
        """The best of ten k-means++ starts, shape (clusters, d)."""
        places = np.flatnonzero(np.isin(self.pool, drawn))
        if len(places) < clusters:
            places = np.arange(len(self.pool))
        table = self._squares()
        if len(places) < len(table):
            table = table[np.ix_(places, places)]
        rng = np.random.default_rng(seed)
        found = [spread_start(table, clusters, rng) for _ in range(STARTS)]
        best = min(found, key=lambda start: start[1])[0]
        return self.rows[self.pool[places[best]]]

    def _squares(self) -> Rows:
        """Squared distances of all rows of the pool."""
        if self._table is None:
            rows = self.rows[self.pool]
            lengths = np.vecdot(rows, rows)
            table = rows @ rows.T
            table *= -2
            table += lengths
            table += lengths[:, None]
            self._table = np.maximum(table, 0, out=table)
        return self._table


def spread_start(
    squares: Rows, clusters: int, rng: np.random.Generator
) -> tuple[Sequence[int], float]:
    """Row numbers of a greedy k-means++ start, and its inertia.

    Each further centre is the best of 2 + ln(clusters) rows drawn by squared distance to the
    centres so far (Arthur and Vassilvitskii, 2007, section 5; as scikit-learn does). `squares` are
    the squared distances of all rows, shape (n, n).
    """
    trials = 2 + int(np.log(clusters))
    centres = [int(rng.integers(len(squares)))]
    nearest = squares[centres[0]].copy()
    for _ in range(1, clusters):
        sums = np.cumsum(nearest, dtype=np.float64)
        at = np.searchsorted(sums, rng.random(trials) * sums[-1])
        tried = np.minimum(squares[np.minimum(at, len(squares) - 1)], nearest)
        best = int(tried.sum(axis=1).argmin())
        centres.append(int(min(at[best], len(squares) - 1)))
        nearest = tried[best]
    return centres, float(nearest.sum(dtype=np.float64))
