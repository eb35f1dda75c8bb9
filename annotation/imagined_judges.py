"""Judges made up by a seeded rule, to try a study out. What they say means nothing.

An imagined judge sees the true condition and answers with the strength that is set, with noise:
early forks get low ratings, the true instruction is mostly confirmed, foils mostly not.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike, NDArray

SIDE_GOAL = "CSC"
PARTLY_OF_CONFIRMED, MOSTLY_OF_FOLLOWED = 0.3, 0.2


@dataclass(frozen=True, slots=True)
class Strength:
    """How clearly imagined judges see what is there.

    `mean_1` to `mean_4` are mean ratings at k = 1..4; a side goal (CSC) leaves a conversation
    nearer to its workflow, and its mean runs in a line from `side_goal_1` to `side_goal_4`.
    `spread` is the standard deviation of a rating, `person` that of a judge's own leaning. Rates
    are probabilities: `exact`, `near` and `at_or_after` say how often a marked onset is the fork
    turn, at most one assistant turn away, and not before it. `alike` is how often a judge's choice
    is the one the item suggests to everybody, rather than their own.

    The defaults are what DialFork reports of people (human study, RQ1 to RQ4); `spread`, `person`
    and `alike` are chosen so that tau-b and the agreement come out near those of that study.
    """

    mean_1: float = 14
    mean_2: float = 19
    mean_3: float = 41
    mean_4: float = 58
    side_goal_1: float = 59
    side_goal_4: float = 70
    conformant: float = 94
    spread: float = 18
    person: float = 8
    confirm_true: float = 0.91
    confirm_foil: float = 0.45
    confirm_foil_conformant: float = 0.08
    exact: float = 0.67
    near: float = 0.77
    at_or_after: float = 0.96
    followed: float = 0.95
    alike: float = 0.8

    def __post_init__(self) -> None:
        for name in (f.name for f in fields(self)):
            high = 100 if name in RATINGS else 1
            if not 0 <= getattr(self, name) <= high:
                raise ValueError(
                    f"{name} is {getattr(self, name)}; it must be a number from 0 to {high}"
                )
        if self.near < self.exact:
            raise ValueError("near counts exact onsets too, so it cannot be below exact")

    def mean(self, type_: str, k: int) -> float:
        """The mean rating of a fork, or of a conformant dialogue (type "")."""
        if not type_:
            return self.conformant
        if type_ == SIDE_GOAL:
            return self.side_goal_1 + (self.side_goal_4 - self.side_goal_1) * (k - 1) / 3
        return (self.mean_1, self.mean_2, self.mean_3, self.mean_4)[k - 1]

    def chance(self, type_: str, is_foil: bool) -> float:
        """How likely the shown instruction is confirmed."""
        if not is_foil:
            return self.confirm_true
        return self.confirm_foil if type_ else self.confirm_foil_conformant

    def offsets(self) -> dict[int, float]:
        """Probabilities of the distance from fork turn to onset; far ones stand for two turns."""
        one, far, early = self.near - self.exact, 1 - self.near, 1 - self.at_or_after
        away = one + far
        before = min(1.0, early / away) if away else 0.0
        return {
            -2: far * before,
            -1: one * before,
            0: self.exact,
            1: one * (1 - before),
            2: far * (1 - before),
        }


RATINGS = {
    "mean_1",
    "mean_2",
    "mean_3",
    "mean_4",
    "side_goal_1",
    "side_goal_4",
    "conformant",
    "spread",
    "person",
}


def beta_of(mean: ArrayLike, spread: float) -> tuple[NDArray, NDArray]:
    """Both parameters of the beta distribution of ratings / 100 with this mean and deviation.

    Unlike a normal cut off at 0 and 100 it keeps the mean near the ends. `mean` is held between 1
    and 99, and the deviation below what such a mean allows.
    """
    share = np.clip(np.asarray(mean, dtype=np.float64), 1, 99) / 100
    most = share * (1 - share)
    variance = np.clip((spread / 100) ** 2, 1e-6, 0.9 * most)
    size = most / variance - 1
    return share * size, (1 - share) * size


@dataclass(frozen=True, slots=True)
class Case:
    """What there is to judge; `fork` and `assistant_turns` count assistant turns from 1.

    `name` is the same for all judges of an item; without it they have nothing in common.
    """

    type: str
    k: int
    is_foil: bool
    fork: int
    assistant_turns: Sequence[int] = ()
    name: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """All answers of one item; `onset` counts assistant turns, `prefix` is "" where not asked."""

    rating: int
    confirmed: str
    onset: int | None
    prefix: str


@dataclass
class Judge:
    """One imagined person with a generator and a leaning of their own."""

    seed: str
    strength: Strength = field(default_factory=Strength)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.leaning = self.rng.gauss(0, self.strength.person)

    def judge(self, case: Case) -> Answer:
        """Answer an item; the same judge and order of items give the same answers."""
        confirmed = self._confirm(case)
        return Answer(
            rating=self._rate(case),
            confirmed=confirmed,
            onset=None if confirmed == "no" else self._onset(case),
            prefix=self._prefix(case) if case.fork > 1 else "",
        )

    def _rate(self, case: Case) -> int:
        mean = self.strength.mean(case.type, case.k) + self.leaning
        a, b = (float(side) for side in beta_of(mean, self.strength.spread))
        return round(100 * self.rng.betavariate(a, b))

    def _confirm(self, case: Case) -> str:
        if self._draw(case, "confirmed") >= self.strength.chance(case.type, case.is_foil):
            return "no"
        return "partly" if self._draw(case, "partly") < PARTLY_OF_CONFIRMED else "yes"

    def _onset(self, case: Case) -> int:
        place, last = self._draw(case, "onset"), len(case.assistant_turns)
        if not case.type or case.is_foil:
            return case.assistant_turns[int(place * last)]
        offsets = self.strength.offsets()
        (away,) = [
            away
            for away, (low, high) in zip(offsets, _steps(offsets.values()), strict=True)
            if low <= place < high
        ]
        return min(last, max(1, case.fork + away))

    def _prefix(self, case: Case) -> str:
        if self._draw(case, "followed") >= self.strength.followed:
            return "no"
        return "mostly" if self._draw(case, "mostly") < MOSTLY_OF_FOLLOWED else "yes"

    def _draw(self, case: Case, what: str) -> float:
        """A number from 0 to 1: this judge's own, or the one that all judges of the item share."""
        own, alike = self.rng.random(), self.rng.random() < self.strength.alike
        return random.Random(f"{case.name} {what}").random() if alike and case.name else own


def _steps(chances: Iterable[float]) -> list[tuple[float, float]]:
    """From where to where each of the chances, laid end to end, reaches; the last to the end."""
    ends = list(accumulate(chances))
    return list(zip([0.0, *ends[:-1]], [*ends[:-1], 2.0], strict=True))
