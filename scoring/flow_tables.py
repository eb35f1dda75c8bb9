"""Flow graphs as arrays: moves counted, turns put to nodes and dialogues scored many at a time.

A node's code is its place in `graph.nodes`. The values are those of `flow_graphs.assign` and
`path_scores` one dialogue at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scoring.estimates import Estimate, undefined
from scoring.flow_graphs import END, NEIGHBOURS, START, FlowGraph, confidences
from scoring.turn_vectors import DialogueVectors, Floats, one_thread

NOWHERE = -1
DENSE = 1 << 22
AT_ONCE = 8192
CLOSE = 1e-5

Codes = NDArray[np.intp]


class Moves(NamedTuple):
    """From node `a` to node `b`, `n` times: three arrays of equal length, in order of (a, b)."""

    a: Codes
    b: Codes
    n: Codes


def count_moves(codes: ArrayLike, lengths: ArrayLike, *, nodes: int) -> Moves:
    """The moves of many paths: `codes` is all paths end to end, `lengths` how long each is.

    Codes run from 0 to `nodes` - 1; START is counted as code `nodes`, END as `nodes` + 1. An empty
    path counts as START -> END. Raises ValueError for a code outside the range or lengths
    that do not add up.
    """
    flat = np.asarray(codes, dtype=np.intp)
    if len(flat) and not (flat.min() >= 0 and flat.max() < nodes):
        raise ValueError(f"a node code lies outside 0 to {nodes - 1}")
    before, after = _steps(flat, np.asarray(lengths, dtype=np.intp), nodes, nodes + 1)
    symbols = nodes + 2
    keys = before * symbols + after
    if symbols**2 <= DENSE:
        table = np.bincount(keys, minlength=symbols**2)
        found = np.flatnonzero(table)
        n = table[found]
    else:
        found, n = np.unique(keys, return_counts=True)
    return Moves(found // symbols, found % symbols, n)


def _steps(codes: Codes, lengths: Codes, start: int, end: int) -> tuple[Codes, Codes]:
    """Where each move comes from and leads to; a path of length T has T + 1 moves."""
    if lengths.sum() != len(codes) or (lengths < 0).any():
        raise ValueError(f"the lengths of the paths do not add up to {len(codes)} turns")
    ends = np.cumsum(lengths) + np.arange(len(lengths))
    after = np.full(len(codes) + len(lengths), end, dtype=np.intp)
    inner = np.ones(len(after), dtype=bool)
    inner[ends] = False
    after[inner] = codes
    before = np.empty_like(after)
    before[1:] = after[:-1]
    before[ends[:-1] + 1] = start
    before[:1] = start
    return before, after


class FlowTable:
    """A flow graph for scoring many dialogues; made once per graph."""

    def __init__(self, graph: FlowGraph) -> None:
        self.graph = graph
        self.code = {node.name: place for place, node in enumerate(graph.nodes)}
        self.nodes = len(graph.nodes)
        everything = self.code | {START: self.nodes, END: self.nodes + 1}
        self._symbols = self.nodes + 2
        moves = sorted(
            (everything[a] * self._symbols + everything[b], n)
            for a, row in graph.counts.items()
            for b, n in row.items()
        )
        self._keys = np.array([key for key, _ in moves] or [-1], dtype=np.intp)
        self._counts = np.array([n for _, n in moves] or [0], dtype=np.float64)
        totals = np.zeros(self._symbols)
        for name, total in graph.totals.items():
            totals[everything[name]] = total
        self._rows = totals + self.nodes + (0 if graph.compat else 1)
        self._own = {
            role: np.array([self.code[node.name] for node in graph.of_role(role)])
            for role in graph.vectors
        }
        self._near = NEIGHBOURS if graph.compat else None
        self._directions = {role: _units(rows).T.copy() for role, rows in graph.vectors.items()}

    def nearest(
        self, roles: Sequence[str], vectors: ArrayLike, *, confidence: bool = False
    ) -> tuple[Codes, Floats]:
        """The code of each turn's nearest node of its role, -1 where the role has none, and how
        clearly it is that one (1 throughout unless `confidence` is asked for). Rows as `assign`.
        """
        rows = np.asarray(vectors)
        codes = np.full(len(roles), NOWHERE, dtype=np.intp)
        shares = np.ones(len(roles))
        said_by = np.asarray(roles)
        for role, directions in self._directions.items():
            places = np.flatnonzero(said_by == role)
            own = self._own[role]
            for at in range(0, len(places), AT_ONCE):
                part = places[at : at + AT_ONCE]
                best, share = _nearest(rows[part], directions, confidence, self._near)
                codes[part] = own[best]
                shares[part] = share
        return codes, shares

    def known(self, before: Codes, after: Codes) -> Floats:
        """How often each move was counted on the graph."""
        keys = before * self._symbols + after
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[places] == keys, self._counts[places], 0.0)

    def scores(
        self, dialogues: Sequence[DialogueVectors], *, node_confidence: bool = False
    ) -> list[Estimate]:
        """`path_scores.score_dialogue` of each dialogue; on a graph fitted with `compat="sdialog"`
        the score of sdialog 0.5.3 (END not scored, confidence on known moves only, root T + 1).
        """
        if not dialogues:
            return []
        roles = [role for d in dialogues for role in d.roles]
        rows = [d.vectors for d in dialogues if len(d.roles)]
        lengths = np.array([len(d.roles) for d in dialogues], dtype=np.intp)
        if not rows:
            return [undefined("no_scored_turn")] * len(dialogues)
        codes, shares = self.nearest(roles, np.concatenate(rows), confidence=node_confidence)
        values = self._means(codes, shares, lengths)
        lost = np.zeros(len(lengths), dtype=bool)
        lost[np.repeat(np.arange(len(lengths)), lengths)[codes == NOWHERE]] = True
        return [
            _estimate(value, turns, nowhere)
            for value, turns, nowhere in zip(
                values.tolist(), lengths.tolist(), lost.tolist(), strict=True
            )
        ]

    def _means(self, codes: Codes, shares: Floats, lengths: Codes) -> Floats:
        before, after = _steps(np.maximum(codes, 0), lengths, self.nodes, self.nodes + 1)
        counts = self.known(before, after)
        logs = np.log((counts + 1) / self._rows[before])
        at_turn = after != self.nodes + 1
        doubts = np.log(shares)
        if self.graph.compat:
            logs[~at_turn] = 0.0
            doubts = np.where(counts[at_turn] > 0, doubts, 0.0)
        logs[at_turn] += doubts
        starts = np.cumsum(lengths + 1) - (lengths + 1)
        return np.asarray(np.exp(np.add.reduceat(logs, starts) / (lengths + 1)))


def _estimate(value: float, turns: int, nowhere: bool) -> Estimate:
    if not turns:
        return undefined("no_scored_turn")
    if nowhere:
        return undefined("no_node_of_this_role", n=turns)
    return Estimate(value, n=turns)


def _nearest(
    rows: NDArray[Any], directions: Floats, confidence: bool, near: int | None = None
) -> tuple[Codes, Floats]:
    """The nearest column of `directions` (unit columns, shape (d, nodes)) to each row, and how
    clearly. Without confidence float32 rows are compared in single precision first, and only rows
    where that is too close to call in double.
    """
    if confidence or rows.dtype != np.float32:
        with one_thread():
            likeness = _units(rows.astype(np.float64)) @ directions
        best = likeness.argmax(axis=1)
        if not confidence:
            return best, np.ones(len(rows))
        return best, confidences(likeness, near=near)
    with one_thread():
        quick = rows @ directions.astype(np.float32)
    best = quick.argmax(axis=1)
    least = quick[np.arange(len(rows)), best] - CLOSE * np.sqrt(np.vecdot(rows, rows))
    close = np.flatnonzero((quick >= least[:, None]).sum(axis=1) > 1)
    if len(close):
        best[close] = _nearest(rows[close].astype(np.float64), directions, False)[0]
    return best, np.ones(len(rows))


def _units(rows: Floats) -> Floats:
    lengths = np.sqrt(np.vecdot(rows, rows))
    return rows / np.where(lengths > 0, lengths, 1.0)[:, None]
