"""Recompute every number of this comparison, without a database, from the answers of its runs.

Run it with the project on the path: PYTHONPATH=/path/to/dialfork python reproduce.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from scoring.fork_order import ForkDistance, units_by_type
from scoring.onset_sums import OnsetRow
from scoring.paired_comparisons import Compared, Unit, compare, compare_all
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
        differences = compare_scores(answers, reference, **drawn)
    else:
        units = {each["run"]: taus(each["rows"]) for each in run.lines("compared")}
        sides = "two-sided" if task == "task1" else "greater"
        differences = compare(units, reference, alternative=sides, **drawn)
    for row in differences:
        add(found, "difference", row, [row.second])
    if task == "task1":
        for row in compare_all(units, **drawn):
            add(found, "pair", row, [row.first, row.second])
    return report(run, found)


def taus(rows: list[list[Any]]) -> dict[Unit, float]:
    """The tau of every unit and fork type that has all four distances."""
    distances = [ForkDistance(*row) for row in rows]
    return {
        (name, type_): tau
        for type_, units in units_by_type(distances).items()
        for name, tau in units.taus.items()
    }


def add(found: Numbers, statistic: str, row: Compared, runs: list[Any]) -> None:
    estimate = row.estimate
    low, high = estimate.ci or (None, None)
    found.add(
        "result",
        statistic,
        "|".join(map(str, [row.group, *runs])),
        "",
        0,
        value=estimate.value,
        reason=estimate.reason,
        n=estimate.n,
        skipped=estimate.detail["unpaired"],
        ci_low=low,
        ci_high=high,
        detail=dict(estimate.detail),
    )


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parent))
