"""Intervals over people for every figure of a study report, from one set of draws.

The figures are those of `fork_summary`: RQ1 to RQ4 and agreement. People are drawn with
replacement, and all figures are recomputed at once from how often each person was drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.design import POSITIONS, TYPES
from annotation.group_orders import group_orders
from annotation.judgement_rows import Judgement
from annotation.long_ratings import LongRatings, numbered
from annotation.pair_agreement import CONFIRMATIONS, PREFIXES
from annotation.people_resampling import (
    Ratio,
    percentile_interval,
    person_weights,
    resampled_agreement,
    resampled_ratios,
)
from scoring.estimates import Estimate, undefined

Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]
QUESTIONS = {
    "rating": (None, "interval"),
    "confirmation": (CONFIRMATIONS, "nominal"),
    "onset": (None, "interval"),
    "prefix": (PREFIXES, "nominal"),
}


@dataclass(frozen=True, slots=True)
class Columns:
    """Judgements as arrays of shape (n,); numbers are NaN and answers -1 where there is none."""

    people: tuple[str, ...]
    person: NDArray[np.intp]
    items: tuple[str, ...]
    item: NDArray[np.intp]
    task: NDArray[np.intp]
    type: NDArray[np.str_]
    k: NDArray[np.intp]
    foil: Marks
    fork: Floats
    rating: Floats
    onset: Floats
    confirmation: Floats
    prefix: Floats

    def summed(self, marks: Marks, values: Floats | Marks) -> Ratio:
        """Sum of `values` and number of rows per person, over the marked rows."""
        rows, n = self.person[marks], len(self.people)
        above = np.bincount(rows, np.asarray(values, dtype=np.float64)[marks], n)
        return above, np.bincount(rows, minlength=n).astype(np.float64)


def report_intervals(
    judgements: Sequence[Judgement],
    *,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> dict[str, Estimate]:
    """Every figure of the report with its percentile interval over people, by dotted path.

    Paths are those of `fork_summary.summarise`: "rq1.tau", "rq1.mean_by_type.WIC.2",
    "rq3.all.exact", "agreement.rating.alpha". `value` is the figure itself; `n` counts people;
    `resamples_undefined` counts draws that left it undefined. One person has no interval.
    """
    if not judgements:
        return {}
    columns = _columns(judgements)
    people = len(columns.people)
    draws = person_weights(people, resamples=resamples, seed=seed)
    weights = np.concatenate([np.ones((1, people)), draws])
    found = resampled_ratios(dict(_ratios(columns)), weights)
    for question, (categories, level) in QUESTIONS.items():
        ratings = _answers(columns, question, categories)
        for name, values in resampled_agreement(ratings, weights, level=level).items():
            found[f"agreement.{question}.{name}"] = values
    return {name: _estimate(values, people, confidence) for name, values in found.items()}


def _estimate(values: Floats, people: int, confidence: float) -> Estimate:
    if not np.isfinite(values[0]):
        return undefined("undefined_in_the_study", n=people)
    ci, missing = percentile_interval(values[1:], confidence) if people > 1 else (None, 0)
    reason = "" if ci else "fewer_than_two_clusters" if people < 2 else "rarely_defined"
    detail = {"resamples_undefined": missing}
    return Estimate(float(values[0]), reason, n=people, ci=ci, detail=detail)


def _columns(judgements: Sequence[Judgement]) -> Columns:
    person, people = numbered([j.person for j in judgements])
    item, items = numbered([j.item for j in judgements])
    task, _ = numbered([(j.person, j.workflow) for j in judgements])
    return Columns(
        tuple(map(str, people)),
        person,
        tuple(map(str, items)),
        item,
        task,
        np.array([j.type for j in judgements]),
        np.array([j.k for j in judgements], dtype=np.intp),
        np.array([j.is_foil for j in judgements], dtype=bool),
        np.array([j.fork for j in judgements], dtype=np.float64),
        _numbers([j.rating for j in judgements]),
        _numbers([j.onset for j in judgements]),
        _places([j.confirmed for j in judgements], CONFIRMATIONS),
        _places([j.prefix for j in judgements], PREFIXES),
    )


def _numbers(values: Sequence[int | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _places(answers: Sequence[str | None], options: Sequence[str]) -> Floats:
    places: dict[str | None, float] = {option: float(i) for i, option in enumerate(options)}
    places[None] = -1.0
    try:
        return np.array([places[answer] for answer in answers])
    except KeyError as error:
        raise ValueError(f"{error.args[0]!r} is not an answer; {', '.join(options)} are") from None


def _ratios(c: Columns) -> Iterator[tuple[str, Ratio]]:
    yield from _rq1(c)
    yield from _orders(c)
    confirmed = c.confirmation >= 0
    yes = c.confirmation <= 1
    fork, foil = c.type != "", c.foil
    yield "rq2.true", c.summed(confirmed & fork & ~foil, yes)
    yield "rq2.foil_on_fork", c.summed(confirmed & fork & foil, yes)
    yield "rq2.foil_on_conformant", c.summed(confirmed & ~fork, yes)
    for name in TYPES:
        marks = confirmed & ~foil & (c.type == name)
        yield f"rq2.true_by_type.{name}", c.summed(marks, yes)
    yield from _rq3(c)
    followed = fork & (c.fork > 1) & (c.prefix >= 0)
    yield "rq4.all", c.summed(followed, c.prefix <= 1)
    for k in POSITIONS:
        if k > 1:
            yield f"rq4.by_k.{k}", c.summed(followed & (c.k == k), c.prefix <= 1)


def _rq1(c: Columns) -> Iterator[tuple[str, Ratio]]:
    rated, fork = np.isfinite(c.rating), c.type != ""
    yield "rq1.conformant", c.summed(rated & ~fork, c.rating)
    for k in POSITIONS:
        at = rated & fork & (c.k == k)
        yield f"rq1.mean_by_k.{k}", c.summed(at, c.rating)
        yield f"rq1.mean_breaking.{k}", c.summed(at & _breaking(c), c.rating)
        for name in TYPES:
            yield f"rq1.mean_by_type.{name}.{k}", c.summed(at & (c.type == name), c.rating)


def _orders(c: Columns) -> Iterator[tuple[str, Ratio]]:
    """Tau-b as the mean over groups, and superiority over pairs of groups, person by person."""
    forks = np.isfinite(c.rating) & (c.type != "")
    groups = {"rq1.tau": (forks, c.task), "rq1.tau_breaking": (forks & _breaking(c), c.task)}
    groups |= {f"rq1.tau_by_type.{t}": (forks & (c.type == t), c.person) for t in TYPES}
    people = len(c.people)
    for name, (marks, group) in groups.items():
        kept, which = np.unique(group[marks], return_inverse=True)
        owners = np.zeros(len(kept), dtype=np.intp)
        owners[which] = c.person[marks]
        orders = group_orders(which.astype(np.intp), c.k[marks].astype(float), c.rating[marks])
        defined = np.isfinite(orders.taus)
        taus = np.where(defined, orders.taus, 0.0)
        yield name, (np.bincount(owners, taus, people), np.bincount(owners, defined, people))
        if "type" not in name:
            wins, pairs = (np.bincount(owners, s, people) for s in (orders.wins, orders.pairs))
            yield name.replace("tau", "superiority"), (wins, pairs)


def _breaking(c: Columns) -> Marks:
    """Forks that break the workflow; a side goal (CSC) keeps every part of it."""
    return (c.type != "") & (c.type != "CSC")


def _rq3(c: Columns) -> Iterator[tuple[str, Ratio]]:
    away = c.onset - c.fork
    found = np.isfinite(away) & (c.type != "") & ~c.foil
    for group in ("all", *TYPES):
        marks = found if group == "all" else found & (c.type == group)
        path = "rq3.all" if group == "all" else f"rq3.by_type.{group}"
        yield f"{path}.exact", c.summed(marks, away == 0)
        yield f"{path}.within_1", c.summed(marks, np.abs(away) <= 1)
        yield f"{path}.at_or_after", c.summed(marks, away >= 0)
        yield f"{path}.mean_offset", c.summed(marks, away)


def _answers(c: Columns, question: str, categories: tuple[str, ...] | None) -> LongRatings:
    values: Floats = getattr(c, question)
    given = np.isfinite(values) if categories is None else values >= 0
    columns = (c.person[given], c.item[given], values[given])
    return LongRatings(*columns, c.people, c.items, categories)
