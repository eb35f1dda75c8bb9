"""Steps of smart-grid runs: turns with tool calls, and executed steps of a plan."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmark.formats.reading import expect
from benchmark.formats.runs import call_text, dict_at, list_at, rest_of, text_at, text_of
from benchmark.records import StepRecord

PARALLEL = "several tool calls in one turn"
NO_OUTPUT = "tool call without an output"
REPEATED = "step number that repeats"
HIDDEN_ERROR = "success though the response is an error"
SEVERAL = "response of several JSON values"
NO_TOOL = "step without a tool"
ERROR = "step with an error"
AS_TEXT, AS_OBJECT = "tool output wrapped as text", "tool output as an object"
AS_LIST, AS_STRING = "tool output as a list", "tool output as plain text"
_TURN = frozenset(["turn", "role", "content", "tool_calls"])
_CALL = frozenset(["name", "arguments", "call_id", "output"])
_MAPPED = frozenset(["step", "task", "server", "tool", "tool_args", "response"])
_KNOWN = _MAPPED | {
    *("error", "success", "executor_success", "retries_used", "verifier_decision"),
    *("verifier_reason", "verifier_updated_focus", "verifier_replan_raw_plan"),
    "verifier_replan_normalization_warnings",
}


def steps_of(items: Sequence[Any], model: str, warnings: Counter[str]) -> list[StepRecord]:
    """The steps of a run, in order; each entry is a turn (it has a role) or a step of a plan."""
    steps: list[StepRecord] = []
    numbers: set[int] = set()
    for position, value in enumerate(items, start=1):
        what = f"history[{position}]"
        item = expect(value, dict, what)
        if "role" in item or "turn" in item:
            steps += _turn(item, what, position, position == len(items), warnings)
            continue
        step = _planned(item, what, position, warnings)
        warnings[REPEATED] += step.number in numbers
        numbers.add(step.number)
        steps.append(step)
    return steps


def _turn(
    item: Mapping[str, Any], what: str, position: int, last: bool, warnings: Counter[str]
) -> Iterator[StepRecord]:
    """A turn as a step per call; without a call what it says is a thought, of the last a reply."""
    number = expect(item.get("turn", position), int, f"{what}.turn")
    agent = text_at(item, "role", f"{what}.role")
    text = text_of(item.get("content"))
    calls = list_at(item, "tool_calls", f"{what}.tool_calls")
    meta = rest_of(item, _TURN, warnings)
    warnings[PARALLEL] += len(calls) > 1
    if not calls:
        said = {"response": text} if last else {"thought": text}
        yield StepRecord(number, agent, **said, meta=meta)
    for n, value in enumerate(calls):
        call = expect(value, dict, f"{what}.tool_calls[{n + 1}]")
        name = text_at(call, "name", f"{what}.tool_calls[{n + 1}].name")
        own = {"tool": name, "call_id": call.get("call_id")} | rest_of(call, _CALL, warnings)
        yield StepRecord(
            number,
            agent,
            thought="" if n else text,
            action=call_text(name, call.get("arguments")),
            observation=_output(call.get("output"), warnings),
            meta=({} if n else meta) | own,
        )


def _output(value: Any, warnings: Counter[str]) -> str:
    """What a tool returned; text that came wrapped is unwrapped."""
    if value is None:
        warnings[NO_OUTPUT] += 1
        return ""
    if isinstance(value, dict) and set(value) == {"type", "text"} and value["type"] == "text":
        warnings[AS_TEXT] += 1
        return text_of(value["text"])
    kinds = {dict: AS_OBJECT, list: AS_LIST}
    warnings[kinds.get(type(value), AS_STRING)] += 1
    return text_of(value)


def _planned(
    item: Mapping[str, Any], what: str, position: int, warnings: Counter[str]
) -> StepRecord:
    """A step of a plan: its task is the thought; what comes without a tool is a response."""
    number = expect(item.get("step", position), int, f"{what}.step")
    tool, response = text_at(item, "tool", f"{what}.tool"), text_of(item.get("response"))
    used = tool not in ("", "none")
    warnings[NO_TOOL] += not used
    warnings[ERROR] += bool(item.get("error"))
    warnings[SEVERAL] += len(json_parts(response)) > 1
    warnings[HIDDEN_ERROR] += item.get("success") is True and is_error(response)
    rest_of(item, _KNOWN, warnings)
    arguments = dict_at(item, "tool_args", f"{what}.tool_args")
    return StepRecord(
        number,
        text_at(item, "server", f"{what}.server"),
        thought=text_at(item, "task", f"{what}.task"),
        action=call_text(tool, arguments) if used else "",
        observation=response if used else "",
        response="" if used else response,
        meta={"tool": tool} | {k: v for k, v in item.items() if k not in _MAPPED},
    )


def json_parts(text: str) -> list[Any]:
    """The JSON values that stand one after another in `text`; none where anything else does."""
    found, at, decoder = [], 0, json.JSONDecoder()
    text = text.strip()
    if not text.startswith(("{", "[")):
        return []
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return []
        found.append(value)
        while at < len(text) and text[at].isspace():
            at += 1
    return found


def is_error(response: str) -> bool:
    """Whether a tool answered with an error: in words, or as an object with an `error`."""
    if response.lstrip().lower().startswith("error"):
        return True
    return any(isinstance(p, dict) and p.get("error") for p in json_parts(response))
