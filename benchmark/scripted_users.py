"""The user of a scripted conversation: somebody with slots and a mood, drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Mapping

from benchmark.diversions import courtesies
from benchmark.phrasing import draw_text, expand
from benchmark.records import WorkflowRecord
from benchmark.scripted_agents import Said, Talk
from benchmark.scripts import ANSWER, script_of

MOST_ASIDES = 2


class User:
    """A person with slots and a mood who answers what the assistant asks, also off procedure."""

    def __init__(self, workflow: WorkflowRecord, talk: Talk) -> None:
        self.workflow = workflow
        self.talk = talk
        self.script = script_of(workflow)

    def open(self, rng: random.Random) -> str:
        """The first turn: a greeting and the request."""
        hello = expand(rng.choice(courtesies()["hello"]), rng, {})
        return f"{hello} {draw_text(self.script['request'], rng, {})}"

    def answer(self, said: Said, rng: random.Random, *, wander: float | None = None) -> str:
        """Answer a turn; `wander` is the chance of a side question (None: the mood's own)."""
        if said.ends:
            return expand(rng.choice(courtesies()["bye"]), rng, {})
        mood = self.talk.scenario.mood
        text = self._reply(said, mood, rng)
        if mood == "hesitant" and said.text.endswith("?") and rng.random() < 0.6:
            text = f"{expand(rng.choice(courtesies()['hesitate']), rng, {})} {text}"
        if said.step and said.step != ANSWER:
            if said.step in self.workflow.terminals and wander:
                mood, wander = "eager", 0.4
            text = self._wander(self._volunteer(text, said.step, mood, rng), mood, rng, wander)
        self.talk.said.add(text)
        return text

    def _reply(self, said: Said, mood: str, rng: random.Random) -> str:
        talk = self.talk
        slot = self.script["steps"].get(said.step, {}).get("slot", "")
        if not slot:
            if not said.replies:
                return draw_text(courtesies()["go_on"], rng, {}, avoid=talk.said)
            return self._of_the_situation(said, rng)
        already, right = slot in talk.told, talk.scenario.values[slot]
        talk.told.add(slot)
        values = {**talk.scenario.values, "right": right, "wrong": talk.scenario.wrong[slot]}
        if already and said.step not in talk.done[:-1]:
            return draw_text(courtesies()["confirm"], rng, values, avoid=talk.said)
        if mood == "terse" and rng.random() < 0.6:
            return expand("{right}.", rng, values)
        if mood == "corrects" and not talk.corrected and rng.random() < 0.6:
            talk.corrected = True
            return draw_text(courtesies()["correct"], rng, values)
        return draw_text(said.replies, rng, values, avoid=talk.said)

    def _of_the_situation(self, said: Said, rng: random.Random) -> str:
        """An answer without a slot; the same once more where it tells how things are."""
        talk = self.talk
        if said.step in talk.answers:
            return talk.answers[said.step]
        text = draw_text(said.replies, rng, talk.scenario.values, avoid=talk.said)
        if isinstance(self.script["steps"].get(said.step, {}).get("reply"), Mapping):
            talk.answers[said.step] = text
        return text

    def _volunteer(self, text: str, step: str, mood: str, rng: random.Random) -> str:
        """Tell what the next step will ask for, when the user is eager to get on."""
        due = next((s for s in self.talk.pending if s != step), "")
        slot = self.script["steps"].get(due, {}).get("slot", "")
        chance = 0.6 if mood == "eager" else 0.04
        if not slot or slot in self.talk.told or rng.random() > chance:
            return text
        self.talk.told.add(slot)
        extra = self.script["slots"][slot]["extra"]
        return f"{text} {expand(extra, rng, self.talk.scenario.values)}"

    def _wander(self, text: str, mood: str, rng: random.Random, wander: float | None) -> str:
        talk = self.talk
        if mood == "chatty" and talk.chats < 2 and rng.random() < 0.35:
            talk.chats += 1
            remark = self.script["chat"][
                (talk.scenario.seed + talk.chats) % len(self.script["chat"])
            ]
            return f"{text} {expand(remark, rng, {})}"
        most = MOST_ASIDES if wander is None else len(talk.scenario.asides)
        chance = (0.3 if mood == "digresses" else 0.1) if wander is None else wander
        if talk.asides >= most or rng.random() > chance:
            return text
        talk.aside = talk.scenario.asides[talk.asides]
        talk.asides += 1
        return f"{text} {expand(self.script['asides'][talk.aside][0], rng, {})}"
