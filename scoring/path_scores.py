"""How likely a dialogue is under a flow graph: geometric means of its transition probabilities."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from scoring.estimates import Estimate, undefined
from scoring.flow_graphs import END, START, FlowGraph, assign


def path_score(
    graph: FlowGraph, nodes: Sequence[str], confidence: Sequence[float] | None = None
) -> Estimate:
    """g(d) = exp of the mean of ln P over T + 1 moves, END scored as the last one; in (0, 1].

    With `confidence` (one number per turn) each turn's probability is multiplied by it. `n` is the
    number of turns; no turn: undefined.
    """
    if not nodes:
        return undefined("no_scored_turn")
    stops = [START, *nodes, END]
    logs = [math.log(graph.probability(a, b)) for a, b in itertools.pairwise(stops)]
    logs += [math.log(q) for q in confidence or ()]
    return Estimate(math.exp(math.fsum(logs) / (len(nodes) + 1)), n=len(nodes))


def sdialog_path_score(
    graph: FlowGraph,
    nodes: Sequence[str],
    confidence: Sequence[float] | None = None,
    *,
    known_only: bool = False,
    exponent: str = "T+1",
) -> Estimate:
    """The score of sdialog 0.5.3 on a graph fitted with `compat="sdialog"`.

    END is not scored, the confidence enters on known moves only, and the root is the (T+1)-th of T
    factors ("T+1"; "T" takes the true geometric mean). `known_only` leaves unknown moves out; with
    no known move at all the tool gives 1, we give no value.
    """
    if not nodes:
        return undefined("no_scored_turn")
    stops = [START, *nodes]
    logs, steps = [], 0
    for i, (a, b) in enumerate(itertools.pairwise(stops)):
        known = graph.count(a, b) > 0
        if known_only and not known:
            continue
        steps += 1
        logs.append(math.log(graph.probability(a, b)))
        if known and confidence is not None:
            logs.append(math.log(confidence[i]))
    if not steps:
        return undefined("no_known_move", n=len(nodes))
    root = steps + (1 if exponent == "T+1" else 0)
    value = math.exp(math.fsum(logs) / root)
    return Estimate(value, n=len(nodes), detail={"perplexity": math.exp(-math.fsum(logs) / root)})


def score_dialogue(
    graph: FlowGraph,
    roles: Sequence[str],
    vectors: NDArray[Any],
    *,
    node_confidence: bool = False,
) -> Estimate:
    """`path_score` of a dialogue's scored turns (as in `DialogueVectors`), each at its node."""
    found = assign(graph, roles, vectors)
    if any(node is None for node in found):
        return undefined("no_node_of_this_role", n=len(found))
    nodes = [node.node for node in found if node]
    confidence = [node.confidence for node in found if node] if node_confidence else None
    if graph.compat:
        return sdialog_path_score(graph, nodes, confidence)
    return path_score(graph, nodes, confidence)
