"""Each training dialogue seen through the nodes that the others alone would have made.

A threshold measured on dialogues that shaped the nodes and counts is too lenient. Here clusters,
node vectors and counts are made anew without each dialogue in turn; only the cosines between the
utterances, which depend on no other dialogue, are computed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from benchmark.records import ASSISTANT
from scoring.flow_graphs import TEMPERATURE, THRESHOLD
from scoring.turn_vectors import DialogueVectors, Floats, cosines, one_thread, snapped

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """One dialogue and the model material of all others.

    `paths` are the node codes of the others, `nodes` their number V. `codes`, `confidence` and
    `judged` (an assistant turn) are the left-out dialogue's turns at their nearest nodes; a turn
    whose role has no node among the others is missing.
    """

    paths: list[Codes]
    nodes: int
    codes: Codes
    confidence: Floats
    judged: NDArray[np.bool_]


def left_out(
    dialogues: Sequence[DialogueVectors], *, threshold: float = THRESHOLD
) -> Iterator[LeftOut]:
    """Every dialogue in turn, left out; equal to fitting a flow graph on the others each time."""
    lengths = np.array([len(d.roles) for d in dialogues], dtype=np.int64)
    owners = np.repeat(np.arange(len(dialogues)), lengths)
    borders = np.cumsum(lengths)[:-1]
    roles = np.array([role for d in dialogues for role in d.roles])
    parts = [np.asarray(d.vectors, dtype=np.float64) for d in dialogues if len(d.roles)]
    rows = np.concatenate(parts) if parts else np.zeros((0, 1))
    with one_thread():
        members = {role: np.flatnonzero(roles == role) for role in sorted(set(roles.tolist()))}
        distances = {role: _distances(rows[places]) for role, places in members.items()}
        for one in range(len(dialogues)):
            yield _without(one, owners, borders, roles, rows, members, distances, threshold)


def _without(
    one: int,
    owners: Codes,
    borders: Codes,
    roles: NDArray[np.str_],
    rows: Floats,
    members: dict[str, Codes],
    distances: dict[str, Floats],
    threshold: float,
) -> LeftOut:
    codes = np.full(len(rows), -1, dtype=np.int64)
    confidence = np.ones(len(rows))
    nodes = 0
    for role, places in members.items():
        others = owners[places] != one
        here, own = places[others], places[~others]
        if not len(here):
            continue
        clusters = _cut(distances[role][np.ix_(others, others)], threshold)
        codes[here] = clusters + nodes
        if len(own):
            nearest, confidence[own] = _nearest(rows[own], _means(rows[here], clusters))
            codes[own] = nearest + nodes
        nodes += int(clusters.max()) + 1
    # A role spoken by this dialogue alone has no node without it.
    mine = np.flatnonzero((owners == one) & (codes >= 0))
    # An empty dialogue is a path too: it goes from start to end.
    paths = np.split(codes, borders)
    del paths[one]
    return LeftOut(paths, nodes, codes[mine], confidence[mine], roles[mine] == ASSISTANT)


def _distances(rows: Floats) -> Floats:
    directed = rows.copy()
    # As for the flow graph: a zero vector has no direction and is given the first one.
    directed[~directed.any(axis=1), 0] = 1.0
    found = np.clip(1.0 - snapped(cosines(directed, directed)), 0.0, None)
    np.fill_diagonal(found, 0.0)
    return found


def _cut(distances: Floats, threshold: float) -> Codes:
    """The cluster of each row, numbered from 0 by first appearance; cut below `threshold`."""
    if len(distances) < 2:
        return np.zeros(len(distances), dtype=np.int64)
    tree = linkage(squareform(distances, checks=False), method="average")
    found = fcluster(tree, np.nextafter(threshold, 0), criterion="distance")
    _, firsts, numbers = np.unique(found, return_index=True, return_inverse=True)
    # Nearest nodes that tie are told apart by their order, which must be that of the flow graph.
    return np.argsort(np.argsort(firsts))[numbers]


def _means(rows: Floats, clusters: Codes) -> Floats:
    order = np.argsort(clusters, kind="stable")
    sizes = np.bincount(clusters)
    sums = np.add.reduceat(rows[order], np.cumsum(sizes) - sizes, axis=0)
    return sums / sizes[:, None]


def _nearest(rows: Floats, nodes: Floats) -> tuple[Codes, Floats]:
    """The nearest node of each row by cosine, and how clearly it is that one."""
    likeness = cosines(rows, nodes)
    best = likeness.argmax(axis=1)
    above = likeness - np.take_along_axis(likeness, best[:, None], axis=1)
    return best, 1.0 / np.exp(above / TEMPERATURE).sum(axis=1)
