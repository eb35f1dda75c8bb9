"""Runs of agent teams for the demo: scripts with blanks, faults planted where a seed says so.

Three invented models run the same questions. What is planted is known, so that every run carries
the labels of its script, and signals that tell of faults more or less well.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmark.label_records import (
    ASC,
    CJ,
    DRA,
    PROPAGATED,
    RESPONSE,
    ROOT,
    RV,
    SCOPE,
    TC,
    TYPES,
    LabelRecord,
    PlaceRecord,
    SignalRecord,
)
from benchmark.records import BadRecord, StepRecord, TrajectoryRecord

PLACE = Path(__file__).with_name("run_scripts.toml")
SOURCE, CHECKS = "script", "scripted checks"
# Model -> chance of a fault, and how much it leans to each of TYPES.
MODELS: Mapping[str, tuple[float, tuple[int, ...]]] = {
    "steady-1": (0.45, (3, 1, 1, 3, 1)),
    "hasty-2": (0.8, (2, 1, 1, 6, 2)),
    "wordy-3": (0.65, (4, 2, 2, 2, 4)),
}
SECOND_FAULT = 0.45
# Signal -> chance that it says yes of a sound run, and of one with a fault.
TELLING = {TC: (0.9, 0.4), DRA: (0.95, 0.75), RV: (0.85, 0.3), ASC: (0.95, 0.55), CJ: (0.92, 0.12)}
UNDECIDED = 0.03
_TEXTS = ("thought", "action", "observation", "response")


@dataclass(frozen=True)
class _Fault:
    type: str
    component: str
    step: int | None
    why: str
    change: Mapping[str, str]
    move: tuple[int, int] | None
    flag: str
    evidence: int | None


def scripted_runs(seed: int, path: Path = PLACE) -> Iterator[TrajectoryRecord]:
    """Every model on every question, in a fixed order; the same seed gives the same runs.

    Raises
    ------
    BadRecord
        If the file is not TOML, or a script lacks a field or names a blank without a value.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        for script in data["script"]:
            for number, values in enumerate(script["values"], start=1):
                question = f"{script['name']}-{number}"
                for model in MODELS:
                    yield _run(script, values, question, model, data["mandates"], seed)
    except tomllib.TOMLDecodeError as error:
        raise BadRecord(path.name, f"is not TOML: {error}") from error
    except KeyError as error:
        raise BadRecord(path.name, f"lacks the field or value {error}") from error


def planted_label(planted: Mapping[str, Any]) -> LabelRecord:
    """The label of a run that was written by hand; an empty `planted` means a sound run."""
    if not planted:
        return LabelRecord(rater=SOURCE, present=False)
    place = PlaceRecord(planted["step"], planted["component"], planted["type"], ROOT)
    return LabelRecord(
        rater=SOURCE,
        present=True,
        types=(planted["type"],),
        places=(place,),
        rationale=planted["why"],
    )


def _run(
    script: Mapping[str, Any],
    values: Mapping[str, Any],
    question: str,
    model: str,
    mandates: Mapping[str, str],
    seed: int,
) -> TrajectoryRecord:
    rng = random.Random(f"{seed} {question} {model}")
    steps = [_step(n, step, values) for n, step in enumerate(script["step"], start=1)]
    response = script["response"].format(**values)
    faults = _faults(rng, [_fault(f, values) for f in script["fault"]], model)
    for fault in faults:
        steps, response = _planted(fault, steps, response)
    return TrajectoryRecord(
        external_id=f"{model}_{question}",
        task=script["task"].format(**values),
        steps=tuple(replace(step, number=n) for n, step in enumerate(steps, start=1)),
        model=model,
        question=question,
        expected=script["expected"].format(**values),
        response=response,
        labels=(_label(faults, len(steps)),),
        signals=tuple(_signals(rng, bool(faults))),
        meta={"mandates": {agent: mandates[agent] for agent in {s.agent: 0 for s in steps}}},
    )


def _step(number: int, step: Mapping[str, str], values: Mapping[str, Any]) -> StepRecord:
    texts = {name: step.get(name, "").format(**values) for name in _TEXTS}
    return StepRecord(number, step["agent"], **texts)


def _fault(fault: Mapping[str, Any], values: Mapping[str, Any]) -> _Fault:
    return _Fault(
        type=fault["type"],
        component=fault["component"],
        step=fault.get("step"),
        why=fault["why"].format(**values),
        change={name: text.format(**values) for name, text in fault.get("set", {}).items()},
        move=tuple(fault["move"]) if "move" in fault else None,
        flag=fault.get("flag", ""),
        evidence=fault.get("evidence"),
    )


def _faults(rng: random.Random, faults: Sequence[_Fault], model: str) -> list[_Fault]:
    """None, one, or two that do not touch the same step; a move comes alone."""
    chance, leaning = MODELS[model]
    if rng.random() >= chance:
        return []
    weights = [leaning[TYPES.index(fault.type)] for fault in faults]
    first = rng.choices(faults, weights)[0]
    others = [f for f in faults if f.step != first.step and not f.move]
    if first.move or not others or rng.random() >= SECOND_FAULT:
        return [first]
    return [first, rng.choice(others)]


def _planted(
    fault: _Fault, steps: Sequence[StepRecord], response: str
) -> tuple[list[StepRecord], str]:
    changed = list(steps)
    if fault.move:
        before, after = fault.move
        changed.insert(after - 1, changed.pop(before - 1))
    if fault.step is None:
        return changed, fault.change["response"]
    if fault.change:
        changed[fault.step - 1] = replace(changed[fault.step - 1], **fault.change)
    return changed, response


def _label(faults: Sequence[_Fault], n_steps: int) -> LabelRecord:
    if not faults:
        return LabelRecord(rater=SOURCE, present=False)
    ordered = sorted(faults, key=lambda fault: fault.step or n_steps + 1)
    places = [
        PlaceRecord(
            fault.step,
            fault.component if fault.step else RESPONSE,
            fault.type,
            PROPAGATED if n else ROOT,
            fault.evidence,
        )
        for n, fault in enumerate(ordered)
    ]
    return LabelRecord(
        rater=SOURCE,
        present=True,
        types=tuple(sorted({f.type for f in faults}, key=TYPES.index)),
        flags=tuple(f.flag for f in faults if f.type == SCOPE),
        places=tuple(places),
        rationale=" ".join(fault.why for fault in ordered),
    )


def _signals(rng: random.Random, faulty: bool) -> Iterator[SignalRecord]:
    for name, chances in TELLING.items():
        value = rng.random() < chances[faulty]
        yield SignalRecord(name, None if rng.random() < UNDECIDED else value, CHECKS)
