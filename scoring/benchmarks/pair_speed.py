"""Distances of all forks of a full corpus from their sources, in batches beside plain loops."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import replace

import numpy as np

from scoring.benchmarks.distances import flow_score_loop
from scoring.benchmarks.measuring import Limit, Measured, seconds
from scoring.benchmarks.synthetic import dialogue
from scoring.dialogue_distances import flow_score_pairs
from scoring.discounted_alignment import DISCOUNT, discounted_alignment_pairs
from scoring.time_warping import dtw_pairs, dtw_path_pairs
from scoring.turn_vectors import Pairs, one_thread

FORKS, FULL = 16, 34_144
TURNS, DIM = 20, 384
THETA = 0.1
UNIT = "pairs/s"


def measure() -> dict[str, Measured]:
    """The measured cases of this area, by name."""
    pairs = equal_pairs(128)
    return {
        "flow_score_34144": flow_score_full(pairs, np.float32),
        "flow_score_34144_double": flow_score_full(pairs, np.float64),
        "discounted_alignment_pair": alignment(pairs),
        "flow_dtw_pair": warping(pairs, 20e-6, path=False),
        "flow_dtw_path_pair": warping(pairs, 50e-6, path=True),
    }


def equal_pairs(sources: int, *, seed: int = 0) -> Pairs:
    """Sources of 20 turns in 384 dimensions, each with 16 forks that share its first turns."""
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(sources):
        # As vectors come from the store: of length one, and known to be.
        source = replace(dialogue(rng, TURNS, DIM), unit=True)
        for i in range(FORKS):
            fork = dialogue(rng, TURNS, DIM)
            shared = 1 + (i % 4) * TURNS // 4
            fork.vectors[:shared] = source.vectors[:shared]
            pairs.append((source, replace(fork, unit=True)))
    return pairs


def flow_score_full(pairs: Pairs, precision: type[np.floating]) -> Measured:
    """Measured on these pairs; the limit is for all forks of a full corpus.

    The loop multiplies in `precision`. In single it does half the work of ours, and gives equal
    turns different cosines in the seventh decimal; in double it computes what ours computes.
    """
    given = [tuple(replace(d, vectors=d.vectors.astype(precision)) for d in pair) for pair in pairs]
    with one_thread():
        ours, loop = seconds(lambda: flow_score_pairs(pairs), lambda: flow_score_loop(given))
        values = [found.value or 0.0 for found in flow_score_pairs(pairs)]
        equal = bool(np.allclose(values, flow_score_loop(given), rtol=0, atol=1e-6))
    limit = Limit(ours * FULL / len(pairs), 1.0, "34,144 pairs")
    return Measured(len(pairs) / ours, len(pairs) / loop, 3.0, UNIT, equal, limit=limit)


def alignment_loop(pairs: Pairs) -> list[float]:
    """Discounted alignment pair by pair: one product, then the recursion cell by cell."""
    found = []
    for a, b in pairs:
        match = np.clip((a.vectors @ b.vectors.T - THETA) / (1 - THETA), 0, 1)
        same = np.array(a.roles)[:, None] == np.array(b.roles)[None, :]
        cells = np.where(same, match, 0.0).tolist()
        after = [0.0] * (len(b.roles) + 1)
        for row in reversed(cells):
            here = [0.0] * len(after)
            for j in range(len(row) - 1, -1, -1):
                kept = row[j] + (DISCOUNT + (1 - DISCOUNT) * row[j]) * after[j + 1]
                here[j] = max(kept, DISCOUNT * after[j], DISCOUNT * here[j + 1])
            after = here
        found.append(1 - after[0] / len(a.roles))
    return found


def alignment(pairs: Pairs) -> Measured:
    """The product included; values equal to 1e-5."""
    some = pairs[: len(pairs) // 8]
    with one_thread():
        (ours,) = seconds(lambda: discounted_alignment_pairs(pairs, theta=THETA), repeats=5)
        (loop,) = seconds(lambda: alignment_loop(some), repeats=2)
        values = [d.value or 0.0 for d in discounted_alignment_pairs(some, theta=THETA)]
        equal = bool(np.allclose(values, alignment_loop(some), rtol=0, atol=1e-5))
    limit = Limit(ours / len(pairs), 40e-6, "pair")
    return Measured(len(pairs) / ours, len(some) / loop, 3.0, UNIT, equal, limit=limit)


def warping(pairs: Pairs, most: float, *, path: bool) -> Measured:
    """Beside dtaidistance in C. It knows Euclidean costs only; on unit rows their square is
    twice the cosine distance, so that the sums are the same."""
    ours_of = dtw_path_pairs if path else dtw_pairs
    (ours,) = seconds(lambda: ours_of(pairs), repeats=5)
    limit = Limit(ours / len(pairs), most, "pair")
    if importlib.util.find_spec("dtaidistance") is None:
        note = "dtaidistance is not installed"
        return Measured(len(pairs) / ours, None, 1.0, UNIT, note=note, limit=limit)
    some = pairs[: len(pairs) // 8]
    rows = [tuple(d.vectors.astype(np.float64) for d in pair) for pair in some]
    theirs_of = _library_path if path else _library_distance
    expected = [theirs_of(a, b) for a, b in rows]
    (theirs,) = seconds(lambda: [theirs_of(a, b) for a, b in rows], repeats=3)
    values = [found.detail["raw"] for found in ours_of(some)]
    equal = bool(np.allclose(values, expected, rtol=0, atol=1e-4))
    return Measured(len(pairs) / ours, len(some) / theirs, 3.0, UNIT, equal, limit=limit)


def _library_distance(a: np.ndarray, b: np.ndarray) -> float:
    return float(importlib.import_module("dtaidistance.dtw_ndim").distance_fast(a, b) ** 2 / 2)


def _library_path(a: np.ndarray, b: np.ndarray) -> float:
    library = importlib.import_module("dtaidistance.dtw_ndim")
    distance, table = library.warping_paths_fast(a, b)
    importlib.import_module("dtaidistance.dtw").best_path(table)
    return float(distance**2 / 2)
