"""Which step comes next: delta, and the five corrupted ways delta' of choosing it.

A progression sees where a conversation stands and returns the step to take and what is left
to do. Sources: DialFork, section 2 (delta) and appendix B (five strategies).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

REPEAT_AGAIN = 0.65
REPEAT_AT_FIRST = 0.35
SKIP_AGAIN = 0.3


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a conversation stands before an assistant turn.

    `pending`: the steps that delta still prescribes in this situation, in order, the terminal one
    last; `done`: steps taken, the start first; `allowed`: what may follow the last step under any
    observation; `forked`: assistant turns since the fork (0 at the fork itself).
    """

    pending: Sequence[str]
    done: Sequence[str]
    terminal: str
    allowed: Collection[str] = ()
    forked: int = 0


Choice = tuple[str, list[str]]
Progression = Callable[[Standing, random.Random], Choice]


def follow(at: Standing, rng: random.Random) -> Choice:
    """delta itself: the step that is due."""
    if not at.pending:
        return at.terminal, []
    return at.pending[0], list(at.pending[1:])


def repeat(at: Standing, rng: random.Random) -> Choice:
    """Come back to a finished step; now and then take the one that is due."""
    room = len(at.pending) > 1
    again = REPEAT_AGAIN if len(set(at.done)) > 2 else REPEAT_AT_FIRST
    if at.forked and room and rng.random() > again:
        return follow(at, rng)
    finished = list(dict.fromkeys(at.done[1:])) or [at.done[0]]
    earlier = [step for step in finished if step != at.done[-1]] or finished
    return rng.choice(earlier), list(at.pending)


def skip(at: Standing, rng: random.Random) -> Choice:
    """Leave out the step that is due and take a later one as though it had been done."""
    place = _first_forbidden(at)
    if place and (not at.forked or rng.random() < SKIP_AGAIN):
        return at.pending[place], list(at.pending[place + 1 :])
    return follow(at, rng)


def reorder(at: Standing, rng: random.Random) -> Choice:
    """Take later steps before earlier ones; the terminal one comes last where it can."""
    last = len(at.pending) - 1
    place = _first_forbidden(at)
    if at.forked or not place:
        place = min(2, last - 1) if last > 1 else 0
    elif place < last - 1 and rng.random() < 0.5:
        place += 1
    return follow(at, rng) if last < 1 else _take(at.pending, place)


def close_early(at: Standing, rng: random.Random) -> Choice:
    """Say what ends the procedure, and keep on saying it."""
    beside = at.pending[-2] if len(at.pending) > 2 else at.terminal
    if beside not in at.done and rng.random() < 0.5:
        return beside, list(at.pending)
    return at.terminal, list(at.pending)


def stall(at: Standing, rng: random.Random) -> Choice:
    """Stay at the step reached last and never take the next one."""
    return at.done[-1], list(at.pending)


PROGRESSIONS: Mapping[str, Progression] = MappingProxyType(
    {
        "follow": follow,
        "repeat": repeat,
        "skip": skip,
        "reorder": reorder,
        "close_early": close_early,
        "stall": stall,
    }
)


def possible(strategy: str, at: Standing) -> bool:
    """Whether a strategy can show itself at once: a step is ahead that is not allowed yet."""
    return strategy in {"repeat", "stall"} or _first_forbidden(at) > 0


def _first_forbidden(at: Standing) -> int:
    """Place (from 1) of the first pending step after the due one that no observation allows now.

    0 when there is none: leaving out an optional step is not a deviation.
    """
    places = range(1, len(at.pending))
    return next((place for place in places if at.pending[place] not in at.allowed), 0)


def _take(pending: Sequence[str], place: int) -> Choice:
    return pending[place], [*pending[:place], *pending[place + 1 :]]
