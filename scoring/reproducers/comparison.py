"""Recompute every number of this comparison, without a database, from the answers of its runs.

Run it with the project on the path: PYTHONPATH=/path/to/dialfork python reproduce.py
"""

from __future__ import annotations

import sys
from pathlib import Path

from scoring.fork_order import ForkDistance, taus_of_units
from scoring.onset_sums import OnsetRow
from scoring.paired_comparisons import compared_taus
from scoring.paired_scores import compare_scores
from scoring.reproducing import ExportedRun, Numbers, report


def main(folder: Path) -> int:
    run = ExportedRun(folder)
    found = Numbers()
    task, reference = run.parameters["task"], run.parameters["reference"]
    drawn = {
        "seed": run.parameters["bootstrap_seed"],
        "resamples": run.parameters["bootstrap_resamples"],
    }
    if task == "task3":
        answers = {
            each["run"]: [OnsetRow(*row) for row in each["rows"]] for each in run.lines("compared")
        }
        rows = [row.result() for row in compare_scores(answers, reference, **drawn)]
    else:
        units = {
            each["run"]: taus_of_units([ForkDistance(*row) for row in each["rows"]])
            for each in run.lines("compared")
        }
        rows = compared_taus(task, units, reference, **drawn)
    for statistic, group, fields in rows:
        found.add("result", statistic, group, "", 0, **fields)
    return report(run, found)


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parent))
