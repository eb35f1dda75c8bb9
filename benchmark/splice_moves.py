"""delta': how the splice engine corrupts the choice of steps (SSPC), one function per strategy.

A strategy re-arranges the source's own assistant turns from the fork point on, each with the human
reply that belongs to it, until the drawn length is reached; it never returns to the procedure.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from benchmark.bank import bank_turns
from benchmark.records import SSPC, USER, TurnRecord
from benchmark.splice_pool import Pieces, opens_with_assent

REMINDERS = ("As I said: ", "Again: ", "Like I told you: ", "", "", "")
MAX_CLOSERS = 3


@dataclass(frozen=True, slots=True)
class Exchange:
    """An assistant turn of a fork, its step, whether that step was guessed, and what follows it."""

    turn: TurnRecord
    step: str
    guessed: bool
    reply: tuple[TurnRecord, ...]


@dataclass
class Stage:
    """Where a fork is being written: the source, the fork point and the number of turns to fill.

    `at` is the place of the fork among assistant turns, from 0; `length` how many assistant turns
    to write, `due` how many the source has from there; `fillers` brief human turns;
    `reworded(turn)` the same said by another person.
    """

    source: Pieces
    at: int
    length: int
    due: int
    rng: random.Random
    fillers: Sequence[TurnRecord]
    reworded: Callable[[TurnRecord], TurnRecord]
    written: list[Exchange] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._taken = set(range(self.at))
        self._waiting = [r for r in self.source.replies[self.at : -1] if r]

    @property
    def full(self) -> bool:
        return len(self.written) >= self.length

    @property
    def done(self) -> list[int]:
        """Places of steps taken so far, in the order of the source."""
        return sorted(self._taken)

    def take(self, place: int, reply: tuple[TurnRecord, ...] | None = None) -> None:
        """Say the source's assistant turn `place`; by default the user answers as in the source."""
        source = self.source
        if reply is None:
            last = place == len(source.said) - 1
            own = () if last else source.replies[place]
            reply = self._once_more(own) if place in self._taken else self._first_time(own)
        self._taken.add(place)
        self.written.append(
            Exchange(source.said[place], source.labels[place], source.guessed[place], reply)
        )

    def put(self, turn: TurnRecord, reply: tuple[TurnRecord, ...] | None = None) -> None:
        """Say a turn from the bank; by default the user replies briefly."""
        self.written.append(
            Exchange(turn, turn.label, False, self.brief() if reply is None else reply)
        )

    def brief(self) -> tuple[TurnRecord, ...]:
        """A short human turn that fits after anything; nothing if the task has none."""
        return (self.rng.choice(self.fillers),) if self.fillers else ()

    def waiting(self) -> tuple[TurnRecord, ...]:
        """The next human turn of the source that has not been used, else a brief one."""
        return self._waiting.pop(0) if self._waiting else self.brief()

    def _first_time(self, own: tuple[TurnRecord, ...]) -> tuple[TurnRecord, ...]:
        return tuple(self.reworded(turn) for turn in own) or self.brief()

    def _once_more(self, own: tuple[TurnRecord, ...]) -> tuple[TurnRecord, ...]:
        lead = self.rng.choice(REMINDERS)
        return tuple(_reminding(lead, turn) for turn in own) or self.brief()


def _reminding(lead: str, turn: TurnRecord) -> TurnRecord:
    """A human turn said a second time, unless it tells nothing that one could be reminded of."""
    if turn.role != USER or not turn.text.strip() or opens_with_assent(turn.text):
        return turn
    return replace(turn, text=lead + turn.text.strip())


Strategy = Callable[[Stage, int], None]


def _repeat(stage: Stage, first: int) -> None:
    """Mostly turns that were said before; one new step after every two of them.

    At the first assistant turn nothing has been done yet: the fork then opens with a step out of
    turn, and repeats from there.
    """
    stage.take(first)
    again = 1
    while not stage.full:
        ahead = [i for i in range(stage.at, len(stage.source.said)) if i not in stage.done]
        if again >= 2 and ahead:
            stage.take(ahead[0])
            again = 0
        else:
            last = stage.written[-1].turn
            other = [i for i in stage.done if stage.source.said[i] is not last]
            stage.take(stage.rng.choice(other or stage.done))
            again += 1


def _skip(stage: Stage, first: int) -> None:
    """Later steps in their order with further ones left out; at the end the last two go on."""
    place = first
    while not stage.full and place < len(stage.source.said):
        stage.take(place)
        place += stage.rng.choice((1, 2))
    ends = stage.done[-2:]
    while not stage.full:
        last = stage.written[-1].turn
        stage.take(next((i for i in ends if stage.source.said[i] is not last), ends[0]))


def _reorder(stage: Stage, first: int) -> None:
    """From step `first` backwards to the due one, then the others from the end; then again."""
    ahead = range(stage.at, len(stage.source.said))
    order = [*range(first, stage.at - 1, -1), *(i for i in reversed(ahead) if i > first)]
    while not stage.full:
        stage.take(order[len(stage.written) % len(order)])


def _close_early(stage: Stage, first: int) -> None:
    """Only the turns with which the source ends, while the user goes on with what is open."""
    closers = _closers(stage)
    start = closers.index(first)
    while not stage.full:
        place = closers[(start + len(stage.written)) % len(closers)]
        stage.take(place, stage.waiting())


def _stall(stage: Stage, first: int) -> None:
    """The user is put off, with the present step in between, and goes on in vain."""
    holding = bank_turns(SSPC, "stall", stage.rng)
    while not stage.full:
        if first >= 0 and len(stage.written) % 3 == 1:
            stage.take(first, stage.waiting())
        else:
            stage.put(next(holding), stage.waiting())


def _closers(stage: Stage) -> list[int]:
    total = len(stage.source.said)
    return list(range(max(stage.at + 1, total - MAX_CLOSERS), total))


def _repeatable(stage: Stage) -> list[int]:
    if stage.at:
        return stage.rng.sample(range(stage.at), stage.at)
    return _jumps(stage)


def _jumps(stage: Stage) -> list[int]:
    return list(range(stage.at + 1, len(stage.source.said)))


def _backwards(stage: Stage) -> list[int]:
    return stage.rng.sample(later := range(stage.at + 1, len(stage.source.said)), len(later))


def _present(stage: Stage) -> list[int]:
    return [stage.at - 1]


STRATEGIES: dict[str, tuple[Strategy, Callable[[Stage], list[int]]]] = {
    "repeat": (_repeat, _repeatable),
    "skip": (_skip, _jumps),
    "reorder": (_reorder, _backwards),
    "close_early": (_close_early, _closers),
    "stall": (_stall, _present),
}


def written_by(strategy: str, new_stage: Callable[[], Stage]) -> Iterator[list[Exchange]]:
    """Every way the strategy can begin at this fork point, each written out to its full length.

    `new_stage` gives an empty stage with the same seed each time. Nothing is yielded where the
    strategy is impossible, for example when no step is left to leave out.
    """
    write, begins = STRATEGIES[strategy]
    for first in begins(new_stage()):
        stage = new_stage()
        write(stage, first)
        yield stage.written
