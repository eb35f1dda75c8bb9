"""Probabilities of the next node over whole corpora: the model of `ngrams` on integer codes.

Nodes are the codes 0 to V - 1. A context is known by the number of its shorter form (without its
oldest node) and that oldest node, so each length of context is one look-up in a sorted array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """The contexts of one length.

    `contexts` are the sorted keys (number of the shorter context, oldest node) and `moves` the
    sorted keys (number of the context, next node) with their `counts`; `totals` and `followers`
    are, per context, the number of moves and of distinct next nodes.
    """

    contexts: Codes
    moves: Codes
    counts: Codes
    totals: Codes
    followers: Codes


@dataclass(frozen=True, slots=True, eq=False)
class CodedNGram:
    """Interpolated Witten-Bell, equal to `ngrams.NGram` to the last bit.

    `levels[l]` holds the contexts of l nodes; V is `nodes`, START the code V and END V + 1.
    """

    nodes: int
    levels: tuple[Level, ...]

    def probabilities(self, codes: Codes, places: Codes) -> Floats:
        """P(node | the nodes before it) of each turn, shape (n,).

        `codes` are the nodes of dialogues laid end to end, `places` the place of each within its
        dialogue, from 0.
        """
        width = self.nodes + 2
        values = np.full(len(codes), 1 / (self.nodes + 1))
        # Turns whose context is known so far: longer forms of an unknown one are unknown too.
        known = np.arange(len(codes))
        context = np.zeros(len(codes), dtype=np.int64)
        for length, level in enumerate(self.levels):
            if length:
                older = _older(codes, places, length, self.nodes)[known]
                found = _find(level.contexts, context * width + older)
                known, context = known[found >= 0], found[found >= 0]
            move = _find(level.moves, context * width + codes[known])
            counts = np.where(move < 0, 0, level.counts[move])
            totals, followers = level.totals[context], level.followers[context]
            values[known] = (counts + followers * values[known]) / (totals + followers)
        return values


def fit_coded(paths: Sequence[Codes], *, order: int, nodes: int) -> CodedNGram:
    """The model of the node sequences of conformant training dialogues, as `ngrams.fit_ngram`.

    Raises ValueError for an order below 1 or a path with a code outside 0 to `nodes` - 1.
    """
    if order < 1:
        raise ValueError(f"order is {order}; it must be at least 1")
    width, end = nodes + 2, nodes + 1
    codes = np.concatenate([np.append(np.asarray(path, np.int64), end) for path in paths] or [[]])
    codes = codes.astype(np.int64)
    if len(codes) and not ((codes >= 0) & (codes <= end) & (codes != nodes)).all():
        raise ValueError(f"a path holds a node outside 0 to {nodes - 1}")
    places = places_of([len(path) + 1 for path in paths])
    context = np.zeros(len(codes), dtype=np.int64)
    contexts = np.zeros(1, dtype=np.int64)
    levels = []
    for length in range(order):
        if length:
            keys = context * width + _older(codes, places, length, nodes)
            contexts, context = np.unique(keys, return_inverse=True)
        moves, counts = np.unique(context * width + codes, return_counts=True)
        size = max(len(contexts), 1)
        totals = np.bincount(context, minlength=size)
        followers = np.bincount(moves // width, minlength=size)
        levels.append(Level(contexts, moves, counts, totals, followers))
    # Without any move a context has nothing to say, and the look-up below needs no special case.
    return CodedNGram(nodes, tuple(levels) if len(codes) else ())


def places_of(lengths: Sequence[int]) -> Codes:
    """The place of each item within its dialogue, from 0, for dialogues laid end to end."""
    sizes = np.asarray(lengths, dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    return np.arange(int(sizes.sum()), dtype=np.int64) - np.repeat(starts, sizes)


def _older(codes: Codes, places: Codes, lag: int, start: int) -> Codes:
    """The node `lag` turns before each; START before the first turn."""
    found = np.full(len(codes), start, dtype=np.int64)
    inside = np.flatnonzero(places >= lag)
    found[inside] = codes[inside - lag]
    return found


def _find(keys: Codes, wanted: Codes) -> Codes:
    """The place of each wanted key among the sorted `keys`; -1 where there is none."""
    at = np.searchsorted(keys, wanted)
    at[at == len(keys)] = 0
    return np.where(keys[at] == wanted, at, -1)
