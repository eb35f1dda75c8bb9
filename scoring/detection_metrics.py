"""How well the first off-track turn is found (DialFork, task 3).

Predictions are turn numbers over all turns from 1, or None. The truth of a fork is `fork_turn`,
that of a conformant dialogue one past its last assistant turn. Errors are over flagged
dialogues only; coverages are percentages.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FLOOR = 1e-12
# Of error and coverage on forks, then of error and false alarms on conformant dialogues.
WEIGHTS = (0.35, 0.15, 0.35, 0.15)
# From errors that weigh four times coverages to all parts alike (DialFork, appendix I).
ABLATION = {
    ".40/.10": (0.40, 0.10, 0.40, 0.10),
    ".35/.15": WEIGHTS,
    ".30/.20": (0.30, 0.20, 0.30, 0.20),
    ".25/.25": (0.25, 0.25, 0.25, 0.25),
}


@dataclass(frozen=True, slots=True)
class Detection:
    """Figures of a detector on a test set; None where nothing was flagged (or there was nothing).

    `fork_error` is the plain mean of the types' mean absolute errors, `fork_coverage` the
    percentage of forks flagged, `false_alarms` that of conformant dialogues flagged.
    """

    error_by_type: Mapping[str, float | None]
    fork_error: float | None
    fork_coverage: float | None
    conformant_error: float | None
    false_alarms: float | None
    forks: int
    conformant: int


def detection(
    forks: Iterable[tuple[str, int, int | None]],
    conformant: Iterable[tuple[int, int | None]],
) -> Detection:
    """Figures from (type, fork turn, prediction) and (last assistant turn, prediction)."""
    fork_rows, calm_rows = list(forks), list(conformant)
    errors: dict[str, list[int]] = defaultdict(list)
    for kind, truth, found in fork_rows:
        errors[kind] += [] if found is None else [abs(found - truth)]
    by_type = {kind: _mean(rows) for kind, rows in sorted(errors.items())}
    return Detection(
        error_by_type=by_type,
        fork_error=_mean([error for error in by_type.values() if error is not None]),
        fork_coverage=_percentage([found for _, _, found in fork_rows]),
        conformant_error=_mean([abs(p - (last + 1)) for last, p in calm_rows if p is not None]),
        false_alarms=_percentage([found for _, found in calm_rows]),
        forks=len(fork_rows),
        conformant=len(calm_rows),
    )


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _percentage(predictions: Sequence[int | None]) -> float | None:
    if not predictions:
        return None
    return 100 * sum(p is not None for p in predictions) / len(predictions)


def detection_score(
    *,
    fork_error: float | None,
    fork_coverage: float,
    conformant_error: float | None,
    false_alarms: float,
    most_fork_error: float,
    most_conformant_error: float,
    weights: Sequence[float] = WEIGHTS,
) -> float:
    """One number from 0 to 100: a weighted geometric mean of four parts, each at least 1e-12.

    The parts are 1 - error / the worst trivial baseline's error on the same test set (last turn on
    forks, first turn on conformant dialogues), coverage, and 1 - false alarms. No fork flagged: the
    first part is least. No false alarm: the third part is 1.
    """
    parts = (
        0.0 if fork_error is None else 1 - fork_error / most_fork_error,
        fork_coverage / 100,
        1.0 if conformant_error is None else 1 - conformant_error / most_conformant_error,
        1 - false_alarms / 100,
    )
    return float(weighted_score(np.array(parts), weights))


def weighted_score(parts: NDArray[np.float64], weights: Sequence[float]) -> NDArray[np.float64]:
    """The score of parts of shape (..., 4), in the order of `WEIGHTS`: shape (...)."""
    logs = np.log(np.maximum(parts, FLOOR)) @ np.asarray(weights, dtype=np.float64)
    return 100 * np.exp(logs)


def first_turn(assistant_turns: Sequence[int]) -> int | None:
    """The trivial baseline that always flags the first assistant turn."""
    return assistant_turns[0] if assistant_turns else None


def last_turn(assistant_turns: Sequence[int]) -> int | None:
    """The trivial baseline that always flags the last assistant turn."""
    return assistant_turns[-1] if assistant_turns else None


def random_turn(assistant_turns: Sequence[int], rng: np.random.Generator) -> int | None:
    """The trivial baseline that flags an assistant turn drawn uniformly."""
    return int(rng.choice(assistant_turns)) if len(assistant_turns) else None
