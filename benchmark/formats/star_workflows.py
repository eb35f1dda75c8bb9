"""STAR's task folders as workflows: `<task>.json` with replies and a graph of single successors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmark.formats.building import tidied, workflow_name
from benchmark.formats.reading import (
    expect,
    located,
    parsed,
    whole,
)
from benchmark.records import BadRecord, StepSpec, TransitionSpec, WorkflowRecord

START = "hello"
# Conditions between which a graph branches. They have replies like any node, but nobody says them.
PSEUDO = frozenset(
    (
        *("query", "query_check", "query_book", "query_success", "query_failure"),
        *("available", "unavailable", "yes", "no", "done", "correct", "incorrect", "noanswer"),
        *("info_missing", "info_missing2"),
    )
)


def default_folder(path: Path) -> Path | None:
    """The folder `workflows` or `tasks` in or beside `path`; None when there is none."""
    places = (path, path.parent) if path.is_dir() else (path.parent,)
    for place in places:
        for name in ("workflows", "tasks"):
            if (place / name).is_dir():
                return place / name
    return None


def task_files(folder: Path) -> dict[str, Path]:
    """Task name -> file, for `<task>.json` and `<task>/<task>.json`; the folder's name counts."""
    if not folder.is_dir():
        raise BadRecord(str(folder.name), "the folder of workflows does not exist")
    found = {p.name: p / f"{p.name}.json" for p in folder.iterdir() if p.is_dir()}
    found = {name: p for name, p in found.items() if p.is_file()}
    found |= {p.stem: p for p in folder.glob("*.json") if p.is_file()}
    return dict(sorted(found.items()))


def load(task: str, path: Path) -> dict[str, Any]:
    """The checked content of a task file: task, replies, graph, and responses where beside it."""
    where = path.name
    try:
        data = expect(parsed(whole(path), where), dict, "workflow")
        graph = expect(data.get("graph"), dict, "graph")
        replies = expect(data.get("replies"), dict, "replies")
        for what, table in (("graph", graph), ("replies", replies)):
            for key, value in table.items():
                expect(value, str, f"{what}.{key}")
        beside = path.with_name("responses.json")
        responses = parsed(whole(beside), beside.name) if beside.is_file() else None
        return {
            "name": workflow_name(task),
            "task": expect(data.get("task", task), str, "task"),
            "graph": tidied(graph, set()),
            "replies": tidied(replies, set()),
            "responses": responses if isinstance(responses, dict) else None,
            "where": where,
        }
    except BadRecord as bad:
        raise located(where, bad) from bad


def workflow_of(data: Mapping[str, Any], domain: str | None) -> WorkflowRecord:
    """The workflow record; without a `domain` from a dialogue the first part of the name is it."""
    graph, replies, name = data["graph"], data["replies"], data["name"]
    nodes = dict.fromkeys(label for edge in graph.items() for label in edge)
    keys = [k for k in replies if k in nodes] + [k for k in nodes if k not in replies]
    steps = [
        StepSpec(k, replies.get(k, ""), "state" if k in PSEUDO else "action")
        for k in ordered(keys, graph)
    ]
    steps += [StepSpec(k, text, "reply") for k, text in replies.items() if k not in nodes]
    return WorkflowRecord(
        name=name,
        domain=domain or name.split("_")[0],
        objective=objective(name),
        system_instruction=instruction(name, graph, replies),
        steps=tuple(steps),
        transitions=tuple(TransitionSpec(a, b) for a, b in graph.items()),
        start=START if START in nodes else "",
        terminals=tuple(k for k in nodes if k not in graph),
        meta={"task": data["task"]},
        warnings=dict(workflow_quirks(data)),
        where=data["where"],
    )


def ordered(keys: list[str], graph: Mapping[str, str]) -> list[str]:
    """`keys` along the graph: from the start, then from each further node nothing leads to."""
    targets = set(graph.values())
    heads = [k for k in keys if k == START] + [k for k in keys if k not in targets and k != START]
    out: dict[str, None] = {}
    for head in [*heads, *keys]:
        at: str | None = head
        while at is not None and at not in out:
            out[at] = None
            at = graph.get(at)
    return list(out)


def objective(name: str) -> str:
    return f"Bring the task “{name.replace('_', ' ')}” to its end for the user."


def instruction(name: str, graph: Mapping[str, str], replies: Mapping[str, str]) -> str:
    """The workflow as a plain text for the agent who plays the assistant."""
    nodes = ordered(list(dict.fromkeys(label for edge in graph.items() for label in edge)), graph)
    said = [f"- {k}: {replies[k]}" for k in nodes if k not in PSEUDO and k in replies]
    moves = [f"- after {a} comes {b}" for a, b in graph.items()]
    other = [f"- {k}: {text}" for k, text in replies.items() if k not in nodes]
    return "\n".join(
        [
            f"You are the assistant for the task “{name.replace('_', ' ')}”.",
            "Keep to this procedure. What you say, by step:",
            *said,
            "The order (query, yes, no, available and the like are results, not utterances):",
            *moves,
            "Where they fit, you may also say:",
            *other,
        ]
    )


def workflow_quirks(data: Mapping[str, Any]) -> Counter[str]:
    """What is odd about a task file, by name, with the number of labels it concerns."""
    graph, replies, responses = data["graph"], data["replies"], data["responses"]
    nodes = {label for edge in graph.items() for label in edge}
    reached: set[str] = set()
    at: str | None = START
    while at in nodes and at not in reached:
        reached.add(at)
        at = graph.get(at)
    found: Counter[str] = Counter()
    found["task name differs from the folder name"] = int(data["task"] != data["name"])
    found["node not reachable from the start"] = len(nodes - reached)
    found["node without a reply"] = len(nodes - set(replies))
    found["reply outside the graph"] = len(set(replies) - nodes)
    if responses is not None:
        found["reply absent from the responses"] = len(set(replies) - set(responses) - PSEUDO)
        found["response absent from the replies"] = len(set(responses) - set(replies))
        found["response with another text than the reply"] = sum(
            responses[k] != replies[k] for k in replies if k in responses
        )
    return +found
