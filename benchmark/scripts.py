"""What a workflow's script says, and one user's situation drawn from it.

A script is `WorkflowRecord.meta["script"]`, plain JSON, so that users can write their own:

- `house`: names the assistant answers under; `request`, `again`: how the user states the request
  and how the assistant asks for it; `chat`: remarks of a chatty user; `asides`: pairs of a side
  question and its answer;
- `slots`: what the user knows, each with `values` and `extra` (how it is volunteered);
- `facts`: what only the assistant knows, each a list of values;
- `odds`: per step the weights of the observations that leave it (equal when absent);
- `steps`: per step `say`, `reply` (a list, or one list per observation), and, when the step asks
  for a slot, `slot` and `known` (how it is said when the user has told already); `tone` "calm"
  keeps a step from being announced cheerfully.

Wordings are templates of `benchmark.phrasing`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.corruption import generator_of
from benchmark.phrasing import draw_value, slots_of
from benchmark.records import BadRecord, WorkflowRecord

ANSWER = "answer"
MOODS = ("plain", "terse", "chatty", "hesitant", "corrects", "eager", "digresses")
LONGEST_PATH = 60


@dataclass(frozen=True, slots=True)
class Scenario:
    """One user's situation: what they know, what the records hold, and their mood."""

    seed: int
    values: Mapping[str, str]
    wrong: Mapping[str, str]
    facts: Mapping[str, str]
    house: str
    mood: str
    asides: Sequence[int]


def task_of(workflow: WorkflowRecord) -> str:
    """The workflow's own name, without the corpus it is stored in: "demo/x" -> "x"."""
    return workflow.name.rsplit("/", 1)[-1]


def script_of(workflow: WorkflowRecord) -> Mapping[str, Any]:
    """The script of a workflow; BadRecord when there is none."""
    script = workflow.meta.get("script")
    if not script:
        raise BadRecord(workflow.name, "has no script in its meta; simulation needs one")
    return script


def check_script(workflow: WorkflowRecord) -> None:
    """Whether every action step has words that need nothing the user has not told yet.

    Raises
    ------
    BadRecord
        Naming the first step that has none.
    """
    script = script_of(workflow)
    for step in workflow.steps:
        if step.kind != "action":
            continue
        say = script["steps"].get(step.key, {}).get("say", ())
        if not any(slots_of(template) <= set(script["facts"]) for template in say):
            raise BadRecord(
                f"{workflow.name}, step {step.key}", "needs a wording without slots of the user"
            )


def draw_scenario(
    workflow: WorkflowRecord, seed: int, given: Mapping[str, str] | None = None
) -> Scenario:
    """Draw a situation; `given` fixes slots that are already settled (by name).

    Names are gone through in sorted order: a database may hand a script back in another order.
    """
    script = script_of(workflow)
    rng = generator_of(seed, "scenario", task_of(workflow))
    values, wrong = {}, {}
    for name, slot in sorted(script["slots"].items()):
        pair = rng.sample(slot["values"], 2)
        values[name], wrong[name] = (draw_value(pattern, rng) for pattern in pair)
    facts = {n: draw_value(rng.choice(v), rng) for n, v in sorted(script["facts"].items())}
    values.update({name: value for name, value in (given or {}).items() if name in values})
    house = rng.choice(script["house"])
    asides = rng.sample(range(len(script["asides"])), len(script["asides"]))
    return Scenario(seed, values, wrong, facts, house, rng.choice(MOODS), asides)


def observe(workflow: WorkflowRecord, scenario: Scenario, step: str, visit: int = 0) -> str:
    """What authorises the move out of `step` at its `visit`-th visit ("" when nothing needs to)."""
    choices = sorted({move.observation for move in workflow.transitions if move.source == step})
    if not choices:
        return ""
    odds = script_of(workflow).get("odds", {}).get(step, {})
    weights = [odds.get(choice, 1) for choice in choices]
    rng = generator_of(scenario.seed, "observation", task_of(workflow), step, visit)
    return rng.choices(choices, weights)[0]


def conformant_path(workflow: WorkflowRecord, scenario: Scenario) -> list[str]:
    """The steps from the start to a terminal one that delta prescribes in this situation.

    The start itself is left out when it is a state: it holds before the first turn.

    Raises
    ------
    BadRecord
        If no terminal step is reached.
    """
    kinds = {step.key: step.kind for step in workflow.steps}
    here = workflow.start
    path = [] if kinds[here] == "state" else [here]
    visits: dict[str, int] = {}
    while here not in workflow.terminals:
        seen = observe(workflow, scenario, here, visits.get(here, 0))
        visits[here] = visits.get(here, 0) + 1
        targets = [
            m.target for m in workflow.transitions if m.source == here and m.observation == seen
        ]
        if not targets or len(path) > LONGEST_PATH:
            raise BadRecord(workflow.name, f"no way from step {here} to a terminal step")
        here = targets[0]
        path.append(here)
    return path


def replies_of(workflow: WorkflowRecord, scenario: Scenario, step: str) -> Sequence[str]:
    """How the user may answer `step` in this situation."""
    script = script_of(workflow)
    if step == workflow.start:
        return script["request"]
    reply = script["steps"][step].get("reply", ())
    if isinstance(reply, Mapping):
        return reply[observe(workflow, scenario, step)]
    return reply
