"""Dynamic time warping between the turns of two dialogues (FlowDTW; DialFork, task 2)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scoring.turn_vectors import (
    DialogueVectors,
    Distance,
    Floats,
    Pair,
    Pairs,
    one_thread,
    similarity_blocks,
    snapped,
)

MAX_CELLS = 2_000_000


def flow_dtw(a: DialogueVectors, b: DialogueVectors) -> Distance:
    """Dynamic time warping of the turn vectors by 1 - cos, no window, divided by n + m.

    `detail` holds `raw` (the sum along the best path) and `path`, a list of (turn of a, turn of b)
    from 0. Dividing by n + m keeps the value independent of which of several best paths is taken.
    Two empty dialogues: 0; one empty: undefined.
    """
    if not (len(a.roles) and len(b.roles)):
        return _empty_dtw((a, b))
    costs = 1.0 - snapped(next(similarity_blocks([(a, b)])).cosines)
    total = _accumulated(costs[None])[0]
    raw = float(total[-1, -1])
    path = _path_back(total)
    return Distance(raw / sum(costs.shape), detail={"raw": raw, "path": path})


def dtw_pairs(pairs: Pairs) -> list[Distance]:
    """`flow_dtw` of many pairs, without the paths."""
    found = [_empty_dtw(pair) for pair in pairs]
    with one_thread():
        blocks = list(_dtw_costs(pairs))
    # Like sizes together: less padding.
    blocks.sort(key=lambda item: item[1].shape)
    for group in _capped(blocks):
        for place, raw, size in _warp(group):
            found[place] = Distance(raw / size, detail={"raw": raw})
    return found


def _empty_dtw(pair: Pair) -> Distance:
    if len(pair[0].roles) or len(pair[1].roles):
        return Distance(None, "one_dialogue_is_empty")
    return Distance(0.0, detail={"raw": 0.0})


def _dtw_costs(pairs: Pairs) -> Iterator[tuple[int, Floats]]:
    for block in similarity_blocks(pairs):
        costs = 1.0 - snapped(block.cosines)
        for place, start, length in zip(block.places, block.starts, block.lengths, strict=True):
            yield place, costs[:, start : start + length]


def _capped(blocks: list[tuple[int, Floats]]) -> Iterator[list[tuple[int, Floats]]]:
    group: list[tuple[int, Floats]] = []
    rows = columns = 0
    for item in blocks:
        rows, columns = max(rows, item[1].shape[0]), max(columns, item[1].shape[1])
        if group and (len(group) + 1) * rows * (rows + columns) > MAX_CELLS:
            yield group
            group, (rows, columns) = [], item[1].shape
        group.append(item)
    if group:
        yield group


def _warp(group: list[tuple[int, Floats]]) -> Iterator[tuple[int, float, int]]:
    rows = max(cost.shape[0] for _, cost in group)
    columns = max(cost.shape[1] for _, cost in group)
    padded = np.zeros((len(group), rows, columns))
    for i, (_, cost) in enumerate(group):
        padded[i, : cost.shape[0], : cost.shape[1]] = cost
    total = _accumulated(padded)
    for i, (place, cost) in enumerate(group):
        n, m = cost.shape
        yield place, float(total[i, n - 1, m - 1]), n + m


def _accumulated(costs: Floats) -> Floats:
    """Least cost of a path to each cell, shape (B, n, m); one step per anti-diagonal.

    A cell depends on cells above and to the left only, so padding below and to the right of a
    pair's own n by m corner cannot change it.
    """
    batch, n, m = costs.shape
    places = np.arange(n)
    total = np.full((batch, n + 1, m + 1), np.inf)
    total[:, 0, 0] = 0.0
    for diagonal in range(n + m - 1):
        i = places[max(0, diagonal - m + 1) : min(n, diagonal + 1)]
        j = diagonal - i
        before = np.minimum(total[:, i, j + 1], total[:, i + 1, j])
        np.minimum(before, total[:, i, j], out=before)
        total[:, i + 1, j + 1] = costs[:, i, j] + before
    return total[:, 1:, 1:]


def _path_back(total: Floats) -> list[tuple[int, int]]:
    i, j = total.shape[0] - 1, total.shape[1] - 1
    path = [(i, j)]
    while i or j:
        steps = [(i - 1, j - 1), (i - 1, j), (i, j - 1)]
        i, j = min((s for s in steps if min(s) >= 0), key=lambda s: total[s])
        path.append((i, j))
    return path[::-1]
