"""What a corpus is made of: counts and mean lengths by condition and by workflow.

The layouts are those of tables 5 and 6 and of figures 2 to 4 of the DialFork paper. A row is one
dialogue; a mean over no dialogue is None, never 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from benchmark.records import FORK_TYPES

CONFORMANT, FORKS, ALL = "conformant", "forks", "all"
CONDITIONS = (CONFORMANT, *FORK_TYPES)
KS = (1, 2, 3, 4)
QUANTILES = (5, 25, 50, 75, 95)


class DialogueSize(NamedTuple):
    """The size of one dialogue. `condition` is "conformant" or the type of its fork.

    `split` is that of the dialogue, for a fork that of its source. `fork_turn` is the number of the
    fork among all turns, from 1; 0 where there is none.
    """

    workflow: str
    domain: str
    condition: str
    turns: int
    words: int
    split: str = ""
    k: int = 0
    fork_turn: int = 0


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many dialogues, and their turns and words together."""

    n: int = 0
    turns: int = 0
    words: int = 0

    @property
    def mean_turns(self) -> float | None:
        return self.turns / self.n if self.n else None

    @property
    def mean_words(self) -> float | None:
        return self.words / self.n if self.n else None

    def __add__(self, other: Sizes) -> Sizes:
        return Sizes(self.n + other.n, self.turns + other.turns, self.words + other.words)


@dataclass(frozen=True, slots=True)
class ConditionRow:
    """A row of table 5; `share` is of all dialogues counted, None where there are none."""

    condition: str
    sizes: Sizes
    share: float | None


@dataclass(frozen=True, slots=True)
class WorkflowRow:
    """A row of table 6. `train` counts conformant dialogues of the train half, `test` those of the
    test half with all their forks, `unsplit` the rest (forks of a training dialogue among them)."""

    workflow: str
    domain: str
    conformant: Sizes
    forks: Sizes
    train: int
    test: int

    @property
    def total(self) -> Sizes:
        return self.conformant + self.forks

    @property
    def unsplit(self) -> int:
        return self.total.n - self.train - self.test


@dataclass(frozen=True, slots=True)
class Spread:
    """Turns per dialogue of one condition: percentiles 5, 25, 50, 75, 95 (linear) and the mean."""

    condition: str
    n: int
    quantiles: tuple[float, ...]
    mean: float


@dataclass(frozen=True, slots=True)
class AroundFork:
    """Mean turns before the fork turn, and from it on, over the forks at one k."""

    k: int
    n: int
    before: float
    after: float


def by_condition(rows: Iterable[DialogueSize]) -> list[ConditionRow]:
    """Table 5: the conditions that occur, then the forks together ("forks"), then "all".

    The mean of the forks together is over dialogues, not over types.
    """
    sums = _sums(rows, lambda row: row.condition)
    forks = sum((sums[name] for name in FORK_TYPES if name in sums), Sizes())
    every = forks + sums.get(CONFORMANT, Sizes())
    found = [(name, sums[name]) for name in CONDITIONS if name in sums]
    return [
        ConditionRow(name, sizes, sizes.n / every.n if every.n else None)
        for name, sizes in [*found, (FORKS, forks), (ALL, every)]
    ]


def by_workflow(rows: Sequence[DialogueSize]) -> list[WorkflowRow]:
    """Table 6: one row per workflow by domain and name, then "all".

    The split rule of the paper (floor(n/2) conformant dialogues train, the others with all their
    forks test) is not applied here: the rows say which half each dialogue is in.
    """
    names = sorted({(row.domain, row.workflow) for row in rows})
    sums = _sums(rows, lambda row: (row.domain, row.workflow, row.condition == CONFORMANT))
    halves = _sums(rows, lambda row: (row.domain, row.workflow, _half(row)))
    found = [
        WorkflowRow(
            workflow=workflow,
            domain=domain,
            conformant=sums.get((domain, workflow, True), Sizes()),
            forks=sums.get((domain, workflow, False), Sizes()),
            train=halves.get((domain, workflow, "train"), Sizes()).n,
            test=halves.get((domain, workflow, "test"), Sizes()).n,
        )
        for domain, workflow in names
    ]
    every = WorkflowRow(
        workflow=ALL,
        domain="",
        conformant=sum((row.conformant for row in found), Sizes()),
        forks=sum((row.forks for row in found), Sizes()),
        train=sum(row.train for row in found),
        test=sum(row.test for row in found),
    )
    return [*found, every]


def spreads(rows: Iterable[DialogueSize]) -> list[Spread]:
    """Turns per dialogue for each condition that occurs, conformant first (figure 4a)."""
    turns: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        turns[row.condition].append(row.turns)
    return [
        Spread(
            condition=name,
            n=len(turns[name]),
            quantiles=tuple(float(q) for q in np.percentile(turns[name], QUANTILES)),
            mean=float(np.mean(turns[name])),
        )
        for name in CONDITIONS
        if name in turns
    ]


def around_forks(rows: Iterable[DialogueSize]) -> list[AroundFork]:
    """Mean turns on both sides of the fork for each k that occurs (figure 4b).

    The fork turn itself is the first of those after.
    """
    sides: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for row in rows:
        if row.fork_turn:
            sides[row.k].append((row.fork_turn - 1, row.turns - row.fork_turn + 1))
    return [
        AroundFork(k, len(sides[k]), *(float(mean) for mean in np.mean(sides[k], axis=0)))
        for k in KS
        if k in sides
    ]


def _half(row: DialogueSize) -> str:
    """Only conformant dialogues are trained on: a fork of a training dialogue is in neither."""
    return "" if row.split == "train" and row.condition != CONFORMANT else row.split


def _sums(rows: Iterable[DialogueSize], key) -> dict:
    counts: dict = defaultdict(lambda: [0, 0, 0])
    for row in rows:
        cell = counts[key(row)]
        cell[0] += 1
        cell[1] += row.turns
        cell[2] += row.words
    return {name: Sizes(*cell) for name, cell in counts.items()}
