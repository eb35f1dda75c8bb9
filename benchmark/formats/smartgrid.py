"""Runs of the smart-grid benchmark: agents that call tools in turns, and plans that are executed.

A file is a run. Its folder may hold `index.json` (which path a file had where it was scored),
`judge_logs` and `annotations`; what they say of a run comes as its signals and labels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmark.formats import smartgrid_steps as parts
from benchmark.formats.building import trajectory
from benchmark.formats.reading import expect, json_values, located, parsed, whole
from benchmark.formats.runs import (
    NO_RESPONSE,
    NO_STEPS,
    dict_at,
    positive,
    rest_of,
    text_at,
    text_of,
)
from benchmark.formats.smartgrid_logs import (
    ANNOTATIONS,
    LOGS,
    Beside,
    beside,
    in_time,
    matched,
    numbered,
)
from benchmark.label_records import LabelRecord, SignalRecord
from benchmark.records import BadRecord, Record, TrajectoryRecord

RUNS, INDEX = "trajectories", "index.json"
BESIDE = frozenset([LOGS, ANNOTATIONS, "scenarios"])
OTHER_KEY = "steps under trajectory instead of history"
FAILED = "run that failed without a step"
NO_SUCCESS, NO_SCENARIO = "run without success", "run without a scenario"
NO_QUESTION = "run without a question"
NO_VERDICT, NO_TRIAL = "run without a judge's log", "judge's log without trial_index"
NAMED_MODEL = "model taken from the file name"
NO_MODEL = "run without a model"
_MODEL = re.compile(
    r"_(?P<model>[a-z][a-z0-9.]*(?:-[a-z0-9.]+)+)_(?:agent_as_tool|plan_execute|verified_pe)_"
)
_MAPPED = frozenset(["question", "answer", "history", "trajectory"])
_KNOWN = _MAPPED | {
    *("success", "failed_tools", "max_turns_exhausted", "turn_count", "tool_call_count"),
    *("runner_meta", "scenario", "usage", "error", "effective_question", "self_ask"),
    *("failed_steps", "raw_plan", "plan", "plan_normalization_warnings", "verification"),
    *("mitigation_guard", "mitigation_repair", "fault_risk_adjudication", "raw_stdout_excerpt"),
}
_SCENARIO_FIELDS = ("characteristic_form", "text")


def read(
    path: Path, *, workflows: Path | None = None, roles: Mapping[str, str] | None = None
) -> Iterator[Record | BadRecord]:
    """The runs of a file or folder; neither workflows nor roles play a part here."""
    files = _files(path)
    upstream, bad = _upstream(path)
    others = beside(path) if path.is_dir() else Beside()
    yield from (*bad, *others.bad)
    known, names = others.paths(), {upstream.get(name, name) for name, _ in files}
    used: set[str] = set()
    for name, file in files:
        key = matched(upstream.get(name, name), known, names)
        used |= {key} if key else set()
        yield from _run(name, file, others, key)
    for verdicts in (v for run, v in sorted(others.verdicts.items()) if run not in used):
        for verdict in verdicts:
            yield BadRecord(verdict.where, f"no run here is its {verdict.run!r:.200}")
    yield from others.strays()
    for run in sorted(others.audits.keys() - used - others.verdicts.keys()):
        yield BadRecord("annotations", f"no run here is the audited {run!r:.200}")


def _files(path: Path) -> list[tuple[str, Path]]:
    """(path inside the input, file) of every run: of `trajectories`, else of the whole folder."""
    if not path.is_dir():
        return [(path.name, path)]
    folder = path / RUNS if (path / RUNS).is_dir() else path
    found = (
        file
        for file in folder.rglob("*.json")
        if file != path / INDEX and file.is_file() and _is_run(file.relative_to(path))
    )
    return sorted((file.relative_to(path).as_posix(), file) for file in found)


def _is_run(inside: Path) -> bool:
    """Whether a file of the input can be a run: what stands beside runs has folders of its own."""
    hidden = any(part.startswith(".") for part in inside.parts)
    return not hidden and not BESIDE & set(inside.parts[:-1])


def _upstream(path: Path) -> tuple[dict[str, str], list[BadRecord]]:
    """From the path of a file here to its path where it was scored, as `index.json` says."""
    index = path / INDEX
    if not path.is_dir() or not index.is_file():
        return {}, []
    try:
        rows = expect(parsed(whole(index), INDEX), list, "index")
        found = {}
        for n, row in enumerate(rows, start=1):
            entry = expect(row, dict, f"[{n}]")
            here = expect(entry.get("file"), str, f"[{n}].file")
            found[here] = text_at(entry, "upstream", f"[{n}].upstream") or here
    except BadRecord as bad:
        return {}, [located(INDEX, bad)]
    return found, []


def _run(name: str, file: Path, others: Beside, key: str | None) -> Iterator[Record | BadRecord]:
    lone = file.suffix == ".json"
    for item in json_values(file):
        if isinstance(item, BadRecord):
            yield item
            continue
        verdicts = in_time(others.verdicts.get(key, []) if key else [])
        labels = numbered(verdicts)
        first = {(s.name, s.source): s for v in reversed(verdicts) for s in v.signals}
        signals = list(first.values())
        signals += others.audits.get(key, []) if key else []
        warnings = Counter(
            {
                NO_VERDICT: int(bool(others.verdicts) and not verdicts),
                NO_TRIAL: sum(not v.has_trial for v in verdicts),
            }
        )
        scenario = verdicts[0].scenario if verdicts else ""
        try:
            yield run_of(item[1], name if lone else item[0], warnings, labels, signals, scenario)
        except BadRecord as bad:
            yield located(name, bad)


def run_of(
    value: Any,
    name: str,
    warnings: Counter[str] | None = None,
    labels: list[LabelRecord] | None = None,
    signals: list[SignalRecord] | None = None,
    scored: str = "",
) -> TrajectoryRecord:
    """One run. `name` is its path, `scored` the scenario a judge names where the run names none."""
    data = expect(value, dict, "run")
    counts = warnings if warnings is not None else Counter()
    scenario = dict_at(data, "scenario", "scenario")
    meta_of_runner = dict_at(data, "runner_meta", "runner_meta")
    model = text_at(meta_of_runner, "model_id", "runner_meta.model_id")
    steps = parts.steps_of(_history(data, counts), model, counts)
    question = text_at(data, "question", "question")
    _count_missing(data, not steps, counts)
    rest_of(data, _KNOWN, counts)
    meta = {k: v for k, v in data.items() if k not in (*_MAPPED, "scenario")}
    if scenario:
        meta["scenario"] = {k: v for k, v in scenario.items() if k not in _SCENARIO_FIELDS}
    return trajectory(
        _ident(name),
        question or text_at(scenario, "text", "scenario.text"),
        steps,
        where=name,
        meta=meta,
        model=model or _model_named(name, counts),
        question=text_of(expect(scenario.get("id", scored), (str, int), "scenario.id")),
        expected=text_at(scenario, "characteristic_form", "scenario.characteristic_form"),
        response=text_of(data.get("answer")),
        signals=signals or (),
        labels=labels or (),
        warnings=positive(counts),
    )


def _count_missing(data: Mapping[str, Any], stepless: bool, counts: Counter[str]) -> None:
    """Count what a run does not hold."""
    counts[NO_STEPS] += stepless
    counts[FAILED] += stepless and bool(data.get("error"))
    counts[NO_RESPONSE] += not text_of(data.get("answer")).strip()
    counts[NO_SUCCESS] += "success" not in data
    counts[NO_SCENARIO] += not data.get("scenario")
    counts[NO_QUESTION] += not data.get("question")


def _ident(name: str) -> str:
    """The path of a run without its ending and without the folder of all runs."""
    return name.removesuffix(".json").removeprefix(f"{RUNS}/")


def _history(data: Mapping[str, Any], warnings: Counter[str]) -> list[Any]:
    """The steps under whichever of the two keys; raises BadRecord when neither is a list."""
    key = "history" if "history" in data or "trajectory" not in data else "trajectory"
    warnings[OTHER_KEY] += key == "trajectory"
    return list(expect(data.get(key), list, key))


def _model_named(name: str, warnings: Counter[str]) -> str:
    match = _MODEL.search(name)
    warnings[NAMED_MODEL if match else NO_MODEL] += 1
    return match["model"] if match else ""
