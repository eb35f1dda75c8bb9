"""Answers of an invented judge on the runs of the demo, with faults of its own.

It sees most procedural and factual faults, overlooks logical and referential ones, and calls some
sound runs procedural, as judges have been found to do (Trajel, section 5).
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator

from benchmark.label_records import (
    ACTION,
    FACTUAL,
    LOGICAL,
    PROCEDURAL,
    REFERENTIAL,
    SCOPE,
    LabelRecord,
    PlaceRecord,
)
from benchmark.records import TrajectoryRecord

NAME, MODEL, PROMPT = "demo judge", "scripted-judge", "whole-run"
# Version of the prompt -> how often it calls a sound run procedural; 1 is the base.
VERSIONS = {1: 0.35, 2: 0.15, 3: 0.4, 5: 0.6}
SEES = {FACTUAL: 0.85, REFERENTIAL: 0.3, LOGICAL: 0.25, PROCEDURAL: 0.9, SCOPE: 0.7}
UNREADABLE = 0.03


def judge_answers(
    runs: Iterable[TrajectoryRecord], seed: int, version: int = 1
) -> Iterator[tuple[str, str]]:
    """(external id, what the judge wrote); a few answers are no JSON, as happens.

    `version` of the prompt changes how often a sound run is called procedural, and nothing else.
    """
    for run in runs:
        rng = random.Random(f"{seed} judge {run.external_id} {version}")
        if rng.random() < UNREADABLE:
            yield run.external_id, "I would need to see the rest of the run before I can say."
            continue
        yield run.external_id, _answer(rng, run, run.labels[0], VERSIONS[version])


def _answer(
    rng: random.Random, run: TrajectoryRecord, label: LabelRecord, false_alarm: float
) -> str:
    seen = [name for name in label.types if rng.random() < SEES[name]]
    places = [place for place in label.places if place.type in seen]
    why = label.rationale if seen else "Every step follows from what was found before."
    if not seen and rng.random() < false_alarm:
        seen = [PROCEDURAL]
        places = [PlaceRecord(rng.randint(2, len(run.steps)), ACTION, PROCEDURAL)]
        why = "The order of this step looks wrong."
    text = json.dumps(
        {
            "hallucinations": bool(seen),
            "hallucination_location": "; ".join(_where(place) for place in places),
            "hallucination_type": [name.capitalize() for name in seen],
            "rationale": why,
        },
        indent=1,
    )
    return f"```json\n{text}\n```" if rng.random() < 0.5 else text


def _where(place: PlaceRecord) -> str:
    if place.step is None:
        return "Final response"
    return f"Step {place.step}, {place.component.capitalize()}"
