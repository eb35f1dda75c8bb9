"""Labels of raters beside each other as arrays, run by run.

Runs are put into one order whatever order they come in, so that sums and draws repeat exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from annotation.label_intervals import RESAMPLES, Draws, draws_of
from benchmark.label_records import TYPES, LabelRecord

Bools = NDArray[np.bool_]
PLACE_OF = {name: place for place, name in enumerate(TYPES)}


class Run(Protocol):
    """What statistics need of a run; `benchmark.labelling.LabelledRun` is one."""

    @property
    def pk(self) -> int: ...
    @property
    def external_id(self) -> str: ...
    @property
    def corpus(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def question(self) -> str: ...
    @property
    def n_steps(self) -> int: ...
    @property
    def agents(self) -> tuple[str, ...]: ...
    @property
    def labels(self) -> Mapping[str, LabelRecord]: ...


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of one rater: `records` (n), `present` and `typed` (n,), `types` (n, 5)."""

    rater: str
    records: Sequence[LabelRecord]
    present: Bools
    typed: Bools
    types: Bools

    @property
    def never_typed(self) -> bool:
        """Whether there are faults and not one of them has a type: this rater gives none."""
        return bool(self.present.any()) and not self.types.any()


@dataclass(frozen=True, slots=True)
class LabelPairs:
    """Runs that two raters have both labelled; `one` is the reference, `draws` their questions."""

    runs: Sequence[Run]
    one: Labels
    other: Labels
    draws: Draws

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def typed(self) -> Bools:
        """Runs on which both say which types there are, or that there are none."""
        return self.one.typed & self.other.typed

    @property
    def both(self) -> Bools:
        """Runs in which both see a fault."""
        return self.one.present & self.other.present


def in_order(runs: Iterable[Run]) -> list[Run]:
    """Runs by corpus, question, name and key."""
    return sorted(runs, key=lambda run: (run.corpus, run.question, run.external_id, run.pk))


def question_of(run: Run) -> tuple[str, str]:
    """What is drawn together: the question within its corpus, or else the run.

    A run stands several times where each of its reviewers counts; then it has one name.
    """
    if run.question:
        return (run.corpus, f"question {run.question}")
    return (run.corpus, f"run {run.external_id or run.pk}")


def labels_of(rater: str, records: Sequence[LabelRecord]) -> Labels:
    """Arrays of labels."""
    types = np.zeros((len(records), len(TYPES)), dtype=bool)
    for row, record in enumerate(records):
        for name in record.types:
            types[row, PLACE_OF[name]] = True
    present = np.array([record.present for record in records], dtype=bool)
    return Labels(rater, records, present, types.any(axis=1) | ~present, types)


def labelled_by(
    runs: Iterable[Run], rater: str, *, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[list[Run], Labels, Draws]:
    """The runs this rater has labelled, their labels and draws over their questions."""
    kept = [run for run in in_order(runs) if rater in run.labels]
    draws = draws_of([question_of(run) for run in kept], resamples=resamples, seed=seed)
    return kept, labels_of(rater, [run.labels[rater] for run in kept]), draws


def pairs_of(
    runs: Iterable[Run], one: str, other: str, *, resamples: int = RESAMPLES, seed: int = 0
) -> LabelPairs:
    """The runs both raters have labelled; `one` is the reference.

    Raises ValueError where both names are the same.
    """
    if one == other:
        raise ValueError(f"{one!r} cannot be compared with itself; name two raters")
    kept = [run for run in in_order(runs) if one in run.labels and other in run.labels]
    draws = draws_of([question_of(run) for run in kept], resamples=resamples, seed=seed)
    first, second = (labels_of(name, [r.labels[name] for r in kept]) for name in (one, other))
    return LabelPairs(kept, first, second, draws)


def grouped(names: Sequence[str]) -> tuple[list[str], Bools]:
    """The different names in rising order and which run is of which, shape (n, groups)."""
    found = sorted(set(names))
    held = np.array(names, dtype=object)[:, None] == np.array(found, dtype=object)[None, :]
    return found, held.reshape(len(names), len(found)).astype(bool)
