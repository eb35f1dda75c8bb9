"""What a detector of the first off-track turn is (DialFork, task 3).

A streaming detector measures how suspicious each assistant turn is, larger being more suspicious,
and alarms at the first value above a cut that was set on conformant training dialogues. Its
generator answers on turn t before turn t + 1 is read, so it cannot look ahead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray


class ObservedTurn(NamedTuple):
    """A turn as a detector sees it: no label, no slot, nothing of how it was made.

    Only turns that are scored (user and assistant turns that say something) are observed. `number`
    counts all turns of the dialogue from 1, `vector` has shape (d,).
    """

    number: int
    role: str
    text: str
    vector: NDArray[Any]


class Suspicion(NamedTuple):
    """How suspicious a judged (assistant) turn is. `number` counts all turns from 1."""

    number: int
    value: float


class Detector(Protocol):
    """A fitted streaming detector.

    `calibration` holds the largest suspicion of each training dialogue that has a judged turn.
    """

    @property
    def calibration(self) -> Sequence[float]: ...

    def watch(self, turns: Iterable[ObservedTurn]) -> Iterator[Suspicion]:
        """The suspicion of each judged turn, as the turns come."""
        ...

    def watch_all(self, dialogues: Sequence[Sequence[ObservedTurn]]) -> list[list[Suspicion]]:
        """What `watch` gives for each dialogue, computed together."""
        ...

    def cut(self, alpha: float) -> float | None:
        """The value above which a turn is an alarm; None where there are too few dialogues."""
        ...


class OfflineMethod(Protocol):
    """A method that reads the whole dialogue before it answers."""

    @property
    def calibration(self) -> Sequence[float]: ...

    def onset(self, turns: Sequence[ObservedTurn]) -> tuple[int | None, float | None]:
        """The turn at which the dialogue would leave its workflow, and how strongly it does.

        (None, None) where no turn can be judged.
        """
        ...

    def cut(self, alpha: float) -> float | None: ...


def first_alarm(suspicions: Iterable[Suspicion], cut: float | None) -> int | None:
    """The number of the first turn whose suspicion exceeds `cut`; None without one."""
    if cut is None:
        return None
    return next((number for number, value in suspicions if value > cut), None)
