"""Our own JSON lines: one record a line, its `kind` first, nothing lost on the way out and back.

Fields are those of `benchmark.records`; the external id is `id`. A field that is not known is
refused, so that a misspelt one does not vanish. Sources must come before their forks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from benchmark.formats.building import (
    ID_LENGTH,
    dialogue,
    domain_name,
    from_values,
    tidied,
    trajectory,
    turn,
    workflow_name,
)
from benchmark.formats.reading import (
    abbreviated,
    expect,
    files,
    json_values,
)
from benchmark.label_records import LabelRecord, SignalRecord, label_of
from benchmark.records import (
    ASSISTANT,
    BadRecord,
    DialogueRecord,
    ForkRecord,
    Record,
    StepRecord,
    StepSpec,
    TrajectoryRecord,
    TransitionSpec,
    TurnRecord,
    WorkflowRecord,
)

STEP_KINDS = ("action", "state", "reply")
SPLITS = ("", "train", "test")


def read(
    path: Path, *, workflows: Path | None = None, roles: Mapping[str, str] | None = None
) -> Iterator[Record | BadRecord]:
    """The records of a .jsonl or .jsonl.gz, or of such files in a folder."""
    found = files(path, ".jsonl", ".jsonl.gz") if path.is_dir() else [path]
    if not found:
        raise BadRecord(path.name, "holds no .jsonl or .jsonl.gz")
    for file in found:
        yield from from_values(json_values(file), record_of)


def write(records: Iterable[Record], file: TextIO) -> None:
    """Write `records` so that `read` gives equal ones back."""
    for record in records:
        file.write(json.dumps(line_of(record), ensure_ascii=False, allow_nan=False) + "\n")


def line_of(record: Record) -> dict[str, Any]:
    """A record as the object of its line."""
    values = {k: v for k, v in asdict(record).items() if k != "where"}
    if isinstance(record, WorkflowRecord):
        return {"kind": "workflow", **values}
    kind = "dialogue" if isinstance(record, DialogueRecord) else "trajectory"
    return {"kind": kind, "id": values.pop("external_id"), **values}


def record_of(value: Any, where: str) -> Record:
    """The record of a line; raises BadRecord naming the field."""
    data = dict(expect(value, dict, "record"))
    kind = data.pop("kind", None)
    builders = {"workflow": workflow_of, "dialogue": dialogue_of, "trajectory": trajectory_of}
    if not isinstance(kind, str) or kind not in builders:
        raise BadRecord("kind", f"must be one of {', '.join(builders)}; it is {abbreviated(kind)}")
    return builders[kind](data, where)


def workflow_of(data: dict[str, Any], where: str) -> WorkflowRecord:
    """A workflow from the fields of its line."""
    found: set[str] = set()
    data = tidied(data, found)
    plain = ("domain", "objective", "system_instruction", "user_instruction", "start")
    values = _fields(
        data,
        "workflow",
        {"name": (str, None), **dict.fromkeys(plain, (str, ""))},
        {"steps": (list, []), "transitions": (list, []), "terminals": (list, [])},
        {"meta": (dict, {}), "warnings": (dict, {})},
    )
    steps = [_step(item, i) for i, item in enumerate(values.pop("steps"), start=1)]
    moves = [_transition(item, i) for i, item in enumerate(values.pop("transitions"), start=1)]
    keys = [step.key for step in steps]
    if len(set(keys)) < len(keys):
        twice = next(k for k in keys if keys.count(k) > 1)
        raise BadRecord("steps", f"the key {abbreviated(twice)} stands twice")
    if len(set(moves)) < len(moves):
        raise BadRecord("transitions", "the same move stands twice")
    terminals = [expect(t, str, "terminals") for t in values.pop("terminals")]
    for what, named in (("start", [values["start"]]), ("terminals", terminals)):
        for key in named:
            if key and key not in keys:
                raise BadRecord(what, f"names the unknown step {abbreviated(key)}")
    workflow_name(values["name"])
    domain_name(values["domain"])
    values["warnings"] = dict.fromkeys(found, 1) | _counts(values["warnings"])
    return WorkflowRecord(
        **values,
        steps=tuple(steps),
        transitions=tuple(moves),
        terminals=tuple(terminals),
        where=where,
    )


def _step(item: Any, number: int) -> StepSpec:
    what = f"steps[{number}]"
    spec = {"key": (str, None), "text": (str, ""), "kind": (str, "action")}
    values = _fields(expect(item, dict, what), what, spec)
    if values["kind"] not in STEP_KINDS:
        raise BadRecord(f"{what}.kind", f"must be one of {', '.join(STEP_KINDS)}")
    if not 0 < len(values["key"]) <= ID_LENGTH:
        raise BadRecord(f"{what}.key", f"must have 1 to {ID_LENGTH} characters")
    return StepSpec(**values)


def _transition(item: Any, number: int) -> TransitionSpec:
    what = f"transitions[{number}]"
    spec = {"source": (str, None), "target": (str, None), "observation": (str, "")}
    values = _fields(expect(item, dict, what), what, spec)
    if len(values["observation"]) > 500:
        raise BadRecord(f"{what}.observation", "has more than 500 characters")
    return TransitionSpec(**values)


def dialogue_of(data: dict[str, Any], where: str) -> DialogueRecord:
    """A dialogue with its turns and forks from the fields of its line."""
    values = _fields(
        data,
        "dialogue",
        {"id": ((str, int), None), "workflow": (str, ""), "split": (str, "")},
        {"conformant": ((bool, type(None)), None, "null"), "turns": (list, None)},
        {"forks": (list, []), "meta": (dict, {}), "warnings": (dict, {})},
    )
    if values["split"] not in SPLITS:
        raise BadRecord("split", 'must be "train", "test" or empty')
    turns = [turn_of(item, i) for i, item in enumerate(values["turns"], start=1)]
    forks = [fork_of(item, i) for i, item in enumerate(values["forks"], start=1)]
    for number, fork in enumerate(forks, start=1):
        _check_place(fork, turns, f"forks[{number}]")
    return dialogue(
        values["id"],
        turns,
        where=where,
        forks=forks,
        warnings=_counts(values["warnings"]),
        **{name: values[name] for name in ("workflow", "conformant", "split", "meta")},
    )


def _counts(warnings: Mapping[str, Any]) -> dict[str, int]:
    """Warnings by name; each must be a whole number."""
    return {name: expect(count, int, f"warnings.{name}") for name, count in warnings.items()}


def turn_of(item: Any, number: int) -> TurnRecord:
    """A turn; `role` and `text` are needed, an empty text is kept."""
    what = f"turns[{number}]"
    values = _fields(
        expect(item, dict, what),
        what,
        {"role": (str, None), "text": (str, None), "name": (str, ""), "label": (str, "")},
        {"meta": (dict, {})},
    )
    try:
        return turn(values.pop("role"), values.pop("text"), **values)
    except BadRecord as bad:
        raise BadRecord(what, bad.reason) from bad


def _check_place(fork: ForkRecord, turns: list[TurnRecord], what: str) -> None:
    before = [t.role for t in turns[: fork.fork_turn]]
    assistant = before.count(ASSISTANT)
    if len(before) < fork.fork_turn or before[-1] != ASSISTANT:
        raise BadRecord(f"{what}.fork_turn", f"turn {fork.fork_turn} is no turn of the assistant")
    if assistant != fork.fork_assistant_turn:
        raise BadRecord(
            f"{what}.fork_assistant_turn",
            f"turn {fork.fork_turn} is the assistant's turn {assistant}, "
            f"not {fork.fork_assistant_turn}",
        )


def fork_of(item: Any, number: int) -> ForkRecord:
    """A fork; where it starts is checked against its own numbers, not against the source."""
    what = f"forks[{number}]"
    texts = ("source", "type", "variant", "instruction", "replay", "generator")
    values = _fields(
        expect(item, dict, what),
        what,
        dict.fromkeys(texts, (str, None)),
        dict.fromkeys(("k", "fork_assistant_turn", "fork_turn", "seed"), (int, None)),
        {"source_corpus": (str, ""), "source_format": (str, ""), "rule": (str, "half_even")},
        {"witness": (dict, {})},
    )
    for name, limit in (("variant", 80), ("generator", 80), ("rule", 24)):
        if len(values[name]) > limit:
            raise BadRecord(f"{what}.{name}", f"has more than {limit} characters")
    if not values["instruction"]:
        raise BadRecord(f"{what}.instruction", "is empty; a fork carries its instruction")
    if not -(2**63) <= values["seed"] < 2**63 or values["fork_turn"] >= 2**31:
        raise BadRecord(f"{what}", "seed must fit 64 bits and fork_turn 31")
    try:
        return ForkRecord(**tidied(values, set()))
    except BadRecord as bad:
        raise BadRecord(what, bad.reason) from bad


def trajectory_of(data: dict[str, Any], where: str) -> TrajectoryRecord:
    """A trajectory with its steps from the fields of its line."""
    values = _fields(
        data,
        "trajectory",
        {"id": ((str, int), None), "task": (str, ""), "steps": (list, None)},
        dict.fromkeys(("model", "question", "expected", "response"), (str, "")),
        {"signals": (list, []), "labels": (list, [])},
        {"meta": (dict, {}), "warnings": (dict, {})},
    )
    texts = ("agent", "thought", "action", "observation", "response")
    steps = []
    for position, item in enumerate(values["steps"], start=1):
        what = f"steps[{position}]"
        spec = {"number": (int, None), **dict.fromkeys(texts, (str, "")), "meta": (dict, {})}
        steps.append(StepRecord(**_fields(expect(item, dict, what), what, spec)))
    return trajectory(
        values["id"],
        values["task"],
        steps,
        where=where,
        meta=values["meta"],
        warnings=_counts(values["warnings"]),
        signals=[_signal(item, i) for i, item in enumerate(values["signals"], start=1)],
        labels=[_label(item, i) for i, item in enumerate(values["labels"], start=1)],
        **{name: values[name] for name in ("model", "question", "expected", "response")},
    )


def _signal(item: Any, number: int) -> SignalRecord:
    what = f"signals[{number}]"
    spec = {"name": (str, None), "value": ((bool, type(None)), None, True), "source": (str, "")}
    return SignalRecord(**_fields(expect(item, dict, what), what, spec))


def _label(item: Any, number: int) -> LabelRecord:
    what = f"labels[{number}]"
    try:
        return label_of(expect(item, dict, what))
    except BadRecord as bad:
        raise BadRecord(f"{what}.{bad.where}", bad.reason) from bad


def _fields(data: Mapping[str, Any], what: str, *specs: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `data` by spec (type, default; None as default: needed); others are refused."""
    spec = {name: rule for part in specs for name, rule in part.items()}
    if strange := sorted(set(data) - set(spec)):
        known = ", ".join(spec)
        raise BadRecord(f"{what}.{strange[0]}", f"is not a field; known are {known}")
    values = {}
    for name, (kind, default, *optional) in spec.items():
        value = data.get(name, default)
        if value is default and (default is not None or optional):
            values[name] = value
        else:
            values[name] = expect(value, kind, f"{what}.{name}")
    return values
