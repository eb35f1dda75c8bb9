"""Chat messages with tool calls as agent runs.

The text of an assistant message is the thought of its first call, each call an action, the tool's
answer (known by its call id) the observation. A last assistant message without a call is the final
response. Several calls of one message are several steps under one number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmark.formats.building import from_values, trajectory
from benchmark.formats.messages import IDS, LISTS, calls_of, text_of
from benchmark.formats.reading import expect
from benchmark.formats.runs import (
    NO_RESPONSE,
    NO_STEPS,
    call_text,
    each,
    positive,
    run_files,
    text_at,
)
from benchmark.formats.runs import text_of as as_text
from benchmark.formats.speakers import message_role
from benchmark.records import (
    ACTION,
    ASSISTANT,
    OBSERVATION,
    SYSTEM,
    USER,
    BadRecord,
    Record,
    StepRecord,
    TrajectoryRecord,
)

UNANSWERED = "tool call without an answer"
ORPHAN = "tool answer without a call"
REPEATED_ANSWER = "second answer to one tool call"
BY_ORDER = "tool answer without a call id, given to the first open call"
REPEATED_ID = "call id that repeats"
PARALLEL = "several tool calls in one message"
NO_TASK = "run without a message of a user"
LATER_USER = "message of the user within the run"
_NAMES = ("model", "question", "expected")


def read(
    path: Path, *, workflows: Path | None = None, roles: Mapping[str, str] | None = None
) -> Iterator[Record | BadRecord]:
    """The runs of a file or folder; `workflows` says nothing here."""

    def build(value: Any, where: str) -> TrajectoryRecord:
        return run_of(value, where, roles)

    for file in run_files(path):
        yield from from_values(each(file), build)


def run_of(value: Any, where: str, roles: Mapping[str, str] | None = None) -> TrajectoryRecord:
    """One chat as a run; without an id it is named after its place (`chats.jsonl:7`).

    The task is what the user says first; the fields model, question and expected are taken as they
    are. Raises BadRecord naming the message or field that does not fit.
    """
    data = expect(value, dict, "run")
    key = next((k for k in LISTS if k in data), None)
    if key is None:
        raise BadRecord("run", f"needs one of the fields {', '.join(LISTS)}")
    chat = _Chat(roles)
    messages = expect(data[key], list, key)
    for number, message in enumerate(messages, start=1):
        what = f"{key}[{number}]"
        chat.take(expect(message, dict, what), what, number)
    warnings = chat.finished()
    ident = next((k for k in IDS if data.get(k) is not None), None)
    left = (key, ident, *_NAMES)
    meta = {k: v for k, v in data.items() if k not in left}
    if chat.prompt:
        meta["system_prompt"] = "\n\n".join(chat.prompt)
    return trajectory(
        data[ident] if ident else where,
        chat.task,
        chat.steps,
        where=where,
        meta=meta,
        model=text_at(data, "model", "model"),
        question=as_text(expect(data.get("question", ""), (str, int), "question")),
        expected=as_text(data.get("expected")),
        response=chat.response,
        warnings=positive(warnings),
    )


class _Chat:
    """The steps of a chat, a message at a time; `open` holds positions of calls yet unanswered."""

    def __init__(self, roles: Mapping[str, str] | None) -> None:
        self.roles = roles
        self.warnings: Counter[str] = Counter()
        self.steps: list[StepRecord] = []
        self.prompt: list[str] = []
        self.task = self.response = ""
        self.asked = False
        self.open: dict[str, int] = {}
        self.answered: set[str] = set()
        self.last_says = False

    def take(self, message: dict[str, Any], what: str, number: int) -> None:
        """Add one message; `number` is its place, from 1."""
        name = expect(message.get("role", message.get("from")), str, f"{what}.role")
        role = message_role(name, self.roles, f"{what}.role")
        content = message["content"] if "content" in message else message.get("value")
        text = text_of(content, f"{what}.content", self.warnings)
        if not text and isinstance(message.get("refusal"), str):
            text = message["refusal"]
        agent = message["name"] if isinstance(message.get("name"), str) else name
        self.last_says = role == ASSISTANT and not calls_of(message, what)
        if role == SYSTEM:
            self.prompt.append(text)
        elif role == USER:
            self._user(text, agent, number)
        elif role == OBSERVATION:
            self._answer(message, text, what, number)
        elif role == ACTION:
            self._open(str(number), StepRecord(number, agent, action=text))
        else:
            self._assistant(message, text, agent, what, number)

    def finished(self) -> Counter[str]:
        """The counts after the last message; its text is the final response if it calls nothing."""
        if self.last_says:
            last = self.steps[-1]
            self.response = last.thought
            self.steps[-1] = replace(last, thought="", response=last.thought)
        self.warnings[UNANSWERED] += len(self.open)
        self.warnings[NO_TASK] += not self.asked
        self.warnings[NO_STEPS] += not self.steps
        self.warnings[NO_RESPONSE] += not self.response.strip()
        return self.warnings

    def _user(self, text: str, agent: str, number: int) -> None:
        if not self.asked:
            self.asked, self.task = True, text
            return
        self.warnings[LATER_USER] += 1
        self.steps.append(StepRecord(number, agent, response=text, meta={"role": USER}))

    def _assistant(
        self, message: dict[str, Any], text: str, agent: str, what: str, number: int
    ) -> None:
        calls = calls_of(message, what)
        self.warnings[PARALLEL] += len(calls) > 1
        if not calls:
            self.steps.append(StepRecord(number, agent, thought=text))
        for n, call in enumerate(calls):
            inner = call["function"] if isinstance(call.get("function"), dict) else call
            name = as_text(inner.get("name"))
            action = call_text(name, inner.get("arguments", inner.get("input")))
            ident = as_text(call.get("id")) or f"{number}.{n}"
            step = StepRecord(
                number,
                agent,
                thought="" if n else text,
                action=action,
                meta={"tool": name, "call_id": call.get("id")},
            )
            self._open(ident, step)

    def _open(self, ident: str, step: StepRecord) -> None:
        if ident in self.open:
            self.warnings[REPEATED_ID] += 1
            self.warnings[UNANSWERED] += 1
        self.open[ident] = len(self.steps)
        self.answered.discard(ident)
        self.steps.append(step)

    def _answer(self, message: dict[str, Any], text: str, what: str, number: int) -> None:
        """Give a tool's answer to its call; one that has none is a step of its own."""
        given = expect(message.get("tool_call_id") or "", (str, int), f"{what}.tool_call_id")
        ident = as_text(given)
        if not ident and self.open:
            self.warnings[BY_ORDER] += 1
            ident = next(iter(self.open))
        if ident in self.open:
            position = self.open.pop(ident)
            self.answered.add(ident)
            self.steps[position] = replace(self.steps[position], observation=text)
            return
        self.warnings[REPEATED_ANSWER if ident in self.answered else ORPHAN] += 1
        meta = {"tool_call_id": ident}
        name = message["name"] if isinstance(message.get("name"), str) else ""
        self.steps.append(StepRecord(number, name, observation=text, meta=meta))
