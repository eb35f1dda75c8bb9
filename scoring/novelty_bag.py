"""The assistant turns of the training dialogues, and how far other turns are from them.

A turn stands with the user turn it answers and the assistant turn before it. Where two turns both
lack one of these the distance is 0, where one lacks it 1. Distances are 1 - cosine, rounded to nine
decimals, so that equal texts tie exactly whatever product they come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.records import ASSISTANT
from scoring.novelty_words import (
    Floats,
    NewWords,
    Postings,
    document_counts,
    rarity,
    word_weights,
)
from scoring.onset_methods import ObservedTurn
from scoring.turn_vectors import one_thread

Places = NDArray[np.intp]
NEAREST = 3
ALIKE = 5
MOST_REMAINING = 4.0
FARTHEST = 2.0
_ROWS_AT_ONCE = 256
_DIALOGUES_AT_ONCE = 64


class Encounter(NamedTuple):
    """A watched assistant turn beside the bag of B turns.

    `replies`, shape (B,), is the larger of the distances of the turns and of the user turns they
    answer; `transitions` that of the turns and of the assistant turns before them; `says` the
    distance of the turns alone. `rarity` is that of its new words; `heard` are all words first said
    in the dialogue since the last assistant turn, this one included.
    """

    number: int
    replies: Floats
    transitions: Floats
    says: Floats
    rarity: float
    heard: list[str]


class Texts:
    """Distinct unit rows, shape (m, d), and which of them each given vector is, shape (n,)."""

    def __init__(self, vectors: Sequence[NDArray[Any]]) -> None:
        places: dict[bytes, int] = {}
        kept = []
        of = np.empty(len(vectors), dtype=np.intp)
        for i, vector in enumerate(vectors):
            place = places.setdefault(np.asarray(vector).tobytes(), len(places))
            if place == len(kept):
                kept.append(vector)
            of[i] = place
        self.of = of
        self.rows = unit(np.array(kept)) if kept else np.zeros((0, 0))

    def distances(self, rows: Floats) -> Floats:
        """1 - cosine of unit rows, shape (q, d), with each text, shape (q, m + 1).

        The last column is the distance from a missing turn, which is 1.
        """
        found = np.ones((len(rows), len(self.rows) + 1))
        if len(self.rows) and len(rows):
            if len(rows) == 1:
                # Setting up the product of a single row takes longer than the row does.
                np.subtract(1.0, np.vecdot(self.rows, rows[0]), out=found[0, :-1])
            else:
                with one_thread():
                    np.subtract(1.0, rows @ self.rows.T, out=found[:, :-1])
            np.round(found, 9, out=found)
            np.clip(found, 0.0, FARTHEST, out=found)
        return found

    @cached_property
    def missing(self) -> Floats:
        """The distances of a missing turn, shape (m + 1,): 1 from every text, 0 from none."""
        found = np.ones(len(self.rows) + 1)
        found[-1] = 0.0
        return found

    def square(self) -> Floats:
        """Distances of all texts and of a missing turn with each other, shape (m + 1, m + 1)."""
        return np.vstack([self.distances(self.rows), self.missing])


def unit(vectors: NDArray[Any]) -> Floats:
    """The vectors in double precision, at length one; a zero row stays zero."""
    rows = vectors.astype(np.float64)
    lengths = np.sqrt(np.vecdot(rows, rows))[..., None]
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


@dataclass(frozen=True, slots=True)
class Alone:
    """Every turn of the bag beside the other dialogues of the bag only.

    `replies` and `transitions`, shape (B, 3), are its three smallest distances, rising (2 where
    there are fewer); `rarity` and `remaining` have shape (B,).
    """

    replies: Floats
    transitions: Floats
    rarity: Floats
    remaining: Floats


class TurnBag:
    """The judged turns of `dialogues` training dialogues, B in all, dialogue after dialogue.

    `says` are the texts of the turns, `asks` those of the user turns they answer; `say_of`,
    `ask_of` and `before_of`, shape (B,), tell which text belongs to a turn, and that of the
    assistant turn before it; `owner` tells its dialogue and `starts` where each dialogue begins.
    Dialogues without an assistant turn are left out. Raises ValueError when none is left.
    """

    def __init__(self, train: Iterable[Sequence[ObservedTurn]]) -> None:
        kept = [turns for turns in train if any(turn.role == ASSISTANT for turn in turns)]
        if not kept:
            raise ValueError("no training dialogue has a judged turn, so nothing is known")
        told = [list(_told(turns)) for turns in kept]
        turns = [turn for dialogue in told for turn in dialogue]
        lengths = np.array([len(dialogue) for dialogue in told], dtype=np.intp)
        self.dialogues = len(kept)
        self.starts = np.cumsum(lengths) - lengths
        self.owner = np.repeat(np.arange(len(lengths)), lengths)
        places = np.arange(len(turns))
        ends = (self.starts + lengths)[self.owner]
        self.remaining = (ends - 1 - places).astype(np.float64)
        self.says = Texts([turn.say for turn in turns])
        self.asks = Texts([turn.ask for turn in turns if turn.ask is not None])
        self.say_of = self.says.of
        self.before_of = np.where(
            places == self.starts[self.owner], len(self.says.rows), np.roll(self.say_of, 1)
        )
        self.ask_of = np.full(len(turns), len(self.asks.rows))
        self.ask_of[[turn.ask is not None for turn in turns]] = self.asks.of
        self.fresh = [turn.fresh for turn in turns]
        self.sizes = [turn.size for turn in turns]
        self.counts = document_counts((turn.text for turn in turns) for turns in kept)
        self.weights = word_weights(self.dialogues)

    def alone(self, *, one_more: bool) -> Alone:
        """Each turn of the bag beside the dialogues other than its own.

        With `one_more` a dialogue that has said nothing yet counts among the others.
        """
        says, asks = self.says.square(), self.asks.square()
        size = len(self.say_of)
        replies, transitions = np.empty((size, NEAREST)), np.empty((size, NEAREST))
        remaining = np.empty(size)
        for start in range(0, size, _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            own = self.owner[rows, None] == self.owner
            known = (size - own.sum(axis=1)).tolist()
            said = says[self.say_of[rows, None], self.say_of]
            said[own] = np.inf
            asked = asks[self.ask_of[rows, None], self.ask_of]
            before = says[self.before_of[rows, None], self.before_of]
            replies[rows] = nearest(np.maximum(said, asked))
            transitions[rows] = nearest(np.maximum(said, before))
            remaining[rows] = [self.remaining_after(*row) for row in zip(said, known, strict=True)]
        weights = word_weights(self.dialogues - (0 if one_more else 1))
        rarities = [
            rarity(fresh, size, self.counts, weights, own=1)
            for fresh, size in zip(self.fresh, self.sizes, strict=True)
        ]
        return Alone(replies, transitions, np.array(rarities), remaining)

    def remaining_after(self, says: Floats, known: int | None = None) -> float:
        """How many assistant turns follow the five turns nearest in `says`, shape (B,): the mean,
        at most 4. Turns that tie for the last places count in equal parts; 0 without any.

        Turns that are not `known` (B is the default) have an infinite distance.
        """
        places = min(ALIKE, len(says) if known is None else known)
        if not places:
            return 0.0
        last = np.partition(says, places - 1)[places - 1]
        nearer, tied = says < last, says == last
        missing = places - int(np.count_nonzero(nearer))
        some = float(nearer @ self.remaining)
        some += missing * float(tied @ self.remaining) / int(np.count_nonzero(tied))
        return min(some / places, MOST_REMAINING)

    def postings(self) -> Postings:
        """What the words of one more dialogue take off the rarity of each turn of the bag."""
        return Postings(self.fresh, self.sizes, self.counts, self.weights)

    def read(self, turns: Iterable[ObservedTurn]) -> Iterator[Encounter]:
        """The assistant turns of a dialogue beside the bag, as the turns come."""
        reader = _Reader(self)
        for turn in turns:
            texts = self.says if turn.role == ASSISTANT else self.asks
            found = reader.take(turn, texts.distances(unit(np.asarray(turn.vector)[None]))[0])
            if found is not None:
                yield found

    def read_all(self, dialogues: Sequence[Sequence[ObservedTurn]]) -> Iterator[list[Encounter]]:
        """What `read` gives for each dialogue, with one product for the distinct texts of many."""
        for start in range(0, len(dialogues), _DIALOGUES_AT_ONCE):
            part = dialogues[start : start + _DIALOGUES_AT_ONCE]
            rows = {
                judged: self._rows_of(texts, part, judged)
                for texts, judged in ((self.says, True), (self.asks, False))
            }
            for turns in part:
                reader = _Reader(self)
                taken = [reader.take(turn, next(rows[turn.role == ASSISTANT])) for turn in turns]
                yield [found for found in taken if found is not None]

    @staticmethod
    def _rows_of(
        texts: Texts, dialogues: Sequence[Sequence[ObservedTurn]], judged: bool
    ) -> Iterator[Floats]:
        """The distances of each assistant turn (or each user turn) in order."""
        distinct = Texts(
            [t.vector for turns in dialogues for t in turns if (t.role == ASSISTANT) is judged]
        )
        found = texts.distances(distinct.rows)
        return (found[place] for place in distinct.of)


class _Told(NamedTuple):
    say: NDArray[Any]
    ask: NDArray[Any] | None
    fresh: list[str]
    size: int


def _told(turns: Iterable[ObservedTurn]) -> Iterator[_Told]:
    words = NewWords()
    ask: NDArray[Any] | None = None
    for turn in turns:
        fresh, size = words.add(turn.text)
        if turn.role == ASSISTANT:
            yield _Told(turn.vector, ask, fresh, size)
            ask = None
        else:
            ask = turn.vector


class _Reader:
    """Where a dialogue stands beside the bag."""

    def __init__(self, bag: TurnBag) -> None:
        self._bag = bag
        self._words = NewWords()
        self._heard: list[str] = []
        self._ask = bag.asks.missing
        self._before = bag.says.missing

    def take(self, turn: ObservedTurn, row: Floats) -> Encounter | None:
        """Goes on by `turn`, whose distances from the texts of its role are `row`."""
        bag = self._bag
        fresh, size = self._words.add(turn.text)
        self._heard += fresh
        if turn.role != ASSISTANT:
            self._ask = row
            return None
        says = row[bag.say_of]
        found = Encounter(
            turn.number,
            np.maximum(says, self._ask[bag.ask_of]),
            np.maximum(says, self._before[bag.before_of]),
            says,
            rarity(fresh, size, bag.counts, bag.weights),
            self._heard,
        )
        self._heard, self._ask, self._before = [], bag.asks.missing, row
        return found


def nearest(distances: Floats) -> Floats:
    """The three smallest of each row, rising, shape (..., 3); 2 where there are fewer."""
    if distances.shape[-1] <= NEAREST:
        missing = NEAREST - distances.shape[-1]
        wide = [(0, 0)] * (distances.ndim - 1) + [(0, missing)]
        distances = np.pad(distances, wide, constant_values=FARTHEST)
    found = np.partition(distances, NEAREST - 1, axis=-1)[..., :NEAREST]
    return np.minimum(np.sort(found, axis=-1), FARTHEST)


def mean_nearest(distances: Floats) -> float:
    """The mean of `nearest` of one row."""
    if len(distances) < NEAREST:
        return float(nearest(distances).mean())
    return float(np.partition(distances, NEAREST - 1)[:NEAREST].sum()) / NEAREST
