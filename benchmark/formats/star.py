"""STAR (Mosig et al. 2020, arXiv 2010.11853): human Wizard-of-Oz dialogues with their task graphs.

`path` is a checkout (`dialogues/` and `tasks/`), a folder of dialogue files, or a .jsonl or
.jsonl.gz with one dialogue a line. Nothing is repaired: an oddity is counted under its name.

Turns are what one side sent to the other. A wizard's request for suggestions is a draft that the
user never saw; it and all other events are kept in the dialogue's `events`, each with the number
of the turn it follows. Worker ids, annotator names and the wizard's screen state are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmark.formats import star_workflows
from benchmark.formats.building import dialogue, domain_name, tidied, turn
from benchmark.formats.reading import (
    expect,
    files,
    json_values,
    located,
)
from benchmark.formats.star_quirks import TURN_EVENTS, kind_of, quirks_of
from benchmark.records import BadRecord, DialogueRecord, Record, TurnRecord, WorkflowRecord


def read(
    path: Path, *, workflows: Path | None = None, roles: Mapping[str, str] | None = None
) -> Iterator[Record | BadRecord]:
    """The workflows and dialogues of a STAR set; a workflow comes before its first dialogue.

    Raises BadRecord when `path` or a named `workflows` folder cannot be read at all.
    """
    if not path.exists():
        raise BadRecord(path.name, "no such file or folder")
    folder = workflows or star_workflows.default_folder(path)
    tasks = _Tasks()
    if folder is not None:
        for name, file in star_workflows.task_files(folder).items():
            try:
                tasks.known[name] = star_workflows.load(name, file)
            except BadRecord as bad:
                yield bad
    for item in _values(path):
        if isinstance(item, BadRecord):
            yield item
            continue
        where, value = item
        try:
            record = dialogue_of(value, where, tasks.replies)
        except BadRecord as bad:
            yield located(where, bad)
            continue
        yield from tasks.first_named_by(record)
        yield record
    yield from tasks.rest()


class _Tasks:
    """Workflows not yet handed out; the first dialogue that names one also tells its domain."""

    def __init__(self) -> None:
        self.known: dict[str, dict[str, Any]] = {}
        self.given: set[str] = set()

    def replies(self, names: list[str]) -> frozenset[str] | None:
        known = [self.known[name]["replies"] for name in names if name in self.known]
        return frozenset(label for table in known for label in table) if known else None

    def first_named_by(self, record: DialogueRecord) -> Iterator[WorkflowRecord]:
        for task in record.meta["tasks"]:
            name = task["task"]
            if name in self.known and name not in self.given:
                self.given.add(name)
                yield star_workflows.workflow_of(self.known[name], task["domain"])

    def rest(self) -> Iterator[WorkflowRecord]:
        for name, data in self.known.items():
            if name not in self.given:
                yield star_workflows.workflow_of(data, None)


def _values(path: Path) -> Iterator[tuple[str, Any] | BadRecord]:
    if path.is_file():
        yield from json_values(path)
        return
    inner = path / "dialogues"
    found = files(inner if inner.is_dir() else path, ".json", ".jsonl", ".jsonl.gz")
    found = [p for p in found if p.name != "quirks.json"]
    if not found:
        raise BadRecord(path.name, "holds no dialogue files (.json, .jsonl or .jsonl.gz)")
    for file in found:
        yield from json_values(file)


def dialogue_of(value: Any, where: str, replies: Any) -> DialogueRecord:
    """One STAR dialogue as a record. `replies(tasks)` gives the labels that its tasks know."""
    data = expect(value, dict, "dialogue")
    scenario = expect(data.get("Scenario"), dict, "Scenario")
    events = expect(data.get("Events"), list, "Events")
    expect(scenario.get("Domains"), (list, type(None)), "Scenario.Domains")
    for number, event in enumerate(events, start=1):
        _check_event(expect(event, dict, f"Events[{number}]"), f"Events[{number}]")
    for key in ("UserQuestionnaire", "WizardQuestionnaire"):
        for answer in expect(data.get(key, []), list, key):
            expect(answer, dict, key)
    tasks = _tasks(scenario)
    turns, others = _split(events)
    single = len(tasks) == 1 and scenario.get("MultiTask") is not True
    followed = (
        scenario.get("MultiTask") is False
        and scenario.get("Happy") is True
        and data.get("CompletionLevel") == "Complete"
        and bool(turns)
    )
    return dialogue(
        data.get("DialogueID"),
        turns,
        where=where,
        workflow=tasks[0]["task"] if single else "",
        conformant=True if followed else None,
        meta=_meta(data, scenario, tasks, others),
        warnings=quirks_of(data, replies([t["task"] for t in tasks])),
    )


def _check_event(event: Mapping[str, Any], what: str) -> None:
    """Refuse an event whose labels or notes are of another kind than STAR's."""
    expect(event.get("ActionLabel"), (str, type(None)), f"{what}.ActionLabel")
    for key in ("ActionLabelOptions", "PostAnnotation"):
        expect(event.get(key), (list, type(None)), f"{what}.{key}")


def _tasks(scenario: Mapping[str, Any]) -> list[dict[str, Any]]:
    tasks = []
    for capability in expect(scenario.get("WizardCapabilities"), list, "WizardCapabilities"):
        expect(capability, dict, "WizardCapabilities")
        name = expect(capability.get("Task"), str, "WizardCapabilities[].Task")
        domain = expect(capability.get("Domain"), (str, type(None)), "WizardCapabilities[].Domain")
        domain_name(domain or "")
        tasks.append({"task": tidied(name, set()), "domain": domain})
    return tasks


def _split(events: list[dict[str, Any]]) -> tuple[list[TurnRecord], list[dict[str, Any]]]:
    """(turns, other events); another event carries the number of the turn it `follows`, 0 first."""
    turns: list[TurnRecord] = []
    others: list[dict[str, Any]] = []
    for number, event in enumerate(events, start=1):
        role = TURN_EVENTS.get(kind_of(event))
        if role is None:
            others.append({"follows": len(turns), **_kept(event)})
            continue
        text = expect(event.get("Text", ""), str, f"Events[{number}].Text")
        label = event.get("ActionLabel") or ""
        turns.append(turn(role, text, label=label, meta=_turn_meta(event)))
    return turns, others


_KEPT = {
    "Agent": "agent",
    "Action": "action",
    "Text": "text",
    "APIName": "api",
    "Constraints": "constraints",
    "Item": "item",
    "TotalItems": "total",
    "Task": "task",
    "ActionLabelOptions": "options",
    "UnixTime": "time",
}


def _kept(event: Mapping[str, Any]) -> dict[str, Any]:
    return {name: event[key] for key, name in _KEPT.items() if key in event}


def _turn_meta(event: Mapping[str, Any]) -> dict[str, Any]:
    meta = {}
    if event.get("Action") == "pick_suggestion":
        meta["picked"] = True
    for key in ("ActionLabelOptions", "UnixTime"):
        if key in event:
            meta[_KEPT[key]] = event[key]
    if notes := event.get("PostAnnotation"):
        meta["notes"] = [
            {k: v for k, v in note.items() if k != "Annotator"}
            for note in notes
            if isinstance(note, dict)
        ]
    return meta


def _meta(
    data: Mapping[str, Any],
    scenario: Mapping[str, Any],
    tasks: list[dict[str, Any]],
    events: list[dict[str, Any]],
) -> dict[str, Any]:
    return {
        "tasks": tasks,
        "domains": scenario.get("Domains"),
        "happy": scenario.get("Happy"),
        "multi_task": scenario.get("MultiTask"),
        "completion": data.get("CompletionLevel"),
        "user_task": scenario.get("UserTask"),
        "assistant_task": scenario.get("WizardTask"),
        "introduces_conflicts": data.get("IntroducesConflicts"),
        "batch": data.get("BatchID"),
        "format_version": data.get("FORMAT-VERSION"),
        "user_answers": [[a.get("Question"), a.get("Answer")] for a in data["UserQuestionnaire"]]
        if data.get("UserQuestionnaire")
        else [],
        "assistant_answers": [
            [a.get("Question"), a.get("Answer")] for a in data["WizardQuestionnaire"]
        ]
        if data.get("WizardQuestionnaire")
        else [],
        "events": events,
    }
