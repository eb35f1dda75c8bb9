"""Answers of a detector as sums per source dialogue, and figures of weighted sums.

Resampling sources (a conformant test dialogue and its forks are one cluster) is then a product of
weights with sums. The figures are those of `detection_metrics` (DialFork, task 3), for any number
of resamples at once.

Groups are the fork types and "all". Of "all", the error is the plain mean of the types', coverage
and exact hits are over all forks; with as many forks of each type both ways are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark.records import FORK_TYPES
from scoring.detection_metrics import WEIGHTS, weighted_score

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

KS = (1, 2, 3, 4)
ALL, CONFORMANT = "all", "conformant"
# One cell per fork type and k, and the last one for conformant dialogues.
CELLS = len(FORK_TYPES) * len(KS) + 1
COLUMNS = ("judged", "flagged", "error", "exact", "first_error", "last_error")


class OnsetRow(NamedTuple):
    """What a method answered on one test dialogue.

    `type` and `k` are those of the fork, "" and 0 for a conformant dialogue; `source` names the
    dialogue it was forked from, or itself. `truth` is the fork turn, or one past the last assistant
    turn; `first` and `last` are its first and last assistant turns. All are numbers over all turns
    from 1. `answer` is None where nothing was flagged; with a `reason` the dialogue could not be
    judged and the numbers mean nothing. `turns` are (number, value) of the judged turns.
    """

    source: str
    workflow: str
    type: str
    k: int
    truth: int
    first: int
    last: int
    answer: int | None
    reason: str = ""
    turns: Sequence[Sequence[float]] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """Figures of one or many (re)samples; NaN where there is none, shares in per cent.

    The dictionaries have the groups as keys; every array has the shape of the samples.
    """

    error: Mapping[str, Floats]
    coverage: Mapping[str, Floats]
    exact_hit: Mapping[str, Floats]
    conformant_error: Floats
    false_alarms: Floats
    most_fork_error: Floats
    most_conformant_error: Floats
    parts: Floats

    def score(self, weights: Sequence[float] = WEIGHTS) -> Floats:
        return weighted_score(self.parts, weights)


@dataclass(frozen=True, eq=False)
class AnswerTable:
    """Test dialogues that could be judged, as arrays of shape (n,).

    `sources` are the names behind `source`. `answers` holds 0 for "nowhere".
    """

    sources: tuple[str, ...]
    source: Ints
    workflow: NDArray[np.str_]
    cell: Ints
    truth: Ints
    first: Ints
    last: Ints
    answers: Ints
    turns: Sequence[Sequence[Sequence[float]]] = field(repr=False)

    def sums(self, answers: Ints | None = None) -> Floats:
        """Sums per source and cell, shape (sources, CELLS, len(COLUMNS))."""
        found = self.answers if answers is None else answers
        flagged = found > 0
        columns = np.stack(
            [
                np.ones(len(found)),
                flagged,
                np.where(flagged, np.abs(found - self.truth), 0),
                flagged & (found == self.truth),
                np.abs(self.first - self.truth),
                np.abs(self.last - self.truth),
            ],
            axis=1,
        )
        total = np.zeros((len(self.sources), CELLS, len(COLUMNS)))
        np.add.at(total, (self.source, self.cell), columns)
        return total

    def answers_at(self, cuts: Mapping[str, float | None]) -> Ints:
        """The answers with other thresholds, one per workflow (None: never alarm), from `turns`."""
        limits = [cuts.get(name) for name in self.workflow]
        lines = np.array([np.inf if limit is None else limit for limit in limits])
        numbers, values, starts = self._flat
        lengths = np.diff(starts)
        places = np.flatnonzero(values > np.repeat(lines, lengths))
        owners = np.repeat(np.arange(len(lengths)), lengths)[places]
        rows, firsts = np.unique(owners, return_index=True)
        found = np.zeros(len(lengths), dtype=np.int64)
        found[rows] = numbers[places[firsts]]
        return found

    @cached_property
    def _flat(self) -> tuple[Ints, Floats, Ints]:
        flat = np.array([pair for turns in self.turns for pair in turns], dtype=np.float64)
        flat = flat.reshape(-1, 2)
        starts = np.cumsum([0, *(len(turns) for turns in self.turns)])
        return flat[:, 0].astype(np.int64), flat[:, 1], starts

    def of_workflow(self, name: str) -> AnswerTable:
        """The dialogues of one workflow, its sources numbered anew."""
        here = np.flatnonzero(self.workflow == name)
        kept, source = np.unique(self.source[here], return_inverse=True)
        return AnswerTable(
            tuple(self.sources[i] for i in kept),
            source,
            *(getattr(self, n)[here] for n in ("workflow", "cell", "truth", "first", "last")),
            self.answers[here],
            [self.turns[i] for i in here],
        )


def tabled(rows: Iterable[OnsetRow], sources: Sequence[str] | None = None) -> AnswerTable:
    """The rows that could be judged. `sources` fixes the clusters (to pair runs); else as found.

    Raises ValueError for a row whose source is not among the given ones.
    """
    judged = [row for row in rows if not row.reason]
    names = sorted({row.source for row in judged}) if sources is None else list(sources)
    number = {name: i for i, name in enumerate(names)}
    unknown = {row.source for row in judged} - set(number)
    if unknown:
        raise ValueError(f"source {sorted(unknown)[0]!r} is not among the {len(names)} given")
    return AnswerTable(
        tuple(names),
        np.array([number[row.source] for row in judged], dtype=np.int64),
        np.array([row.workflow for row in judged], dtype=np.str_),
        np.array([_cell(row.type, row.k) for row in judged], dtype=np.int64),
        np.array([row.truth for row in judged], dtype=np.int64),
        np.array([row.first for row in judged], dtype=np.int64),
        np.array([row.last for row in judged], dtype=np.int64),
        np.array([row.answer or 0 for row in judged], dtype=np.int64),
        [row.turns for row in judged],
    )


def draws(sources: int, resamples: int, seed: int) -> Ints:
    """How often each source is drawn in each resample: shape (resamples, sources)."""
    if not sources:
        return np.zeros((resamples, 0), dtype=np.int64)
    shares = np.full(sources, 1 / sources)
    return np.random.default_rng(seed).multinomial(sources, shares, size=resamples)


def score_resamples(sums: Floats, weights: ArrayLike, *, k: int = 0) -> Figures:
    """The figures of weighted sources: `weights` of shape (..., sources), of `AnswerTable.sums`.

    The normalisers of the score come from the same resample. With `k` only forks at that position
    count.
    """
    rows = np.asarray(weights, dtype=np.float64)
    total = rows @ sums.reshape(len(sums), CELLS * len(COLUMNS))
    total = total.reshape(*rows.shape[:-1], CELLS, len(COLUMNS))
    shape = (*rows.shape[:-1], len(FORK_TYPES), len(KS), len(COLUMNS))
    forks = total[..., :-1, :].reshape(shape)
    return _figures(forks[..., [k - 1], :] if k else forks, total[..., -1, :])


def figures_of(table: AnswerTable, answers: Ints | None = None, *, k: int = 0) -> Figures:
    """The figures of the test set itself; arrays of shape ()."""
    return score_resamples(table.sums(answers), np.ones(len(table.sources)), k=k)


def _figures(forks: Floats, calm: Floats) -> Figures:
    """From sums of shape (..., types, ks, columns) and (..., columns)."""
    by_type = forks.sum(axis=-2)
    every = by_type.sum(axis=-2)
    errors = _ratio(by_type[..., 2], by_type[..., 1])
    error = _mean(errors)
    most_fork = np.maximum(
        _mean(_ratio(by_type[..., 4], by_type[..., 0])),
        _mean(_ratio(by_type[..., 5], by_type[..., 0])),
    )
    most_calm = np.maximum(_ratio(calm[..., 4], calm[..., 0]), _ratio(calm[..., 5], calm[..., 0]))
    coverage = 100 * _ratio(every[..., 1], every[..., 0])
    calm_error = _ratio(calm[..., 2], calm[..., 1])
    alarms = 100 * _ratio(calm[..., 1], calm[..., 0])
    parts = np.stack(
        [
            # No fork flagged: the least; no false alarm: no error of one.
            np.where(every[..., 1] > 0, 1 - _ratio(error, most_fork), 0.0),
            coverage / 100,
            np.where(calm[..., 1] > 0, 1 - _ratio(calm_error, most_calm), 1.0),
            1 - alarms / 100,
        ],
        axis=-1,
    )
    return Figures(
        error=_grouped(errors, error),
        coverage=_grouped(100 * _ratio(by_type[..., 1], by_type[..., 0]), coverage),
        exact_hit=_grouped(
            100 * _ratio(by_type[..., 3], by_type[..., 0]),
            100 * _ratio(every[..., 3], every[..., 0]),
        ),
        conformant_error=calm_error,
        false_alarms=alarms,
        most_fork_error=most_fork,
        most_conformant_error=most_calm,
        parts=parts,
    )


def _grouped(by_type: Floats, every: Floats) -> dict[str, Floats]:
    return {name: by_type[..., i] for i, name in enumerate(FORK_TYPES)} | {ALL: every}


def _ratio(above: Floats, below: Floats) -> Floats:
    """NaN where there is nothing to divide by."""
    return np.divide(above, below, out=np.full(np.shape(above), np.nan), where=below > 0)


def _mean(values: Floats) -> Floats:
    """The mean over the last axis of what is defined."""
    there = ~np.isnan(values)
    return _ratio(np.where(there, values, 0.0).sum(axis=-1), there.sum(axis=-1).astype(float))


def _cell(type_: str, k: int) -> int:
    if not type_:
        return CELLS - 1
    if type_ not in FORK_TYPES or k not in KS:
        raise ValueError(f"fork {type_!r} at k = {k!r} is unknown; types are {FORK_TYPES}, k 1-4")
    return FORK_TYPES.index(type_) * len(KS) + k - 1
