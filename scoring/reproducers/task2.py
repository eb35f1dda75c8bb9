"""Recompute every number of this run, without a database: forks against their sources (task 2).

Run it with the project on the path: PYTHONPATH=/path/to/dialfork python reproduce.py
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from scoring.dialogue_distances import METHODS
from scoring.discounted_alignment import theta_of
from scoring.fork_order import ALL, ForkDistance, taus_by_type, taus_by_workflow
from scoring.reproducing import ExportedDialogue, ExportedRun, Numbers, report
from scoring.turn_vectors import Distance

NO_THETA = "no workflow of the run has two conformant training dialogues to measure theta on"


def main(folder: Path) -> int:
    run = ExportedRun(folder)
    found = Numbers()
    forks: dict[int | None, list[ExportedDialogue]] = defaultdict(list)
    for each in run.read():
        if each.fork and each.corpus in run.parameters["corpora"]:
            forks[run.dialogues[each.fork["source_id"]].workflow].append(each)
    thetas = measured(run, found, [key for key in forks if key is not None])
    rows: dict[int, ForkDistance] = {}
    workflow_of: dict[int, str] = {}
    for workflow, members in forks.items():
        for fork, distance in zip(members, distances(run, workflow, members, thetas), strict=True):
            value, reason, detail = distance
            found.add("score", fork.id, value=value, reason=reason, detail=dict(detail), turns=[])
            source, type_, k = (fork.fork[name] for name in ("source_id", "type", "k"))
            rows[fork.id] = ForkDistance(source, type_, k, value, reason)
            if workflow is not None:
                workflow_of[source] = run.workflows[workflow]["name"]
    summarise(run, found, [rows[key] for key in sorted(rows)], workflow_of)
    return report(run, found)


def measured(run: ExportedRun, found: Numbers, workflows: list[int]) -> dict[int, float | None]:
    """Theta of each workflow, on its conformant train half; {} for methods without theta."""
    if "theta" not in run.parameters:
        return {}
    thetas = {}
    for workflow in workflows:
        train = [run.scored(each) for each in run.fitting_half(workflow)]
        theta = theta_of(train, **run.parameters["theta"])
        detail = {"theta": theta.value, "reason": theta.reason, **theta.detail}
        found.add("calibration", workflow, values=[], detail=detail)
        thetas[workflow] = theta.value
    return thetas


def distances(
    run: ExportedRun,
    workflow: int | None,
    forks: list[ExportedDialogue],
    thetas: dict[int, float | None],
) -> list[Distance]:
    """The distance of each fork from its source; without theta, the others' mean."""
    method, settings = METHODS[run.parameters["method"]], dict(run.parameters["settings"])
    full = run.parameters["method"] == "full"
    keys = {each.fork["source_id"] for each in forks}
    sources = {key: run.scored(run.dialogues[key], full=full) for key in keys}
    pairs = [(sources[each.fork["source_id"]], run.scored(each, full=full)) for each in forks]
    if "theta" not in run.parameters:
        return method(pairs, **settings)
    noted: dict[str, Any] = {"theta": thetas.get(workflow)}
    if noted["theta"] is None:
        known = [thetas[key] for key in sorted(thetas) if thetas[key] is not None]
        if not known:
            return [Distance(None, NO_THETA)] * len(pairs)
        noted = {"theta": float(np.mean(known)), "theta_from": "other workflows"}
    return [
        distance._replace(detail={**distance.detail, **noted})
        for distance in method(pairs, theta=noted["theta"], **settings)
    ]


def summarise(
    run: ExportedRun, found: Numbers, rows: list[ForkDistance], workflow_of: dict[int, str]
) -> None:
    """Kendall's tau per type and for all, over all workflows and in each."""
    drawn = {
        "seed": run.parameters["bootstrap_seed"],
        "resamples": run.parameters["bootstrap_resamples"],
    }
    for group, tau in taus_by_type(rows, **drawn).items():
        found.add_estimate(tau, "tau", group, "", 0)
    if run.parameters["method"] == "full":
        # How many dialogues the encoder cut is counted by the encoder, which is not here.
        key = ("result", "tau", ALL, "", "0")
        found.rows[key]["detail"]["cut"] = run.stored().rows[key]["detail"]["cut"]
    for name, taus in taus_by_workflow(rows, workflow_of, **drawn).items():
        for group, tau in taus.items():
            found.add_estimate(tau, "tau", group, name, 0)


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parent))
