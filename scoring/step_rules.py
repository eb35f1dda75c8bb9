"""Rules about the order of agents or actions that anybody can declare.

A rule is a list of names in order, such as `IoT, TSFM`: each must occur, and the first occurrence
of each not before that of the one before it. `not:NAME` says that NAME must not occur before the
next name without "not:". This is the form of sdialog's ToolSequenceValidator as its documentation
has it (0.5.3; in its code a leading "not:" works the other way round, see the tests). Beyond it,
`when NAME` at the end restricts a rule to runs in which NAME occurs, so that "a forecast needs data
first" is `not:TSFM, IoT when TSFM` (Trajel, section 3.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

NOT = "not:"
AGENTS, ACTIONS = OVER = ("agents", "actions")
MOST_NAMES, MOST_CHARACTERS = 50, 2000
_WHEN = re.compile(r"\s+when\s+", re.IGNORECASE)
_CALL = re.compile(r"\s*([\w.:-]+)")


class BadOrder(ValueError):
    """A rule of order that cannot be read; the message says why and what is allowed."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name in a rule, with `*` for any characters; case does not matter."""

    pattern: str
    forbidden: bool = False

    def fits(self, event: str) -> bool:
        """Whether `event` is meant."""
        return fnmatchcase(event.strip().lower(), self.pattern.lower())


@dataclass(frozen=True, slots=True)
class OrderRule:
    """Names in order, and the name without which the rule does not speak of a run ("" always)."""

    names: tuple[Name, ...]
    when: Name | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """How a run stands to a rule.

    `kept` is None where the rule does not speak of it. `step` is the position (from 1) of the step
    that breaks it, None where a name that must occur is missing at the end; `why` says it in words.
    """

    kept: bool | None
    step: int | None = None
    why: str = ""


def parse(text: str) -> OrderRule:
    """`A, not:B, C when D` as a rule; raises BadOrder."""
    if len(text) > MOST_CHARACTERS:
        raise BadOrder(f"a rule has at most {MOST_CHARACTERS} characters")
    body, *condition = _WHEN.split(text.strip())
    if len(condition) > 1:
        raise BadOrder("“when” may stand once, at the end")
    names = tuple(_name(part) for part in body.split(","))
    if len(names) > MOST_NAMES:
        raise BadOrder(f"a rule has at most {MOST_NAMES} names; this one has {len(names)}")
    if names[-1].forbidden:
        last = f"{NOT}{names[-1].pattern}"
        raise BadOrder(f"{last} stands last: say before which name it must not occur")
    when = None
    if condition:
        when = _name(condition[0])
        if when.forbidden:
            raise BadOrder("“when” takes a plain name")
    return OrderRule(names, when, text.strip())


def events_of(steps: Iterable[tuple[str, str]], over: str = AGENTS) -> list[str]:
    """What a rule speaks of, a name per step: `steps` holds (agent, action).

    Of an action it is the name before its arguments ("" where there is none).
    """
    if over == AGENTS:
        return [agent for agent, _ in steps]
    return [match[1] if (match := _CALL.match(action)) else "" for _, action in steps]


def check(rule: OrderRule, events: Sequence[str]) -> Kept:
    """How a whole run stands to `rule`; `events` has a name per step, see `events_of`."""
    if rule.when and not any(rule.when.fits(event) for event in events):
        return Kept(None, why=f"{rule.when.pattern} does not occur")
    for found in broken_so_far(rule, events):
        if found is not None:
            return found
    for name in rule.names:
        if not name.forbidden and not any(name.fits(event) for event in events):
            return Kept(False, why=f"{name.pattern} does not occur")
    return Kept(True)


def broken_so_far(rule: OrderRule, events: Iterable[str]) -> Iterator[Kept | None]:
    """After each step, what has broken the rule for good by then; it sees no later step.

    A name that is still missing breaks nothing yet. With `when`, a rule is broken from the step on
    at which its name has occurred too.
    """
    first: dict[int, int] = {}
    broken: Kept | None = None
    applies = rule.when is None
    for position, event in enumerate(events, start=1):
        applies = applies or (rule.when is not None and rule.when.fits(event))
        new = [n for n, name in enumerate(rule.names) if n not in first and name.fits(event)]
        first |= dict.fromkeys(new, position)
        if broken is None:
            broken = next((b for n in new if (b := _breaks(rule, first, n, position))), None)
        yield broken if applies else None


def _breaks(rule: OrderRule, first: dict[int, int], n: int, position: int) -> Kept | None:
    """What the first occurrence of name `n` breaks."""
    name = rule.names[n]
    if name.forbidden:
        after = next(m for m in range(n + 1, len(rule.names)) if not rule.names[m].forbidden)
        if first.get(after, position + 1) <= position:
            return None
        why = f"{name.pattern} occurs before {rule.names[after].pattern}"
        return Kept(False, position, why)
    needed = [m for m in range(n) if not rule.names[m].forbidden]
    if missing := [m for m in needed if m not in first]:
        why = f"{name.pattern} occurs before {rule.names[missing[0]].pattern}"
        return Kept(False, position, why)
    return None


def _name(part: str) -> Name:
    text = part.strip()
    forbidden = text.lower().startswith(NOT)
    text = text[len(NOT) :].strip() if forbidden else text
    if not text:
        raise BadOrder("a name is missing; write names with commas between them")
    return Name(text, forbidden)
