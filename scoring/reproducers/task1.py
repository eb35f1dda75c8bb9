"""Recompute every number of this run, without a database: sets of forks against sets (task 1).

Run it with the project on the path: PYTHONPATH=/path/to/dialfork python reproduce.py
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from pathlib import Path

from scoring.reproducing import ExportedDialogue, ExportedRun, Numbers, report
from scoring.set_measures import Member, measure
from scoring.set_orders import SetRow, summaries

Sets = dict[tuple[str, int], list[ExportedDialogue]]


def main(folder: Path) -> int:
    run = ExportedRun(folder)
    found = Numbers()
    rows: list[SetRow] = []
    taus = {}
    chosen = sets_of(run)
    for workflow in sorted(chosen):
        drawn = measured(run, found, workflow, chosen[workflow], rows)
        if drawn:
            taus[workflow] = drawn
    summary = summaries(
        rows,
        names_of(run, chosen),
        seed=run.parameters["bootstrap_seed"],
        resamples=run.parameters["bootstrap_resamples"],
        taus=taus,
    )
    for each in summary:
        found.add_estimate(each.estimate, each.statistic, each.group, each.workflow, 0)
    return report(run, found)


def sets_of(run: ExportedRun) -> dict[int, Sets]:
    """Forks of conformant dialogues by workflow of the source, type and k."""
    found: dict[int, Sets] = defaultdict(lambda: defaultdict(list))
    for dialogue in run.read():
        if not dialogue.fork or dialogue.corpus not in run.parameters["corpora"]:
            continue
        source = run.dialogues[dialogue.fork["source_id"]]
        if source.conformant and source.workflow is not None:
            found[source.workflow][dialogue.fork["type"], dialogue.fork["k"]].append(dialogue)
    return found


def measured(
    run: ExportedRun, found: Numbers, workflow: int, sets: Sets, rows: list[SetRow]
) -> dict[str, list[float | None]]:
    """Measure the sets of one workflow; returns the resampled taus, {} where there are none."""
    for key in sets:
        sets[key].sort(key=lambda each: (each.fork["source_id"], each.id))
    sources = sorted({each.fork["source_id"] for members in sets.values() for each in members})
    vectors = {key: run.scored(run.dialogues[key]) for key in sources}
    result = measure(
        run.parameters["method"],
        run.parameters["settings"],
        run.workflows[workflow]["name"],
        [Member(key, vectors[key]) for key in sources],
        {
            key: [Member(each.fork["source_id"], run.scored(each)) for each in sets[key]]
            for key in in_order(sets)
        },
        seed=run.parameters["bootstrap_seed"],
    )
    for key in sorted(result.distances):
        one = result.distances[key]
        found.add(
            "set", workflow, *key, value=one.value, reason=one.reason, detail=dict(one.detail)
        )
        rows.append(SetRow(workflow, *key, one.value, one.reason))
    if result.graph is not None:
        found.add("graph", workflow, graph=result.graph.to_dict())
    parts = [(sources, result.reference)] if result.reference else []
    parts += [([each.id for each in sets[key]], row) for key, row in result.candidates.items()]
    for members, values in parts:
        for pk, value in zip(members, values, strict=True):
            detail = {"scored_turns": value.n}
            found.add("score", pk, value=value.value, reason=value.reason, detail=detail, turns=[])
    drawn = dict(result.taus or {})
    if drawn:
        found.add("calibration", workflow, values=[], detail={"resampled_taus": drawn})
    return drawn


def in_order(sets: Sets) -> list[tuple[str, int]]:
    """The sets in the order in which the run met them: by source, then by dialogue."""
    return sorted(sets, key=lambda key: (sets[key][0].fork["source_id"], sets[key][0].id))


def names_of(run: ExportedRun, workflows: dict[int, Sets]) -> dict[int, str]:
    """Names of the workflows; with the corpus where two corpora share one."""
    rows = [run.workflows[key] for key in workflows]
    times = Counter(row["name"] for row in rows)
    return {
        row["id"]: row["name"] if times[row["name"]] == 1 else f"{row['name']} ({row['corpus']})"
        for row in rows
    }


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parent))
