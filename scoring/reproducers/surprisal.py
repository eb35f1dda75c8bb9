"""Recompute every number of this run, without a database: the surprisal of every turn.

Run it with the project on the path: PYTHONPATH=/path/to/dialfork python reproduce.py
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from scoring import flow_graphs
from scoring.path_scores import score_dialogue
from scoring.reproducing import ExportedDialogue, ExportedRun, Numbers, report

NO_WORKFLOW = "the dialogue has no workflow"
NOTHING_FITTED = "the workflow has no conformant dialogue in its train half to fit a flow graph on"
GROUPS = ("conformant, train half", "conformant, test half", "WIC", "SSPC", "GR", "CSC", "other")


def main(folder: Path) -> int:
    run = ExportedRun(folder)
    found = Numbers()
    graphs: dict[int | None, flow_graphs.FlowGraph | None] = {None: None}
    values: dict[str, list[float]] = defaultdict(list)
    skipped: dict[str, Counter[str]] = defaultdict(Counter)
    for dialogue in run.read():
        if not dialogue.numbers:
            continue
        if dialogue.workflow not in graphs:
            train = [run.scored(each) for each in run.fitting_half(dialogue.workflow)]
            threshold = run.parameters["threshold"]
            graph = flow_graphs.fit(train, threshold=threshold) if train else None
            graphs[dialogue.workflow] = graph
            if graph:
                found.add("graph", dialogue.workflow, graph=graph.to_dict())
        score = scored(run, dialogue, graphs[dialogue.workflow])
        found.add("score", dialogue.id, **score)
        if score["value"] is None:
            skipped[group_of(dialogue)][score["reason"]] += 1
        else:
            values[group_of(dialogue)].append(score["value"])
    for group in GROUPS:
        if group in values or group in skipped:
            row = summary(values[group], skipped[group], run.parameters)
            found.add("result", "path score", group, "", 0, **row)
    return report(run, found)


def scored(
    run: ExportedRun, dialogue: ExportedDialogue, graph: flow_graphs.FlowGraph | None
) -> dict[str, Any]:
    """Value and turns of one dialogue under the graph of its workflow."""
    if graph is None:
        reason = NO_WORKFLOW if dialogue.workflow is None else NOTHING_FITTED
        return {"value": None, "reason": reason, "detail": {}, "turns": []}
    turns = run.scored(dialogue)
    estimate = score_dialogue(graph, turns.roles, turns.vectors)
    rows = flow_graphs.turn_surprisal(
        graph, dialogue.roles, run.vectors_for(dialogue.texts), dialogue.texts
    )
    return {
        "value": estimate.value,
        "reason": estimate.reason,
        "detail": {"scored_turns": len(turns.roles)},
        "turns": [
            {
                "number": number,
                "node": row["node"],
                "p": row["probability"],
                "surprisal": row["surprisal"],
                **({"reason": row["reason"]} if row.get("reason") else {}),
            }
            for number, row in zip(dialogue.numbers, rows, strict=True)
        ],
    }


def group_of(dialogue: ExportedDialogue) -> str:
    if dialogue.forks:
        return dialogue.forks[0]["type"]
    half = f"conformant, {dialogue.split} half"
    return half if dialogue.conformant and dialogue.split else "other"


def summary(
    values: list[float], skipped: Counter[str], parameters: dict[str, Any]
) -> dict[str, Any]:
    """The mean with its 95 % percentile bootstrap interval."""
    seed, low, high = parameters["bootstrap_seed"], None, None
    if len(values) >= 2:
        rng = np.random.default_rng(seed)
        draws = range(parameters["bootstrap_resamples"])
        means = [rng.choice(values, size=len(values)).mean() for _ in draws]
        low, high = map(float, np.percentile(means, [2.5, 97.5]))
    return {
        "value": float(np.mean(values)) if values else None,
        "reason": "" if values else "no dialogue of the group has a score",
        "n": len(values),
        "skipped": skipped.total(),
        "ci_low": low,
        "ci_high": high,
        "detail": {"reasons": dict(sorted(skipped.items())), "seed": seed},
    }


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parent))
