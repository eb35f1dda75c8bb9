"""Condition by condition: what was planned and done, and what was answered."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from annotation.agreement import wilson
from annotation.design import POSITIONS, TYPES
from annotation.judgement_rows import Judgement, JudgementRow
from annotation.study_statistics import (
    confirmation_rate,
    mean_rating_by_position,
    prefix_rate,
)
from scoring.estimates import Estimate, undefined

# (type, k, whether a foil is shown); ("", 0, True) is a conformant dialogue
Cell = tuple[str, int, bool]
ORDER = {name: place for place, name in enumerate((*TYPES, ""))}


@dataclass(frozen=True, slots=True)
class Coverage:
    """How far one condition is done.

    `planned` counts live assignments; `finished`, `skipped`, `started` and `waiting` add up to it.
    `expired`, `withdrawn` and `reopened` stand beside it.
    """

    cell: Cell
    finished: int
    skipped: int
    started: int
    waiting: int
    expired: int
    withdrawn: int
    reopened: int

    @property
    def planned(self) -> int:
        return self.finished + self.skipped + self.started + self.waiting

    @property
    def beside(self) -> int:
        """Assignments that ended otherwise or were opened again."""
        return self.expired + self.withdrawn + self.reopened


def coverage(rows: Iterable[JudgementRow]) -> list[Coverage]:
    """Every condition that was assigned, in the order of types, then k, true before foil."""
    counts: dict[Cell, Counter[str]] = defaultdict(Counter)
    for row in rows:
        counts[_cell(row.judgement)]["reopened" if row.post_reveal else row.status] += 1
    return [
        Coverage(
            cell,
            *(counts[cell][status] for status in ("finished", "skipped", "in progress", "waiting")),
            *(counts[cell][status] for status in ("expired", "withdrawn", "reopened")),
        )
        for cell in _ordered(counts)
    ]


def by_position(found: Iterable[Coverage]) -> list[tuple[str, bool, list[Coverage | None]]]:
    """Coverage with the positions side by side: (type, is foil, one entry per k from 1 to 4).

    A conformant dialogue has no position: its entry stands alone.
    """
    table: dict[tuple[str, bool], dict[int, Coverage]] = defaultdict(dict)
    for each in found:
        type_, k, is_foil = each.cell
        table[type_, is_foil][k] = each
    return [
        (type_, is_foil, [cells.get(k) for k in (POSITIONS if type_ else (0,))])
        for (type_, is_foil), cells in table.items()
    ]


@dataclass(frozen=True, slots=True)
class Condition:
    """What was answered in one condition; `exact` and `followed` are undefined where not asked."""

    cell: Cell
    judgements: int
    rating: Estimate
    confirmed: Estimate
    exact: Estimate
    followed: Estimate


def conditions(
    judgements: Sequence[Judgement], *, seed: int = 0, resamples: int = 1000
) -> list[Condition]:
    """Mean rating (bootstrap over people) and the shares (Wilson) of every condition."""
    groups: dict[Cell, list[Judgement]] = defaultdict(list)
    for judged in judgements:
        groups[_cell(judged)].append(judged)
    means = mean_rating_by_position(
        ((j.person, _cell(j), j.rating) for j in judgements), seed=seed, resamples=resamples
    )
    nothing = undefined("no_observations")
    return [
        Condition(
            cell=cell,
            judgements=len(groups[cell]),
            rating=means.get(cell, nothing),
            confirmed=confirmation_rate(j.confirmed for j in groups[cell]),
            exact=_exact(groups[cell]) if cell[0] and not cell[2] else nothing,
            followed=prefix_rate(j.prefix for j in groups[cell]),
        )
        for cell in _ordered(groups)
    ]


def _exact(judgements: Sequence[Judgement]) -> Estimate:
    """Share of onsets exactly at the fork turn."""
    marked = [j for j in judgements if j.onset is not None]
    return wilson(sum(j.onset == j.fork for j in marked), len(marked))


def _cell(judged: Judgement) -> Cell:
    return judged.type, judged.k, judged.is_foil


def _ordered(cells: Iterable[Cell]) -> list[Cell]:
    return sorted(cells, key=lambda cell: (ORDER[cell[0]], cell[1], cell[2]))
