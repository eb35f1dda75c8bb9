"""Bootstrap intervals: rows, pairs, whole clusters, or any statistic of units resampled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from scoring.estimates import Estimate, undefined

Floats = NDArray[np.float64]
MAX_CELLS = 4_000_000
STATISTICS: dict[str, Callable[..., Floats]] = {"mean": np.mean, "median": np.median}


def bootstrap_ci(
    values: Sequence[float],
    *,
    statistic: str = "mean",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Estimate:
    """A statistic ("mean" or "median") with a percentile interval, rows resampled.

    Quantiles are interpolated linearly. One value has no interval; no value is undefined.
    """
    if statistic not in STATISTICS:
        raise ValueError(f"statistic is {statistic!r}; it must be one of {', '.join(STATISTICS)}")
    data = np.asarray(values, dtype=np.float64)
    if not len(data):
        return undefined("no_observations")
    value = float(STATISTICS[statistic](data))
    if len(data) < 2:
        return Estimate(value, "fewer_than_two_observations", n=len(data))
    rng = np.random.default_rng(seed)
    parts = [
        STATISTICS[statistic](data[rng.integers(0, len(data), (size, len(data)))], axis=1)
        for size in _batches(resamples, len(data))
    ]
    return Estimate(value, n=len(data), ci=_between(np.concatenate(parts), confidence))


def cluster_bootstrap_ci(
    clusters: Mapping[str, Sequence[float]],
    *,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Estimate:
    """The mean of all values with a percentile interval, whole clusters (people, say) resampled.

    `n` counts values, `clusters` counts clusters with a value; one cluster has no interval.
    """
    kept = {name: np.asarray(rows, dtype=np.float64) for name, rows in clusters.items() if rows}
    names = sorted(kept)
    sums = np.array([kept[name].sum() for name in names])
    sizes = np.array([len(kept[name]) for name in names], dtype=np.float64)
    if not names:
        return undefined("no_observations", clusters=0)
    value, n = float(sums.sum() / sizes.sum()), int(sizes.sum())
    detail = {"clusters": len(names)}
    if len(names) < 2:
        return Estimate(value, "fewer_than_two_clusters", n=n, detail=detail)
    rng = np.random.default_rng(seed)
    parts = []
    for size in _batches(resamples, len(names)):
        drawn = rng.integers(0, len(names), (size, len(names)))
        parts.append(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    return Estimate(value, n=n, ci=_between(np.concatenate(parts), confidence), detail=detail)


def paired_bootstrap_ci(a: Sequence[float], b: Sequence[float], **settings: float) -> Estimate:
    """Mean of a - b over paired units with a percentile interval; settings as `bootstrap_ci`."""
    return bootstrap_ci(differences(a, b).tolist(), **settings)  # type: ignore[arg-type]


def resampled(
    units: int,
    value_of: Callable[[NDArray[np.intp]], float | None],
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> tuple[tuple[float, float] | None, int]:
    """Percentile interval of any statistic of units, and how many resamples left it undefined.

    `value_of` gets the drawn unit numbers. No interval where over half were undefined.
    """
    rng = np.random.default_rng(seed)
    found = [value_of(rng.integers(0, units, units)) for _ in range(resamples if units > 1 else 0)]
    defined = [value for value in found if value is not None]
    if len(defined) * 2 <= resamples:
        return None, len(found) - len(defined)
    return _between(np.array(defined), confidence), len(found) - len(defined)


def _batches(resamples: int, n: int) -> list[int]:
    most = max(1, MAX_CELLS // n)
    whole, rest = divmod(resamples, most)
    return [most] * whole + ([rest] if rest else [])


def _between(values: Floats, confidence: float) -> tuple[float, float]:
    tail = (1 - confidence) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def differences(a: Sequence[float], b: Sequence[float]) -> Floats:
    """a - b, value by value; unequal lengths are refused."""
    if len(a) != len(b):
        raise ValueError(f"{len(a)} and {len(b)} values are not pairs")
    return np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
