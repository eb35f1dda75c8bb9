"""Workflows with their scripts, written by hand as TOML files.

One file a workflow: `name`, `domain`, `objective`, `begins` (what holds before the first turn),
`user` (the user's instruction), `moves` ("a > b" or "a > b: observation", one a line), `request`,
`again`, tables `odds`, `facts`, `slots` and `steps`; the last step is the terminal one. Blocks of
text hold one template a line; alternatives of a value are parted by " / ". What a domain shares
(`house`, `chat`, `asides` as "question => answer") is in `domains.toml`. `benchmark.scripts` says
what each of these means.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmark.diversions import lines_of
from benchmark.records import BadRecord, StepSpec, TransitionSpec, WorkflowRecord
from benchmark.scripts import ANSWER, check_script

PLACE = Path(__file__).parent
ASIDE = StepSpec(ANSWER, "Answer a side question in a sentence, then go on", "reply")


def read_workflows(folder: Path = PLACE / "workflows") -> list[WorkflowRecord]:
    """All workflows of a folder, by file name; domains come from `domains.toml` beside it.

    Raises
    ------
    BadRecord
        If a file is not TOML or lacks a field, naming the file.
    """
    domains = _load(folder.parent / "domains.toml")
    return [read_workflow(path, domains) for path in sorted(folder.glob("*.toml"))]


def read_workflow(path: Path, domains: Mapping[str, Any]) -> WorkflowRecord:
    """The workflow of one file."""
    data = _load(path)
    try:
        workflow = _workflow(data, domains[data["domain"]], path.name)
    except KeyError as error:
        raise BadRecord(path.name, f"lacks the field {error}") from error
    check_script(workflow)
    return workflow


def _workflow(data: Mapping[str, Any], domain: Mapping[str, str], where: str) -> WorkflowRecord:
    steps = [StepSpec("start", data["begins"], "state")]
    steps += [StepSpec(key, step["text"]) for key, step in data["steps"].items()]
    script = _script(data, domain)
    return WorkflowRecord(
        name=data["name"],
        domain=data["domain"],
        objective=data["objective"],
        system_instruction=(
            f"You answer for {script['house'][0]}. {data['objective']}. Take the steps of the "
            "procedure in their order, one a message; what the user says or your records show "
            "decides where it branches. You may answer a side question, then go on."
        ),
        user_instruction=data["user"],
        steps=(*steps, ASIDE),
        transitions=tuple(_move(line) for line in lines_of(data["moves"])),
        start="start",
        terminals=(steps[-1].key,),
        meta={"script": script},
        where=where,
    )


def _move(line: str) -> TransitionSpec:
    ends, _, observation = line.partition(":")
    source, _, target = ends.partition(">")
    return TransitionSpec(source.strip(), target.strip(), observation.strip())


def _script(data: Mapping[str, Any], domain: Mapping[str, str]) -> dict[str, Any]:
    return {
        "house": lines_of(domain["house"]),
        "chat": lines_of(domain["chat"]),
        "asides": [line.split(" => ") for line in lines_of(domain["asides"])],
        "request": lines_of(data["request"]),
        "again": lines_of(data["again"]),
        "odds": data.get("odds", {}),
        "facts": {name: value.split(" / ") for name, value in data["facts"].items()},
        "slots": {
            name: {"values": slot["values"].split(" / "), "extra": slot["extra"]}
            for name, slot in data["slots"].items()
        },
        "steps": {key: _words(step) for key, step in data["steps"].items()},
    }


def _words(step: Mapping[str, Any]) -> dict[str, Any]:
    words: dict[str, Any] = {"say": lines_of(step["say"])}
    if "slot" in step:
        words |= {"slot": step["slot"], "known": lines_of(step["known"])}
    if "tone" in step:
        words["tone"] = step["tone"]
    reply = step.get("reply")
    if isinstance(reply, Mapping):
        words["reply"] = {seen: lines_of(block) for seen, block in reply.items()}
    elif reply:
        words["reply"] = lines_of(reply)
    return words


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise BadRecord(path.name, f"is not TOML: {error}") from error
