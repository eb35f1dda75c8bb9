"""Cosines of many pairs as padded grids, laid out so that dynamic programs sweep them fast.

A recursion over the grid of two dialogues runs along anti-diagonals: all their cells at once, for
many pairs at once. With the pair as the last axis a diagonal is one strided slice, no gather.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.turn_vectors import SAME, Floats, Pairs, one_thread, similarity_blocks

# Small enough for a processor's cache, large enough that a call's overhead is shared by many pairs.
CELLS = 64_000
WAVE = 4096
# As `turn_vectors.snapped`, without a copy.
SNAPPED = 1.0 - SAME


@dataclass(frozen=True, slots=True)
class Grid:
    """Cosines of B pairs of like size, shape (N, M, B): turn of the source, of the fork, pair.

    Pair b has a corner of rows[b] by columns[b] cells, the first ones of the grid or, of grids made
    `backwards`, the last ones; outside it the grid holds 0. `places` are the pairs' places in the
    batch.
    """

    places: NDArray[np.intp]
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    cosines: Floats


def grids(pairs: Pairs, *, backwards: bool = False) -> Iterator[Grid]:
    """The pairs with two non-empty sides, like sizes together; equal turns have cosine 1 exactly.

    With `backwards` the dialogues of a grid end together instead of beginning together: for
    recursions from the last turns to the first.
    """
    for start in range(0, len(pairs), WAVE):
        with one_thread():
            parts = _parts(pairs[start : start + WAVE])
        parts.sort(key=lambda part: part[1].shape)
        for group in _groups(parts):
            yield _grid(group, start, backwards)


Part = tuple[int, Floats]


def _parts(pairs: Pairs) -> list[Part]:
    """Place and cosines, shape (m, n), of each pair."""
    parts = []
    for block in similarity_blocks(pairs):
        found = block.cosines
        found[found > SNAPPED] = 1.0
        ends = (block.starts + block.lengths).tolist()
        for place, start, end in zip(block.places, block.starts.tolist(), ends, strict=True):
            parts.append((place, found[start:end]))
    return parts


def _groups(parts: list[Part]) -> Iterator[list[Part]]:
    group: list[Part] = []
    rows = columns = 0
    for part in parts:
        m, n = part[1].shape
        rows, columns = max(rows, m), max(columns, n)
        if group and (len(group) + 1) * rows * columns > CELLS:
            yield group
            group, rows, columns = [], m, n
        group.append(part)
    if group:
        yield group


def _grid(group: list[Part], offset: int, backwards: bool) -> Grid:
    shapes = np.array([cosines.shape for _, cosines in group], dtype=np.intp)
    most_columns, most_rows = shapes.max(axis=0).tolist()
    padded = np.zeros((len(group), most_columns, most_rows))
    for target, (_, cosines) in zip(padded, group, strict=True):
        m, n = cosines.shape
        if backwards:
            target[most_columns - m :, most_rows - n :] = cosines
        else:
            target[:m, :n] = cosines
    places = np.array([place for place, _ in group], dtype=np.intp) + offset
    turned = np.ascontiguousarray(padded.transpose(2, 1, 0))
    return Grid(places, shapes[:, 1], shapes[:, 0], turned)


class Diagonal(NamedTuple):
    """Slices along an anti-diagonal, the first two axes of a grid joined into one.

    `inner` is for the grid itself; the others are for one with a border of one row and column
    before it: its `cells` and those diagonally `before`, `above` and to the `left` of them.
    """

    inner: slice
    cells: slice
    before: slice
    above: slice
    left: slice


def diagonals(rows: int, columns: int) -> Iterator[Diagonal]:
    """The anti-diagonals of a grid of shape (rows, columns, B), from the first cell to the last."""
    wide = columns + 1
    for diagonal in range(rows + columns - 1):
        first = max(0, diagonal - columns + 1)
        count = min(rows - 1, diagonal) - first + 1
        before = first * wide + diagonal - first
        yield Diagonal(
            _run(first * columns + diagonal - first, columns - 1, count),
            *(_run(before + shift, columns, count) for shift in (wide + 1, 0, 1, wide)),
        )


def _run(start: int, step: int, count: int) -> slice:
    # A grid of one column has one cell per diagonal, whatever the step.
    return slice(start, start + (count - 1) * step + 1, max(step, 1))
