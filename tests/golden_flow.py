"""Golden files of flow graphs: the reference dialogues and the sets scored against them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from scoring.flow_graphs import FlowGraph, assign, fit
from scoring.path_scores import path_score, score_dialogue, sdialog_path_score
from scoring.set_distances import flow_kl, flow_kl_compat
from scoring.turn_vectors import DialogueVectors

Check = tuple[str, dict[str, Any], dict[str, Any], float, float]
Content = Mapping[str, Any]
ROLES = {"u": "user", "s": "assistant"}


def dialogue_of(turns: list[Any]) -> DialogueVectors:
    return DialogueVectors(
        tuple(ROLES[role] for role, _ in turns),
        tuple(f"turn {i}" for i in range(len(turns))),
        np.array([vector for _, vector in turns]),
    )


def fitted(content: Content) -> tuple[FlowGraph, FlowGraph, list[DialogueVectors]]:
    """Our graph, the pruned one for comparison, and the dialogues of both."""
    dialogues = [dialogue_of(turns) for turns in content["dialogues"]]
    threshold = content["threshold"]
    graph = fit(dialogues, threshold=threshold)
    return graph, fit(dialogues, threshold=threshold, compat="sdialog"), dialogues


def edges_of(graph: FlowGraph) -> dict[str, int]:
    return {f"{a}>{b}": n for a, row in graph.counts.items() for b, n in row.items()}


def flow_reference(content: Content, file: Path) -> Iterator[Check]:
    graph, pruned, dialogues = fitted(content)
    relative = content["rel_tol"]
    answer: dict[str, Any] = {
        "nodes": [list(path) for path in graph.paths],
        "V": len(graph.nodes),
        "centroids": {node.name: node.vector.tolist() for node in graph.nodes},
        "outgoing_totals": dict(graph.totals),
    }
    yield "nodes", {key: content[key] for key in answer}, answer, 1e-9, relative
    for key, which in (("edges", pruned), ("raw_edges_with_self_loops", graph)):
        expected = {f"{a}>{b}": n for a, b, n in content[key]}
        found = edges_of(which)
        yield key, {**expected, "number": len(expected)}, {**found, "number": len(found)}, 0, 0
    smoothed = {name: pruned.probability(*name.split(">")) for name in content["smoothed"]}
    yield "smoothed", content["smoothed"], smoothed, 0, relative
    answer = {
        "score_soft_sdialog": scores(pruned, dialogues, soft=True),
        "score_hard_sdialog": scores(pruned, dialogues),
        "score_ours": scores(graph, dialogues),
    }
    yield "scores", {key: content[key] for key in answer}, answer, 0, relative
    if (other := file.parent / "flow_candidates.json").is_file():
        yield from divergences(content, json.loads(other.read_text(encoding="utf-8")))


def scores(graph: FlowGraph, dialogues: list[DialogueVectors], *, soft: bool = False) -> list[Any]:
    return [
        score_dialogue(graph, d.roles, d.vectors, node_confidence=soft).value for d in dialogues
    ]


def divergences(content: Content, candidates: Content) -> Iterator[Check]:
    graph, pruned, dialogues = fitted(content)
    for name, expected in content["FlowKL"].items():
        others = [dialogue_of(case["turns"]) for case in candidates["sets"][name]]
        answer = {
            "ours": flow_kl(scores(graph, dialogues), scores(graph, others)).value,
            "hard_sdialog": flow_kl_compat(scores(pruned, dialogues), scores(pruned, others)).value,
            "soft_sdialog": flow_kl_compat(
                scores(pruned, dialogues, soft=True), scores(pruned, others, soft=True)
            ).value,
        }
        yield f"FlowKL {name}", expected, answer, 1e-9, content["rel_tol"]


def flow_candidates(content: Content, file: Path) -> Iterator[Check]:
    reference = file.parent / "flow_reference.json"
    if not reference.is_file():
        raise ValueError("needs flow_reference.json in the same folder")
    graph, pruned, _ = fitted(json.loads(reference.read_text(encoding="utf-8")))
    for name, cases in content["sets"].items():
        for i, case in enumerate(cases):
            answer = scored(graph, pruned, dialogue_of(case["turns"]))
            expected = {key: value for key, value in case.items() if key != "turns"}
            yield f"{name} {i}", expected, answer, 0, content["rel_tol"]


def scored(graph: FlowGraph, pruned: FlowGraph, dialogue: DialogueVectors) -> dict[str, Any]:
    found = [node for node in assign(graph, dialogue.roles, dialogue.vectors) if node]
    nodes, confidence = [node.node for node in found], [node.confidence for node in found]
    soft = sdialog_path_score(pruned, nodes, confidence)
    known = sdialog_path_score(pruned, nodes, confidence, known_only=True)
    return {
        "nodes": nodes,
        "confidence": confidence,
        "score_soft_sdialog": soft.value,
        "ppl_soft_sdialog": soft.detail["perplexity"],
        "score_hard_sdialog": sdialog_path_score(pruned, nodes).value,
        "score_soft_true_geomean_ours": sdialog_path_score(
            pruned, nodes, confidence, exponent="T"
        ).value,
        "score_hard_true_geomean_ours": sdialog_path_score(pruned, nodes, exponent="T").value,
        "score_ours": path_score(graph, nodes).value,
        "score_known_only": known.value,
    }
