"""Tasks and steps of AgentHive's logs, and the oddities of theirs that are kept and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from benchmark.formats.reading import expect
from benchmark.formats.runs import dict_at, list_at, rest_of, text_at, text_of
from benchmark.records import StepRecord

LONG = 20_000
LEAKS = ("(END OF", "Let's solve a new problem")
TYPO = "trajectroy_log"
MISSPELT = "steps under the misspelt key trajectroy_log"
SHORT_LOG = "steps taken from logs.trajectory"
NO_LOG = "task without a step"
CODE = "action is a list of code"
NO_INPUT = "action without an input"
FINAL = "action is a final answer"
NO_OBSERVATION = "step without an observation"
LONG_OBSERVATION = f"observation of more than {LONG:,} characters"
NO_STATE = "step without a state"
BAD_ACTION, BAD_FINAL = "state Invalid Action", "state Invalid Final Answer"
NO_ANSWER = "task without a response"
LEAK = "prompt text inside an answer"
OTHER_FINAL = "final_answer differs from the response"
NO_ROLE = "history entry without a role"
LEFT_OUT = "prompt, demonstration, scratchpad and history left out"
RAW = "raw output differs from the parsed part and is kept"

_TASK = frozenset(["task_number", "task_description", "agent_name", "response", "logs"])
_PROMPTS = ("system_prompt", "demonstration", "scratchpad", "history")
_STEP = ("step", "thought", "action", "action_input", "observation", "state")
_RAW = (
    ("raw_llm_thought_output", "thought"),
    ("raw_llm_action_output", "action"),
    ("raw_observation_output", "observation"),
)
_LOGS = frozenset(
    f"type task environment endstate {TYPO} trajectory info final_answer reviews "
    "reflections".split()
) | frozenset(_PROMPTS)
_KNOWN_STEP = frozenset(_STEP) | {
    *("raw_llm_thought_output", "raw_llm_action_output", "raw_observation_output"),
    *("raw_llm_output", "is_loop_detected", "additional_scratchpad_feedback"),
    *("step_trajectory_file_name", "step_metric_file_name"),
    *("step_trajectory_json", "step_metric_json"),
}


@dataclass(frozen=True, slots=True)
class Task:
    """A task of a run: its steps, its answer ("" where it gave none) and what else it holds."""

    steps: list[StepRecord]
    response: str
    meta: dict[str, Any]


def task_of(item: Mapping[str, Any], what: str, warnings: Counter[str]) -> Task:
    """One task; its response is that of its last step, of a step of its own where it has none."""
    logs = dict_at(item, "logs", f"{what}.logs")
    agent = text_at(item, "agent_name", f"{what}.agent_name")
    response = text_at(item, "response", f"{what}.response")
    head = {name: item[name] for name in ("task_number", "task_description") if name in item}
    steps = [
        replace(step, agent=agent, meta=head | dict(step.meta))
        for step in _steps(logs, f"{what}.logs", warnings)
    ]
    if steps:
        steps[-1] = replace(steps[-1], response=response)
    elif response:
        steps = [StepRecord(1, agent, response=response, meta=head)]
    warnings[NO_ANSWER] += not response.strip()
    warnings[LEAK] += leaks(response)
    meta = head | {"agent_name": agent} | rest_of(item, _TASK, warnings)
    return Task(steps, response, meta | _kept(logs, f"{what}.logs", item, warnings))


def leaks(answer: str) -> bool:
    """Whether words of the prompt stand in an answer, at its end or anywhere."""
    return answer.rstrip().endswith("Question") or any(mark in answer for mark in LEAKS)


def _kept(
    logs: Mapping[str, Any], what: str, item: Mapping[str, Any], warnings: Counter[str]
) -> dict[str, Any]:
    """What a task's log says beside its steps and prompts, where it says anything."""
    for entry in list_at(logs, "history", f"{what}.history"):
        warnings[NO_ROLE] += isinstance(entry, dict) and "role" not in entry
    warnings[LEFT_OUT] += any(logs.get(name) for name in _PROMPTS)
    names = ("type", "environment", "endstate", "info", "reviews", "reflections")
    kept = {k: logs[k] for k in names if logs.get(k)} | rest_of(logs, _LOGS, warnings)
    if text_of(logs.get("task")).strip() != text_of(item.get("task_description")).strip():
        kept["task"] = logs.get("task")
    final = logs.get("final_answer")
    if final is not None and final != item.get("response"):
        warnings[OTHER_FINAL] += 1
        kept["final_answer"] = final
    return {k: v for k, v in kept.items() if v is not None}


def _steps(logs: Mapping[str, Any], what: str, warnings: Counter[str]) -> list[StepRecord]:
    for key, build in ((TYPO, _full_step), ("trajectory", plain_step)):
        items = list_at(logs, key, f"{what}.{key}")
        if items:
            warnings[MISSPELT if key == TYPO else SHORT_LOG] += 1
            return [
                build(expect(v, dict, f"{what}.{key}[{n}]"), f"{what}.{key}[{n}]", n, warnings)
                for n, v in enumerate(items, start=1)
            ]
    warnings[NO_LOG] += 1
    return []


def plain_step(
    item: Mapping[str, Any], what: str, position: int, warnings: Counter[str]
) -> StepRecord:
    """A step of thought, action and observation only."""
    meta = rest_of(item, frozenset(("thought", "action", "observation")), warnings)
    texts = (text_of(item.get(name)) for name in ("thought", "action", "observation"))
    thought, action, observation = texts
    _count_texts(item.get("action"), observation, warnings)
    return StepRecord(position, thought=thought, action=action, observation=observation, meta=meta)


def _full_step(
    item: Mapping[str, Any], what: str, position: int, warnings: Counter[str]
) -> StepRecord:
    action, given = code_of(item.get("action")), text_of(item.get("action_input"))
    observation, state = text_of(item.get("observation")), text_of(item.get("state"))
    _count_texts(item.get("action"), observation, warnings)
    warnings[NO_INPUT] += not given
    for name, mark in ((NO_STATE, ""), (BAD_ACTION, "Invalid Action")):
        warnings[name] += state == mark
    warnings[BAD_FINAL] += state == "Invalid Final Answer"
    rest_of(item, _KNOWN_STEP, warnings)
    raw = dict(_RAW)
    meta = {k: v for k, v in item.items() if k not in _STEP and k not in raw and v}
    meta |= {"state": state, "action_input": given} | _raw(item, action, warnings)
    if isinstance(item.get("action"), list):
        meta["code"] = item["action"] if len(item["action"]) > 1 else len(item["action"])
    return StepRecord(
        expect(item.get("step", position), int, f"{what}.step"),
        thought=text_of(item.get("thought")),
        action=f"{action}\n{given}" if given else action,
        observation=observation,
        meta=meta,
    )


def code_of(action: Any) -> str:
    """An action as text; of a list of code its parts, one under another."""
    return "\n\n".join(map(text_of, action)) if isinstance(action, list) else text_of(action)


def _raw(item: Mapping[str, Any], action: str, warnings: Counter[str]) -> dict[str, Any]:
    """The raw outputs in which the parsed part does not stand."""
    kept = {}
    for raw, name in _RAW:
        part = action if name == "action" else text_of(item.get(name))
        if item.get(raw) and part.strip() not in text_of(item[raw]):
            kept[raw] = item[raw]
    warnings[RAW] += bool(kept)
    return kept


def _count_texts(action: Any, observation: str, warnings: Counter[str]) -> None:
    warnings[CODE] += isinstance(action, list)
    warnings[FINAL] += isinstance(action, str) and action.lstrip().startswith("Final Answer")
    warnings[NO_OBSERVATION] += not observation
    warnings[LONG_OBSERVATION] += len(observation) > LONG
