"""Kernel densities of scores for drawing, and what stands in their place where there is none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

GRID = 100
TOO_FEW = "too few distinct values"


@dataclass(frozen=True, slots=True)
class Density:
    """A curve over `grid` (lists of equal length), or none with the `reason`.

    `rug` are the finite values themselves, sorted: a constant set is drawn as one spike there.
    `left_out` counts values that are missing or not finite.
    """

    grid: list[float]
    height: list[float]
    rug: list[float]
    reason: str = ""
    left_out: int = 0


def density(values: Sequence[float | None], grid: ArrayLike) -> Density:
    """Gaussian kernel density of `values` at the points of `grid`; area 1 over the whole line.

    Bandwidth by Scott's rule: n^(-1/5) times the standard deviation (divisor n - 1). Fewer than two
    distinct values have no density, and the reason says so.
    """
    finite = sorted(float(v) for v in values if v is not None and math.isfinite(v))
    left_out = len(values) - len(finite)
    sample = np.array(finite)
    if len(finite) < 2 or sample[0] == sample[-1]:
        return Density([], [], finite, TOO_FEW, left_out)
    points = np.asarray(grid, dtype=np.float64)
    bandwidth = len(finite) ** -0.2 * float(sample.std(ddof=1))
    if bandwidth == 0 or not math.isfinite(1 / bandwidth):
        return Density([], [], finite, TOO_FEW, left_out)
    away = (points[:, None] - sample) / bandwidth
    scale = len(finite) * bandwidth * math.sqrt(2 * math.pi)
    height = np.exp(-0.5 * away**2).sum(axis=1) / scale
    return Density(points.tolist(), height.tolist(), finite, "", left_out)


def common_grid(*samples: Sequence[float | None], points: int = GRID) -> NDArray[np.float64]:
    """Evenly spaced points from a little below the least to a little above the largest value.

    A tenth of the range on either side, so that the tails are seen. No finite value: no points.
    """
    finite = [v for sample in samples for v in sample if v is not None and math.isfinite(v)]
    if not finite:
        return np.zeros(0)
    low, high = min(finite), max(finite)
    margin = (high - low) / 10
    return np.linspace(low - margin, high + margin, points)
