"""A workflow as a numbered list that a person can follow while reading."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from annotation.titles import in_words

STATE, REPLY = "state", "reply"


@dataclass(frozen=True, slots=True)
class Node:
    """A step as stored: `kind` is "action", "state" (a condition, never uttered) or "reply".

    A state that `is_start` is where every conversation begins, so no step waits for it.
    """

    key: str
    text: str = ""
    kind: str = "action"
    is_start: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """An allowed move, under `observation` ("" when it needs nothing)."""

    source: str
    target: str
    observation: str = ""


@dataclass(frozen=True, slots=True)
class Way:
    """How it goes on: to step `number`, under `condition` ("" when always)."""

    condition: str
    number: int


@dataclass(frozen=True, slots=True)
class Line:
    """One step. `when` names conditions the step waits for; `ways` is empty where the next step
    follows, or nothing does."""

    number: int
    text: str
    when: tuple[str, ...] = ()
    ways: tuple[Way, ...] = ()


def lines(steps: Sequence[Node], moves: Iterable[Move]) -> list[Line]:
    """The actions of a workflow, numbered from 1, with branches in words.

    States are not steps of their own: they become conditions of the ways that pass through them.
    """
    table = _Table(steps, moves)
    found = []
    for key, number in table.numbers.items():
        ways = tuple(dict.fromkeys(table.ways(key)))
        plain = ways == (Way("", number + 1),)
        found.append(
            Line(number, table.words(key), table.conditions_into(key), () if plain else ways)
        )
    return found


def extras(steps: Iterable[Node]) -> list[str]:
    """Utterances allowed at any time, outside the order."""
    return [step.text or in_words(step.key) for step in steps if step.kind == REPLY]


class _Table:
    def __init__(self, steps: Sequence[Node], moves: Iterable[Move]) -> None:
        self.nodes: Mapping[str, Node] = {step.key: step for step in steps}
        actions = [step.key for step in steps if step.kind not in (STATE, REPLY)]
        self.numbers = {key: number for number, key in enumerate(actions, start=1)}
        self.out: dict[str, list[Move]] = defaultdict(list)
        self.into: dict[str, list[Move]] = defaultdict(list)
        for move in moves:
            self.out[move.source].append(move)
            self.into[move.target].append(move)

    def words(self, key: str) -> str:
        return self.nodes[key].text or in_words(key)

    def ways(self, key: str) -> list[Way]:
        """Where `key` leads, walking through states and collecting what they say."""
        found: list[Way] = []
        stack = [(move, ()) for move in reversed(self.out[key])]
        seen = {key}
        while stack:
            move, conditions = stack.pop()
            said = conditions + ((move.observation,) if move.observation else ())
            if move.target in self.numbers:
                found.append(Way(", ".join(said), self.numbers[move.target]))
            elif move.target not in seen and move.target in self.nodes:
                seen.add(move.target)
                said += (in_words(move.target),)
                stack += [(on, said) for on in reversed(self.out[move.target])]
        return found

    def conditions_into(self, key: str) -> tuple[str, ...]:
        """States that nothing leads to and that lead to `key`: it waits for them."""
        waits = [
            in_words(move.source)
            for move in self.into[key]
            if move.source not in self.numbers
            and not self.into[move.source]
            and not self.nodes[move.source].is_start
        ]
        return tuple(dict.fromkeys(waits))
