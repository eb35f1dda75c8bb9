"""Clusters of utterances of one role: average linkage over cosine distances, cut at a threshold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from scoring.turn_vectors import Floats, cosines, one_thread, snapped


def cosine_distances(vectors: Floats) -> Floats:
    """1 - cos of all pairs of rows, shape (n, d) to (n, n); never below 0, the diagonal exactly 0.

    A zero vector has no direction; like sdialog 0.5.3 we give it the first one.
    """
    rows = vectors.copy()
    rows[~rows.any(axis=1), 0] = 1.0
    with one_thread():
        found = np.clip(1.0 - snapped(cosines(rows, rows)), 0.0, None)
    np.fill_diagonal(found, 0.0)
    return found


def cut_clusters(distances: Floats, threshold: float) -> NDArray[np.int64]:
    """The cluster of each row, numbered from 0 by first appearance; cut strictly below `threshold`.

    `distances` has shape (n, n); one row is one cluster, none gives none.
    """
    if len(distances) < 2:
        return np.zeros(len(distances), dtype=np.int64)
    tree = linkage(squareform(distances, checks=False), method="average")
    # scipy merges at or below the height, the reference tool strictly below.
    found = fcluster(tree, np.nextafter(threshold, 0), criterion="distance")
    _, firsts, numbers = np.unique(found, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(firsts))[numbers]
