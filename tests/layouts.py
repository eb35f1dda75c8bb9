"""A drawn design as arrays, for the planner's tests."""

from __future__ import annotations

import numpy as np

from annotation.design import POSITIONS, TYPES, Candidate, draw
from annotation.imagined_draws import Layout

TURNS = 7


def candidates(workflows: int = 5, sources: int = 12) -> list[Candidate]:
    """Every type at every position of each source, and the source itself."""
    units = []
    for w in range(workflows):
        for s in range(sources):
            source = f"w{w}-{s:03}"
            units.append(Candidate(source, source, f"w{w}"))
            units += [
                Candidate(f"{source}.{t}.{k}", source, f"w{w}", t, k)
                for t in TYPES
                for k in POSITIONS
            ]
    return units


def layout(n_seats: int = 12, **settings) -> Layout:
    """The judgements of a drawn design; every dialogue has seven assistant turns."""
    units = candidates(sources=40)
    by_key = {unit.key: unit for unit in units}
    items, workflows = {}, {}
    rows = []
    for number, seat in enumerate(draw(units, n_seats=n_seats, seed=1, **settings).seats):
        for planned in seat:
            unit = by_key[planned.key]
            rows.append(
                (
                    number,
                    items.setdefault(planned, len(items)),
                    workflows.setdefault(unit.workflow, len(workflows)),
                    TYPES.index(unit.type) if unit.type else -1,
                    unit.k,
                    planned.is_foil,
                    1 + round((unit.k - 1) * TURNS / 4) if unit.k else 0,
                    TURNS,
                )
            )
    return Layout(*(np.array(column) for column in zip(*rows, strict=True)))
