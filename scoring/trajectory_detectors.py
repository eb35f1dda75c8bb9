"""Detectors of hallucinations in agent runs: trained on some runs, asked about others.

The three paradigms of Trajel (section 4.2) over sentence vectors, a hybrid with a judge (section
7), and controls. Fine-tuned transformers stand in `scoring.finetuned_detectors`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring import linear_detectors
from scoring.linear_detectors import Logistic, NothingToLearn, unbalanced
from scoring.trajectory_features import (
    Embed,
    SeenRun,
    Table,
    judge_columns,
    length_columns,
    nli_truth,
    owners,
    pair_features,
    pooled_windows,
    position_columns,
    run_truth,
    step_truth,
    step_vectors,
)

Floats = NDArray[np.float64]
Settings = Mapping[str, Any]
MAX, MEAN, NOISY_OR = AGGREGATORS = ("max", "mean", "noisy_or")
PLACES, WHOLE_RUN = STEP_TRUTHS = ("places", "run")
NO_STEP, NO_JUDGE = "the run has no step", "the judge has no label of the run"


@dataclass(frozen=True, slots=True)
class Scored:
    """What a detector says of a run: the higher, the more suspicious; None with a reason.

    `steps` holds (position, value) of each step, of detectors that look at steps.
    """

    key: int
    value: float | None
    reason: str = ""
    steps: Sequence[tuple[int, float]] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)


def step_table(runs: Sequence[SeenRun], settings: Settings, embed: Embed) -> Table:
    """Paradigm 1: each step by itself."""
    truth = step_truth(runs, weak=settings["step_truth"] == WHOLE_RUN)
    owner, position = owners(runs)
    return Table(step_vectors(runs, embed), owner, truth, position)


def nli_table(runs: Sequence[SeenRun], settings: Settings, embed: Embed) -> Table:
    """Paradigm 2: each step as a hypothesis that follows from the history, or does not."""
    truth = nli_truth(runs, weak=settings["step_truth"] == WHOLE_RUN)
    owner, position = owners(runs)
    return Table(pair_features(runs, embed), owner, truth, position)


def window_table(runs: Sequence[SeenRun], settings: Settings, embed: Embed) -> Table:
    """Paradigm 3: the whole run as one text, in pooled windows."""
    x = pooled_windows(runs, embed, window=settings["window"], pool=settings["pool"])
    return _whole(runs, x)


def hybrid_table(runs: Sequence[SeenRun], settings: Settings, embed: Embed) -> Table:
    """A judge's label and the execution signals, with or without the text in pooled windows."""
    columns = [judge_columns(runs) * settings["judge_weight"]]
    if settings["with_text"]:
        columns.append(pooled_windows(runs, embed, window=settings["window"], pool="mean"))
    return _whole(runs, np.hstack(columns))


def length_table(runs: Sequence[SeenRun], settings: Settings, embed: Embed) -> Table:
    """A control: how long the run is, and nothing of what it says."""
    columns = length_columns(runs)
    kept = {"steps": [0], "characters": [1], "both": [0, 1]}[settings["measure"]]
    return _whole(runs, columns[:, kept])


def position_table(runs: Sequence[SeenRun], settings: Settings, embed: Embed) -> Table:
    """A control: where a step stands, and nothing of what it says."""
    truth = step_truth(runs, weak=settings["step_truth"] == WHOLE_RUN)
    owner, position = owners(runs)
    return Table(position_columns(runs), owner, truth, position)


TABLES: Mapping[str, Callable[[Sequence[SeenRun], Settings, Embed], Table]] = {
    "step_classifier": step_table,
    "step_entailment": nli_table,
    "long_context": window_table,
    "judge_hybrid": hybrid_table,
    "run_length": length_table,
    "step_position": position_table,
}


def out_of_fold(
    method: str,
    settings: Settings,
    runs: Sequence[SeenRun],
    tested: NDArray[np.bool_],
    embed: Embed,
) -> list[Scored]:
    """The scores of the `tested` runs, by a detector trained on labelled runs of other questions.

    `tested` is a mask over `runs`; a run that shares a question with a tested one trains nothing.
    Where the training cannot teach the difference, every score is undefined with the reason.
    """
    if method == "majority":
        # The same for all: a share of the training would differ between folds, and so tell.
        return [Scored(run.key, 0.0) for run in _of(runs, tested)]
    if method == "judge_label":
        return [_by_judge(run) for run in _of(runs, tested)]
    held_out = {run.question for run in _of(runs, tested)}
    train = np.array([run.present is not None and run.question not in held_out for run in runs])
    table = TABLES[method](runs, settings, embed)
    groups = [run.question for run in runs]
    try:
        fitted = linear_detectors.fit(table, train, groups, seed=settings.get("seed", 0))
    except NothingToLearn as error:
        return [Scored(run.key, None, str(error)) for run in _of(runs, tested)]
    return _asked(table, fitted, runs, tested, settings.get("aggregator", MAX))


def run_score(values: Floats, aggregator: str, prior: float) -> float:
    """One value of a run from the suspicion of its steps (at least one).

    "max" and "mean" as they say; "noisy_or" is the probability that at least one step is faulty,
    were they independent, after the share of faults in training is put back.
    """
    if aggregator == MAX:
        return float(values.max())
    if aggregator == MEAN:
        return float(values.mean())
    if aggregator == NOISY_OR:
        sound = np.log1p(-np.minimum(unbalanced(values, prior), 1 - 1e-12))
        return float(-np.expm1(sound.sum()))
    raise ValueError(f"aggregator is {aggregator!r}; it must be one of {', '.join(AGGREGATORS)}")


def _asked(
    table: Table,
    fitted: Logistic,
    runs: Sequence[SeenRun],
    tested: NDArray[np.bool_],
    aggregator: str,
) -> list[Scored]:
    rows = tested[table.owner]
    values = np.full(len(rows), np.nan)
    if rows.any():
        values[rows] = fitted.suspicion(table.x[rows])
    ends = np.searchsorted(table.owner, np.arange(len(runs) + 1))
    detail = {"strength": fitted.strength, "inner_auc": fitted.inner_auc}
    found = []
    for place in np.flatnonzero(tested):
        own = slice(ends[place], ends[place + 1])
        key = runs[place].key
        if own.start == own.stop:
            found.append(Scored(key, None, NO_STEP))
            continue
        value = run_score(values[own], aggregator, fitted.prior)
        steps = [
            (int(position), float(each))
            for position, each in zip(table.position[own], values[own], strict=True)
            if position
        ]
        found.append(Scored(key, value, steps=steps, detail=detail))
    return found


def _whole(runs: Sequence[SeenRun], x: Floats) -> Table:
    places = np.arange(len(runs), dtype=np.intp)
    return Table(x, places, run_truth(runs), np.zeros(len(runs), dtype=np.intp))


def _by_judge(run: SeenRun) -> Scored:
    if run.judge is None:
        return Scored(run.key, None, NO_JUDGE)
    return Scored(run.key, float(run.judge.present))


def _of(runs: Sequence[SeenRun], tested: NDArray[np.bool_]) -> list[SeenRun]:
    return [run for run, yes in zip(runs, tested, strict=True) if yes]


__all__ = ["AGGREGATORS", "STEP_TRUTHS", "TABLES", "Scored", "out_of_fold", "run_score"]
