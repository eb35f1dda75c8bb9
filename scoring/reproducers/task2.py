"""Recompute every number of this run, without a database: forks against their sources (task 2).

Run it with the project on the path: PYTHONPATH=/path/to/dialfork python reproduce.py
"""

from __future__ import annotations

import sys
from pathlib import Path

from scoring.dialogue_distances import METHODS
from scoring.fork_order import ForkDistance, taus_by_type
from scoring.reproducing import ExportedRun, Numbers, report


def main(folder: Path) -> int:
    run = ExportedRun(folder)
    found = Numbers()
    forks = [each for each in run.read() if each.fork and each.corpus in run.parameters["corpora"]]
    full = run.parameters["method"] == "full"
    sources = {each.fork["source_id"] for each in forks}
    vectors = {key: run.scored(run.dialogues[key], full=full) for key in sources}
    pairs = [(vectors[each.fork["source_id"]], run.scored(each, full=full)) for each in forks]
    distances = METHODS[run.parameters["method"]](pairs, **run.parameters["settings"])
    rows = []
    for fork, (value, reason, detail) in zip(forks, distances, strict=True):
        found.add("score", fork.id, value=value, reason=reason, detail=dict(detail), turns=[])
        place = fork.fork
        rows.append(ForkDistance(place["source_id"], place["type"], place["k"], value, reason))
    taus = taus_by_type(
        rows,
        seed=run.parameters["bootstrap_seed"],
        resamples=run.parameters["bootstrap_resamples"],
    )
    for group, tau in taus.items():
        detail = dict(tau.detail)
        skipped = detail.pop("skipped")
        low, high = tau.ci or (None, None)
        found.add(
            "result",
            "tau",
            group,
            "",
            0,
            value=tau.value,
            reason=tau.reason,
            n=tau.n,
            skipped=skipped,
            ci_low=low,
            ci_high=high,
            detail=detail,
        )
    return report(run, found)


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parent))
