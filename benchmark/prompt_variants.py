"""What other words in a prompt change in what a judge answers (Trajel, section 4.1).

Judges of one model whose prompts belong to one set of variants have answered on the same runs. The
base is the lowest version of each model. Every comparison is paired: it takes the runs that both
have answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from annotation.label_intervals import RESAMPLES, Draws, draws_of, estimates
from benchmark.label_records import TYPES
from scoring.estimates import Estimate, undefined

NO_SHARED = "no run is answered under both prompts"
NO_DISAGREEMENT = "both say the same of every run"


class Verdict(NamedTuple):
    """What a judge says of a run; no types beside `present` means: not said which."""

    present: bool
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """A judge with its prompt, the runs it has answered by key, and how many answers on runs could
    not be read. `variant` gives the level of the prompt on each axis."""

    name: str
    model: str
    prompt: str
    version: int
    variant: Mapping[str, str]
    verdicts: Mapping[int, Verdict]
    rejected: int = 0


@dataclass(frozen=True)
class Table:
    """The judges of a set of variants over all runs that any of them has answered.

    `questions` gives the question of a run; a run without one is a question of its own.
    """

    judges: Sequence[Judged]
    questions: Mapping[int, str]
    resamples: int = RESAMPLES
    seed: int = 0

    @cached_property
    def runs(self) -> list[int]:
        return sorted({run for judge in self.judges for run in judge.verdicts})

    @cached_property
    def axes(self) -> list[str]:
        """The axes on which the prompts differ."""
        names = sorted({axis for judge in self.judges for axis in judge.variant})
        return [a for a in names if len({judge.variant.get(a) for judge in self.judges}) > 1]

    @cached_property
    def draws(self) -> Draws:
        keys = [self.questions.get(run) or f"run {run}" for run in self.runs]
        return draws_of(keys, resamples=self.resamples, seed=self.seed)

    @cached_property
    def answered(self) -> NDArray[np.bool_]:
        """(judges, runs): whether there is an answer that could be read."""
        rows = [[run in judge.verdicts for run in self.runs] for judge in self.judges]
        return np.array(rows, dtype=bool).reshape(len(self.judges), len(self.runs))

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """(judges, runs): whether the answer is yes; False where there is none."""
        no = Verdict(False)
        rows = [[j.verdicts.get(run, no).present for run in self.runs] for j in self.judges]
        return np.array(rows, dtype=bool).reshape(len(self.judges), len(self.runs))

    @cached_property
    def typed(self) -> NDArray[np.bool_]:
        """(judges, runs): whether the answer says which types, or that there is nothing."""
        return self.answered & (self.types.any(axis=2) | ~self.present)

    @cached_property
    def types(self) -> NDArray[np.bool_]:
        """(judges, runs, types): which types the answer names."""
        no = Verdict(False)
        rows = [
            [[t in j.verdicts.get(run, no).types for t in TYPES] for run in self.runs]
            for j in self.judges
        ]
        return np.array(rows, dtype=bool).reshape(len(self.judges), len(self.runs), len(TYPES))

    def model(self, place: int) -> str:
        """The model of a judge; one whose model nobody knows stands for itself."""
        judge = self.judges[place]
        return judge.model or f"({judge.name})"

    @cached_property
    def bases(self) -> dict[str, int]:
        """The place of the base of each model: its lowest version."""
        order = sorted(range(len(self.judges)), key=lambda j: (self.judges[j].version, j))
        found: dict[str, int] = {}
        for place in order:
            found.setdefault(self.model(place), place)
        return found

    def differing(self, one: int, other: int) -> list[str]:
        """The axes on which two judges' prompts differ."""
        first, second = self.judges[one].variant, self.judges[other].variant
        return [axis for axis in self.axes if first.get(axis) != second.get(axis)]

    def pairs(self, axis: str) -> dict[tuple[str, str, str], list[tuple[int, int]]]:
        """Pairs of judges of one model whose prompts differ on `axis` alone, by model, level of the
        base and other level."""
        found: dict[tuple[str, str, str], list[tuple[int, int]]] = {}
        for model, base in self.bases.items():
            level = self.judges[base].variant.get(axis, "")
            of_model = [j for j in range(len(self.judges)) if self.model(j) == model]
            for one in of_model:
                for other in of_model:
                    to = self.judges[other].variant.get(axis, "")
                    from_base = self.judges[one].variant.get(axis, "") == level
                    if from_base and self.differing(one, other) == [axis]:
                        found.setdefault((model, level, to), []).append((one, other))
        return found


def mcnemar(only_one: int, only_other: int) -> Estimate:
    """Exact two-sided p of McNemar's test: a sign test of the runs on which two judges disagree.

    `n` counts these runs. Source: McNemar 1947, doi:10.1007/BF02295996; exact form as the binomial
    test of its discordant pairs.
    """
    n = only_one + only_other
    detail = {"only_one": only_one, "only_other": only_other}
    if not n:
        return undefined(NO_DISAGREEMENT, **detail)
    return Estimate(float(stats.binomtest(only_one, n).pvalue), n=n, detail=detail)


def turned(table: Table, pairs: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """How many answers turn to yes and to no from the first to the second judge of all pairs."""
    present, answered = table.present, table.answered
    both = [(answered[a] & answered[b], present[a], present[b]) for a, b in pairs]
    up = sum(int((shared & ~first & second).sum()) for shared, first, second in both)
    return up, sum(int((shared & first & ~second).sum()) for shared, first, second in both)


def differences(
    table: Table,
    pairs: Sequence[tuple[int, int]],
    said: NDArray[np.bool_],
    counted: NDArray[np.bool_],
) -> list[Estimate]:
    """The second's minus the first's, as the mean over runs of all pairs, with an interval over
    questions: one estimate for each thing in the last axis of `said` (judges, runs, things).
    `counted` (judges, runs) says which answers are in."""
    parts = np.zeros((len(table.runs), said.shape[2], 2))
    for one, other in pairs:
        both = (counted[one] & counted[other])[:, None]
        parts[..., 0] += both * (said[other].astype(float) - said[one])
        parts[..., 1] += both
    n = parts[..., 1].sum(axis=0)

    def mean(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(sums[..., 0] / sums[..., 1])

    found = estimates(table.draws, parts, {"difference": (mean, NO_SHARED)}, n)["difference"]
    return [e if e.n else undefined(NO_SHARED) for e in found]
