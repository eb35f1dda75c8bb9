"""Judges made up by a seeded rule, to try a study out. What they say means nothing.

An imagined judge sees the true condition and answers with the strength that is set, with noise:
early forks get low ratings, the true instruction is mostly confirmed, foils mostly not.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Strength:
    """How clearly imagined judges see what is there.

    `means` are mean ratings at k = 1..4; a side goal (CSC) leaves a conversation nearer to its
    workflow and adds `side_goal`. Rates are probabilities; `spread` is the standard deviation of a
    rating, `person` that of a judge's own leaning.
    """

    means: tuple[float, float, float, float] = (15, 25, 42, 60)
    conformant: float = 92
    side_goal: float = 22
    spread: float = 11
    person: float = 5
    confirm_true: float = 0.9
    confirm_foil: float = 0.3
    confirm_foil_conformant: float = 0.07
    exact: float = 0.68
    followed: float = 0.9


@dataclass(frozen=True, slots=True)
class Case:
    """What there is to judge; `fork` and `assistant_turns` count assistant turns from 1."""

    type: str
    k: int
    is_foil: bool
    fork: int
    assistant_turns: Sequence[int] = ()


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
            prefix=self._prefix() if case.fork > 1 else "",
        )

    def _rate(self, case: Case) -> int:
        mean = self.strength.means[case.k - 1] if case.type else self.strength.conformant
        if case.type == "CSC":
            mean += self.strength.side_goal
        return round(
            min(100.0, max(0.0, self.rng.gauss(mean + self.leaning, self.strength.spread)))
        )

    def _confirm(self, case: Case) -> str:
        chance = self.strength.confirm_true
        if case.is_foil:
            chance = (
                self.strength.confirm_foil if case.type else self.strength.confirm_foil_conformant
            )
        if self.rng.random() >= chance:
            return "no"
        return "partly" if self.rng.random() < 0.3 else "yes"

    def _onset(self, case: Case) -> int:
        if not case.type or case.is_foil:
            return self.rng.choice(case.assistant_turns)
        if self.rng.random() < self.strength.exact:
            return case.fork
        return min(len(case.assistant_turns), max(1, case.fork + self.rng.choice((-1, 1, 1, 2))))

    def _prefix(self) -> str:
        if self.rng.random() >= self.strength.followed:
            return "no"
        return "mostly" if self.rng.random() < 0.2 else "yes"
