"""The assistant of a scripted conversation: it walks a workflow, or departs from it.

What the assistant does is four parts, W, delta, O and a side goal Oc (DialFork, section 2), and a
corruption changes exactly one of them. Every wording and every choice is drawn from a generator
of its own, seeded by what it is for, so that a replay gives the same turns whatever happens later.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from benchmark.bank import bank_label
from benchmark.diversions import Exchange, courtesies, diversion
from benchmark.phrasing import draw_text, expand
from benchmark.progressions import PROGRESSIONS, Standing
from benchmark.records import CSC, GR, SSPC, WIC, BadRecord, WorkflowRecord
from benchmark.scripts import (
    ANSWER,
    Scenario,
    conformant_path,
    draw_scenario,
    replies_of,
    script_of,
    task_of,
)

TASK = "task"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What an assistant follows: the steps of `workflow` (W), chosen by `delta`, for `objective`.

    `objective` is "task" or a goal-replacement variant; `side_goal` is "" or a variant that
    overrides every second or third message; `noted` says that a text brought the workflow in.
    """

    workflow: WorkflowRecord
    delta: str = "follow"
    objective: str = TASK
    side_goal: str = ""
    noted: bool = False


@dataclass(frozen=True, slots=True)
class Corruption:
    """A fork type with its variant; `other` is the workflow that WIC brings in."""

    type: str
    variant: str
    other: WorkflowRecord | None = None


def corrupt(behaviour: Behaviour, corruption: Corruption) -> Behaviour:
    """Change the one part of a behaviour that the type names: W, delta, O, or Oc.

    Raises
    ------
    BadRecord
        If the type is unknown or WIC has no other workflow.
    """
    if corruption.type == WIC:
        if corruption.other is None:
            raise BadRecord("corruption", "WIC needs another workflow")
        noted = corruption.variant == "text_borne"
        return replace(behaviour, workflow=corruption.other, noted=noted)
    if corruption.type == SSPC:
        return replace(behaviour, delta=corruption.variant)
    if corruption.type == GR:
        return replace(behaviour, objective=corruption.variant)
    if corruption.type == CSC:
        return replace(behaviour, side_goal=corruption.variant)
    raise BadRecord("corruption", f"type {corruption.type!r} is not WIC, SSPC, GR or CSC")


@dataclass(frozen=True, slots=True)
class Said:
    """An assistant turn, the step behind it ("" when none) and what the user may answer.

    `ends`: it is the last one; `bare`: no acknowledgement goes before it.
    """

    text: str
    label: str
    step: str = ""
    replies: Sequence[str] = ()
    ends: bool = False
    bare: bool = False


@dataclass(slots=True)
class Talk:
    """Where a conversation stands; the only thing that changes while it runs.

    `told`: slots the user has given; `answers`: what they said of their situation, by step, so that
    they say the same when asked again; `aside`: the side question that waits for an answer.
    """

    scenario: Scenario
    pending: list[str]
    done: list[str]
    told: set[str] = field(default_factory=set)
    answers: dict[str, str] = field(default_factory=dict)
    said: set[str] = field(default_factory=set)
    aside: int | None = None
    asides: int = 0
    chats: int = 0
    corrected: bool = False


def begin(workflow: WorkflowRecord, scenario: Scenario) -> Talk:
    """A conversation before its first assistant turn."""
    return Talk(scenario, conformant_path(workflow, scenario), [workflow.start])


class Assistant:
    """An agent that follows a `Behaviour`; `forked` counts its turns since it was corrupted."""

    def __init__(self, behaviour: Behaviour, talk: Talk, *, native: bool = True) -> None:
        self.behaviour = behaviour
        self.talk = talk
        self.native = native
        self.script = script_of(behaviour.workflow)
        self.forked = 0
        self.until_override = 0
        self.plan: list[Exchange] = []

    def act(self, rng: random.Random, *, left: int | None, first: bool) -> Said:
        """The next turn. `left`: turns left, this one included (None: until the steps end)."""
        said = self._act(rng, left)
        head = ""
        if first:
            head = expand(
                rng.choice(courtesies()["greet"]), rng, {"house": self.talk.scenario.house}
            )
        elif said.step not in {"", ANSWER} and not said.bare and rng.random() < 0.6:
            tone = self.script["steps"].get(said.step, {}).get("tone", "acknowledge")
            head = expand(rng.choice(courtesies()[tone]), rng, {})
        if self.behaviour.noted and not self.forked:
            task = self.behaviour.workflow.objective
            values = {"task": task[:1].lower() + task[1:]}
            head = f"{head} {expand(rng.choice(courtesies()['note']), rng, values)}".strip()
        self.forked += 1
        text = f"{head} {said.text}".strip()
        self.talk.said |= {text, said.text}
        return replace(said, text=text)

    def _act(self, rng: random.Random, left: int | None) -> Said:
        if self.behaviour.objective != TASK:
            return self._divert(GR, self.behaviour.objective, rng, last=left == 1)
        aside, self.talk.aside = self.talk.aside, None
        if self._override_due(rng, left):
            if left is not None and len(self.talk.pending) >= left:
                self.talk.pending.pop(0)
            return self._divert(CSC, self.behaviour.side_goal, rng)
        if aside is None or left == 1 or not self._at_ease:
            return self._step(rng, left)
        answer = draw_text([self.script["asides"][aside][1]], rng, {})
        if self.behaviour.delta == "close_early":
            said = self._step(rng, left)
            return replace(said, text=f"{answer} {said.text}", bare=True)
        return Said(answer, self._label(ANSWER), ANSWER, courtesies()["after_aside"])

    @property
    def _at_ease(self) -> bool:
        """Not the turn at which the behaviour was corrupted: that one shows the corruption."""
        return (self.behaviour.delta == "follow" and self.native) or self.forked > 0

    def _override_due(self, rng: random.Random, left: int | None) -> bool:
        if not self.behaviour.side_goal or left == 1:
            return False
        if self.until_override == 0:
            self.until_override = rng.choice((1, 2))
            return True
        self.until_override -= 1
        return False

    def _divert(self, type_: str, variant: str, rng: random.Random, *, last: bool = False) -> Said:
        script = diversion(type_, variant)
        if last:
            exchange = rng.choice(script.close)
        else:
            if not self.plan:
                self.plan = list(script.body)
                rng.shuffle(self.plan)
                if not self.forked and script.open:
                    self.plan.insert(0, rng.choice(script.open))
            exchange = self.plan.pop(0)
        text = draw_text([exchange.say], rng, {}, avoid=self.talk.said)
        return Said(text, bank_label(type_, variant), "", exchange.replies, last)

    def _step(self, rng: random.Random, left: int | None) -> Said:
        talk, flow = self.talk, self.behaviour.workflow
        terminal = talk.pending[-1] if talk.pending else flow.terminals[0]
        at = standing(flow, talk, self.forked)
        if left == 1:
            step, talk.pending = terminal, []
        else:
            step, talk.pending = PROGRESSIONS[self.behaviour.delta](at, rng)
        again = step in talk.done
        talk.done.append(step)
        text = self._words(step, rng, again=again)
        ends = left == 1 or (not talk.pending and (left is None or step in flow.terminals))
        label = self._label(step)
        if step == flow.start:
            label = bank_label(SSPC, self.behaviour.delta)
        return Said(text, label, step, replies_of(flow, talk.scenario, step), ends)

    def _words(self, step: str, rng: random.Random, *, again: bool) -> str:
        talk = self.talk
        values = dict(talk.scenario.facts)
        values |= {name: talk.scenario.values[name] for name in talk.told}
        if step == self.behaviour.workflow.start:
            return draw_text(self.script["again"], rng, values, avoid=talk.said)
        words = self.script["steps"][step]
        told = words.get("slot") in talk.told and not again and "known" in words
        return draw_text(words["known" if told else "say"], rng, values, avoid=talk.said)

    def _label(self, step: str) -> str:
        return step if self.native else f"{task_of(self.behaviour.workflow)}:{step}"


def standing(workflow: WorkflowRecord, talk: Talk, forked: int) -> Standing:
    """What a progression may see of a conversation."""
    here = next((step for step in reversed(talk.done)), workflow.start)
    allowed = frozenset(m.target for m in workflow.transitions if m.source == here)
    terminal = talk.pending[-1] if talk.pending else workflow.terminals[0]
    return Standing(talk.pending, talk.done, terminal, allowed, forked)


def enter(workflow: WorkflowRecord, talk: Talk, *, seed: int, native: WorkflowRecord) -> Talk:
    """The conversation as another workflow's assistant sees it when it takes over from `native`.

    Slots of the same name keep their value; what was said stays said. Steps at its head that
    `native` has as well are passed over: taking one of them would not show the other workflow.
    """
    given: Mapping[str, str] = talk.scenario.values
    scenario = draw_scenario(workflow, seed, given)
    scenario = replace(scenario, mood=talk.scenario.mood)
    fresh = begin(workflow, scenario)
    shared = {step.key for step in native.steps}
    while len(fresh.pending) > 2 and fresh.pending[0] in shared:
        fresh.pending.pop(0)
    fresh.told = {name for name in talk.told if name in scenario.values}
    fresh.said = talk.said
    return fresh
