"""What a detector sees of agent runs, as arrays: rows of features, whose run they are, their class.

Rows are steps, or whole runs. Features never look at the labels that are to be predicted; a judge's
label, where it is a feature, is another rater's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmark.label_records import LOGICAL, REFERENTIAL, SIGNALS, TYPES, LabelRecord

Floats = NDArray[np.float64]
Embed = Callable[[Sequence[str]], NDArray[np.float32]]
# Classes of a row: nothing wrong, then what the label says is wrong. UNKNOWN rows train nothing.
UNKNOWN, CLEAN, FAULT = -1, 0, 1
# Of a step as hypothesis (Trajel, section 4.2): referential contradicts, logical is neutral; the
# paper gives no class to other types, so they have one of their own.
ENTAILED, NEUTRAL, CONTRADICTED, OTHERWISE = 0, 1, 2, 3
NLI_OF_TYPE = {REFERENTIAL: CONTRADICTED, LOGICAL: NEUTRAL}
POOLS = ("mean", "max", "last", "all")


@dataclass(frozen=True, slots=True)
class SeenStep:
    """`position` is that of the step in its run; `said` what it thinks, does and sees, `claimed`
    what it thinks and does, "" where that is all of it or nothing."""

    position: int
    agent: str
    said: str
    claimed: str = ""

    @property
    def hypothesis(self) -> str:
        """What is to follow from the history: thought and action (Trajel, section 4.2)."""
        return self.claimed or self.said


@dataclass(frozen=True, slots=True)
class SeenRun:
    """A run as detectors see it. `truth` is the label to predict, None where there is none.

    `question` names the group that folds keep together, `judge` is another rater's label, and
    `signals` are yes, no or undecided by name.
    """

    key: int
    corpus: str
    question: str
    task: str
    response: str
    steps: Sequence[SeenStep]
    truth: LabelRecord | None = None
    judge: LabelRecord | None = None
    signals: Mapping[str, bool | None] | None = None

    @property
    def present(self) -> bool | None:
        return None if self.truth is None else self.truth.present

    @property
    def named(self) -> frozenset[int]:
        """The positions of the steps that the label names."""
        places = self.truth.places if self.truth else ()
        return frozenset(place.step for place in places if place.step is not None)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows to learn from: features (rows, columns), the place of the run of each row, its class.

    `position` is the step a row is about, 0 where it is about the whole run.
    """

    x: Floats
    owner: NDArray[np.intp]
    y: NDArray[np.intp]
    position: NDArray[np.intp]


def joined(*texts: str) -> str:
    """The texts that say something, a line each."""
    return "\n".join(stripped for text in texts if (stripped := text.strip()))


def step_truth(runs: Sequence[SeenRun], *, weak: bool = False) -> NDArray[np.intp]:
    """The class of every step of `runs`, in order: FAULT where the label names the step.

    Of a run that has a hallucination of which no step is named, the steps are UNKNOWN; with `weak`
    every step carries the label of its run. Steps of runs without a label are UNKNOWN.
    """
    found: list[int] = []
    for run in runs:
        if run.present is None or (run.present and not run.named and not weak):
            found += [UNKNOWN] * len(run.steps)
        elif weak:
            found += [FAULT if run.present else CLEAN] * len(run.steps)
        else:
            found += [FAULT if step.position in run.named else CLEAN for step in run.steps]
    return np.array(found, dtype=np.intp)


def nli_truth(runs: Sequence[SeenRun], *, weak: bool = False) -> NDArray[np.intp]:
    """The same in the words of entailment: ENTAILED, NEUTRAL, CONTRADICTED, or OTHERWISE.

    The type is that of the place; where the place has none, that of a label with one type.
    """
    truth = step_truth(runs, weak=weak)
    start = 0
    for run in runs:
        for place, step in enumerate(run.steps, start=start):
            if truth[place] == FAULT:
                truth[place] = _nli_class(run.truth, step.position)
        start += len(run.steps)
    return truth


def _nli_class(label: LabelRecord | None, position: int) -> int:
    if label is None:
        return OTHERWISE
    types = {p.type for p in label.places if p.step == position and p.type}
    if not types and len(label.types) == 1:
        types = set(label.types)
    classes = {NLI_OF_TYPE.get(type_, OTHERWISE) for type_ in types}
    # A step with several faults counts as the clearest of them.
    return max(classes - {OTHERWISE}, default=OTHERWISE)


def run_truth(runs: Sequence[SeenRun]) -> NDArray[np.intp]:
    """The class of every run: FAULT, CLEAN, or UNKNOWN without a label."""
    return np.array(
        [UNKNOWN if run.present is None else FAULT if run.present else CLEAN for run in runs],
        dtype=np.intp,
    )


def owners(runs: Sequence[SeenRun]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Of every step the place of its run, and its position in it."""
    owner = np.repeat(np.arange(len(runs)), [len(run.steps) for run in runs])
    position = [step.position for run in runs for step in run.steps]
    return owner.astype(np.intp), np.array(position, dtype=np.intp)


def step_vectors(runs: Sequence[SeenRun], embed: Embed) -> Floats:
    """The vector of what each step says, scaled so that entries are about one."""
    return scaled(embed([step.said for run in runs for step in run.steps]))


def pair_features(runs: Sequence[SeenRun], embed: Embed) -> Floats:
    """Premise and hypothesis of every step: u, v, |u - v|, u * v and their cosine (4 dim + 1).

    The hypothesis v is what the step thinks and does. The premise u is the task and all that the
    steps before it say: the mean of their vectors, scaled to length one. A mean grows with the
    history in one pass, where encoding the growing text would take the square of the steps.
    """
    steps = [step for run in runs for step in run.steps]
    said = np.asarray(embed([step.said for step in steps]), dtype=np.float64)
    v = np.asarray(embed([step.hypothesis for step in steps]), dtype=np.float64)
    tasks = np.asarray(embed([run.task for run in runs]), dtype=np.float64)
    u = np.zeros_like(v)
    start = 0
    for place, run in enumerate(runs):
        end = start + len(run.steps)
        if end > start:
            before = np.vstack([tasks[place : place + 1], said[start : end - 1]])
            u[start:end] = _unit(np.cumsum(before, axis=0))
        start = end
    cosine = (u * v).sum(axis=1, keepdims=True)
    width = v.shape[1]
    return np.hstack([scaled(u), scaled(v), scaled(np.abs(u - v)), u * v * width, cosine * 4])


def pooled_windows(runs: Sequence[SeenRun], embed: Embed, *, window: int, pool: str) -> Floats:
    """Each run as one row: its whole text in windows of `window` characters, their vectors pooled.

    `pool` is the mean, the max of each column, the last window, or all three side by side.
    """
    texts = [windows(whole_text(run), window) for run in runs]
    vectors = scaled(embed([text for each in texts for text in each]))
    ends = np.cumsum([len(each) for each in texts])
    rows = [_pooled(part, pool) for part in np.split(vectors, ends[:-1])]
    return np.vstack(rows)


def whole_text(run: SeenRun) -> str:
    """The whole run in order: the task, every step under its agent, and the final response."""
    said = [joined(f"{step.agent}:" if step.agent else "", step.said) for step in run.steps]
    return joined(run.task, *said, run.response)


def windows(text: str, size: int) -> list[str]:
    """`text` in pieces of `size` characters, the last may be shorter; one empty piece of none."""
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]


def judge_columns(runs: Sequence[SeenRun]) -> Floats:
    """What a judge says of each run: answered, present, one column per type, log of places.

    Then one column per execution signal: 1 for yes, -1 for no, 0 where it is not known.
    """
    return np.array([[*_judged(run.judge), *_signalled(run.signals)] for run in runs], np.float64)


def _judged(label: LabelRecord | None) -> list[float]:
    if label is None:
        return [0.0] * (3 + len(TYPES))
    types = [float(name in label.types) for name in TYPES]
    return [1.0, float(label.present), *types, float(np.log1p(len(label.places)))]


def _signalled(signals: Mapping[str, bool | None] | None) -> list[float]:
    values = [(signals or {}).get(name) for name in SIGNALS]
    return [0.0 if value is None else 1.0 if value else -1.0 for value in values]


def length_columns(runs: Sequence[SeenRun]) -> Floats:
    """Logs of the number of steps and of characters: what a detector must do better than."""
    sizes = [(len(run.steps), sum(len(step.said) for step in run.steps)) for run in runs]
    return np.log1p(np.array(sizes, dtype=np.float64).reshape(len(runs), 2))


def position_columns(runs: Sequence[SeenRun]) -> Floats:
    """Where each step stands, not what it says: share of the run, 1 / place, log of the place."""
    parts = []
    for run in runs:
        place = np.arange(1, len(run.steps) + 1, dtype=np.float64)
        parts.append(np.column_stack([place / max(len(place), 1), 1 / place, np.log(place)]))
    return np.vstack(parts) if parts else np.zeros((0, 3))


def scaled(vectors: NDArray[np.floating]) -> Floats:
    """Rows of length one, times the root of their columns, so that entries are about one."""
    rows = np.asarray(vectors, dtype=np.float64)
    return rows * np.sqrt(rows.shape[1])


def _pooled(part: Floats, pool: str) -> Floats:
    kinds = {"mean": part.mean(axis=0), "max": part.max(axis=0), "last": part[-1]}
    return np.concatenate(list(kinds.values())) if pool == "all" else kinds[pool]


def _unit(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
