"""Recompute every number of this run, without a database: a detector of agent runs.

Run it with the project on the path: PYTHONPATH=/path/to/dialfork python reproduce.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from scoring.exported_agent_runs import runs_of_lines
from scoring.label_summaries import JudgedRun, short, summarise
from scoring.reproducing import ExportedRun, Numbers, report
from scoring.trajectory_detectors import out_of_fold


def main(folder: Path) -> int:
    exported = ExportedRun(folder)
    chosen = exported.parameters
    folded = runs_of_lines(exported.lines("agent_runs"))
    runs = [each.run for each in folded]
    fold = np.array([each.fold for each in folded])

    def embed(texts: list[str]) -> np.ndarray:
        return exported.vectors_for(texts) if "encoder" in chosen else np.zeros((len(texts), 0))

    found = Numbers()
    scores = {}
    for each in np.unique(fold):
        for score in out_of_fold(chosen["method"], chosen["settings"], runs, fold == each, embed):
            scores[score.key] = score
            found.add(
                "suspicion",
                score.key,
                value=score.value,
                reason=score.reason,
                detail=dict(score.detail),
                steps=[list(step) for step in score.steps],
            )
    judged = [
        JudgedRun(each.run, scores[each.run.key].value, scores[each.run.key].steps)
        for each in folded
        if each.run.truth is not None
    ]
    figures = summarise(
        judged,
        {each.run.key: each.model for each in folded},
        seed=chosen["bootstrap_seed"],
        resamples=chosen["bootstrap_resamples"],
    )
    for (statistic, group), estimate in figures.items():
        found.add_estimate(estimate, statistic, short(group), "", 0)
    return report(exported, found)


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parent))
