"""Distances between two sets of dialogues (DialFork, task 1): FBD, PRD, FlowKL and variants.

FBD and PRD read the vectors of neighbouring turn pairs (`pair_vectors`), FlowKL reads the scores of
dialogues under a flow graph. The first set is the reference (conformant), the second the candidate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from benchmark.records import ASSISTANT
from scoring.estimates import Estimate, undefined
from scoring.shared_clusters import SharedClusters
from scoring.turn_vectors import DialogueVectors, one_thread

Floats = NDArray[np.float64]
FLOOR = 1e-12
GRID = 100
EDGE = 1e-10


def pair_vectors(dialogues: Sequence[DialogueVectors], *, pairs: str = "all") -> Floats:
    """[e_t ; e_t+1] of neighbouring scored turns, shape (pairs, 2d).

    `pairs` is "all" (both directions of speaking) or "to_assistant" (another role, then the
    assistant); it belongs to the result.
    """
    if pairs not in ("all", "to_assistant"):
        raise ValueError(f"pairs is {pairs!r}; it must be 'all' or 'to_assistant'")
    parts = [_pairs_of(d, pairs) for d in dialogues if len(d.roles) > 1]
    width = max((2 * d.vectors.shape[1] for d in dialogues), default=0)
    return np.concatenate(parts) if parts else np.zeros((0, width))


def _pairs_of(dialogue: DialogueVectors, pairs: str) -> Floats:
    rows = np.asarray(dialogue.vectors, dtype=np.float64)
    both = np.concatenate([rows[:-1], rows[1:]], axis=1)
    if pairs == "all":
        return both
    by_assistant = np.array([role == ASSISTANT for role in dialogue.roles])
    return both[~by_assistant[:-1] & by_assistant[1:]]


# -- Frechet -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Gaussian:
    """A Gaussian fit to `n` vectors: `mean`, shape (d,), and `root`, A with A^T A the covariance
    (divisor n - 1) and at most d rows. Fewer than two vectors have no root.
    """

    n: int
    mean: Floats
    root: Floats | None


def gaussian(vectors: ArrayLike) -> Gaussian:
    """The fit to rows of shape (n, d); made once, it serves every comparison with these rows."""
    rows = np.asarray(vectors, dtype=np.float64)
    if len(rows) < 2:
        return Gaussian(len(rows), rows.sum(axis=0), None)
    mean = rows.mean(axis=0)
    root = (rows - mean) / math.sqrt(len(rows) - 1)
    if len(rows) > rows.shape[1]:
        with one_thread():
            root = np.linalg.qr(root, mode="r")
    return Gaussian(len(rows), mean, root)


def frechet(reference: ArrayLike | Gaussian, candidate: ArrayLike | Gaussian) -> Estimate:
    """Frechet distance of Gaussian fits to two sets of vectors, shapes (n, d) and (m, d).

    |mu1 - mu2|^2 + tr S1 + tr S2 - 2 tr (S1 S2)^(1/2), covariances with divisor n - 1, cut at 0.
    The last trace is the nuclear norm of A B^T for centred data A, B: real and exact for singular
    covariances too. Fewer than two rows in a set: undefined.
    """
    sides = (reference, candidate)
    a, b = (side if isinstance(side, Gaussian) else gaussian(side) for side in sides)
    if a.root is None or b.root is None:
        return undefined("fewer_than_two_pairs", n=min(a.n, b.n))
    shift = a.mean - b.mean
    with one_thread():
        shared = float(np.linalg.svd(a.root @ b.root.T, compute_uv=False).sum())
    spread = float((a.root**2).sum()) + float((b.root**2).sum())
    return Estimate(max(0.0, float(shift @ shift) + spread - 2 * shared), n=a.n + b.n)


# -- precision and recall of distributions -----------------------------------------------------


def prd_curve(reference: ArrayLike, candidate: ArrayLike) -> tuple[Floats, Floats]:
    """Precision and recall of two histograms (shares per cluster) at 1001 angles."""
    p, q = (np.asarray(side, dtype=np.float64) for side in (reference, candidate))
    slopes = np.tan(np.linspace(EDGE, np.pi / 2 - EDGE, 1001))
    precision = np.minimum(slopes[:, None] * p, q).sum(axis=1)
    return np.clip(precision, 0, 1), np.clip(precision / slopes, 0, 1)


def prd_distance(precision: Floats, recall: Floats) -> float:
    """1 - the largest F1 along a curve; F1 is 0 where both are 0."""
    total = precision + recall
    f1 = np.where(total > 0, 2 * precision * recall / np.where(total > 0, total, 1.0), 0.0)
    return 1.0 - float(f1.max())


def prd(
    reference: ArrayLike,
    candidate: ArrayLike,
    *,
    clusters: int = 20,
    runs: int = 10,
    seed: int = 0,
) -> Estimate:
    """Distance by the mean precision-recall curve of `runs` k-means clusterings of both sets.

    Sets of unequal size: the larger is drawn down to the smaller in each run (seeded), and `drawn`
    says to how many. No more clusters than distinct vectors. An empty set: undefined.
    """
    sets = [np.asarray(rows, dtype=np.float64) for rows in (reference, candidate)]
    n, m = map(len, sets)
    size = min(n, m)
    if not size:
        return undefined("no_pairs", n=n + m)
    shared = SharedClusters(np.concatenate(sets[::-1]), seed=seed)
    curves = []
    for run in range(runs):
        rng = np.random.default_rng(seed + run)
        # The candidate's rows come first, the reference's after them.
        parts = (
            np.arange(m) if m == size else rng.choice(m, size, replace=False),
            m + (np.arange(n) if n == size else rng.choice(n, size, replace=False)),
        )
        labels = shared.labels(np.concatenate(parts), clusters, seed=seed + run)
        curves.append(prd_curve(*_shares(labels, size)))
    precision, recall = np.mean(curves, axis=0)
    detail = {"drawn": size, "runs": runs, "seed": seed}
    return Estimate(prd_distance(precision, recall), n=n + m, detail=detail)


def _shares(labels: NDArray[np.intp], size: int) -> tuple[Floats, Floats]:
    """Shares per cluster of the reference (the later half) and of the candidate."""
    k = int(labels.max()) + 1
    candidate, reference = (
        np.bincount(part, minlength=k) / size for part in (labels[:size], labels[size:])
    )
    return reference, candidate


# -- divergences of score densities ------------------------------------------------------------


def flow_kl(
    reference: Sequence[float], candidate: Sequence[float], *, factor: float | None = None
) -> Estimate:
    """KL(reference || candidate) of Gaussian kernel densities, normalised on a grid; never below 0.

    Grid of 100 points from the least to the largest score; bandwidth = factor (Scott: n^(-1/5))
    times the standard deviation, at least a hundredth of the range; densities in the log domain, so
    distant sets keep their order. All scores equal: 0. An empty set, or a score that is no finite
    number: undefined.
    """
    x, y = (np.asarray(side, dtype=np.float64) for side in (reference, candidate))
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        return undefined("a_score_is_not_finite", n=len(x) + len(y))
    if not len(x) or not len(y):
        return undefined("no_observations", n=len(x) + len(y))
    return Estimate(float(flow_kl_rows(x[None], y[None], factor=factor)[0]), n=len(x) + len(y))


def flow_kl_rows(reference: Floats, candidate: Floats, *, factor: float | None = None) -> Floats:
    """`flow_kl` of each row of two arrays, shapes (rows, n) and (rows, m), as shape (rows,).

    NaN stands for a score that is missing; a row without a score on a side is NaN itself.
    """
    sides = (np.asarray(reference, dtype=np.float64), np.asarray(candidate, dtype=np.float64))
    there = ~np.isnan(sides[0]).all(axis=1) & ~np.isnan(sides[1]).all(axis=1)
    found = np.full(len(there), np.nan)
    sides = (sides[0][there], sides[1][there])
    low = np.minimum(*(np.nanmin(side, axis=1) for side in sides)) if there.any() else np.zeros(0)
    high = np.maximum(*(np.nanmax(side, axis=1) for side in sides)) if there.any() else np.zeros(0)
    values = np.zeros(len(low))
    apart = np.flatnonzero(high > low)
    if len(apart):
        spread = (high - low)[apart]
        grid = low[apart, None] + spread[:, None] * np.linspace(0, 1, GRID)
        p, q = (_log_shares(side[apart], grid, spread / 100, factor) for side in sides)
        values[apart] = np.maximum(0.0, (np.exp(p) * (p - q)).sum(axis=1))
    found[there] = values
    return found


def _log_shares(samples: Floats, grid: Floats, least: Floats, factor: float | None) -> Floats:
    """Log densities of each row at its grid, normalised over the grid; shape of `grid`."""
    missing = np.isnan(samples)
    n = (~missing).sum(axis=1)
    away = np.where(missing, 0.0, samples - np.nanmean(samples, axis=1)[:, None])
    deviation = np.sqrt((away**2).sum(axis=1) / np.maximum(n - 1, 1))
    bandwidth = np.maximum((n**-0.2 if factor is None else factor) * deviation, least)
    logs = (grid[:, :, None] - np.where(missing, np.inf, samples)[:, None, :]) ** 2
    logs /= -2 * bandwidth[:, None, None] ** 2
    density = _log_sums(logs)
    return density - _log_sums(density)[:, None]


def _log_sums(logs: Floats) -> Floats:
    """ln of the sum of exp over the last axis."""
    most = logs.max(axis=-1)
    return np.asarray(most + np.log(np.exp(logs - most[..., None]).sum(axis=-1)))


def flow_kl_compat(
    reference: Sequence[float], candidate: Sequence[float], *, factor: float | None = None
) -> Estimate:
    """KL as sdialog 0.5.3 computes it: densities cut at 1e-12, the candidate's not normalised.

    It can be negative and levels off near 27. Where the tool adds unseeded noise or fails (a
    set without spread) the value is undefined.
    """
    sides = _densities(reference, candidate, factor)
    if isinstance(sides, Estimate):
        return sides
    p, q = (np.maximum(np.exp(side), FLOOR) for side in sides)
    value = float((p * np.log(p / q)).sum() / p.sum())
    return Estimate(value + 0.0, n=len(reference) + len(candidate))


def cauchy_schwarz(
    reference: Sequence[float], candidate: Sequence[float], *, factor: float | None = None
) -> Estimate:
    """-ln of the cosine of the two densities on the grid; symmetric. No spread: undefined."""
    sides = _densities(reference, candidate, factor)
    if isinstance(sides, Estimate):
        return sides
    p, q = sides
    value = (logsumexp(2 * p) + logsumexp(2 * q)) / 2 - logsumexp(p + q)
    return Estimate(max(0.0, float(value)), n=len(reference) + len(candidate))


def cauchy_schwarz_compat(
    reference: Sequence[float], candidate: Sequence[float], *, factor: float | None = None
) -> Estimate:
    """The same as sdialog 0.5.3 computes it: both sums cut at 1e-12.

    Densities that vanish between the grid points therefore give 0, as if the sets were equal.
    """
    sides = _densities(reference, candidate, factor)
    if isinstance(sides, Estimate):
        return sides
    p, q = (np.exp(side) for side in sides)
    shared, norm = float(p @ q), math.sqrt(float(p @ p) * float(q @ q))
    value = -math.log(max(shared, FLOOR) / max(norm, FLOOR)) + 0.0
    return Estimate(value, n=len(reference) + len(candidate))


def _densities(
    reference: Sequence[float], candidate: Sequence[float], factor: float | None
) -> tuple[Floats, Floats] | Estimate:
    x, y = (np.asarray(side, dtype=np.float64) for side in (reference, candidate))
    n = len(x) + len(y)
    if len(x) < 2 or len(y) < 2:
        return undefined("fewer_than_two_observations", n=n)
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        return undefined("a_score_is_not_finite", n=n)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return undefined("a_set_without_spread", n=n)
    grid = np.linspace(min(x.min(), y.min()), max(x.max(), y.max()), GRID)
    return tuple(_log_density(side, _bandwidth(side, factor), grid) for side in (x, y))  # type: ignore[return-value]


def _bandwidth(sample: Floats, factor: float | None) -> float:
    spread = float(sample.std(ddof=1)) if len(sample) > 1 else 0.0
    return (len(sample) ** -0.2 if factor is None else factor) * spread


def _log_density(sample: Floats, bandwidth: float, grid: Floats) -> Floats:
    away = (grid[:, None] - sample[None, :]) / bandwidth
    scale = math.log(len(sample) * bandwidth * math.sqrt(2 * math.pi))
    return np.asarray(logsumexp(-0.5 * away**2, axis=1) - scale)
