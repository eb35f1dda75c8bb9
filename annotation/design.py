"""Who judges what: a balanced assignment, drawn once from a seed.

Every person walks a Latin square of fork types and fork positions: a block of forks holds every
position once, with the types spread over them, and block after block the types move on. With four
types and four positions each type so meets each position once in sixteen forks; with fewer of
either the same holds over (types x positions) forks. A block stays within one workflow where it
can, because ratings are compared within a person and a workflow. Conformant dialogues are the
anchor. A person never meets one source dialogue twice, whole or forked.

The result depends on the candidates and the seed only, not on the order in which they are given.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

TYPES = ("WIC", "SSPC", "GR", "CSC")
POSITIONS = (1, 2, 3, 4)
ROUNDING = 1e-9


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
    foil_share: float = 0.5,
    types: Sequence[str] = TYPES,
    positions: Sequence[int] = POSITIONS,
    seed: int,
) -> Plan:
    """Draw the items of `n_seats` seats.

    Parameters
    ----------
    candidates : forks and conformant dialogues that may be used.
    forks_per_seat : multiples of types x positions (16) show each person each type at each
        position equally often; multiples of the number of positions (4) keep whole blocks.
    overlap : share, from 0 to 1, of the judgements that go to an item another seat has already.
        An item is judged by two seats at most, unless there are too few candidates.
    foil_share : share, from 0 to 1, of the forks of a person (give or take one) that are shown a
        foil. All conformant dialogues are.
    types, positions : what kinds of fork are used; in whatever order they are named, the square
        walks them in that of TYPES and POSITIONS.

    Raises
    ------
    DesignError
        if a number is out of range, or no unused source is left for a person.
    """
    rules = _rules(overlap, foil_share, types, positions)
    if n_seats < 1 or forks_per_seat < 0 or conformant_per_seat < 0:
        raise DesignError("A study needs at least one seat, and no number below zero.")
    if forks_per_seat + conformant_per_seat < 1:
        raise DesignError("A seat needs at least one item.")
    table = _Table(sorted(set(candidates), key=_key), rules, random.Random(seed))
    width = len(rules.positions)
    seats = []
    for number in range(n_seats):
        seat = _Seat(number)
        first = number * forks_per_seat
        for cell in range(first, first + forks_per_seat):
            table.place_fork(seat, block=cell // width, place=cell % width)
        for _ in range(conformant_per_seat):
            table.place_conformant(seat)
        table.rng.shuffle(seat.items)
        seats.append(tuple(seat.items))
    return Plan(tuple(seats))


@dataclass(frozen=True, slots=True)
class _Rules:
    overlap: float
    foil_share: float
    types: tuple[str, ...]
    positions: tuple[int, ...]


def _rules(
    overlap: float, foil_share: float, types: Sequence[str], positions: Sequence[int]
) -> _Rules:
    for name, share in (("overlap", overlap), ("share of foils", foil_share)):
        if not 0 <= share <= 1:
            raise DesignError(f"The {name} is {share}; it must lie between 0 and 1.")
    if not types or set(types) - set(TYPES):
        raise DesignError(f"The types must be some of {', '.join(TYPES)}.")
    if not positions or set(positions) - set(POSITIONS):
        raise DesignError("The positions must be some of 1, 2, 3 and 4.")
    return _Rules(
        overlap,
        foil_share,
        tuple(t for t in TYPES if t in types),
        tuple(k for k in POSITIONS if k in positions),
    )


def _key(unit: Candidate) -> str:
    return unit.key


@dataclass
class _Seat:
    number: int
    items: list[PlannedItem] = field(default_factory=list)
    sources: set[str] = field(default_factory=set)
    workflows: Counter[str] = field(default_factory=Counter)
    block: tuple[int, str] = (-1, "")
    forks: int = 0
    foils: int = 0


Cell = tuple[str, int]


class _Table:
    """What has been placed so far, over all seats."""

    def __init__(self, units: Sequence[Candidate], rules: _Rules, rng: random.Random) -> None:
        self.rng, self.rules = rng, rules
        self.by_cell: dict[Cell, dict[str, list[Candidate]]] = defaultdict(dict)
        for unit in units:
            self.by_cell[unit.type, unit.k].setdefault(unit.workflow, []).append(unit)
        self.judged: Counter[str] = Counter()
        self.foil: dict[str, bool] = {}
        self.source_use: Counter[str] = Counter()
        self.workflow_use: Counter[str] = Counter()
        self.type_forks: Counter[str] = Counter()
        self.type_foils: Counter[str] = Counter()
        self.placed = self.shared = 0

    def place_fork(self, seat: _Seat, *, block: int, place: int) -> None:
        types = self.rules.types
        cell = (types[(place + block) % len(types)], self.rules.positions[place])
        if seat.block[0] != block:
            seat.block = (block, self._workflow(seat, cell))
        chosen = self._choose(seat, cell, [seat.block[1]]) or self._choose(seat, cell)
        if chosen is None:
            raise DesignError(
                f"Seat {seat.number + 1} finds no fork of type {cell[0]} at k = {cell[1]} whose "
                "source it has not met yet. Give fewer forks to a seat, or more source dialogues."
            )
        self._place(seat, chosen)

    def place_conformant(self, seat: _Seat) -> None:
        met = [name for name, n in seat.workflows.items() if n]
        chosen = self._choose(seat, ("", 0), met) or self._choose(seat, ("", 0))
        if chosen is None:
            raise DesignError(
                f"Seat {seat.number + 1} finds no conformant dialogue that it has not met yet. "
                "Give fewer conformant dialogues to a seat, or more source dialogues."
            )
        self._place(seat, chosen)

    def _workflow(self, seat: _Seat, cell: Cell) -> str:
        """The workflow this seat, then everyone, has met least; ties by the generator."""
        names = sorted(
            name
            for name, units in self.by_cell[cell].items()
            if any(unit.source not in seat.sources for unit in units)
        )
        self.rng.shuffle(names)
        least = min(
            names, key=lambda name: (seat.workflows[name], self.workflow_use[name]), default=""
        )
        return least

    def _choose(
        self, seat: _Seat, cell: Cell, workflows: Collection[str] | None = None
    ) -> Candidate | None:
        """A unit of an unmet source; None if there is none.

        It is one that was judged once already when the overlap is behind its share, else a fresh
        one; among these one of the source that was used least.
        """
        behind = self.shared < round(self.rules.overlap * (self.placed + 1))
        order = (1, 0, 2) if behind else (0, 1, 2)
        judged, use, met = self.judged, self.source_use, seat.sources
        best: tuple[int, int, int] | None = None
        fitting: list[Candidate] = []
        for name, units in self.by_cell[cell].items():
            if workflows is not None and name not in workflows:
                continue
            for unit in units:
                if unit.source in met:
                    continue
                n = judged[unit.key]
                rank = (order[min(n, 2)], n, use[unit.source])
                if best is None or rank < best:
                    best, fitting = rank, [unit]
                elif rank == best:
                    fitting.append(unit)
        return self.rng.choice(sorted(fitting, key=_key)) if fitting else None

    def _place(self, seat: _Seat, unit: Candidate) -> None:
        if unit.key not in self.foil:
            self.foil[unit.key] = not unit.type or self._next_is_foil(seat, unit.type)
            self.type_forks[unit.type] += 1
            self.type_foils[unit.type] += self.foil[unit.key]
        is_foil = self.foil[unit.key]
        if unit.type:
            seat.forks += 1
            seat.foils += is_foil
        seat.items.append(PlannedItem(unit.key, is_foil))
        seat.sources.add(unit.source)
        seat.workflows[unit.workflow] += 1
        self.workflow_use[unit.workflow] += 1
        self.shared += self.judged[unit.key] > 0
        self.placed += 1
        self.judged[unit.key] += 1
        self.source_use[unit.source] += 1

    def _next_is_foil(self, seat: _Seat, type_: str) -> bool:
        share = self.rules.foil_share
        counts = ((seat.foils, seat.forks), (self.type_foils[type_], self.type_forks[type_]))
        for foils, forks in counts:
            ahead = foils - share * forks
            # A share such as 0.3 leaves rounding behind where the balance is even.
            if abs(ahead) > ROUNDING:
                return ahead < 0
        return self.rng.random() < share


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
