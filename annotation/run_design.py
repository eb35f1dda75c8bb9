"""Who judges which agent run: a balanced assignment, drawn once from a seed.

Runs are dealt question by question. The judgements of a question go to the seats that hold least
so far, each once before any a second time: so nobody meets a question twice unless there are more
judgements of it than seats, and the seats hold equally many runs, give or take one. Within a block
of seats that are all different every dealing is allowed; the one is taken that spreads the models
over the seats most evenly.

The result depends on the runs and the seed only, not on the order in which they are given.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush, heappushpop
from itertools import cycle, islice

import numpy as np
from scipy.optimize import linear_sum_assignment

from annotation.design import DesignError

# So many judgements are dealt at once: more spread the models no better, and take their square.
MOST_SLOTS = 60


@dataclass(frozen=True, slots=True, order=True)
class RunCandidate:
    """A run that may be judged: `key` names it. A run with no `question` shares none."""

    key: str
    model: str = ""
    question: str = ""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """`seats[i]` holds the runs of seat i in the order in which they are judged.

    `per_item` is how many seats judge each of them: fewer than were asked for where there are not
    so many seats. `left_out` are runs for which there was no room.
    """

    seats: tuple[tuple[str, ...], ...]
    per_item: int
    left_out: tuple[str, ...] = ()

    @property
    def runs(self) -> tuple[str, ...]:
        """Every run that is judged once, sorted by name."""
        return tuple(sorted({key for seat in self.seats for key in seat}))


def seats_needed(n_runs: int, *, per_item: int, runs_per_seat: int) -> int:
    """How many seats of `runs_per_seat` runs let `per_item` different ones judge each run.

    >>> seats_needed(225, per_item=2, runs_per_seat=45)
    10
    """
    return max(per_item, -(-n_runs * per_item // runs_per_seat))


def draw_runs(
    candidates: Iterable[RunCandidate],
    *,
    n_seats: int,
    per_item: int = 2,
    runs_per_seat: int = 0,
    limit: int = 0,
    seed: int,
) -> RunPlan:
    """Draw the runs of `n_seats` seats.

    Parameters
    ----------
    per_item : by how many different seats each run is judged.
    runs_per_seat : how many runs a seat holds at most; 0: as many as it takes. Where they do not
        all fit, whole runs are left out, from all models and questions alike.
    limit : how many runs are drawn at most; 0: all.

    Raises
    ------
    DesignError
        if a number is out of range, or there is no run, or no room for a single one.
    """
    units = sorted(set(candidates))
    _check(units, n_seats, per_item, runs_per_seat, limit)
    reached = min(per_item, n_seats)
    room = len(units) if not runs_per_seat else n_seats * runs_per_seat // reached
    rng = random.Random(seed)
    chosen = balanced(units, min(len(units), limit or len(units), room), rng)
    table = _Table(n_seats, reached, rng)
    for block in _blocks(chosen, max(1, min(n_seats, MOST_SLOTS) // reached), rng):
        table.deal(block)
    for held in table.held:
        rng.shuffle(held)
    left = {unit.key for unit in units} - {unit.key for unit in chosen}
    return RunPlan(tuple(map(tuple, table.held)), reached, tuple(sorted(left)))


def balanced(units: Sequence[RunCandidate], n: int, rng: random.Random) -> list[RunCandidate]:
    """`n` of the runs, from the models in turn, and in each of the questions used least."""
    if n >= len(units):
        return list(units)
    piles: dict[str, _Pile] = {}
    used: Counter[str] = Counter()
    for unit in rng.sample(units, len(units)):
        piles.setdefault(unit.model, _Pile(used)).add(unit)
    taken: list[RunCandidate] = []
    while len(taken) < n:
        models = [name for name in sorted(piles) if piles[name]]
        rng.shuffle(models)
        taken += [piles[name].take() for name in models[: n - len(taken)]]
    return sorted(taken)


class _Pile:
    """The runs of one model, of which the next is one of the question that was `used` least."""

    def __init__(self, used: Counter[str]) -> None:
        self.used = used
        self.groups: dict[str, list[RunCandidate]] = {}
        self.heap: list[tuple[int, int, str]] = []

    def __bool__(self) -> bool:
        return bool(self.heap)

    def add(self, unit: RunCandidate) -> None:
        group = _group(unit)
        if group not in self.groups:
            heappush(self.heap, (self.used[group], len(self.groups), group))
        self.groups.setdefault(group, []).append(unit)

    def take(self) -> RunCandidate:
        count, order, group = heappop(self.heap)
        # Another model may have used the question since: what is stale is too low, never too high.
        while count < self.used[group]:
            count, order, group = heappushpop(self.heap, (self.used[group], order, group))
        unit = self.groups[group].pop()
        self.used[group] += 1
        if self.groups[group]:
            heappush(self.heap, (self.used[group], order, group))
        return unit


def _check(
    units: Sequence[RunCandidate], n_seats: int, per_item: int, runs_per_seat: int, limit: int
) -> None:
    if n_seats < 1 or per_item < 1:
        raise DesignError("A study needs at least one seat, and a run at least one judge.")
    if runs_per_seat < 0 or limit < 0:
        raise DesignError("The runs of a seat and of the study cannot be fewer than none.")
    if not units:
        raise DesignError("There are no runs to judge.")
    if len({unit.key for unit in units}) < len(units):
        raise DesignError("Two runs have the same name.")
    if runs_per_seat and n_seats * runs_per_seat < min(per_item, n_seats):
        raise DesignError("The seats have no room for a single run.")


def _group(unit: RunCandidate) -> str:
    """What nobody should meet twice: the question, or the run itself where it has none."""
    return f"q {unit.question}" if unit.question else f"r {unit.key}"


Block = list[list[RunCandidate]]


def _blocks(units: Sequence[RunCandidate], width: int, rng: random.Random) -> Iterator[Block]:
    """Whole questions in a drawn order, as many together as `width` runs hold; a longer question
    is a block of its own, in parts of `width` runs."""
    groups: dict[str, list[RunCandidate]] = defaultdict(list)
    for unit in units:
        groups[_group(unit)].append(unit)
    names = sorted(groups)
    rng.shuffle(names)
    waiting: list[RunCandidate] = []
    for name in names:
        mine = groups[name]
        rng.shuffle(mine)
        if waiting and len(waiting) + len(mine) > width:
            yield [waiting]
            waiting = []
        if len(mine) > width:
            yield [mine[start : start + width] for start in range(0, len(mine), width)]
        else:
            waiting = [*waiting, *mine]
    if waiting:
        yield [waiting]


class _Table:
    """What has been dealt so far, over all seats."""

    def __init__(self, n_seats: int, per_item: int, rng: random.Random) -> None:
        self.per_item, self.rng = per_item, rng
        self.held: list[list[str]] = [[] for _ in range(n_seats)]
        self.models: list[Counter[str]] = [Counter() for _ in range(n_seats)]

    def deal(self, block: Block) -> None:
        """Give each run of `block` to as many seats as judge it, those with least to do first.

        Going round the seats in one order keeps what they hold within one of each other, and a
        part of a block is never longer than the round: its seats are all different.
        """
        seats = list(range(len(self.held)))
        self.rng.shuffle(seats)
        seats.sort(key=lambda seat: len(self.held[seat]))
        turn = cycle(seats)
        for part in block:
            self._spread(part, list(islice(turn, len(part) * self.per_item)))

    def _spread(self, part: Sequence[RunCandidate], seats: Sequence[int]) -> None:
        """Each run to `per_item` of the seats, which are all different, models evenly."""
        copies = [unit for unit in part for _ in range(self.per_item)]
        noise = [[self.rng.random() / 2 for _ in seats] for _ in copies]
        cost = np.array(noise) + [[self.models[s][unit.model] for s in seats] for unit in copies]
        for row, column in zip(*linear_sum_assignment(cost), strict=True):
            seat, unit = seats[column], copies[row]
            self.held[seat].append(unit.key)
            self.models[seat][unit.model] += 1
