"""k-means clusters of rows, many times over by seed, with one table of distances for all starts.

The procedure is that of scikit-learn's MiniBatchKMeans: ten k-means++ starts, of which the one of
least inertia goes on in batches of 1,024 rows until ten batches bring nothing (Sculley, 2010,
doi:10.1145/1772690.1772862). What costs most there is the starts, each of which computes the same
distances anew. Here they are computed once, in single precision, and every start of every run reads
them; the batches are plain matrix products on one thread.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scoring.turn_vectors import one_thread

STARTS = 10
# Rows that starts are drawn from: beyond this a start is no better, and the table grows by squares.
POOL = 4096
BATCH, PASSES, PATIENCE = 1024, 100, 10
LEAST_SHARE = 0.01

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
        rng = np.random.default_rng(seed)
        rows = self.rows if len(drawn) == len(self.rows) else self.rows[drawn]
        with one_thread():
            centres = moved_in_batches(rows, self._start(drawn, clusters, rng), rng)
            return nearest(rows, centres)

    def _start(self, drawn: NDArray[np.intp], clusters: int, rng: np.random.Generator) -> Rows:
        """The best of ten k-means++ starts, shape (clusters, d)."""
        places = np.flatnonzero(np.isin(self.pool, drawn))
        if len(places) < clusters:
            places = np.arange(len(self.pool))
        table = self._squares()
        if len(places) < len(table):
            table = table[np.ix_(places, places)]
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


def moved_in_batches(rows: Rows, start: Rows, rng: np.random.Generator) -> Rows:
    """The centres, shape (clusters, d), after batches of rows drawn with replacement.

    A centre is the mean of all rows that ever fell to it. One with less than a hundredth of the
    largest share is put on a random row. It ends when the smoothed inertia of a batch has not
    fallen for ten batches, or after the rows have been gone through a hundred times.
    """
    centres, seen = start.copy(), np.zeros(len(start), dtype=np.float32)
    size = min(BATCH, len(rows))
    lengths = np.vecdot(rows, rows)
    smoothing = min(1.0, 2 * size / (len(rows) + 1))
    smoothed, least, idle = None, np.inf, 0
    for step in range(PASSES * len(rows) // size):
        drawn = rng.integers(0, len(rows), size)
        batch = rows[drawn]
        away = _from_centres(batch, centres)
        labels = away.argmin(axis=1)
        inertia = float((away[np.arange(size), labels] + lengths[drawn]).mean(dtype=np.float64))
        members = np.zeros((len(centres), size), dtype=np.float32)
        members[labels, np.arange(size)] = 1
        total = seen + members.sum(axis=1)
        weighted = centres * seen[:, None] + members @ batch
        there = total > 0
        centres[there] = weighted[there] / total[there, None]
        seen = total
        _put_anew(centres, seen, batch, rng)
        if not step:
            continue
        smoothed = inertia if smoothed is None else smoothed + smoothing * (inertia - smoothed)
        idle = 0 if smoothed < least else idle + 1
        least = min(least, smoothed)
        if idle >= PATIENCE:
            break
    return centres


def _put_anew(centres: Rows, seen: Rows, batch: Rows, rng: np.random.Generator) -> None:
    """Put centres that hardly any row fell to on random rows of the batch."""
    lost = np.flatnonzero(seen < LEAST_SHARE * seen.max())
    lost = lost[np.argsort(seen[lost])][: len(batch) // 2]
    if not len(lost):
        return
    centres[lost] = batch[rng.choice(len(batch), len(lost), replace=False)]
    seen[lost] = np.delete(seen, lost).min()


def nearest(rows: Rows, centres: Rows) -> NDArray[np.intp]:
    """The number of the nearest centre of each row."""
    return _from_centres(rows, centres).argmin(axis=1)


def _from_centres(rows: Rows, centres: Rows) -> Rows:
    """Squared distances of rows and centres, less the squared length of each row."""
    products = rows @ centres.T
    products *= -2
    products += np.vecdot(centres, centres)
    return products
