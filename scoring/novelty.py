"""Is a reply like any that conformant dialogues gave: two detectors that know no workflow.

An assistant turn is measured by three signals in [0, 2], each larger for a stranger turn: f1, the
mean distance of the three nearest known replies to such a user turn; f2, that of the three nearest
known moves from such an assistant turn; f3, the rarity of its new words. Together

    L = log(0.05 + (f1 / .75)^4 + (f2 / .70)^4 + (f3 / .60)^4),    A = L - 0.2 r,

r being the number of assistant turns (at most 4) that followed the most similar known ones: A asks
for more while much of the dialogue remains.

L has an exact form. The dialogue watched, as far as it has come, joins the bag of every training
dialogue, so all n + 1 are measured alike. A further turn lets the largest values of the training
dialogues only fall and its own only rise; hence p never rises, and an alarm at p <= alpha at any
turn is as rare as the conformal p-value of the whole dialogue promises (see `conformal`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from scoring import conformal
from scoring.novelty_bag import Encounter, TurnBag, mean_nearest
from scoring.novelty_words import Floats
from scoring.onset_methods import ObservedTurn, Suspicion

EXACT, LEAVE_ONE_OUT = "exact", "leave_one_out"
FORMS = (EXACT, LEAVE_ONE_OUT)
SCALES = (0.75, 0.70, 0.60)
FLOOR = 0.05
WEIGHT_OF_REMAINING = 0.2


def fit(
    train: Sequence[Sequence[ObservedTurn]], *, remaining: bool = False, form: str = EXACT
) -> ExactNovelty | Novelty:
    """The detector that knows these conformant dialogues.

    With `remaining` it is A, which has the form "leave_one_out" only; else L, "exact" or
    "leave_one_out". Raises ValueError for another form, or when no dialogue has an assistant turn.
    """
    forms = (LEAVE_ONE_OUT,) if remaining else FORMS
    if form not in forms:
        raise ValueError(f"form is {form!r}; it must be one of {', '.join(forms)}")
    bag = TurnBag(train)
    return ExactNovelty(bag) if form == EXACT else Novelty(bag, remaining=remaining)


class Novelty:
    """L, or A with `remaining`, with thresholds from leaving each training dialogue out once.

    The values of a dialogue do not depend on one another, nor on alpha. The share of false alarms
    is near alpha in practice; for a promise use `ExactNovelty`.
    """

    def __init__(self, bag: TurnBag, *, remaining: bool = False) -> None:
        self.bag = bag
        self.weight = WEIGHT_OF_REMAINING if remaining else 0.0
        alone = bag.alone(one_more=False)
        values = np.log(
            strangeness(_mean(alone.replies.T), _mean(alone.transitions.T), alone.rarity)
        )
        self.turn_values = values - self.weight * alone.remaining
        self.calibration: list[float] = np.maximum.reduceat(self.turn_values, bag.starts).tolist()

    def watch(self, turns: Iterable[ObservedTurn]) -> Iterator[Suspicion]:
        """The value of each assistant turn, as the turns come."""
        return (self._judged(found) for found in self.bag.read(turns))

    def watch_all(self, dialogues: Sequence[Sequence[ObservedTurn]]) -> list[list[Suspicion]]:
        """What `watch` gives for each dialogue."""
        return [[self._judged(found) for found in each] for each in self.bag.read_all(dialogues)]

    def cut(self, alpha: float) -> float | None:
        return conformal.cut(self.calibration, alpha)

    def promise(self, alpha: float) -> str:
        """What a user may rely on at this level, as one sentence."""
        return conformal.promise(self.bag.dialogues, alpha, exact=False)

    def _judged(self, found: Encounter) -> Suspicion:
        value = math.log(own_strangeness(found))
        if self.weight:
            value -= self.weight * self.bag.remaining_after(found.says)
        return Suspicion(found.number, value)


class ExactNovelty:
    """L in its exact form. The suspicion of a turn is -p of the dialogue up to it, so that it
    exceeds `cut(alpha)` exactly where p <= alpha; it never falls as the dialogue goes on."""

    def __init__(self, bag: TurnBag) -> None:
        self.bag = bag
        alone = bag.alone(one_more=True)
        self._replies = np.ascontiguousarray(alone.replies.T)
        self._transitions = np.ascontiguousarray(alone.transitions.T)
        self._rarity = alone.rarity
        self._postings = bag.postings()
        values = strangeness(_mean(self._replies), _mean(self._transitions), self._rarity)
        largest = np.maximum.reduceat(values, bag.starts)
        # Each training dialogue among all of them, itself included.
        ranks = np.count_nonzero(largest >= largest[:, None] - conformal.SLACK, axis=1)
        self.calibration: list[float] = (-ranks / bag.dialogues).tolist()

    def watch(self, turns: Iterable[ObservedTurn]) -> Iterator[Suspicion]:
        """-p after each assistant turn, as the turns come."""
        return self._judged(self.bag.read(turns))

    def watch_all(self, dialogues: Sequence[Sequence[ObservedTurn]]) -> list[list[Suspicion]]:
        """What `watch` gives for each dialogue."""
        return [list(self._judged(each)) for each in self.bag.read_all(dialogues)]

    def cut(self, alpha: float) -> float | None:
        return conformal.p_cut(self.bag.dialogues, alpha)

    def promise(self, alpha: float) -> str:
        """What a user may rely on at this level, as one sentence."""
        return conformal.promise(self.bag.dialogues, alpha)

    def _judged(self, encounters: Iterable[Encounter]) -> Iterator[Suspicion]:
        replies, transitions = self._replies.copy(), self._transitions.copy()
        rarities = self._rarity.copy()
        largest = 0.0
        for found in encounters:
            largest = max(largest, own_strangeness(found))
            join(replies, found.replies)
            join(transitions, found.transitions)
            self._postings.lower(rarities, found.heard)
            values = strangeness(_mean(replies), _mean(transitions), rarities)
            others = np.maximum.reduceat(values, self.bag.starts)
            yield Suspicion(found.number, -conformal.p_value(others, largest))


def strangeness(replies: Floats, transitions: Floats, rarities: Floats) -> Floats:
    """exp(L) of the three signals: it orders turns as L does."""
    total = np.full(np.shape(replies), FLOOR)
    for signal, scale in zip((replies, transitions, rarities), SCALES, strict=True):
        part = np.square(signal / scale)
        total += np.square(part, out=part) if part.ndim else part * part
    return total


def own_strangeness(found: Encounter) -> float:
    """exp(L) of a watched turn beside the whole bag."""
    signals = mean_nearest(found.replies), mean_nearest(found.transitions), found.rarity
    return FLOOR + math.fsum(
        (signal / scale) ** 4 for signal, scale in zip(signals, SCALES, strict=True)
    )


def join(least: Floats, distances: Floats) -> None:
    """Let one more turn join: `least`, shape (3, B), are the smallest distances, rising."""
    first, second, third = least
    np.minimum(third, np.maximum(second, distances), out=third)
    np.minimum(second, np.maximum(first, distances), out=second)
    np.minimum(first, distances, out=first)


def _mean(least: Floats) -> Floats:
    """Of the three rows, in fixed order of summation: it can only fall where a row falls."""
    return (least[0] + least[1] + least[2]) / len(least)
