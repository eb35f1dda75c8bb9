"""Which step may come next: from situations like this one, and from rules that dialogues keep.

Two kinds of knowledge, both counted over conformant training dialogues. A kernel ridge regression
says which step followed in like situations: the user turn, the two steps before it and the steps
done. Declare-like rules (Pesic, Schonenberg and van der Aalst 2007, doi:10.1109/EDOC.2007.14) say
how unusual it would be to take a step once more, after a step that it never follows, or before one
that it always follows. They are graded, since people leave every hard rule now and then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.novelty_words import Floats
from scoring.turn_vectors import one_thread

Codes = NDArray[np.intp]
MOST_TIMES = 8
# Below this posterior it is not said which step a turn takes.
SURE = 0.5
RIDGE = 1.0
LEAST = 1e-4
# What a rule can weigh at most. The largest log-odds grow with the number of dialogues: without
# the cap a dialogue left out would be measured by another scale than the dialogue watched.
CAP = 1.5


class Situation(NamedTuple):
    """Where a dialogue stands before an assistant turn.

    `before` and `second`, shape (C + 2,), are the posteriors of the last two assistant turns over
    the steps, none of them, and the start of the dialogue; `times`, shape (C,), counts the turns
    that took each step.
    """

    before: Floats
    second: Floats
    times: Floats

    @classmethod
    def opening(cls, steps: int) -> Situation:
        start = np.zeros(steps + 2)
        start[-1] = 1.0
        return cls(start, start, np.zeros(steps))

    def after(self, posterior: Floats) -> Situation:
        """The situation once a turn with this posterior, shape (C + 1,), has been said."""
        times = self.times
        step = step_of(posterior)
        if step is not None:
            times = times.copy()
            times[step] += 1
        return Situation(np.append(posterior, 0.0), self.before, times)


def step_of(posterior: Floats) -> int | None:
    """The step that a turn takes; None where that is unsure or it takes none."""
    step = int(posterior.argmax())
    return step if step < len(posterior) - 1 and posterior[step] > SURE else None


@dataclass(frozen=True, slots=True, eq=False)
class StepCounts:
    """In how many dialogues (of `dialogues`) something holds; steps are 0 to C - 1.

    `having` (C,): the step is taken; `at_least` (MOST_TIMES + 2, C): it is taken so many times;
    `preceded` (C, C): [a, c], a before the first c; `followed` (C, C): [b, c], some c after the
    first b.
    """

    dialogues: int
    having: Floats
    at_least: Floats
    preceded: Floats
    followed: Floats

    @classmethod
    def of(cls, path: Iterable[int], steps: int) -> StepCounts:
        """One dialogue's steps in order; codes from `steps` on are no step and are passed over."""
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        times = np.zeros(steps)
        for place, step in enumerate(path):
            if step < steps:
                first.setdefault(step, place)
                last[step] = place
                times[step] += 1
        taken = list(first)
        begins = np.full(steps, np.inf)
        begins[taken] = [first[step] for step in taken]
        ends = np.full(steps, -1.0)
        ends[taken] = [last[step] for step in taken]
        having = times > 0
        preceded = having[:, None] & having & (begins[:, None] < begins)
        followed = having[:, None] & having & (ends > begins[:, None])
        least = times >= np.arange(MOST_TIMES + 2)[:, None]
        rows = (having, least, preceded, followed)
        return cls(1, *(row.astype(np.float64) for row in rows))

    @classmethod
    def total(cls, counts: Sequence[StepCounts]) -> StepCounts:
        """The sum over one dialogue or more."""
        having = sum(each.having for each in counts)
        least = sum(each.at_least for each in counts)
        preceded = sum(each.preceded for each in counts)
        followed = sum(each.followed for each in counts)
        return cls(sum(each.dialogues for each in counts), having, least, preceded, followed)

    def __sub__(self, other: StepCounts) -> StepCounts:
        return StepCounts(
            self.dialogues - other.dialogues,
            self.having - other.having,
            self.at_least - other.at_least,
            self.preceded - other.preceded,
            self.followed - other.followed,
        )

    def once_more(self, step: int, times: Floats) -> float:
        """Log-odds that a dialogue which took the step as often takes it no further time; 0 at
        first."""
        done = int(min(times[step], MOST_TIMES))
        if not done:
            return 0.0
        return float(np.log((self.at_least[done, step] + 2) / (self.at_least[done + 1, step] + 1)))

    def too_late(self, step: int, times: Floats) -> float:
        """Log-ratio of expected and seen dialogues with the step after one already done: the
        largest over the steps done."""
        done = times > 0
        done[step] = False
        if not done.any():
            return 0.0
        expected = self.having[done] * self.having[step] / max(self.dialogues, 1)
        return float(np.log((expected + 1) / (self.followed[done, step] + 1)).max())

    def too_early(self, step: int, times: Floats) -> float:
        """Log-odds that a step not yet done comes before the first of this step: the largest over
        the steps not done; 0 once the step was taken."""
        missing = times == 0
        if not missing[step]:
            return 0.0
        missing[step] = False
        if not missing.any():
            return 0.0
        without = self.having[step] - self.preceded[missing, step]
        return float(np.log((self.having[step] + 2) / (without + 1)).max())


class NextSteps:
    """Kernel ridge regression of the step taken on the situation, fitted on the turns of the bag.

    `asked`, shape (B, B), are distances between the user turns that the turns answer; `targets`,
    shape (B, C + 1), the steps taken (the last column: none); `owner`, shape (B,), the dialogues.
    """

    def __init__(
        self, asked: Floats, situations: Sequence[Situation], targets: Floats, owner: NDArray[Any]
    ) -> None:
        before = np.array([each.before for each in situations])
        second = np.array([each.second for each in situations])
        done = np.array([each.times > 0 for each in situations], dtype=np.float64)
        # One column per turn of the bag, in one piece each: a watched turn is one row.
        self._before, self._second, self._done = (
            np.ascontiguousarray(each.T) for each in (before, second, done)
        )
        self._done_sizes = done.sum(axis=1)
        with one_thread():
            kernel = self._kernel(asked, before, second, done)
            inverse = np.linalg.inv(kernel + RIDGE * np.eye(len(kernel)))
            self._weights = inverse @ targets
        self._left_out = np.empty_like(targets)
        for dialogue in range(int(owner.max()) + 1):
            own = np.flatnonzero(owner == dialogue)
            # The fit without a block of rows, from the inverse with them.
            gap = np.linalg.solve(inverse[np.ix_(own, own)], self._weights[own])
            self._left_out[own] = targets[own] - gap

    def left_out(self) -> Floats:
        """Probabilities at each turn of the bag, shape (B, C + 1), without its own dialogue."""
        return _probabilities(self._left_out)

    def predict(self, asked: Floats, situation: Situation) -> Floats:
        """Probabilities, shape (C + 1,), from the distances of the user turn to those of the bag,
        shape (B,)."""
        done = (situation.times > 0).astype(np.float64)
        rows = (asked[None], situation.before[None], situation.second[None], done[None])
        return _probabilities(self._kernel(*rows) @ self._weights)[0]

    def _kernel(self, asked: Floats, before: Floats, second: Floats, done: Floats) -> Floats:
        u = np.clip(1.0 - asked, 0.0, 1.0)
        p = before @ self._before
        h = np.exp(done @ self._done - 0.5 * (done.sum(axis=1)[:, None] + self._done_sizes))
        found = u * u * (p + h)
        found += p * (h + 0.5 * (second @ self._second))
        found += 0.5 * (u + p + h)
        return found


def _probabilities(values: Floats) -> Floats:
    positive = np.clip(values, 0.0, None) + LEAST
    return positive / positive.sum(axis=1, keepdims=True)
