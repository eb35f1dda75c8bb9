"""What a drawn design looks like in numbers: balance, exposure, overlap, and each seat."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from annotation.design import POSITIONS, TYPES
from annotation.imagined_draws import Layout

SHADES = 4


@dataclass(frozen=True, slots=True)
class Planned:
    """A main item of a seat. `type` is "" and `k`, `fork` are 0 for a conformant dialogue;
    `fork` and `turns` count assistant turns; `source` names the dialogue it was forked from."""

    seat: int
    item: int
    source: int
    workflow: str
    type: str
    k: int
    is_foil: bool
    fork: int
    turns: int


@dataclass(frozen=True, slots=True)
class Cell:
    """A count with a shade from 0 to 4 by its size within the table."""

    n: int
    shade: int


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a table of counts; `foils` are those of `total` that show a foil."""

    name: str
    cells: tuple[Cell, ...]
    total: int
    foils: int


@dataclass(frozen=True, slots=True)
class Exposure:
    """How often people meet a source. `most` is the most often one person meets one source: 1 is
    what the design promises. `people` says how many sources are met by how many people."""

    most: int
    meetings: int
    sources: int
    people: dict[int, int]

    @property
    def once(self) -> bool:
        return self.most <= 1


@dataclass(frozen=True, slots=True)
class Overlap:
    """`judged[n]` items go to n seats; `reached` is the share of judgements that go to an item
    another seat has already."""

    judgements: int
    items: int
    judged: dict[int, int]
    reached: float


@dataclass(frozen=True, slots=True)
class SeatLine:
    """What one seat holds; `fewest` and `most` are the numbers of forks of a (type, k) cell."""

    seat: int
    forks: int
    conformant: int
    foils: int
    workflows: int
    fewest: int
    most: int


def by_position(rows: Sequence[Planned], types: Sequence[str] = TYPES) -> list[Line]:
    """Judgements per type, by position; conformant dialogues are not in it."""
    return _table([row for row in rows if row.type], types, POSITIONS, _type, _position)


def by_workflow(rows: Sequence[Planned]) -> list[Line]:
    """Judgements per workflow, by type and, last, conformant."""
    names = sorted({row.workflow for row in rows})
    return _table(rows, names, (*TYPES, ""), _workflow, _type)


def by_workflow_and_position(rows: Sequence[Planned]) -> list[Line]:
    """Judgements per workflow, by position; conformant dialogues are not in it."""
    names = sorted({row.workflow for row in rows})
    forks = [row for row in rows if row.type]
    return _table(forks, names, POSITIONS, _workflow, _position)


def exposure(rows: Sequence[Planned]) -> Exposure:
    """Count who meets which source, from the items as they are stored."""
    met = Counter((row.seat, row.source) for row in rows)
    people = Counter(Counter(source for _, source in met).values())
    sources = len({source for _, source in met})
    return Exposure(max(met.values(), default=0), len(met), sources, dict(sorted(people.items())))


def overlap(rows: Sequence[Planned]) -> Overlap:
    """How many items are judged how often."""
    uses = Counter(row.item for row in rows)
    reached = (len(rows) - len(uses)) / len(rows) if rows else 0.0
    judged = dict(sorted(Counter(uses.values()).items()))
    return Overlap(len(rows), len(uses), judged, reached)


def by_seat(rows: Sequence[Planned]) -> list[SeatLine]:
    """What each seat holds."""
    cells = {(row.type, row.k) for row in rows if row.type}
    mine: dict[int, list[Planned]] = defaultdict(list)
    for row in rows:
        mine[row.seat].append(row)
    return [_seat(number, mine[number], cells) for number in sorted(mine)]


def layout(rows: Sequence[Planned]) -> Layout:
    """The design as arrays, for simulation; people are its seats."""
    rows = sorted(rows, key=lambda row: row.seat)
    numbered: Any = [_numbers([getattr(r, n) for r in rows]) for n in ("seat", "item", "workflow")]
    return Layout(
        *numbered,
        type=np.array([TYPES.index(r.type) if r.type else -1 for r in rows], dtype=np.int64),
        k=np.array([r.k for r in rows], dtype=np.int64),
        is_foil=np.array([r.is_foil for r in rows], dtype=bool),
        fork=np.array([r.fork for r in rows], dtype=np.int64),
        turns=np.array([max(1, r.turns) for r in rows], dtype=np.int64),
    )


def _numbers(values: Sequence[Any]) -> Any:
    return np.unique(np.array(values), return_inverse=True)[1].astype(np.int64)


def _type(row: Planned) -> str:
    return row.type


def _position(row: Planned) -> int:
    return row.k


def _workflow(row: Planned) -> str:
    return row.workflow


def _table(
    rows: Sequence[Planned], names: Sequence[Any], columns: Sequence[Any], name: Any, column: Any
) -> list[Line]:
    counts = Counter((name(row), column(row)) for row in rows)
    foils = Counter(name(row) for row in rows if row.is_foil)
    largest = max(counts.values(), default=0)
    return [
        Line(
            str(n),
            tuple(Cell(counts[n, c], shade(counts[n, c], largest)) for c in columns),
            sum(counts[n, c] for c in columns),
            foils[n],
        )
        for n in names
    ]


def shade(n: int, largest: int) -> int:
    """From 0 (none) to SHADES (as many as the largest)."""
    return -(-SHADES * n // largest) if largest else 0


def _seat(number: int, rows: Sequence[Planned], cells: set[tuple[str, int]]) -> SeatLine:
    own = Counter((row.type, row.k) for row in rows if row.type)
    met = [own[cell] for cell in cells]
    return SeatLine(
        seat=number,
        forks=own.total(),
        conformant=len(rows) - own.total(),
        foils=sum(row.is_foil for row in rows),
        workflows=len({row.workflow for row in rows}),
        fewest=min(met, default=0),
        most=max(met, default=0),
    )
