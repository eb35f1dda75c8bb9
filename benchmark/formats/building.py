"""Records from what a reader found: tidy text, bounded ids and names, warnings added up."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmark.formats.reading import abbreviated, expect, located
from benchmark.label_records import LabelRecord, SignalRecord
from benchmark.records import (
    BadRecord,
    DialogueRecord,
    ForkRecord,
    Record,
    StepRecord,
    TrajectoryRecord,
    TurnRecord,
    WorkflowRecord,
)

NUL, SURROGATE = "NUL character replaced", "lone surrogate replaced"
NAME_LENGTH, ID_LENGTH, WORKFLOW_LENGTH, DOMAIN_LENGTH = 200, 200, 120, 120
_NAME = re.compile(r"[\w.-]+\Z")

Build = Callable[[Any, str], Record | Iterable[Record | BadRecord]]


def tidied(value: Any, found: set[str]) -> Any:
    """`value` with NUL and lone surrogates replaced by U+FFFD; adds what it met to `found`."""
    if isinstance(value, str):
        return _tidied_text(value, found)
    if isinstance(value, dict | list) and _is_tidy(value):
        return value
    if isinstance(value, dict):
        return {_tidied_text(str(k), found): tidied(v, found) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [tidied(v, found) for v in value]
    return value


def _is_tidy(value: Any) -> bool:
    """Whether no text in `value` can need a change; the encoder looks faster than we do."""
    text = json.dumps(value)
    return "\\u0000" not in text and "\\ud" not in text


def _tidied_text(text: str, found: set[str]) -> str:
    if text.isascii():
        if "\x00" not in text:
            return text
    elif any("\ud800" <= c <= "\udfff" for c in text):
        found.add(SURROGATE)
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if "\x00" in text:
        found.add(NUL)
        text = text.replace("\x00", "\ufffd")
    return text


def turn(
    role: str, text: str, *, name: str = "", label: str = "", meta: Mapping[str, Any] | None = None
) -> TurnRecord:
    """A turn without NUL or lone surrogates; what was replaced is named in `meta["warnings"]`."""
    found: set[str] = set()
    text, name, label = (tidied(part, found) for part in (text, name, label))
    extra = dict(tidied(meta or {}, found))
    for what, part in (("speaker", name), ("label", label)):
        if len(part) > NAME_LENGTH:
            raise BadRecord("turn", f"the {what} has more than {NAME_LENGTH} characters")
    if found:
        extra["warnings"] = sorted({*extra.get("warnings", ()), *found})
    return TurnRecord(role=role, text=text, name=name, label=label, meta=extra)


def dialogue(
    external_id: Any,
    turns: Sequence[TurnRecord],
    *,
    where: str,
    workflow: str = "",
    conformant: bool | None = None,
    split: str = "",
    forks: Sequence[ForkRecord] = (),
    meta: Mapping[str, Any] | None = None,
    warnings: Mapping[str, int] | None = None,
) -> DialogueRecord:
    """A dialogue record with a tidy id and meta; warnings of its turns are added up by name."""
    found: set[str] = set()
    counts = Counter(tidied(dict(warnings or {}), found))
    for name, n in Counter(w for t in turns for w in t.meta.get("warnings", ())).items():
        counts[name] = max(counts[name], n)
    ident = identity(external_id, found)
    extra = tidied(meta or {}, found)
    for name in found:
        counts[name] = max(counts[name], 1)
    return DialogueRecord(
        external_id=ident,
        turns=tuple(turns),
        workflow=tidied(workflow, found),
        conformant=conformant,
        split=split,
        forks=tuple(forks),
        meta=extra,
        warnings=dict(counts),
        where=where,
    )


def trajectory(
    external_id: Any,
    task: str,
    steps: Sequence[StepRecord],
    *,
    where: str,
    meta: Mapping[str, Any] | None = None,
    warnings: Mapping[str, int] | None = None,
    model: str = "",
    question: str = "",
    expected: str = "",
    response: str = "",
    signals: Sequence[SignalRecord] = (),
    labels: Sequence[LabelRecord] = (),
) -> TrajectoryRecord:
    """A trajectory record with tidy texts; what was replaced is a named warning."""
    found: set[str] = set()
    counts = Counter(tidied(dict(warnings or {}), found))
    clean = []
    for step in steps:
        if not -(2**31) <= step.number < 2**31:
            raise BadRecord("step", f"the number {step.number} does not fit 32 bits")
        if len(step.agent) > NAME_LENGTH:
            raise BadRecord("step", f"the agent has more than {NAME_LENGTH} characters")
        texts = (step.agent, step.thought, step.action, step.observation, step.response)
        clean.append(StepRecord(step.number, *tidied(texts, found), tidied(step.meta, found)))
    record = TrajectoryRecord(
        external_id=identity(external_id, found),
        task=tidied(task, found),
        steps=tuple(clean),
        model=_short("model", model, found),
        question=_short("question", question, found),
        expected=tidied(expected, found),
        response=tidied(response, found),
        signals=tuple(replace(x, source=tidied(x.source, found)) for x in signals),
        labels=tuple(_tidy_label(x, found) for x in labels),
        meta=tidied(meta or {}, found),
        warnings=dict(counts + Counter(found)),
        where=where,
    )
    return record


def _tidy_label(label: LabelRecord, found: set[str]) -> LabelRecord:
    texts = {name: tidied(getattr(label, name), found) for name in ("rater", "model", "rationale")}
    return replace(label, meta=tidied(label.meta, found), **texts)


def _short(what: str, text: str, found: set[str]) -> str:
    """`text` where it fits the column of a name."""
    if len(text) > NAME_LENGTH:
        raise BadRecord(what, f"has more than {NAME_LENGTH} characters")
    return str(tidied(text, found))


def identity(value: Any, found: set[str] | None = None) -> str:
    """An external id as text of 1 to 200 characters; whole numbers are allowed."""
    text = str(expect(value, (str, int), "id"))
    text = tidied(text, set() if found is None else found).strip()
    if not text or len(text) > ID_LENGTH:
        raise BadRecord("id", f"must have 1 to {ID_LENGTH} characters; it has {len(text)}")
    return text


def workflow_name(name: str) -> str:
    """`name` if it may name a workflow: letters, digits, dots, hyphens, underscores."""
    if not _NAME.match(name) or len(name) > WORKFLOW_LENGTH:
        raise BadRecord(
            "workflow",
            f"the name {abbreviated(name)} must have 1 to {WORKFLOW_LENGTH} letters, digits, dots, "
            "hyphens or underscores",
        )
    return name


def domain_name(name: str) -> str:
    """`name` if it is short enough for a domain."""
    if len(name) > DOMAIN_LENGTH:
        raise BadRecord("domain", f"has more than {DOMAIN_LENGTH} characters")
    return name


def from_values(
    values: Iterable[tuple[str, Any] | BadRecord], build: Build
) -> Iterator[Record | BadRecord]:
    """`build(value, where)` of every value; what raises BadRecord is yielded with its place."""
    for item in values:
        if isinstance(item, BadRecord):
            yield item
            continue
        where, value = item
        try:
            made = build(value, where)
        except BadRecord as bad:
            yield located(where, bad)
            continue
        if isinstance(made, WorkflowRecord | DialogueRecord | TrajectoryRecord):
            yield made
        else:
            yield from made
