"""AssetOpsBench's agent runner: a run per document, its turns with tool calls and their outputs.

Several calls of one turn are several steps under the number of the turn. What a turn says beside
its calls is the thought of its first step; a last turn without a call is the final response.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmark.formats.building import from_values, trajectory
from benchmark.formats.reading import expect
from benchmark.formats.runs import (
    NO_RESPONSE,
    NO_STEPS,
    call_text,
    each,
    list_at,
    positive,
    rest_of,
    run_files,
    text_at,
    text_of,
)
from benchmark.records import BadRecord, Record, StepRecord, TrajectoryRecord

NO_OUTPUT = "tool call without an output"
EMPTY_TURN = "turn without text and without a call"
PARALLEL = "several tool calls in one turn"
OTHER_ANSWER = "answer differs from the last turn"
_KNOWN = frozenset(["run_id", "scenario_id", "runner", "model", "question", "answer", "trajectory"])
_TURN = frozenset(["index", "text", "tool_calls", "input_tokens", "output_tokens", "duration_ms"])
_CALL = frozenset(["name", "input", "id", "output", "duration_ms"])


def read(
    path: Path, *, workflows: Path | None = None, roles: Mapping[str, str] | None = None
) -> Iterator[Record | BadRecord]:
    """The runs of a file or folder; neither workflows nor roles play a part here."""
    for file in run_files(path):
        yield from from_values(each(file), run_of)


def run_of(value: Any, where: str) -> TrajectoryRecord:
    """One run; its agent is the runner, its question the scenario."""
    data = expect(value, dict, "run")
    warnings: Counter[str] = Counter()
    inner = expect(data.get("trajectory"), dict, "trajectory")
    agent = text_at(data, "runner", "runner")
    turns = expect(inner.get("turns"), list, "trajectory.turns")
    steps: list[StepRecord] = []
    for position, turn in enumerate(turns):
        what = f"trajectory.turns[{position + 1}]"
        last = position == len(turns) - 1
        steps += _steps(expect(turn, dict, what), what, position, agent, last, warnings)
    answer = text_at(data, "answer", "answer")
    said = steps[-1].response if steps else ""
    warnings[NO_STEPS] += not steps
    warnings[NO_RESPONSE] += not (answer or said)
    warnings[OTHER_ANSWER] += bool(answer and said) and answer.strip() != said.strip()
    meta = rest_of(data, _KNOWN, warnings)
    meta |= {"runner": agent} | {k: v for k, v in inner.items() if k != "turns"}
    return trajectory(
        expect(data.get("run_id"), (str, int), "run_id"),
        text_at(data, "question", "question"),
        steps,
        where=where,
        meta=meta,
        model=text_at(data, "model", "model"),
        question=text_of(expect(data.get("scenario_id", ""), (str, int), "scenario_id")),
        response=answer or said,
        warnings=positive(warnings),
    )


def _steps(
    turn: Mapping[str, Any],
    what: str,
    position: int,
    agent: str,
    last: bool,
    warnings: Counter[str],
) -> Iterator[StepRecord]:
    number = expect(turn.get("index", position), int, f"{what}.index")
    text = text_at(turn, "text", f"{what}.text")
    calls = list_at(turn, "tool_calls", f"{what}.tool_calls")
    meta = {k: v for k, v in turn.items() if k not in ("index", "text", "tool_calls")}
    rest_of(turn, _TURN, warnings)
    warnings[PARALLEL] += len(calls) > 1
    if not calls:
        warnings[EMPTY_TURN] += not text.strip()
        said = {"response": text} if last else {"thought": text}
        yield StepRecord(number, agent, **said, meta=meta)
    for n, call in enumerate(calls):
        item = expect(call, dict, f"{what}.tool_calls[{n + 1}]")
        name = text_at(item, "name", f"{what}.tool_calls[{n + 1}].name")
        rest_of(item, _CALL, warnings)
        warnings[NO_OUTPUT] += item.get("output") is None
        own = {k: item[k] for k in item if k not in ("name", "input", "output")}
        yield StepRecord(
            number,
            agent,
            thought="" if n else text,
            action=call_text(name, item.get("input")),
            observation=text_of(item.get("output")),
            meta=({} if n else meta) | {"tool": name, "call": own},
        )
