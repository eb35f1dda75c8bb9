"""How wide the intervals of a study of agent runs will be, before anybody has judged anything.

The design is judged many times over by imagined people and an imagined judge, who find a fault
that is there and imagine one that is not at given rates; every draw is summed up as a report is.
What comes out is a width to be expected and how much it varies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from annotation.forecast_statistics import Found, ac1, wilson_share
from annotation.interval_forecasts import Forecasts, summed

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MOST_CELLS, FEWEST_DRAWS = 2_000_000, 10


@dataclass(frozen=True, slots=True)
class RunStrength:
    """What is assumed, as shares from 0 to 1.

    `prevalence` is how many runs have a fault. Who finds it: `sensitivity` of runs with one are
    judged to have one, `specificity` of those without to have none; of people and of the judge.
    The defaults of the judge are those of Trajel's 2 x 2 table (section 5.1).
    """

    prevalence: float = 0.68
    person_sensitivity: float = 0.9
    person_specificity: float = 0.8
    judge_sensitivity: float = 0.92
    judge_specificity: float = 0.49


@dataclass(frozen=True, slots=True)
class RunLayout:
    """A design as arrays: the run of each judgement (from 0, each seat's in turn), and which runs
    (by number) have an answer of the judge."""

    run: Ints
    answered: NDArray[np.bool_]


def layout_of(items: Sequence[int], answered: Sequence[bool]) -> RunLayout:
    """The layout of judgements of `items` (keys), each with whether the judge answered on it."""
    _, first, run = np.unique(np.array(items), return_index=True, return_inverse=True)
    return RunLayout(run.astype(np.int64), np.array(answered, dtype=bool)[first])


def forecast_runs(
    layout: RunLayout, strength: RunStrength, *, draws: int = 200, seed: int = 0
) -> Forecasts:
    """Simulate the study `draws` times (fewer for a large one) and forecast its intervals.

    Raises ValueError for a layout without judgements.
    """
    if not len(layout.run):
        raise ValueError("a study without judgements has no intervals to forecast")
    draws = max(min(FEWEST_DRAWS, draws), min(draws, MOST_CELLS // len(layout.run)))
    rng = np.random.default_rng(seed)
    truth = rng.random((draws, len(layout.answered))) < strength.prevalence
    people = _said(
        truth[:, layout.run], strength.person_sensitivity, strength.person_specificity, rng
    )
    judge = _said(truth, strength.judge_sensitivity, strength.judge_specificity, rng)
    found = [*_of_people(layout, people), *_of_judge(layout, people, judge)]
    return Forecasts(tuple(summed(*row) for row in found), draws, seed)


def cohen_kappa(one: NDArray, other: NDArray) -> Found:
    """Cohen's kappa of yes and no, per row, with the width of its large-sample interval.

    Rows are draws and columns runs. The standard error is that of Fleiss, Cohen and Everitt (1969,
    doi:10.1037/h0028106); the interval is cut at -1 and 1. NaN where chance agreement is 1.
    """
    n = one.shape[1]
    cells = np.stack([(one == a) & (other == b) for a in (True, False) for b in (True, False)]).sum(
        axis=2
    )
    p = (cells / max(n, 1)).reshape(2, 2, -1)
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    seen, chance = p[0, 0] + p[1, 1], (rows * columns).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(chance < 1, (seen - chance) / (1 - chance), np.nan)
        own = sum(p[i, i] * (1 - (rows[i] + columns[i]) * (1 - value)) ** 2 for i in (0, 1))
        crossed = sum(p[i, 1 - i] * (columns[i] + rows[1 - i]) ** 2 for i in (0, 1))
        rest = (value - chance * (1 - value)) ** 2
        spread = own + (1 - value) ** 2 * crossed - rest
        error = np.sqrt(np.maximum(spread, 0) / n) / (1 - chance)
    half = stats.norm.ppf(0.975) * error
    width = np.minimum(1, value + half) - np.maximum(-1, value - half)
    return Found(value, width, np.full(len(value), float(n)))


Row = tuple[str, str, Found]


def _said(
    truth: NDArray, sensitivity: float, specificity: float, rng: np.random.Generator
) -> NDArray:
    """What is said of each run: yes at the rate that goes with what is true of it."""
    rate = np.where(truth, sensitivity, 1 - specificity)
    return rng.random(truth.shape) < rate


def _of_people(layout: RunLayout, said: NDArray) -> Iterator[Row]:
    first, second = _pairs(layout.run)
    firsts = said[:, np.unique(layout.run, return_index=True)[1]]
    yield "People", "runs with a hallucination", _rate(firsts)
    if len(first):
        agreed = said[:, first] == said[:, second]
        yield "People", "agreement of two people", _rate(agreed)
        yield "People", "Cohen's kappa of two people", cohen_kappa(said[:, first], said[:, second])
        asked = np.ones_like(said, dtype=bool)
        yield "People", "Gwet's AC1", ac1(layout.run, said.astype(np.int64), asked, 2)


def _of_judge(layout: RunLayout, said: NDArray, judged: NDArray) -> Iterator[Row]:
    """The judge against one person per run."""
    if not layout.answered.any():
        return
    person = said[:, np.unique(layout.run, return_index=True)[1]][:, layout.answered]
    judge = judged[:, layout.answered]
    both = (person & judge).sum(axis=1)
    yield "Judge", "runs with a hallucination, by the judge", _rate(judge)
    yield "Judge", "recall against people", wilson_share(both, person.sum(axis=1))
    yield "Judge", "precision against people", wilson_share(both, judge.sum(axis=1))
    yield "Judge", "Cohen's kappa of judge and people", cohen_kappa(person, judge)


def _rate(said: NDArray) -> Found:
    return wilson_share(said.sum(axis=1), np.full(len(said), said.shape[1]))


def _pairs(run: Ints) -> tuple[Ints, Ints]:
    """The first two judgements of each run that has two."""
    order = np.argsort(run, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(run[order]) > 0])
    sizes = np.diff(np.r_[starts, len(run)])
    kept = starts[sizes >= 2]
    return order[kept], order[kept + 1]
