"""How often the novelty detectors flag conformant dialogues, over many random training halves.

One split tells little of a promise that is about all of them. What two turns have to do with each
other is worked out once; a half then takes array operations only, and gives exactly what fitting
the detectors on it and watching the other half gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmark.records import ASSISTANT
from scoring import conformal
from scoring.novelty import WEIGHT_OF_REMAINING, join, strangeness
from scoring.novelty_bag import ALIKE, FARTHEST, MOST_REMAINING, NEAREST, TurnBag, nearest
from scoring.novelty_words import Floats, content_words, word_weights
from scoring.onset_methods import ObservedTurn

Mask = NDArray[np.bool_]
EXACT, LOOSE, REMAINING = "L exact", "L leave-one-out", "A leave-one-out"
DETECTORS = (EXACT, LOOSE, REMAINING)


class HalfWatched(NamedTuple):
    """What the detectors fitted on n dialogues say of the e others.

    `p`, shape (e,), is the least p of the exact form. `loose` and `remaining` are pairs: the
    calibration values, shape (n,), and the largest value of each other dialogue, shape (e,).
    """

    p: Floats
    loose: tuple[Floats, Floats]
    remaining: tuple[Floats, Floats]

    def flagged(self, alpha: float) -> dict[str, int]:
        """How many of the other dialogues each detector flags at this level."""
        n = len(self.loose[0])
        least = conformal.p_cut(n, alpha)
        counts = {EXACT: 0 if least is None else int(np.count_nonzero(-self.p > least))}
        for name, (calibration, largest) in ((LOOSE, self.loose), (REMAINING, self.remaining)):
            cut = conformal.cut(calibration.tolist(), alpha)
            counts[name] = 0 if cut is None else int(np.count_nonzero(largest > cut))
        return counts


class ConformantDialogues:
    """The m conformant dialogues of a workflow that have an assistant turn, in B turns.

    Memory is 6 B m doubles and B^2 of them: 100 MB for 200 dialogues of 10 assistant turns.
    Raises ValueError when there is none.
    """

    def __init__(self, dialogues: Sequence[Sequence[ObservedTurn]]) -> None:
        bag = TurnBag(dialogues)
        self.n = bag.dialogues
        self._bag = bag
        says, asks = bag.says.square(), bag.asks.square()
        shape = (len(bag.owner), self.n, NEAREST)
        self._replies, self._transitions = np.empty(shape), np.empty(shape)
        ends = [*bag.starts[1:], len(bag.owner)]
        for i, (start, end) in enumerate(zip(bag.starts, ends, strict=True)):
            said = says[bag.say_of[:, None], bag.say_of[start:end]]
            said[start:end] = FARTHEST
            asked = asks[bag.ask_of[:, None], bag.ask_of[start:end]]
            before = says[bag.before_of[:, None], bag.before_of[start:end]]
            self._replies[:, i] = nearest(np.maximum(said, asked))
            self._transitions[:, i] = nearest(np.maximum(said, before))
        self._says = says[bag.say_of[:, None], bag.say_of]
        self._says[bag.owner[:, None] == bag.owner] = np.inf
        self._read_words(dialogues)

    def _read_words(self, dialogues: Sequence[Sequence[ObservedTurn]]) -> None:
        bag = self._bag
        places = {word: i for i, word in enumerate(bag.counts)}
        judged = [turns for turns in dialogues if any(t.role == ASSISTANT for t in turns)]
        said = [[content_words(turn.text) for turn in turns] for turns in judged]
        # A detector has heard a dialogue up to its last assistant turn when it answers last.
        last = [max(i for i, t in enumerate(turns) if t.role == ASSISTANT) for turns in judged]
        whole = [{places[w] for words in each for w in words} for each in said]
        heard = [
            {places[w] for words in each[: end + 1] for w in words}
            for each, end in zip(said, last, strict=True)
        ]
        self._whole, self._heard = _presence(whole, len(places)), _presence(heard, len(places))
        rows = [[places[word] for word in fresh] for fresh in bag.fresh]
        self._fresh = _presence(rows, len(places))
        sizes = np.maximum(np.array(bag.sizes, dtype=np.float64), 1.0)
        self._fresh = sparse.diags_array(1.0 / sizes) @ self._fresh

    def watch(self, train: Mask) -> HalfWatched:
        """Fit on the dialogues where `train`, shape (m,), is true; watch the others."""
        known = train[self._bag.owner]
        replies = nearest(self._replies[:, train].reshape(len(known), -1))
        transitions = nearest(self._transitions[:, train].reshape(len(known), -1))
        means = replies.mean(axis=1), transitions.mean(axis=1)
        counts = np.asarray(self._whole[train].sum(axis=0)).ravel().astype(np.intp)
        n = int(train.sum())
        watched = self._fresh @ word_weights(n)[counts]
        without = np.maximum(counts - 1, 0)
        alone = self._fresh @ word_weights(n - 1)[np.minimum(without, n - 1)]
        values = np.log(strangeness(*means, np.where(known, alone, watched)))
        largest = self._largest(values)
        asked = values - WEIGHT_OF_REMAINING * self._remaining(known)
        asked_largest = self._largest(asked)
        own = np.exp(largest[~train])
        p = self._exact(train, replies[known], transitions[known], counts, own)
        return HalfWatched(
            p,
            (largest[train], largest[~train]),
            (asked_largest[train], asked_largest[~train]),
        )

    def _largest(self, values: Floats) -> Floats:
        return np.maximum.reduceat(values, self._bag.starts)

    def _remaining(self, known: Mask) -> Floats:
        """r of every turn from the known ones of other dialogues."""
        says, after = self._says[:, known], self._bag.remaining[known]
        places = np.minimum(np.isfinite(says).sum(axis=1), ALIKE)
        at = np.maximum(places - 1, 0)
        low = np.partition(says, min(ALIKE, says.shape[1]) - 1, axis=1)[:, :ALIKE]
        last = np.take_along_axis(np.sort(low, axis=1), at[:, None], axis=1)
        nearer, tied = says < last, (says == last) & np.isfinite(says)
        ties = tied @ after / np.maximum(tied.sum(axis=1), 1)
        some = nearer @ after + (places - nearer.sum(axis=1)) * ties
        return np.minimum(some / np.maximum(places, 1), MOST_REMAINING)

    def _exact(
        self,
        train: Mask,
        replies: Floats,
        transitions: Floats,
        counts: NDArray[np.intp],
        own: Floats,
    ) -> Floats:
        """The last p of each watched dialogue, once it has joined the bag of all others."""
        known = train[self._bag.owner]
        n, others = int(train.sum()), np.flatnonzero(~train)
        weights = word_weights(n)
        without = np.maximum(counts - 1, 0)
        fresh = self._fresh[known]
        heard = self._heard[others].T.multiply((weights[counts] - weights[without])[:, None])
        rarities = (fresh @ weights[without])[:, None] + (fresh @ heard.tocsr()).toarray()
        values = strangeness(
            _joined(replies, self._replies[known][:, others]),
            _joined(transitions, self._transitions[known][:, others]),
            rarities,
        )
        lengths = np.bincount(self._bag.owner)[train]
        largest = np.maximum.reduceat(values, np.cumsum(lengths) - lengths, axis=0)
        return (1 + (largest >= own - conformal.SLACK).sum(axis=0)) / (n + 1)


class WatchedHalves(NamedTuple):
    """`flagged`, shape (splits, alphas, detectors): how many of the `watched` dialogues of a half
    each of `DETECTORS` flags that is fitted on the `known` others."""

    known: int
    watched: int
    flagged: NDArray[np.intp]


def watch_halves(
    dialogues: ConformantDialogues,
    alphas: Sequence[float],
    *,
    splits: int,
    seed: int | Sequence[int],
) -> WatchedHalves:
    """What is flagged in `splits` random halves, floor(m / 2) of m dialogues known in each.

    Raises ValueError for fewer than two dialogues.
    """
    m = dialogues.n
    if m < 2:
        raise ValueError(f"{m} dialogue cannot be parted into halves; at least 2 are needed")
    rng = np.random.default_rng(seed)
    flagged = np.zeros((splits, len(alphas), len(DETECTORS)), dtype=np.intp)
    for split in range(splits):
        train = np.zeros(m, dtype=bool)
        train[rng.permutation(m)[: m // 2]] = True
        found = dialogues.watch(train)
        for i, alpha in enumerate(alphas):
            counts = found.flagged(alpha)
            flagged[split, i] = [counts[name] for name in DETECTORS]
    return WatchedHalves(m // 2, m - m // 2, flagged)


def _joined(least: Floats, more: Floats) -> Floats:
    """Means of the three smallest, shape (B, e), when the three of a dialogue join, (B, e, 3)."""
    rows = np.repeat(least.T[:, :, None], more.shape[1], axis=2)
    for i in range(NEAREST):
        join(rows, more[:, :, i])
    return (rows[0] + rows[1] + rows[2]) / NEAREST


def _presence(rows: Sequence[set[int] | list[int]], width: int) -> sparse.csr_array:
    places = [place for row in rows for place in sorted(row)]
    ends = np.cumsum([0, *(len(row) for row in rows)])
    return sparse.csr_array((np.ones(len(places)), places, ends), shape=(len(rows), width))
