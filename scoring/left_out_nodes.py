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

from benchmark.records import ASSISTANT
from scoring.flow_graphs import TEMPERATURE, THRESHOLD
from scoring.turn_vectors import DialogueVectors, Floats, cosines, one_thread
from scoring.utterance_clusters import cosine_distances, cut_clusters

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
        distances = {role: cosine_distances(rows[places]) for role, places in members.items()}
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
        clusters = cut_clusters(distances[role][np.ix_(others, others)], threshold)
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
