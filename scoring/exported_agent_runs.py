"""Agent runs as lines of JSON, so that a detector can be computed again without a database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmark.label_records import LabelRecord, label_of
from scoring.trajectory_features import SeenRun, SeenStep


@dataclass(frozen=True, slots=True)
class FoldedRun:
    """A run as detectors see it, the model that made it, and the fold that scored it (from 1)."""

    run: SeenRun
    model: str
    fold: int


def line_of(folded: FoldedRun) -> dict[str, Any]:
    """The line of one run; the inverse is `runs_of_lines`."""
    run = folded.run
    return {
        "key": run.key,
        "corpus": run.corpus,
        "question": run.question,
        "model": folded.model,
        "fold": folded.fold,
        "task": run.task,
        "response": run.response,
        "steps": [[step.position, step.agent, step.said, step.claimed] for step in run.steps],
        "truth": run.truth and run.truth.to_json(),
        "judge": run.judge and run.judge.to_json(),
        "signals": run.signals and dict(run.signals),
    }


def runs_of_lines(lines: Iterable[Mapping[str, Any]]) -> list[FoldedRun]:
    """The runs of `line_of`, in the order of the lines."""
    return [
        FoldedRun(
            SeenRun(
                key=line["key"],
                corpus=line["corpus"],
                question=line["question"],
                task=line["task"],
                response=line["response"],
                steps=[SeenStep(*step) for step in line["steps"]],
                truth=_label(line["truth"]),
                judge=_label(line["judge"]),
                signals=line["signals"],
            ),
            line["model"],
            line["fold"],
        )
        for line in lines
    ]


def _label(value: Mapping[str, Any] | None) -> LabelRecord | None:
    return None if value is None else label_of(value)
