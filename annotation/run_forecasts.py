"""How wide the intervals of a study of agent runs will be, before anybody has judged anything.

The design is judged many times over by imagined people and an imagined judge, who find a fault
that is there and imagine one that is not at given rates; every draw is summed up as the report
sums up a study: Wilson for shares, whole questions drawn again for kappa and AC1. What comes out is
a width to be expected and how much it varies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.forecast_statistics import Found, Resampling, by_unit, width_of, wilson_share
from annotation.interval_forecasts import Forecasts, summed

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MOST_CELLS, FEWEST_DRAWS = 2_000_000, 10
RESAMPLES = 400


@dataclass(frozen=True, slots=True)
class RunStrength:
    """What is assumed, as shares from 0 to 1.

    `prevalence` is how many runs have a fault. Who finds it: `sensitivity` of runs with one are
    judged to have one, `specificity` of those without to have none; of people and of the judge.
    `alike` is how many runs fare as their question does rather than for themselves. The defaults
    of prevalence and judge are those of Trajel's 2 x 2 table (section 5.1).
    """

    prevalence: float = 0.68
    alike: float = 0.2
    person_sensitivity: float = 0.9
    person_specificity: float = 0.8
    judge_sensitivity: float = 0.92
    judge_specificity: float = 0.49


@dataclass(frozen=True, slots=True)
class RunLayout:
    """A design as arrays: the run of each judgement (from 0, each seat's in turn), and of each run
    the question (from 0) and whether it has an answer of the judge."""

    run: Ints
    question: Ints
    answered: NDArray[np.bool_]


def layout_of(
    items: Sequence[int], questions: Sequence[str], answered: Sequence[bool]
) -> RunLayout:
    """The layout of judgements of `items` (keys), each with its question and whether the judge
    answered on it; a run without a question is one for itself."""
    _, first, run = np.unique(np.array(items), return_index=True, return_inverse=True)
    names = [questions[place] or f"\x1f{place}" for place in first]
    question = np.unique(np.array(names, dtype=object), return_inverse=True)[1]
    return RunLayout(
        run.astype(np.int64), question.astype(np.int64), np.array(answered, dtype=bool)[first]
    )


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
    truth = _truth(layout, strength, draws, rng)
    people = _said(
        truth[:, layout.run], strength.person_sensitivity, strength.person_specificity, rng
    )
    judge = _said(truth, strength.judge_sensitivity, strength.judge_specificity, rng)
    units = Resampling.of(int(layout.question.max()) + 1, RESAMPLES, rng)
    found = [*_of_people(layout, people, units), *_of_judge(layout, people, judge, units)]
    return Forecasts(tuple(summed(*row) for row in found), draws, seed)


def kappa_of(both: Floats, first: Floats, second: Floats, neither: Floats) -> Floats:
    """Cohen's kappa of the four cells of yes and no, arrays of one shape; NaN where undefined."""
    n = both + first + second + neither
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = (both + first) / n, (both + second) / n
        chance = one * other + (1 - one) * (1 - other)
        return np.where(chance < 1, ((both + neither) / n - chance) / (1 - chance), np.nan)


def ac1_of(agreeing: Floats, paired: Floats, yes: Floats, runs: Floats) -> Floats:
    """Gwet's AC1 of yes and no (2014), from sums over runs: the share of pairs that agree and the
    number of runs with a pair, the share of yes and the number of runs."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = yes / runs
        chance = 2 * share * (1 - share)
        return (agreeing / paired - chance) / (1 - chance)


Row = tuple[str, str, Found]


def _truth(
    layout: RunLayout, strength: RunStrength, draws: int, rng: np.random.Generator
) -> NDArray:
    """Whether each run has a fault, by draw: as its question has, or for itself."""
    shape = (draws, len(layout.answered))
    own = rng.random(shape) < strength.prevalence
    shared = rng.random((draws, int(layout.question.max()) + 1)) < strength.prevalence
    return np.where(rng.random(shape) < strength.alike, shared[:, layout.question], own)


def _said(
    truth: NDArray, sensitivity: float, specificity: float, rng: np.random.Generator
) -> NDArray:
    """What is said of each run: yes at the rate that goes with what is true of it."""
    rate = np.where(truth, sensitivity, 1 - specificity)
    return rng.random(truth.shape) < rate


def _of_people(layout: RunLayout, said: NDArray, units: Resampling) -> Iterator[Row]:
    yield "People", "runs with a hallucination", _rate(said[:, _firsts(layout)])
    one, other = _pairs(layout.run)
    if not len(one):
        return
    first, second = said[:, one], said[:, other]
    yield "People", "agreement of two people", _rate(first == second)
    where = layout.question[layout.run[one]]
    yield "People", "Cohen's kappa of two people", _kappa(first, second, where, units)
    yield "People", "Gwet's AC1", _ac1(layout, said, units)


def _of_judge(
    layout: RunLayout, said: NDArray, judged: NDArray, units: Resampling
) -> Iterator[Row]:
    """The judge against one person per run."""
    if not layout.answered.any():
        return
    person = said[:, _firsts(layout)][:, layout.answered]
    judge = judged[:, layout.answered]
    both = (person & judge).sum(axis=1)
    yield "Judge", "runs with a hallucination, by the judge", _rate(judge)
    yield "Judge", "recall against people", wilson_share(both, person.sum(axis=1))
    yield "Judge", "precision against people", wilson_share(both, judge.sum(axis=1))
    where = layout.question[layout.answered]
    yield "Judge", "Cohen's kappa of judge and people", _kappa(person, judge, where, units)


def _rate(said: NDArray) -> Found:
    return wilson_share(said.sum(axis=1), np.full(len(said), said.shape[1]))


def _kappa(one: NDArray, other: NDArray, where: Ints, units: Resampling) -> Found:
    n_units = units.weights.shape[1]
    cells = (one & other, one & ~other, ~one & other, ~one & ~other)
    parts = [by_unit(cell.astype(float), where, n_units) for cell in cells]
    return _resampled(kappa_of, parts, units, one.shape[1])


def _ac1(layout: RunLayout, said: NDArray, units: Resampling) -> Found:
    n_runs, n_units = len(layout.answered), units.weights.shape[1]
    sizes = np.bincount(layout.run, minlength=n_runs).astype(float)
    yes = by_unit(said.astype(float), layout.run, n_runs)
    no = sizes - yes
    paired = sizes >= 2
    pairs = np.where(paired, sizes * (sizes - 1), 1)
    agreeing = np.where(paired, (yes * (yes - 1) + no * (no - 1)) / pairs, 0)
    ones = np.ones_like(yes)
    parts = [
        by_unit(part, layout.question, n_units)
        for part in (agreeing, ones * paired, yes / sizes, ones)
    ]
    return _resampled(ac1_of, parts, units, int(paired.sum()))


def _resampled(
    statistic: Callable[..., Floats], parts: Sequence[Floats], units: Resampling, n: int
) -> Found:
    """A function of sums over questions, (draws, questions) each; one question has no interval."""
    value = statistic(*(part.sum(axis=1) for part in parts))
    width = np.full(len(value), np.nan)
    if units.weights.shape[1] > 1:
        width = width_of(statistic(*units.totals(*parts)))
    return Found(value, width, np.full(len(value), float(n)))


def _firsts(layout: RunLayout) -> Ints:
    """The place of the first judgement of each run."""
    return np.unique(layout.run, return_index=True)[1]


def _pairs(run: Ints) -> tuple[Ints, Ints]:
    """The first two judgements of each run that has two."""
    order = np.argsort(run, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(run[order]) > 0])
    sizes = np.diff(np.r_[starts, len(run)])
    kept = starts[sizes >= 2]
    return order[kept], order[kept + 1]
