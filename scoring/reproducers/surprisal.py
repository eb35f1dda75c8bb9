"""Recompute every number of this run, without a database: the surprisal of every turn.

Run it with the project on the path: PYTHONPATH=/path/to/dialfork python reproduce.py
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from pathlib import Path

from scoring import flow_graphs
from scoring.path_summaries import GROUPS, STATISTIC, group_of, mean_path_score, scored_path
from scoring.reproducing import ExportedRun, Numbers, report


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
        score = scored_path(
            graphs[dialogue.workflow],
            dialogue.numbers,
            dialogue.roles,
            dialogue.texts,
            run.scored(dialogue),
            has_workflow=dialogue.workflow is not None,
        )
        found.add("score", dialogue.id, **score)
        kind = dialogue.forks[0]["type"] if dialogue.forks else None
        group = group_of(kind, dialogue.conformant, dialogue.split)
        if score["value"] is None:
            skipped[group][score["reason"]] += 1
        else:
            values[group].append(score["value"])
    for group in GROUPS:
        if group in values or group in skipped:
            row = mean_path_score(
                values[group],
                skipped[group],
                seed=run.parameters["bootstrap_seed"],
                resamples=run.parameters["bootstrap_resamples"],
            )
            found.add_estimate(row, STATISTIC, group, "", 0)
    return report(run, found)


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parent))
