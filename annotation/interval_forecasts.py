"""How wide the intervals of a study's report will be, before anybody has judged anything.

A design is judged many times over by imagined people of a given strength, all draws at once in
arrays, and every draw is summed up the way the report sums up a study: bootstrap over people for
ratings, tau-b and superiority, Wilson for shares, bootstrap over shared items for alpha, a t
interval for AC1. What comes out is a width to be expected and how much it varies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.design import POSITIONS, TYPES
from annotation.forecast_statistics import (
    Found,
    Resampling,
    ac1,
    interval_alpha,
    mean_of_people,
    nominal_alpha,
    orders,
    wilson_share,
)
from annotation.imagined_draws import Drawn, Layout, draw_answers
from annotation.imagined_judges import Strength

RESAMPLES = 400
MOST_CELLS, FEWEST_DRAWS = 1_500_000, 10


@dataclass(frozen=True, slots=True)
class Forecast:
    """One figure of the report: its value to be expected and the width of its 95 % interval.

    `width` is the mean over the draws; 90 % of the draws lie between `narrow` and `wide`. All are
    None where no draw has an interval; `undefined` is the share of draws without one. `n` is the
    mean number of observations.
    """

    question: str
    figure: str
    value: float | None
    width: float | None
    narrow: float | None
    wide: float | None
    undefined: float
    n: float

    @property
    def of_type(self) -> bool:
        """Whether it is a figure of one type of fork alone."""
        return any(part in TYPES for part in self.figure.split(", "))


@dataclass(frozen=True, slots=True)
class Forecasts:
    """What `forecast` found, from `draws` simulated studies of this seed."""

    rows: tuple[Forecast, ...]
    draws: int
    seed: int


def forecast(
    layout: Layout,
    strength: Strength | None = None,
    *,
    draws: int = 200,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Forecasts:
    """Simulate the study `draws` times (fewer for a large one) and forecast its intervals.

    Raises ValueError for a layout without judgements.
    """
    if not len(layout.person):
        raise ValueError("a study without judgements has no intervals to forecast")
    draws = max(min(FEWEST_DRAWS, draws), min(draws, MOST_CELLS // len(layout.person)))
    rng = np.random.default_rng(seed)
    drawn = draw_answers(layout, strength or Strength(), draws, rng)
    people = Resampling.of(int(layout.person.max()) + 1, resamples, rng)
    found = [
        *_ratings(layout, drawn, people),
        *_orders(layout, drawn, people),
        *_shares(layout, drawn),
        *_agreement(layout, drawn, resamples, rng),
    ]
    return Forecasts(tuple(summed(*row) for row in found), draws, seed)


Row = tuple[str, str, Found]


def _ratings(layout: Layout, drawn: Drawn, people: Resampling) -> Iterator[Row]:
    for k in POSITIONS:
        chosen = layout.k == k
        if chosen.any():
            name = f"mean rating, k = {k}"
            yield "RQ1", name, mean_of_people(drawn.rating, layout.person, chosen, people)
    if (whole := layout.type < 0).any():
        found = mean_of_people(drawn.rating, layout.person, whole, people)
        yield "RQ1", "mean rating, conformant", found
    for place, name in enumerate(TYPES):
        for k in POSITIONS:
            chosen = (layout.type == place) & (layout.k == k)
            if chosen.any():
                found = mean_of_people(drawn.rating, layout.person, chosen, people)
                yield "RQ1", f"mean rating, {name}, k = {k}", found


def _orders(layout: Layout, drawn: Drawn, people: Resampling) -> Iterator[Row]:
    forks = layout.type >= 0
    by_task = layout.person * (int(layout.workflow.max()) + 1) + layout.workflow
    goals = forks & (layout.type != TYPES.index("CSC"))
    if forks.any():
        tau, superiority = orders(layout, drawn.rating, by_task, forks, people)
        yield "RQ1", "tau-b within person and workflow", tau
        yield "RQ1", "superiority within person and workflow", superiority
    if goals.any() and (goals != forks).any():
        tau, _ = orders(layout, drawn.rating, by_task, goals, people)
        yield "RQ1", "tau-b without CSC", tau
    for place, name in enumerate(TYPES):
        if (chosen := layout.type == place).any():
            yield (
                "RQ1",
                f"tau-b, {name}",
                orders(layout, drawn.rating, layout.person, chosen, people)[0],
            )


def _shares(layout: Layout, drawn: Drawn) -> Iterator[Row]:
    forks, true = layout.type >= 0, (layout.type >= 0) & ~layout.is_foil
    confirmed = drawn.confirmed < 2
    yield from _share("RQ2", "true instruction confirmed", confirmed, true)
    for place, name in enumerate(TYPES):
        chosen = true & (layout.type == place)
        yield from _share("RQ2", f"true instruction confirmed, {name}", confirmed, chosen)
    yield from _share("RQ2", "foil confirmed on a fork", confirmed, forks & layout.is_foil)
    yield from _share("RQ2", "foil confirmed on a conformant dialogue", confirmed, ~forks)
    marked = confirmed & true
    away = drawn.onset - layout.fork
    yield from _share("RQ3", "onset exact", away == 0, true, marked)
    yield from _share("RQ3", "onset within one turn", abs(away) <= 1, true, marked)
    yield from _share("RQ3", "onset at the fork or after", away >= 0, true, marked)
    yield from _share("RQ4", "prefix followed", drawn.prefix < 2, layout.fork > 1)


def _share(
    question: str,
    figure: str,
    hit: NDArray[np.bool_],
    chosen: NDArray[np.bool_],
    among: NDArray[np.bool_] | None = None,
) -> Iterator[Row]:
    if chosen.any():
        counted = np.broadcast_to(chosen, hit.shape) if among is None else among
        hits, n = (hit & counted).sum(axis=1), counted.sum(axis=1)
        yield question, figure, wilson_share(hits, n)


def _agreement(
    layout: Layout, drawn: Drawn, resamples: int, rng: np.random.Generator
) -> Iterator[Row]:
    asked = np.ones_like(drawn.rating, dtype=bool)
    marked = drawn.confirmed < 2
    prefixed = np.broadcast_to(layout.fork > 1, asked.shape)
    shared = np.bincount(layout.item) > 1
    if not shared.any():
        return
    units = Resampling.of(int(shared.sum()), resamples, rng)
    rating = interval_alpha(layout.item, drawn.rating, asked, units)
    yield "Agreement", "rating, alpha", rating
    yield "Agreement", "confirmation, AC1", ac1(layout.item, drawn.confirmed, asked, 3)
    found = nominal_alpha(layout.item, drawn.confirmed, asked, 3, units)
    yield "Agreement", "confirmation, alpha", found
    yield "Agreement", "onset, alpha", interval_alpha(layout.item, drawn.onset, marked, units)
    if prefixed.any():
        yield "Agreement", "prefix, AC1", ac1(layout.item, drawn.prefix, prefixed, 3)
        found = nominal_alpha(layout.item, drawn.prefix, prefixed, 3, units)
        yield "Agreement", "prefix, alpha", found


def summed(question: str, figure: str, found: Found) -> Forecast:
    """A figure over all draws."""
    values, widths = found.value[~np.isnan(found.value)], found.width[~np.isnan(found.width)]
    narrow, width, wide = (None, None, None)
    if len(widths):
        narrow, wide = (float(end) for end in np.quantile(widths, [0.05, 0.95]))
        width = float(widths.mean())
    return Forecast(
        question=question,
        figure=figure,
        value=float(values.mean()) if len(values) else None,
        width=width,
        narrow=narrow,
        wide=wide,
        undefined=1 - len(widths) / len(found.width),
        n=float(found.n.mean()),
    )


def questions(rows: Sequence[Forecast]) -> list[tuple[str, list[Forecast], list[Forecast]]]:
    """(question, figures over all types, figures of one type), in order."""
    names = list(dict.fromkeys(row.question for row in rows))
    mine = {name: [row for row in rows if row.question == name] for name in names}
    return [
        (name, [r for r in found if not r.of_type], [r for r in found if r.of_type])
        for name, found in mine.items()
    ]
