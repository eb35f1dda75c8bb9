"""All statistics of labels and signals of a study of runs, beside scikit-learn in a loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import cohen_kappa_score, precision_recall_fscore_support

from annotation import label_tables
from annotation.label_intervals import RESAMPLES
from benchmark.label_records import COMPONENTS, JUDGE, PERSON, TYPES, LabelRecord, PlaceRecord
from scoring.benchmarks.measuring import Limit, Measured, seconds
from scoring.estimates import Estimate
from scoring.signals import figures as signal_figures
from scoring.signals import signals_of

RUNS, QUESTIONS, MODELS, STEPS = 225, 42, 6, 8
ONE, OTHER = "people", "judge"
LOOPS = 5


@dataclass(frozen=True, slots=True)
class Labelled:
    """A run as statistics take it (see `benchmark.labelling.LabelledRun`)."""

    pk: int
    external_id: str
    corpus: str
    model: str
    question: str
    n_steps: int
    agents: tuple[str, ...]
    labels: dict[str, LabelRecord]


def measure() -> dict[str, Measured]:
    """The measured cases of this area, by name."""
    return {"labels_225_runs": statistics(), "signals_225_runs": signals()}


def statistics() -> Measured:
    """Every table of two raters and of each alone, with intervals from resampled questions.

    The loop draws questions and asks scikit-learn for kappa and for precision, recall and F1 of
    presence and of each type: a small part of what the tables hold.
    """
    runs = labelled_runs()

    def ours() -> None:
        label_tables.figures(runs, ONE, OTHER)
        for rater in (ONE, OTHER):
            label_tables.single_rater_figures(runs, rater)

    took, loop = seconds(ours, lambda: sklearn_loop(runs, LOOPS), repeats=3)
    limit = Limit(took, 0.2, f"all tables of {RUNS} runs, {RESAMPLES:,} resamples")
    note = f"{LOOPS} draws of the loop; kappa and F1 of presence equal on both sides"
    rates = RESAMPLES / took, LOOPS / loop
    return Measured(*rates, 10.0, "resamples/s", agree(runs), note, limit)


def signals() -> Measured:
    """Areas, rates and pairs of five signals."""
    rng = np.random.default_rng(1)
    rows = [{f"signal-{n}": bool(rng.integers(2)) for n in range(5)} for _ in range(RUNS)]
    outcome = [bool(rng.integers(2)) for _ in range(RUNS)]
    (took,) = seconds(lambda: signal_figures(signals_of(rows, outcome), ONE), repeats=3)
    limit = Limit(took, 0.05, f"all signal statistics of {RUNS} runs")
    return Measured(1 / took, None, 1.0, "studies/s", limit=limit)


def labelled_runs(seed: int = 0) -> list[Labelled]:
    """A study as large as Trajel's, its labels drawn at random, the judge near the people."""
    rng = np.random.default_rng(seed)
    runs = []
    for key in range(RUNS):
        types = [name for name in TYPES if rng.random() < 0.3]
        seen = [name for name in TYPES if rng.random() < (0.8 if name in types else 0.1)]
        runs.append(
            Labelled(
                pk=key,
                external_id=f"run-{key}",
                corpus="bench",
                model=f"model-{key % MODELS}",
                question=f"question-{key % QUESTIONS}",
                n_steps=STEPS,
                agents=tuple(f"agent-{n % 3}" for n in range(STEPS)),
                labels={
                    ONE: _label(rng, ONE, PERSON, types),
                    OTHER: _label(rng, OTHER, JUDGE, seen),
                },
            )
        )
    return runs


def sklearn_loop(runs: list[Labelled], resamples: int) -> None:
    """Intervals as one writes them at first: draw questions, take their runs, compute again."""
    by_question: dict[str, list[Labelled]] = {}
    for run in runs:
        by_question.setdefault(run.question, []).append(run)
    names = sorted(by_question)
    rng = np.random.default_rng(0)
    for _ in range(resamples):
        drawn = rng.integers(0, len(names), len(names))
        sample = [run for place in drawn for run in by_question[names[place]]]
        for pick in (_present, *(_type(name) for name in TYPES)):
            sklearn_figures(
                *(np.array([pick(run.labels[r]) for run in sample]) for r in (ONE, OTHER))
            )


def sklearn_figures(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> tuple[float, float]:
    """Kappa and F1 as scikit-learn has them."""
    _, _, f1, _ = precision_recall_fscore_support(one, other, average="binary", zero_division=0)
    return float(cohen_kappa_score(one, other)), float(f1)


def agree(runs: list[Labelled]) -> bool:
    """Whether both sides have the same kappa and F1 of presence."""
    table = next(f for f in label_tables.figures(runs, ONE, OTHER) if f.name == "agreement")
    ours: dict[str, Estimate] = {row["measure"]: row["value"] for row in table.rows}
    one, other = (np.array([run.labels[r].present for run in runs]) for r in (ONE, OTHER))
    kappa, f1 = sklearn_figures(one, other)
    pairs = ((ours["kappa"].value, kappa), (ours["F1"].value, f1))
    return all(a is not None and abs(a - b) <= 1e-12 for a, b in pairs)


def _label(rng: np.random.Generator, rater: str, kind: str, types: list[str]) -> LabelRecord:
    places = [
        PlaceRecord(int(rng.integers(1, STEPS + 1)), str(rng.choice(COMPONENTS)), name)
        for name in types
    ]
    unique = {(p.step, p.component, p.type): p for p in places}
    return LabelRecord(rater, bool(types), tuple(types), (), tuple(unique.values()), kind=kind)


def _present(label: LabelRecord) -> bool:
    return label.present


def _type(name: str) -> Callable[[LabelRecord], bool]:
    return lambda label: name in label.types
