"""Distances of many forks from their sources: batches beside a loop and a published library."""

from __future__ import annotations

import importlib
import importlib.util

import numpy as np

from scoring.benchmarks.measuring import Measured, seconds
from scoring.benchmarks.synthetic import fork_pairs
from scoring.dialogue_distances import dtw_pairs, flow_score_pairs
from scoring.turn_vectors import Pairs, one_thread

SAME = 1e-6


def measure() -> dict[str, Measured]:
    """The measured cases of this area, by name."""
    return {"flow_score_batch": flow_score_batch(), "flow_dtw_batch": flow_dtw_batch()}


def flow_score_loop(pairs: Pairs) -> list[float]:
    """FlowScore pair by pair in plain numpy: normalise, multiply, take maxima and means."""
    found = []
    for a, b in pairs:
        x = a.vectors / np.linalg.norm(a.vectors, axis=1, keepdims=True)
        y = b.vectors / np.linalg.norm(b.vectors, axis=1, keepdims=True)
        cosines = y @ x.T
        precision, recall = cosines.max(axis=1).mean(), cosines.max(axis=0).mean()
        if precision <= 0 or recall <= 0:
            found.append(1.0)
        else:
            found.append(float(1 - 2 * precision * recall / (precision + recall)))
    return found


def flow_score_batch(sources: int = 150) -> Measured:
    """All fork-source pairs in one batch against the loop; values equal to 1e-6."""
    pairs = fork_pairs(sources)
    # The loop gets the same single thread, which suits its small products.
    with one_thread():
        ours, loop = seconds(lambda: flow_score_pairs(pairs), lambda: flow_score_loop(pairs))
        values = [found.value or 0.0 for found in flow_score_pairs(pairs)]
        equal = bool(np.allclose(values, flow_score_loop(pairs), rtol=0, atol=SAME))
    return Measured(len(pairs) / ours, len(pairs) / loop, 3.0, "pairs/s", equal)


def flow_dtw_batch(sources: int = 8) -> Measured:
    """Batched warping against one call of tslearn per pair; sums along the path equal to 1e-4."""
    pairs = fork_pairs(sources, seed=1)
    unit = "pairs/s"
    if importlib.util.find_spec("tslearn") is None:
        (ours,) = seconds(lambda: dtw_pairs(pairs))
        return Measured(len(pairs) / ours, None, 1.0, unit, note="tslearn is not installed")
    warp = importlib.import_module("tslearn.metrics").dtw_path_from_metric

    def peer() -> list[float]:
        return [float(warp(a.vectors, b.vectors, metric="cosine")[1]) for a, b in pairs]

    expected = peer()
    ours, theirs = seconds(lambda: dtw_pairs(pairs), peer, repeats=3)
    values = [found.detail["raw"] for found in dtw_pairs(pairs)]
    equal = bool(np.allclose(values, expected, rtol=0, atol=1e-4))
    return Measured(len(pairs) / ours, len(pairs) / theirs, 1.0, unit, equal)
