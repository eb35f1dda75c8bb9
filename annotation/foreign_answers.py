"""Items and answers in the files of Label Studio and Potato, read as they are.

A reader yields `ForeignItem` before the answers to it, `ForeignAnswer`, and `BadRecord` for what
cannot be read. What an answer means is decided elsewhere (`foreign_values`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark.formats.reading import expect, json_values, located, parsed, whole
from benchmark.records import BadRecord

LABEL_STUDIO, POTATO = "label-studio", "potato"
STATE = "user_state.json"
INSTANCES = ("annotated_instances.jsonl", "annotated_instances.json")


@dataclass(frozen=True, slots=True)
class ForeignItem:
    """An item: its id over there, and the fields it was shown with."""

    id: str
    fields: Mapping[str, Any]
    where: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """A label with what stands beside it. Which of the two is the answer hangs on the question:
    a slider keeps its number as the value, a scale of points as the label, a choice either."""

    label: str
    value: Any


@dataclass(frozen=True, slots=True)
class ForeignAnswer:
    """One person's answers to one item, by the name of the question.

    A value is a number, a word, `Chosen`, or a list of several words. `seconds` is None where time
    was not taken. `ignored` names what cannot be a slider or a choice, such as spans.
    """

    item: str
    judge: str
    values: Mapping[str, Any]
    where: str
    cancelled: bool = False
    seconds: float | None = None
    ignored: tuple[str, ...] = field(default=())


Found = ForeignItem | ForeignAnswer | BadRecord


def located_values(path: Path) -> Iterator[tuple[str, Any] | BadRecord]:
    """(file:line, value) of every line of JSON lines, or every element of a document."""
    if path.suffix != ".json":
        yield from json_values(path)
        return
    try:
        text = whole(path)
        document = parsed(text, path.name)
    except BadRecord as bad:
        yield bad
        return
    if not isinstance(document, list):
        yield f"{path.name}:1", document
        return
    for line, value in zip(_lines_of(text), document, strict=True):
        yield f"{path.name}:{line}", value


def _lines_of(text: str) -> Iterator[int]:
    """The line on which each element of the array `text` starts."""
    decoder = json.JSONDecoder()
    at, line = text.index("[") + 1, 1 + text.count("\n", 0, text.index("["))
    while True:
        start = at
        while text[at].isspace() or text[at] == ",":
            at += 1
        line += text.count("\n", start, at)
        if text[at] == "]":
            return
        yield line
        _, end = decoder.raw_decode(text, at)
        line += text.count("\n", at, end)
        at = end


def label_studio(path: Path, items: Path | None = None) -> Iterator[Found]:
    """Tasks as Label Studio exports them (JSON), with their annotations."""
    for entry in located_values(path):
        if isinstance(entry, BadRecord):
            yield entry
            continue
        where, value = entry
        try:
            task = expect(value, dict, "task")
            ident = str(expect(task.get("id"), (int, str), "id"))
            yield ForeignItem(ident, expect(task.get("data"), dict, "data"), where)
            annotations = expect(task.get("annotations", []), list, "annotations")
        except BadRecord as bad:
            yield located(where, bad)
            continue
        for number, one in enumerate(annotations, start=1):
            place = f"{where}, annotations[{number}]"
            try:
                yield _annotation(ident, expect(one, dict, "annotation"), place)
            except BadRecord as bad:
                yield located(place, bad)


def _annotation(item: str, data: Mapping[str, Any], where: str) -> ForeignAnswer:
    by = data.get("completed_by")
    if isinstance(by, dict):
        by = by.get("id", by.get("email"))
    judge = str(expect(by, (int, str), "completed_by"))
    values: dict[str, Any] = {}
    ignored = []
    for result in expect(data.get("result", []), list, "result"):
        part = expect(result, dict, "result")
        name = str(part.get("from_name") or part.get("type") or "result")
        value = _value(part)
        if value is None:
            ignored.append(name)
        elif name in values:
            raise BadRecord("result", f"{name} is answered twice")
        else:
            values[name] = value
    seconds = data.get("lead_time")
    return ForeignAnswer(
        item,
        judge,
        values,
        where,
        cancelled=bool(data.get("was_cancelled")),
        seconds=float(seconds) if isinstance(seconds, int | float) else None,
        ignored=tuple(ignored),
    )


def _value(result: Mapping[str, Any]) -> Any:
    """The number or the words of a result; None for another kind (regions, free text)."""
    value = result.get("value")
    if not isinstance(value, dict):
        return None
    for name in ("number", "rating"):
        if isinstance(value.get(name), int | float) and not isinstance(value[name], bool):
            return value[name]
    choices = value.get("choices")
    if isinstance(choices, list) and choices and all(isinstance(c, str) for c in choices):
        return choices[0] if len(choices) == 1 else choices
    return None


def potato(path: Path, items: Path | None = None) -> Iterator[Found]:
    """Answers as Potato keeps them: `annotated_instances` with texts, or `user_state` without.

    `path` is a file or the output folder. `items` is the data file with the texts (JSON lines or
    JSON, `id` and the shown field), needed for `user_state.json`.
    """
    if items is not None:
        for entry in located_values(items):
            yield entry if isinstance(entry, BadRecord) else _data_item(*entry)
    files = [path] if path.is_file() else sorted(_potato_files(path))
    if not files:
        yield BadRecord(path.name, f"holds neither {STATE} nor {' nor '.join(INSTANCES)}")
    seen: set[str] = set()
    for file in files:
        for entry in located_values(file):
            if isinstance(entry, BadRecord):
                yield entry
                continue
            where, value = entry
            try:
                yield from _potato_record(value, where, file, seen)
            except BadRecord as bad:
                yield located(where, bad)


def _potato_files(folder: Path) -> Iterator[Path]:
    for name in (STATE, *INSTANCES):
        yield from folder.rglob(name)


def _data_item(where: str, value: Any) -> Found:
    try:
        data = expect(value, dict, "item")
        return ForeignItem(str(expect(data.get("id"), (int, str), "id")), data, where)
    except BadRecord as bad:
        return located(where, bad)


def _potato_record(value: Any, where: str, file: Path, seen: set[str]) -> Iterator[Found]:
    data = expect(value, dict, "record")
    # A folder of its own for each person is how older versions name them.
    judge = str(expect(data.get("user_id", file.parent.name), (int, str), "user_id"))
    if "instance_id_to_label_to_value" in data:
        states = expect(
            data["instance_id_to_label_to_value"], dict, "instance_id_to_label_to_value"
        )
        for item, labels in states.items():
            yield ForeignAnswer(item, judge, _labels(labels), f"{where}, {item}")
        return
    ident = str(expect(data.get("instance_id", data.get("id")), (int, str), "instance_id"))
    if "displayed_text" in data and ident not in seen:
        seen.add(ident)
        yield ForeignItem(ident, {"text": data["displayed_text"]}, where)
    ignored = ("span_annotations",) if data.get("span_annotations") else ()
    labels = _labels(data.get("label_annotations", {}))
    yield ForeignAnswer(ident, judge, labels, where, ignored=ignored)


def _labels(given: Any) -> dict[str, Any]:
    """Question -> what was chosen, from {question: {label: value}} or pairs of the same."""
    if isinstance(given, list):
        pairs: dict[str, dict[str, Any]] = {}
        for pair in given:
            key, value = expect(pair, list, "label")
            name = expect(key, dict, "label")
            pairs.setdefault(str(name.get("schema")), {})[str(name.get("name"))] = value
        given = pairs
    found = {}
    for question, labels in expect(given, dict, "label_annotations").items():
        inner = expect(labels, dict, f"label_annotations.{question}")
        if set(inner) == {"labels"} and isinstance(inner["labels"], dict):
            inner = inner["labels"]
        if (value := _chosen(inner)) is not None:
            found[question] = value
    return found


def _chosen(labels: Mapping[str, Any]) -> Any:
    """What was chosen among labels with their values: one, several as a list, or None."""
    chosen = {k: v for k, v in labels.items() if v not in (False, None, "", "false")}
    if not chosen:
        return None
    if len(chosen) > 1:
        return sorted(chosen)
    ((label, value),) = chosen.items()
    return Chosen(str(label), value)


READERS = {LABEL_STUDIO: label_studio, POTATO: potato}
