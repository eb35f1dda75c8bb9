"""AssetOpsBench trajectories: AgentHive's logs of tasks, and the input form of TrajFM.

An AgentHive run is the steps of all its tasks in order, the agent of a step that of its task. What
a task answers is the response of its last step, what the run answers the last answer that is not
empty. Prompts, demonstrations, scratchpads and message histories repeat the steps: they are left
out and counted. A raw model output is kept only where it differs from what was parsed from it.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmark.formats import assetops_steps as parts
from benchmark.formats.assetops_scenarios import FOLDER, Scenarios, scenarios_beside
from benchmark.formats.building import from_values, trajectory
from benchmark.formats.reading import expect, parsed, whole
from benchmark.formats.runs import (
    NO_RESPONSE,
    NO_STEPS,
    each,
    list_at,
    positive,
    rest_of,
    run_files,
    text_at,
    text_of,
)
from benchmark.records import BadRecord, Record, StepRecord, TrajectoryRecord

OTHER_SCENARIO = "scenario of this id asks something else"
_RUN = frozenset(("id", "text", "trajectory"))
_FM = frozenset(("task", "trajectory", "final_answer", "id", "uid"))


def read(
    path: Path, *, workflows: Path | None = None, roles: Mapping[str, str] | None = None
) -> Iterator[Record | BadRecord]:
    """The runs of a file or folder; expected answers come from a folder `scenarios` beside them."""
    scenarios = Scenarios()
    for found in scenarios_beside(path):
        if isinstance(found, BadRecord):
            yield found
        else:
            scenarios.add(found)
    build = functools.partial(run_of, scenarios=scenarios)
    for file in run_files(path):
        if file.parent.name != FOLDER or file == path:
            yield from from_values(each(file), build)
    for file in _numbered(path) if path.is_dir() else ():
        yield from from_values(_document(path, file), build)


def _numbered(folder: Path) -> Iterator[Path]:
    """TrajFM's files, vendor/model/utterance: their names are digits without an ending."""
    found = (p for p in folder.rglob("*") if p.name.isascii() and p.name.isdigit() and p.is_file())
    return iter(sorted(found, key=lambda p: (p.parent, len(p.name), p.name)))


def _document(folder: Path, file: Path) -> Iterator[tuple[str, Any] | BadRecord]:
    """(vendor/model/utterance, value) of one numbered file."""
    name = file.relative_to(folder).as_posix()
    try:
        yield name, parsed(whole(file), name)
    except BadRecord as bad:
        yield bad


def run_of(value: Any, where: str, scenarios: Scenarios | None = None) -> TrajectoryRecord:
    """One run of either form; raises BadRecord naming the field that does not fit."""
    data = expect(value, dict, "run")
    known = scenarios or Scenarios()
    if "task" in data or "final_answer" in data:
        return _trajfm(data, where, known)
    return _agenthive(data, where, known)


def _agenthive(data: Mapping[str, Any], where: str, scenarios: Scenarios) -> TrajectoryRecord:
    warnings: Counter[str] = Counter()
    ident = text_of(expect(data.get("id"), (str, int), "id"))
    task = text_at(data, "text", "text")
    steps: list[StepRecord] = []
    tasks, response = [], ""
    for position, item in enumerate(expect(data.get("trajectory"), list, "trajectory"), start=1):
        what = f"trajectory[{position}]"
        made = parts.task_of(expect(item, dict, what), what, warnings)
        steps += made.steps
        tasks.append(made.meta)
        response = made.response if made.response.strip() else response
    warnings[NO_STEPS] += not steps
    warnings[NO_RESPONSE] += not response
    meta = rest_of(data, _RUN, warnings) | {"tasks": tasks}
    expected = _expected(scenarios, ident, task, meta, warnings)
    return trajectory(
        f"Q_{ident}",
        task,
        steps,
        where=where,
        meta=meta,
        question=ident,
        expected=expected,
        response=response,
        warnings=positive(warnings),
    )


def _trajfm(data: Mapping[str, Any], where: str, scenarios: Scenarios) -> TrajectoryRecord:
    warnings: Counter[str] = Counter()
    ident, model, question = _named(data, where)
    task = text_at(data, "task", "task")
    steps = _plain_steps(list_at(data, "trajectory", "trajectory"), warnings)
    response = text_at(data, "final_answer", "final_answer")
    warnings[NO_STEPS] += not steps
    warnings[NO_RESPONSE] += not response.strip()
    warnings[parts.LEAK] += parts.leaks(response)
    meta = rest_of(data, _FM, warnings)
    expected = _expected(scenarios, question, task, meta, warnings)
    return trajectory(
        ident,
        task,
        steps,
        where=where,
        meta=meta,
        model=model,
        question=question,
        expected=expected,
        response=response,
        warnings=positive(warnings),
    )


def _named(data: Mapping[str, Any], where: str) -> tuple[str, str, str]:
    """Id, model and question: from the fields uid or id, else from vendor/model/utterance."""
    given = data.get("uid", data.get("id"))
    if given is not None:
        return text_of(expect(given, (str, int), "id")), "", text_of(given)
    model, _, question = where.rpartition("/")
    return where, model, question if model else ""


def _plain_steps(items: Sequence[Any], warnings: Counter[str]) -> list[StepRecord]:
    steps = []
    for position, item in enumerate(items, start=1):
        what = f"trajectory[{position}]"
        step = expect(item, dict, what)
        steps.append(parts.plain_step(step, what, position, warnings))
    return steps


def _expected(
    scenarios: Scenarios, ident: str, task: str, meta: dict[str, Any], warnings: Counter[str]
) -> str:
    """The expected answer of the scenario `ident`, whose kind is put into `meta`."""
    found = scenarios.of(ident)
    if found is None:
        return ""
    if found.text.split() != task.split():
        warnings[OTHER_SCENARIO] += 1
        return ""
    if found.kind:
        meta["scenario"] = dict(found.kind)
    return found.expected
