"""Who judges what: a balanced assignment, drawn once from a seed.

Every person walks a Latin square of fork types and fork positions: blocks of four forks hold the
four positions and the four types once each, and block after block the types move on, so that over
sixteen forks each type meets each position once. A block stays within one workflow where it can,
because ratings are compared within a person and a workflow. Conformant dialogues are the anchor.
A person never meets one source dialogue twice, whole or forked.

The result depends on the candidates and the seed only, not on the order in which they are given.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

TYPES = ("WIC", "SSPC", "GR", "CSC")
POSITIONS = (1, 2, 3, 4)


class DesignError(ValueError):
    """The candidates cannot carry the design; the message says what is missing."""


@dataclass(frozen=True, slots=True, order=True)
class Candidate:
    """A dialogue that may be judged.

    `key` names it, `source` names the dialogue it was forked from (itself when conformant).
    `type` is "" and `k` is 0 for a conformant dialogue.
    """

    key: str
    source: str
    workflow: str
    type: str = ""
    k: int = 0


@dataclass(frozen=True, slots=True, order=True)
class PlannedItem:
    """One conversation with the kind of instruction that is shown: its own, or a foil."""

    key: str
    is_foil: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """`seats[i]` holds the items of seat i in the order in which they are judged."""

    seats: tuple[tuple[PlannedItem, ...], ...]

    @property
    def items(self) -> tuple[PlannedItem, ...]:
        """Every item once, sorted: by name, never by condition."""
        return tuple(sorted({item for seat in self.seats for item in seat}))

    @property
    def n_shared(self) -> int:
        """Items that more than one seat judges."""
        return sum(n > 1 for n in Counter(i for seat in self.seats for i in seat).values())


def draw(
    candidates: Iterable[Candidate],
    *,
    n_seats: int,
    forks_per_seat: int = 16,
    conformant_per_seat: int = 2,
    overlap: float = 0.2,
    seed: int,
) -> Plan:
    """Draw the items of `n_seats` seats.

    Parameters
    ----------
    candidates : forks and conformant dialogues that may be used.
    forks_per_seat : multiples of 16 show each person each type at each position equally often;
        multiples of 4 keep whole blocks.
    overlap : share, from 0 to 1, of the judgements that go to an item another seat has already.
        An item is judged by two seats at most, unless there are too few candidates.

    Half of the forks of a person (give or take one) are shown a foil, all conformant dialogues are.

    Raises
    ------
    DesignError
        if a number is out of range, or no unused source is left for a person.
    """
    if n_seats < 1 or forks_per_seat < 0 or conformant_per_seat < 0:
        raise DesignError("A study needs at least one seat, and no number below zero.")
    if forks_per_seat + conformant_per_seat < 1:
        raise DesignError("A seat needs at least one item.")
    if not 0 <= overlap <= 1:
        raise DesignError(f"The overlap is {overlap}; it must lie between 0 and 1.")
    table = _Table(sorted(set(candidates), key=_key), overlap, random.Random(seed))
    seats = []
    for number in range(n_seats):
        seat = _Seat(number)
        first = number * forks_per_seat
        for cell in range(first, first + forks_per_seat):
            table.place_fork(seat, block=cell // 4, k=POSITIONS[cell % 4])
        for _ in range(conformant_per_seat):
            table.place_conformant(seat)
        table.rng.shuffle(seat.items)
        seats.append(tuple(seat.items))
    return Plan(tuple(seats))


def _key(unit: Candidate) -> str:
    return unit.key


@dataclass
class _Seat:
    number: int
    items: list[PlannedItem] = field(default_factory=list)
    sources: set[str] = field(default_factory=set)
    workflows: Counter[str] = field(default_factory=Counter)
    block: tuple[int, str] = (-1, "")
    foils: int = 0


class _Table:
    """What has been placed so far, over all seats."""

    def __init__(self, units: Sequence[Candidate], overlap: float, rng: random.Random) -> None:
        self.rng, self.overlap = rng, overlap
        self.by_cell: dict[tuple[str, int], list[Candidate]] = defaultdict(list)
        for unit in units:
            self.by_cell[unit.type, unit.k].append(unit)
        self.judged: Counter[str] = Counter()
        self.foil: dict[str, bool] = {}
        self.source_use: Counter[str] = Counter()
        self.workflow_use: Counter[str] = Counter()
        self.type_foils: Counter[str] = Counter()
        self.placed = self.shared = 0

    def place_fork(self, seat: _Seat, *, block: int, k: int) -> None:
        cell = (TYPES[(k - 1 + block) % 4], k)
        open_units = self._open(seat, cell)
        if not open_units:
            raise DesignError(
                f"Seat {seat.number + 1} finds no fork of type {cell[0]} at k = {k} whose source "
                "it has not met yet. Give fewer forks to a seat, or more source dialogues."
            )
        if seat.block[0] != block:
            seat.block = (block, self._workflow(seat, open_units))
        same = [unit for unit in open_units if unit.workflow == seat.block[1]]
        self._place(seat, self._choose(same or open_units))

    def place_conformant(self, seat: _Seat) -> None:
        open_units = self._open(seat, ("", 0))
        if not open_units:
            raise DesignError(
                f"Seat {seat.number + 1} finds no conformant dialogue that it has not met yet. "
                "Give fewer conformant dialogues to a seat, or more source dialogues."
            )
        met = [unit for unit in open_units if seat.workflows[unit.workflow]] or open_units
        self._place(seat, self._choose(met))

    def _open(self, seat: _Seat, cell: tuple[str, int]) -> list[Candidate]:
        return [unit for unit in self.by_cell[cell] if unit.source not in seat.sources]

    def _workflow(self, seat: _Seat, units: Sequence[Candidate]) -> str:
        """The workflow this seat, then everyone, has met least; ties by the generator."""
        names = sorted({unit.workflow for unit in units})
        self.rng.shuffle(names)
        return min(names, key=lambda name: (seat.workflows[name], self.workflow_use[name]))

    def _choose(self, units: Sequence[Candidate]) -> Candidate:
        """A unit judged once already when the overlap is behind its share, else a fresh one."""
        behind = self.shared < round(self.overlap * (self.placed + 1))
        order = (1, 0, 2) if behind else (0, 1, 2)
        for wanted in order:
            fitting = [u for u in units if min(self.judged[u.key], 2) == wanted]
            if fitting:
                least = min((self.judged[u.key], self.source_use[u.source]) for u in fitting)
                return self.rng.choice(
                    [u for u in fitting if (self.judged[u.key], self.source_use[u.source]) == least]
                )
        raise AssertionError("every unit has been judged 0, 1 or more times")

    def _place(self, seat: _Seat, unit: Candidate) -> None:
        if unit.key not in self.foil:
            self.foil[unit.key] = not unit.type or self._next_is_foil(seat, unit.type)
            self.type_foils[unit.type] += 1 if self.foil[unit.key] else -1
        is_foil = self.foil[unit.key]
        if unit.type:
            seat.foils += 1 if is_foil else -1
        seat.items.append(PlannedItem(unit.key, is_foil))
        seat.sources.add(unit.source)
        seat.workflows[unit.workflow] += 1
        self.workflow_use[unit.workflow] += 1
        self.shared += self.judged[unit.key] > 0
        self.placed += 1
        self.judged[unit.key] += 1
        self.source_use[unit.source] += 1

    def _next_is_foil(self, seat: _Seat, type_: str) -> bool:
        for balance in (seat.foils, self.type_foils[type_]):
            if balance:
                return balance < 0
        return self.rng.random() < 0.5


def coverage(plan: Plan, candidates: Iterable[Candidate]) -> Iterator[tuple[str, int, int, int]]:
    """(type, k, judgements, of them with a foil) for every cell that is used, in type order."""
    by_key = {unit.key: unit for unit in candidates}
    counts: Counter[tuple[str, int]] = Counter()
    foils: Counter[tuple[str, int]] = Counter()
    for seat in plan.seats:
        for item in seat:
            unit = by_key[item.key]
            counts[unit.type, unit.k] += 1
            foils[unit.type, unit.k] += item.is_foil
    order = {name: place for place, name in enumerate((*TYPES, ""))}
    for cell in sorted(counts, key=lambda c: (order[c[0]], c[1])):
        yield (*cell, counts[cell], foils[cell])
