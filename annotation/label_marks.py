"""The places that labels name, as arrays: where, of which type, from what cause.

A place without a type stands for every type its run is given: most raters say types of the run
and places of the run, not which place shows which type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.label_pairs import PLACE_OF, Bools, Labels, Run
from benchmark.label_records import CAUSES, COMPONENTS, RESPONSE, TYPES, PlaceRecord

Ints = NDArray[np.intp]
NOWHERE = -1
_COMPONENT = {name: place for place, name in enumerate(COMPONENTS)}
_CAUSE = {name: place for place, name in enumerate(CAUSES)}


def says_where(place: PlaceRecord) -> bool:
    """Whether a place is one: a step, or the final response. A part of an unnamed step is none."""
    return place.step is not None or place.component == RESPONSE


@dataclass(frozen=True, slots=True)
class Marks:
    """Places of labels, one row each, in the order of the runs.

    `run` (m,) is the place of the run, `step` the position of the step (0: the final response, or
    no step named), `component`, `cause` and `evidence` are NOWHERE where not said (evidence is a
    position of a step), `types` (m, 5) and `own` says whether the type is the place's own or that
    of its run.
    """

    run: Ints
    step: Ints
    component: Ints
    cause: Ints
    evidence: Ints
    types: Bools
    own: Bools

    def __len__(self) -> int:
        return len(self.run)

    @property
    def in_response(self) -> Bools:
        """Marks of the final response of a run."""
        return (self.step == 0) & (self.component == _COMPONENT[RESPONSE])

    @property
    def located(self) -> Bools:
        """Marks of a step or of the final response: the others say a part and no step."""
        return (self.step > 0) | self.in_response


def marks_of(runs: Sequence[Run], labels: Labels) -> Marks:
    """Every place of the labels.

    Raises ValueError where a place names a step that its run does not have.
    """
    rows: list[tuple[int, ...]] = []
    types: list[NDArray[np.bool_]] = []
    for at, (run, record) in enumerate(zip(runs, labels.records, strict=True)):
        for place in record.places:
            if place.step is not None and place.step > run.n_steps:
                raise ValueError(
                    f"{labels.rater}: a place at step {place.step} of {run.external_id}, "
                    f"which has {run.n_steps} steps"
                )
            rows.append((at, *_codes(place)))
            types.append(_types(place, labels.types[at]))
    cells = np.array(rows, dtype=np.intp).reshape(len(rows), 6)
    shown = np.array(types, dtype=bool).reshape(len(rows), len(TYPES))
    return Marks(*cells[:, :5].T, shown, cells[:, 5].astype(bool))


def _codes(place: PlaceRecord) -> tuple[int, int, int, int, int]:
    return (
        place.step or 0,
        _COMPONENT.get(place.component, NOWHERE),
        _CAUSE.get(place.cause, NOWHERE),
        NOWHERE if place.evidence is None else place.evidence,
        bool(place.type),
    )


def _types(place: PlaceRecord, of_run: Bools) -> NDArray[np.bool_]:
    if not place.type:
        return of_run
    own = np.zeros(len(TYPES), dtype=bool)
    own[PLACE_OF[place.type]] = True
    return own


def spots(marks: Marks) -> tuple[Ints, Ints, Ints, Bools]:
    """Different spots: runs, steps, components (s,), and the types seen there (s, 5).

    Several places at the same step and component of a run are one spot.
    """
    keys = np.stack([marks.run, marks.step, marks.component], axis=1)
    found, places = np.unique(keys, axis=0, return_inverse=True)
    types = np.zeros((len(found), len(TYPES)), dtype=bool)
    np.logical_or.at(types, places.ravel(), marks.types)
    run, step, component = found.T if len(found) else np.zeros((3, 0), dtype=np.intp)
    return run.astype(np.intp), step.astype(np.intp), component.astype(np.intp), types


def step_flags(runs: Sequence[Run], marks: Marks) -> tuple[Ints, Ints, Bools]:
    """Every step of every run: its run, its position from 1, and whether a place names it."""
    sizes = np.array([run.n_steps for run in runs], dtype=np.intp)
    of_run = np.repeat(np.arange(len(runs)), sizes)
    ends = np.cumsum(sizes) - sizes
    position = np.arange(len(of_run)) - np.repeat(ends, sizes) + 1
    flags = np.zeros(len(of_run), dtype=bool)
    named = marks.step > 0
    flags[ends[marks.run[named]] + marks.step[named] - 1] = True
    return of_run.astype(np.intp), position.astype(np.intp), flags
