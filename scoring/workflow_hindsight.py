"""The first turn off a known workflow, looked for once the whole dialogue is there.

From each turn to the end the suspicion of `workflow_onset` is added up, less a level; the turn
where the sum is largest is the onset, and the sum says how strongly the dialogue leaves the
workflow (Page 1954 adds up likewise as turns come, doi:10.1093/biomet/41.1-2.100). A lone odd turn
amid a dialogue that goes on as usual counts little.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scoring import conformal, workflow_onset
from scoring.onset_methods import ObservedTurn, Suspicion
from scoring.workflow_onset import LEAVE_ONE_OUT, SPLIT, WorkflowDetector
from scoring.workflow_steps import WorkflowKnowledge

LEVEL = 0.3
Dialogue = Sequence[ObservedTurn]


def fit(
    train: Sequence[Dialogue],
    knowledge: WorkflowKnowledge,
    *,
    form: str = LEAVE_ONE_OUT,
    seed: int = 0,
) -> WorkflowHindsight:
    """The method that reads whole dialogues; arguments and errors as of
    `workflow_onset.fit`."""
    return WorkflowHindsight(workflow_onset.fit(train, knowledge, form=form, seed=seed))


class WorkflowHindsight:
    """The offline method on the values of a streaming detector. Made by `fit`.

    From each turn to the end it adds up value - LEVEL, each cut to [-1, 1]; the largest sum says
    how strongly the dialogue leaves the workflow, and its turn where.
    """

    def __init__(self, detector: WorkflowDetector) -> None:
        self.detector = detector
        sums = (turning(values)[1] for values in detector.calibrating_values)
        self.calibration: list[float] = list(sums)

    def onset(self, turns: Dialogue) -> tuple[int | None, float | None]:
        """The turn at which the dialogue would leave its workflow, and how strongly it does.

        (None, None) where no turn can be judged.
        """
        return self._onset(list(self.detector.watch(turns)))

    def onset_all(self, dialogues: Sequence[Dialogue]) -> list[tuple[int | None, float | None]]:
        """What `onset` gives for each dialogue."""
        return [self._onset(found) for found in self.detector.watch_all(dialogues)]

    def cut(self, alpha: float) -> float | None:
        """The sum above which a dialogue is flagged; None where there are too few dialogues."""
        return conformal.cut(self.calibration, alpha)

    def promise(self, alpha: float) -> str:
        """What a user may rely on at this level, as one sentence."""
        exact = self.detector.form == SPLIT
        return conformal.promise(len(self.calibration), alpha, exact=exact)

    def _onset(self, found: Sequence[Suspicion]) -> tuple[int | None, float | None]:
        if not found:
            return None, None
        place, total = turning([value for _, value in found])
        return found[place].number, total


def turning(values: Sequence[float]) -> tuple[int, float]:
    """Where the sum of what follows is largest, and that sum; the first of equal places.

    >>> turning([-3.0, 0.7, 0.1, 2.0])
    (1, 1.2)
    """
    parts = np.clip(np.asarray(values, dtype=np.float64) - LEVEL, -1.0, 1.0)
    sums = np.round(np.cumsum(parts[::-1])[::-1], 9)
    place = int(sums.argmax())
    return place, float(sums[place])
