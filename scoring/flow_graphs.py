"""Flow graphs: what the conformant dialogues of a workflow do turn by turn, as nodes and moves.

Utterances of one role that mean alike form a node; moves between nodes are counted from START to
END (Dialog2Flow; DialFork, tasks 1 and 3). Roles come from the data, never from names; counts hold
self-loops, so a repeated step can be a known move; nothing is pruned for scoring. The switch
`compat="sdialog"` reproduces the pruning of sdialog 0.5.3 for side-by-side runs.
"""

from __future__ import annotations

import base64
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.records import ASSISTANT, USER
from scoring.flow_pruning import as_sdialog_prunes
from scoring.node_labels import central_member, keywords_of
from scoring.turn_vectors import DialogueVectors, Floats, cosines, scored_turns
from scoring.utterance_clusters import cosine_distances, cut_clusters

START, END = "[start]", "[end]"
THRESHOLD = 0.55
TEMPERATURE = 0.05
NEIGHBOURS = 64
LETTERS = {USER: "u", ASSISTANT: "s"}
Counts = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True, eq=False)
class FlowNode:
    """A cluster of utterances of one role.

    `vector` is the plain mean of the members, shape (d,); `size` their number; `label` the member
    nearest to that mean; `keywords` its telling words.
    """

    name: str
    role: str
    vector: Floats
    size: int
    label: str = ""
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class FlowGraph:
    """Nodes and counted moves; `counts[a][b]` says how often b followed a.

    `paths` are the node sequences of the dialogues it was fitted on, in their order.
    """

    nodes: tuple[FlowNode, ...]
    counts: Counts
    threshold: float = THRESHOLD
    compat: str | None = None
    dialogues: int = 0
    paths: tuple[tuple[str, ...], ...] = ()
    totals: Mapping[str, int] = field(init=False, repr=False)
    vectors: Mapping[str, Floats] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        totals = {a: sum(row.values()) for a, row in self.counts.items()}
        roles = {node.role for node in self.nodes}
        rows = {role: np.stack([node.vector for node in self.of_role(role)]) for role in roles}
        object.__setattr__(self, "totals", totals)
        object.__setattr__(self, "vectors", rows)

    def count(self, a: str, b: str) -> int:
        return self.counts.get(a, {}).get(b, 0)

    def probability(self, a: str, b: str) -> float:
        """P(b | a), add-one smoothed. Over all nodes and END it sums to 1.

        With `compat="sdialog"` END is no symbol of its own, as there.
        """
        symbols = len(self.nodes) + (0 if self.compat else 1)
        return (self.count(a, b) + 1) / (self.totals.get(a, 0) + symbols)

    def of_role(self, role: str) -> list[FlowNode]:
        return [node for node in self.nodes if node.role == role]

    def to_dict(self) -> dict[str, Any]:
        """As JSON; vectors as base64 of little-endian float64, so that scores survive exactly."""
        return {
            "version": 1,
            "threshold": self.threshold,
            "compat": self.compat,
            "dialogues": self.dialogues,
            "nodes": [_node_to_dict(node) for node in self.nodes],
            "counts": {a: dict(row) for a, row in self.counts.items()},
            "paths": [list(path) for path in self.paths],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> FlowGraph:
        if data.get("version") != 1:
            raise ValueError(f"flow graph version {data.get('version')!r} is not known; 1 is")
        return cls(
            nodes=tuple(_node_from_dict(node) for node in data["nodes"]),
            counts=data["counts"],
            threshold=data["threshold"],
            compat=data["compat"],
            dialogues=data["dialogues"],
            paths=tuple(tuple(path) for path in data["paths"]),
        )


def fit(
    dialogues: Sequence[DialogueVectors],
    *,
    threshold: float = THRESHOLD,
    compat: str | None = None,
) -> FlowGraph:
    """The flow graph of conformant dialogues (their scored turns only).

    Per role: agglomerative clustering, average linkage, cosine distance, cut below `threshold`.
    One utterance of a role is one cluster; a role without utterances has no node. An empty dialogue
    counts as START -> END. Nodes are numbered by first appearance within their role.
    """
    if not 0 < threshold <= 2:
        raise ValueError(f"threshold is {threshold}; a cosine distance lies above 0 and up to 2")
    if compat not in (None, "sdialog"):
        raise ValueError(f"compat is {compat!r}; it must be None or 'sdialog'")
    names, nodes = _clustered(dialogues, threshold)
    paths, at = [], 0
    for dialogue in dialogues:
        paths.append(tuple(names[at : at + len(dialogue.roles)]))
        at += len(dialogue.roles)
    counts = count_moves(paths)
    if compat:
        counts = as_sdialog_prunes(counts, START, END)
    return FlowGraph(nodes, counts, threshold, compat, len(dialogues), tuple(paths))


def count_moves(paths: Iterable[Sequence[str]]) -> dict[str, dict[str, int]]:
    """How often each node follows each other one, START and END and self-loops included."""
    stops = [stop for path in paths for stop in (START, *path, END)]
    counts: dict[str, dict[str, int]] = {}
    for (a, b), n in Counter(itertools.pairwise(stops)).items():
        if a != END:
            counts.setdefault(a, {})[b] = n
    return counts


def _clustered(
    dialogues: Sequence[DialogueVectors], threshold: float
) -> tuple[list[str], tuple[FlowNode, ...]]:
    roles = [role for d in dialogues for role in d.roles]
    texts = [text for d in dialogues for text in d.texts]
    parts = [np.asarray(d.vectors, dtype=np.float64) for d in dialogues if len(d.roles)]
    vectors = np.concatenate(parts) if parts else np.zeros((0, 0))
    names = [""] * len(roles)
    members: dict[str, list[int]] = {}
    for role in sorted(set(roles), key=roles.index):
        if role not in LETTERS:
            raise ValueError(f"role {role!r} is not scored; {' and '.join(LETTERS)} are")
        places = [i for i, r in enumerate(roles) if r == role]
        clusters = cut_clusters(cosine_distances(vectors[places]), threshold)
        for i, cluster in zip(places, clusters.tolist(), strict=True):
            names[i] = f"{LETTERS[role]}{cluster}"
            members.setdefault(names[i], []).append(i)
    said = {name: [texts[i] for i in places] for name, places in members.items()}
    keywords = keywords_of(said)
    nodes = []
    for name, places in members.items():
        vector = vectors[places].mean(axis=0)
        label = texts[places[central_member(vectors[places], vector)]]
        role = roles[places[0]]
        nodes.append(FlowNode(name, role, vector, len(places), label, keywords[name]))
    return names, tuple(nodes)


@dataclass(frozen=True, slots=True)
class Assigned:
    """The node of a turn and how clearly it is that one (0 to 1)."""

    node: str
    confidence: float


def assign(graph: FlowGraph, roles: Sequence[str], vectors: NDArray[Any]) -> list[Assigned | None]:
    """The nearest node of the same role for each turn, by cosine to the node's vector.

    However far the nearest is, the turn gets it. Confidence is a softmax over cos / 0.05 of all
    nodes of the role (with the graph's `compat`, of the 64 nearest). None where the role has no
    node. `vectors` has shape (T, d).
    """
    found: list[Assigned | None] = [None] * len(roles)
    rows = np.asarray(vectors)
    for role in set(roles):
        nodes = graph.of_role(role)
        places = [i for i, r in enumerate(roles) if r == role]
        if not nodes:
            continue
        likeness = cosines(rows[places], graph.vectors[role])
        best = likeness.argmax(axis=1)
        confidence = confidences(likeness, near=NEIGHBOURS if graph.compat else None)
        for i, node, share in zip(places, best.tolist(), confidence.tolist(), strict=True):
            found[i] = Assigned(nodes[node].name, share)
    return found


def confidences(likeness: Floats, *, near: int | None = None) -> Floats:
    """Softmax of cos / 0.05 at the nearest node of each row; shape (T, nodes) to (T,).

    Over all nodes, or over the `near` nearest ones as the reference tool does.
    """
    if near is not None and near < likeness.shape[1]:
        likeness = np.partition(likeness, likeness.shape[1] - near, axis=1)[:, -near:]
    above = likeness - likeness.max(axis=1)[:, None]
    return np.asarray(1.0 / np.exp(above / TEMPERATURE).sum(axis=1))


def turn_surprisal(
    graph: FlowGraph,
    roles: Sequence[str],
    vectors: NDArray[Any],
    texts: Sequence[str] | None = None,
    *,
    node_confidence: bool = False,
) -> list[dict[str, Any]]:
    """Per turn: `node`, `probability` of the move to it, `surprisal` = -ln of that, `confidence`.

    Lists cover all turns of the dialogue. A turn that is not scored (another role, or blank by
    `texts`; without `texts`, a zero vector) has None in all four and a `reason`; the move leads
    on from the last scored turn. A row depends on the turns up to its own only.
    """
    rows = np.asarray(vectors)
    said = texts if texts is not None else ["x" if row.any() else "" for row in rows]
    places = scored_turns(roles, said)
    found = assign(graph, [roles[i] for i in places], rows[places])
    known = dict(zip(places, found, strict=True))
    turns, last = [], START
    for i in range(len(roles)):
        node = known.get(i)
        if node is None:
            turns.append(_unscored(roles[i], i in known))
            continue
        probability = graph.probability(last, node.node)
        if node_confidence:
            probability *= node.confidence
        turns.append(
            {
                "node": node.node,
                "probability": probability,
                "surprisal": -math.log(probability) + 0.0,
                "confidence": node.confidence,
            }
        )
        last = node.node
    return turns


def _unscored(role: str, scored: bool) -> dict[str, Any]:
    if scored:
        reason = "no_node_of_this_role"
    else:
        reason = "blank_turn" if role in LETTERS else "role_is_not_scored"
    empty = dict.fromkeys(("node", "probability", "surprisal", "confidence"))
    return {**empty, "reason": reason}


def _node_to_dict(node: FlowNode) -> dict[str, Any]:
    return {
        "name": node.name,
        "role": node.role,
        "size": node.size,
        "label": node.label,
        "keywords": list(node.keywords),
        "vector": base64.b64encode(node.vector.astype("<f8").tobytes()).decode("ascii"),
    }


def _node_from_dict(data: Mapping[str, Any]) -> FlowNode:
    vector = np.frombuffer(base64.b64decode(data["vector"]), dtype="<f8")
    fields = {key: data[key] for key in ("name", "role", "size", "label")}
    return FlowNode(vector=vector, keywords=tuple(data["keywords"]), **fields)
