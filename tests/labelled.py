"""Runs with labels for tests of statistics, and rows rebuilt from printed counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.figure_tables import Figure
from benchmark.label_records import TYPES, LabelRecord, PlaceRecord

PEOPLE, JUDGE = "people", "judge"


@dataclass(frozen=True)
class Run:
    """A run as statistics see it, without a database."""

    pk: int
    labels: dict[str, LabelRecord]
    external_id: str = ""
    corpus: str = "plant"
    model: str = ""
    question: str = ""
    n_steps: int = 4
    agents: tuple[str, ...] = field(default=("Sensors", "Sensors", "Planner", "Planner"))


def said(rater: str, types: Iterable[str] | None, places: Sequence[PlaceRecord] = (), **more: Any):
    """A label: None for no hallucination, an empty list for one of no said type."""
    if types is None:
        return LabelRecord(rater, False, **more)
    return LabelRecord(rater, True, types=tuple(types), places=tuple(places), **more)


def pair(pk: int, one: Iterable[str] | None, other: Iterable[str] | None, **more: Any) -> Run:
    """A run that people and the judge have labelled, of a question of its own unless given."""
    labels = {PEOPLE: said(PEOPLE, one), JUDGE: said(JUDGE, other)}
    return Run(pk, labels, **{"question": f"q{pk}"} | more)


def of_cells(tp: int, fn: int, fp: int, tn: int, *, start: int = 0, type_: str = "", **more: Any):
    """Runs with the four counts of a table, people first; yes is the given type or none said."""
    yes = [type_] if type_ else []
    answers = [(yes, yes)] * tp + [(yes, None)] * fn + [(None, yes)] * fp + [(None, None)] * tn
    return [pair(start + at, one, other, **more) for at, (one, other) in enumerate(answers)]


def dealt(counts: dict[str, int], sizes: Sequence[int]) -> list[list[str]]:
    """Sets of types with given sizes in which each type is as often as given."""
    left, sets = list(sizes), [[] for _ in sizes]
    for name in sorted(counts, key=lambda name: -counts[name]):
        fullest = sorted(range(len(left)), key=lambda at: -left[at])[: counts[name]]
        for at in fullest:
            left[at] -= 1
            sets[at].append(name)
    assert not any(left)
    return [sorted(names, key=TYPES.index) for names in sets]


def named(figures: Sequence[Figure], name: str) -> Figure:
    """The one figure of a name."""
    (found,) = [figure for figure in figures if figure.name == name]
    return found


def row(figure: Figure, **cells: Any) -> dict[str, Any]:
    """The one row with these cells."""
    (found,) = [r for r in figure.rows if all(r[key] == cells[key] for key in cells)]
    return dict(found)
