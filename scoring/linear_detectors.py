"""Logistic regression over rows of runs: classes balanced, strength chosen inside the training.

Everything that is learned comes from the training runs alone, and folds inside the training keep
questions together as the folds outside do.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from scoring.question_folds import folds_of
from scoring.roc_areas import roc_auc
from scoring.trajectory_features import CLEAN, UNKNOWN, Table

Floats = NDArray[np.float64]
STRENGTHS = (1e-4, 1e-3, 1e-2, 1e-1)
INNER_FOLDS = 3
MAX_STEPS = 300
NO_LABEL = "the training holds nothing that a label speaks of"
ONE_CLASS = "the training holds one class only"


class Fitted(Protocol):
    """A trained detector: the probability of anything but CLEAN, per row of features."""

    def suspicion(self, x: Floats) -> Floats: ...


@dataclass(frozen=True, slots=True)
class Logistic:
    """`strength` is the chosen C; `prior` the share of faulty rows in training, which balanced
    classes hide."""

    model: Any
    strength: float
    prior: float
    inner_auc: float | None

    def suspicion(self, x: Floats) -> Floats:
        clean = list(self.model.classes_).index(CLEAN)
        return 1 - self.model.predict_proba(x)[:, clean]


class NothingToLearn(ValueError):
    """The training rows cannot teach the difference; the message is a short reason."""


def fit(
    table: Table, train: NDArray[np.bool_], groups: Sequence[str], *, seed: int = 0
) -> Logistic:
    """A detector trained on the rows of the runs in `train` (a mask over runs).

    C is the one of `STRENGTHS` with the largest AUC over rows, pooled over three folds of questions
    inside the training; the smallest of equals, and the middle one where no fold can tell. Raises
    NothingToLearn where the training has no row of a class.
    """
    rows = train[table.owner] & (table.y != UNKNOWN)
    y = table.y[rows]
    faulty = y != CLEAN
    if not len(y):
        raise NothingToLearn(NO_LABEL)
    if faulty.all() or not faulty.any():
        raise NothingToLearn(ONE_CLASS)
    strength, reached = _strength(table, rows, groups, seed)
    return Logistic(_trained(table.x[rows], y, strength), strength, float(faulty.mean()), reached)


def _strength(
    table: Table, rows: NDArray[np.bool_], groups: Sequence[str], seed: int
) -> tuple[float, float | None]:
    owner = table.owner[rows]
    x, y = table.x[rows], table.y[rows]
    faulty = y != CLEAN
    named = np.asarray(groups)[owner]
    middle = STRENGTHS[len(STRENGTHS) // 2]
    if len(set(named)) < 2:
        return middle, None
    fold = folds_of(list(named), list(faulty), folds=INNER_FOLDS, seed=seed)
    areas = {c: _inner_auc(x, y, fold, c) for c in STRENGTHS}
    known = {c: area for c, area in areas.items() if area is not None}
    if not known:
        return middle, None
    best = max(known, key=lambda c: (round(known[c], 9), -c))
    return best, known[best]


def _inner_auc(x: Floats, y: NDArray[np.intp], fold: NDArray[np.intp], c: float) -> float | None:
    values = np.full(len(y), np.nan)
    for each in np.unique(fold):
        inside = fold != each
        faulty = y[inside] != CLEAN
        if faulty.all() or not faulty.any():
            continue
        model = _trained(x[inside], y[inside], c)
        clean = list(model.classes_).index(CLEAN)
        values[~inside] = 1 - model.predict_proba(x[~inside])[:, clean]
    told = ~np.isnan(values)
    return roc_auc(values[told], y[told] != CLEAN)


def _trained(x: Floats, y: NDArray[np.intp], c: float) -> Any:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    # liblinear is several times faster, but knows two classes only; a large scaling of its
    # intercept keeps the penalty from it.
    two = len(np.unique(y)) == 2
    model = LogisticRegression(
        C=c,
        class_weight="balanced",
        max_iter=MAX_STEPS,
        random_state=0,
        **({"solver": "liblinear", "intercept_scaling": 10.0} if two else {"tol": 1e-3}),
    )
    with warnings.catch_warnings():
        # The order of scores settles long before the last digits do.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(x, y)


def unbalanced(suspicion: Floats, prior: float) -> Floats:
    """Probabilities learned with balanced classes, brought back to the share `prior` of faults."""
    odds = suspicion / np.maximum(1 - suspicion, 1e-12) * (prior / max(1 - prior, 1e-12))
    return odds / (1 + odds)
