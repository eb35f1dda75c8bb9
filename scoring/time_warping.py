"""Dynamic time warping between the turns of two dialogues (FlowDTW; DialFork, task 2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scoring.turn_grids import Grid, diagonals, grids
from scoring.turn_vectors import DialogueVectors, Distance, Floats, Pair, Pairs


def flow_dtw(a: DialogueVectors, b: DialogueVectors) -> Distance:
    """Dynamic time warping of the turn vectors by 1 - cos, no window, divided by n + m.

    `detail` holds `raw` (the sum along the best path) and `path`, a list of (turn of a, turn of b)
    from 0. Dividing by n + m keeps the value independent of which of several best paths is taken.
    Two empty dialogues: 0; one empty: undefined.
    """
    return dtw_path_pairs([(a, b)])[0]


def dtw_pairs(pairs: Pairs) -> list[Distance]:
    """`flow_dtw` of many pairs, without the paths."""
    found = [_empty_dtw(pair) for pair in pairs]
    for grid in grids(pairs):
        _measured(found, grid, accumulated(_costs(grid)))
    return found


def dtw_path_pairs(pairs: Pairs) -> list[Distance]:
    """`flow_dtw` of many pairs, with the paths."""
    found = [_empty_dtw(pair) for pair in pairs]
    for grid in grids(pairs):
        total = accumulated(_costs(grid))
        _measured(found, grid, total)
        paths = _paths_back(total, grid.rows, grid.columns)
        for place, path in zip(grid.places.tolist(), paths, strict=True):
            found[place] = found[place]._replace(detail={**found[place].detail, "path": path})
    return found


def _empty_dtw(pair: Pair) -> Distance:
    if len(pair[0].roles) or len(pair[1].roles):
        return Distance(None, "one_dialogue_is_empty")
    return Distance(0.0, detail={"raw": 0.0})


def _costs(grid: Grid) -> Floats:
    """1 - cos; the grid's cosines are overwritten."""
    return np.subtract(1.0, grid.cosines, out=grid.cosines)


def _measured(found: list[Distance], grid: Grid, total: Floats) -> None:
    raw = total[grid.rows, grid.columns, np.arange(len(grid.places))]
    values = raw / (grid.rows + grid.columns)
    for place, value, sum_ in zip(grid.places.tolist(), values.tolist(), raw.tolist(), strict=True):
        found[place] = Distance(value, detail={"raw": sum_})


def accumulated(costs: Floats) -> Floats:
    """Least cost of a path to each cell: shape (N, M, B) to (N + 1, M + 1, B), border included.

    A cell depends on cells above and to the left only, so padding below and to the right of a
    pair's own corner cannot change it.
    """
    rows, columns, batch = costs.shape
    total = np.full(((rows + 1) * (columns + 1), batch), np.inf)
    total[0] = 0.0
    flat = costs.reshape(rows * columns, batch)
    room = np.empty((min(rows, columns), batch))
    for at in diagonals(rows, columns):
        cells = total[at.cells]
        least = room[: len(cells)]
        np.minimum(total[at.above], total[at.left], out=least)
        np.minimum(least, total[at.before], out=least)
        np.add(flat[at.inner], least, out=cells)
    return total.reshape(rows + 1, columns + 1, batch)


def _paths_back(
    total: Floats, rows: NDArray[np.intp], columns: NDArray[np.intp]
) -> list[list[tuple[int, int]]]:
    """The best path of each pair from its last cell; of equal ways the diagonal, then upwards."""
    wide, batch = total.shape[1], total.shape[2]
    flat = total.reshape(-1, batch)
    pair = np.arange(batch)
    i, j = rows.copy(), columns.copy()
    steps = [(i.copy(), j.copy())]
    while (i + j > 2).any():
        cell = i * wide + j
        before, above, left = (flat[cell - shift, pair] for shift in (wide + 1, wide, 1))
        diagonal = (before <= above) & (before <= left)
        upwards = ~diagonal & (above <= left)
        # A path that has reached the first cell waits there for the others.
        going = i + j > 2
        i = i - (going & (diagonal | upwards))
        j = j - (going & ~upwards)
        steps.append((i, j))
    firsts, seconds = (np.array(side).T - 1 for side in zip(*steps, strict=True))
    return [_ended(x, y) for x, y in zip(firsts.tolist(), seconds.tolist(), strict=True)]


def _ended(rows: list[int], columns: list[int]) -> list[tuple[int, int]]:
    """The path from its first cell on: read backwards, the waiting at (0, 0) left out."""
    waited = next(n for n, (i, j) in enumerate(zip(rows, columns, strict=True)) if i == j == 0)
    return list(zip(rows[waited::-1], columns[waited::-1], strict=True))
