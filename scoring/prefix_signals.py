"""Signals that can be read off the beginning of a run, while it is still going on.

Each is a generator: it takes one step after the other and says after each whether the signal is yes
by then. A later step cannot reach it, so nothing looks ahead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scoring.step_rules import OrderRule, broken_so_far, events_of

ERROR_WORDS = re.compile(
    r"\b(error|exception|traceback|failed|failure|not found|timed? ?out|invalid|denied)\b", re.I
)
MANY_STEPS = 10


@dataclass(frozen=True, slots=True)
class SeenStep:
    """A step as a monitor sees it; `meta` is whatever its format tells beside the texts."""

    agent: str = ""
    thought: str = ""
    action: str = ""
    observation: str = ""
    response: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)


Steps = Iterable[SeenStep]


def tool_error(steps: Steps) -> Iterator[bool]:
    """An observation has spoken of an error or a failure."""
    yield from _ever(steps, lambda step: bool(ERROR_WORDS.search(step.observation)))


def empty_observation(steps: Steps) -> Iterator[bool]:
    """An action has brought nothing back."""
    yield from _ever(steps, lambda step: bool(step.action) and not step.observation.strip())


def invalid_action(steps: Steps) -> Iterator[bool]:
    """The runner has called an action invalid (its `state` begins with "Invalid")."""
    yield from _ever(steps, lambda step: str(step.meta.get("state", "")).startswith("Invalid"))


def no_thought(steps: Steps) -> Iterator[bool]:
    """An agent has acted without a thought."""
    yield from _ever(steps, lambda step: bool(step.action) and not step.thought.strip())


def repeated_action(steps: Steps) -> Iterator[bool]:
    """The same agent has done the same thing twice and got the same answer: a loop."""
    done: set[tuple[str, str, str]] = set()
    found = False
    for step in steps:
        key = (step.agent, step.action.strip(), step.observation.strip())
        found = found or (bool(step.action.strip()) and key in done)
        done.add(key)
        yield found


def repeated_thought(steps: Steps) -> Iterator[bool]:
    """The same thought has come twice, word for word."""
    thought: set[str] = set()
    found = False
    for step in steps:
        text = step.thought.strip()
        found = found or (bool(text) and text in thought)
        thought.add(text)
        yield found


def many_steps(steps: Steps) -> Iterator[bool]:
    """The run is longer than MANY_STEPS steps: a hint, no fault."""
    for number, _ in enumerate(steps, start=1):
        yield number > MANY_STEPS


def order_broken(rule: OrderRule, over: str) -> Callable[[Steps], Iterator[bool]]:
    """A signal that is yes once `rule` about agents or actions is broken."""

    def signal(steps: Steps) -> Iterator[bool]:
        events = (events_of([(step.agent, step.action)], over)[0] for step in steps)
        found = False
        for broken in broken_so_far(rule, events):
            found = found or broken is not None
            yield found

    return signal


PREFIX_SIGNALS: Mapping[str, Callable[[Steps], Iterator[bool]]] = {
    "tool_error": tool_error,
    "empty_observation": empty_observation,
    "invalid_action": invalid_action,
    "no_thought": no_thought,
    "repeated_action": repeated_action,
    "repeated_thought": repeated_thought,
    "many_steps": many_steps,
}


def traced(
    steps: Sequence[SeenStep],
    names: Iterable[str],
    more: Mapping[str, Callable[[Steps], Iterator[bool]]] | None = None,
) -> list[dict[str, bool]]:
    """For each step, the signals `names` as they are by then; `more` adds signals by name.

    Raises KeyError for a name that is no signal of a beginning.
    """
    known = {**PREFIX_SIGNALS, **(more or {})}
    chosen = list(names)
    columns = [known[name](iter(steps)) for name in chosen]
    rows = zip(*columns, strict=True) if columns else iter([()] * len(steps))
    return [dict(zip(chosen, row, strict=True)) for row in rows]


def _ever(steps: Steps, test: Callable[[SeenStep], bool]) -> Iterator[bool]:
    found = False
    for step in steps:
        found = found or test(step)
        yield found
