"""Conformal thresholds: how many conformant dialogues may be flagged, promised without a model.

n calibration dialogues and the one watched are exchangeable where they come from the same source.
Then the rank of the watched one among all n + 1 is uniform, whatever the statistic, and the chance
of an alarm is at most alpha (Vovk, Gammerman and Shafer 2005, doi:10.1007/b106715). The promise is
over dialogues and training halves drawn at random, not for each workflow by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

# Equal dialogues differ in the last places by the order of their sums; a tie counts against alarm.
SLACK = 1e-9
_ROUNDING = 1e-9
TOO_FEW = "no promise: too few dialogues"


def rank(n: int, alpha: float) -> int:
    """ceil((n + 1)(1 - alpha)): the place, from 1, of the threshold among n sorted values.

    A rank of n + 1 means that no value is large enough. Raises ValueError unless 0 < alpha < 1.
    """
    _check(n, alpha)
    # (n + 1)(1 - alpha) is whole for the usual n and alpha, but not in binary fractions.
    return math.ceil((n + 1) * (1 - alpha) - _ROUNDING)


def fewest(alpha: float) -> int:
    """The smallest n that allows an alarm at all: n >= 1 / alpha - 1 (9 at .10, 19 at .05)."""
    _check(0, alpha)
    return math.ceil(1 / alpha - 1 - _ROUNDING)


def cut(values: Sequence[float], alpha: float) -> float | None:
    """The threshold that calibration values give: alarm at a value above it.

    None where the rank exceeds their number: with so few dialogues nothing may be flagged.
    """
    place = rank(len(values), alpha)
    return float(sorted(values)[place - 1]) if place <= len(values) else None


def p_value(values: ArrayLike, value: float) -> float:
    """(1 + number of values at least as large) / (n + 1); differences below 1e-9 tie."""
    rows = np.asarray(values, dtype=np.float64)
    return float((1 + np.count_nonzero(rows >= value - SLACK)) / (len(rows) + 1))


def p_cut(n: int, alpha: float) -> float | None:
    """The threshold for values that are -p: above it exactly where p <= alpha.

    None below `fewest(alpha)`, where no p reaches alpha.
    """
    return -alpha - 1e-12 if n >= fewest(alpha) else None


def expectation(n: int, alpha: float) -> float:
    """The mean share of conformant dialogues with p <= alpha when no two tie, at most alpha.

    floor(alpha (n + 1)) / (n + 1): p takes the n + 1 values 1 / (n + 1), 2 / (n + 1), ..., 1.
    """
    _check(n, alpha)
    return math.floor(alpha * (n + 1) + _ROUNDING) / (n + 1)


def promise(n: int, alpha: float, *, exact: bool = True) -> str:
    """What a user may rely on, as one sentence.

    Without `exact` (each calibration dialogue left out once, the watched one never let in) the
    share of false alarms is near alpha in practice, but nothing guarantees it.
    """
    _check(n, alpha)
    share = f"{100 * alpha:g} %"
    if n < fewest(alpha):
        return (
            f"{TOO_FEW} ({n} conformant training dialogues; {fewest(alpha)} are needed at alpha = "
            f"{alpha:g}). Nothing is flagged."
        )
    if exact:
        return (
            f"At most {share} of conformant dialogues from the source of the {n} training "
            "dialogues are flagged, on average over dialogues and training halves."
        )
    return (
        f"About {share} of conformant dialogues are flagged where measured, with {n} training "
        "dialogues; no promise."
    )


def _check(n: int, alpha: float) -> None:
    if n < 0:
        raise ValueError(f"n is {n}; it must be 0 or more")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha}; it must lie between 0 and 1")
