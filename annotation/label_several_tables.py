"""Three or more raters on a yes or no: one coefficient over all of them, and every two compared.

A run with fewer than two of the raters says nothing about agreement. Of a run with m ratings, y of
them yes, y (y - 1) + (m - y) (m - y - 1) of the m (m - 1) ordered pairs agree. All coefficients are
functions of sums over runs, so that one draw of questions serves them all. (Gwet 2008,
doi:10.1348/000711006X126600; Krippendorff 2011; Fleiss 1971.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.figure_tables import Column, Drawn, Figure
from annotation.label_binary import NO_CHANCE_LEFT, NO_VARIATION, ONE_ANSWER, binary
from annotation.label_intervals import (
    NO_RUN,
    RESAMPLES,
    Draws,
    Floats,
    Statistic,
    draws_of,
    estimates,
)
from annotation.label_pairs import Run, in_order, pairs_of, question_of
from annotation.label_type_tables import left_out, number, percent
from annotation.people_resampling import ratio
from benchmark.label_records import TYPES
from scoring.estimates import Estimate, undefined

FEW_SHARED = 20
NO_TWO = "no run has answers of two raters"


def sums_of(yes: NDArray, rated: NDArray) -> Floats:
    """What each unit adds: shape (..., 7) of counts of yes and of ratings, shape (...).

    Units with two ratings: 1, share of agreeing pairs, yes, no, disagreement of alpha. All units
    with a rating: 1, share of yes.
    """
    y, m = np.asarray(yes, dtype=np.float64), np.asarray(rated, dtype=np.float64)
    two, one = m >= 2, m >= 1
    pairs = np.where(two, m * (m - 1), 1.0)
    agree = (y * (y - 1) + (m - y) * (m - y - 1)) / pairs
    differ = 2 * y * (m - y) / np.where(two, m - 1, 1.0)
    parts = (
        two,
        two * agree,
        two * y,
        two * (m - y),
        two * differ,
        one,
        one * y / np.maximum(m, 1),
    )
    return np.stack([np.asarray(part, dtype=np.float64) for part in parts], axis=-1)


def agreement(sums: Floats) -> Floats:
    """Mean share of agreeing pairs of a run."""
    return ratio(sums[..., 1], sums[..., 0])


def ac1(sums: Floats) -> Floats:
    """Gwet's AC1 of two categories, any number of raters."""
    rate = ratio(sums[..., 6], sums[..., 5])
    chance = 2 * rate * (1 - rate)
    left = 1 - chance
    return ratio(agreement(sums) - chance, np.where(left > NO_CHANCE_LEFT, left, 0.0))


def alpha(sums: Floats) -> Floats:
    """Krippendorff's nominal alpha, any number of raters."""
    yes, no = sums[..., 2], sums[..., 3]
    return 1 - ratio(sums[..., 4] * np.maximum(yes + no - 1, 0), 2 * yes * no)


COEFFICIENTS: Mapping[str, tuple[Statistic, str]] = {
    "agreement": (agreement, NO_TWO),
    "ac1": (ac1, ONE_ANSWER),
    "alpha": (alpha, NO_VARIATION),
}


def coefficients(draws: Draws, yes: NDArray, rated: NDArray) -> list[dict[str, Estimate]]:
    """Agreement, AC1 and alpha of each question asked; `yes` and `rated` have shape (n, asked).

    `n` counts runs with two ratings or more.
    """
    parts = sums_of(yes, rated)
    n = parts[..., 0].sum(axis=0)
    found = estimates(draws, parts, COEFFICIENTS, n)
    return [
        {name: each[g] if n[g] else undefined(NO_TWO) for name, each in found.items()}
        for g in range(len(n))
    ]


def several_rater_figures(
    runs: Iterable[Run],
    raters: Sequence[str],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    pairs: bool = True,
) -> list[Figure]:
    """How three or more raters agree, over all of them and, with `pairs`, two by two.

    The pairs cost the square of the number of raters. Raises ValueError for fewer than two raters
    and for one named twice.
    """
    if len(set(raters)) != len(raters) or len(raters) < 2:
        raise ValueError(f"{', '.join(raters) or 'nobody'}: name two or more different raters")
    kept = [run for run in in_order(runs) if any(name in run.labels for name in raters)]
    found = [_all_figure(kept, raters, seed, resamples)]
    if pairs:
        found.append(_matrix_figure(kept, raters, seed, resamples))
    return found


def counted(runs: Sequence[Run], raters: Sequence[str]) -> tuple[NDArray, NDArray]:
    """Yes answers and ratings of each run, shape (n, 6): presence, then the types in order.

    A rater who sees a hallucination and says no type counts for presence only.
    """
    yes = np.zeros((len(runs), 1 + len(TYPES)), dtype=np.intp)
    rated = np.zeros_like(yes)
    for at, run in enumerate(runs):
        for record in (run.labels[name] for name in raters if name in run.labels):
            rated[at, 0] += 1
            rated[at, 1:] += record.typed
            yes[at, 0] += record.present
            yes[at, 1:] += [name in record.types for name in TYPES]
    return yes, rated


def _all_figure(runs: Sequence[Run], raters: Sequence[str], seed: int, resamples: int) -> Figure:
    columns = (
        Column("asked", "Asked"),
        Column("runs", "Runs", "count"),
        percent("agreement", "Agreement of pairs"),
        number("ac1", "AC1"),
        number("alpha", "Alpha"),
    )
    title, drawn = f"Agreement of {len(raters)} raters", Drawn("points", "asked", "alpha")
    draws = draws_of([question_of(run) for run in runs], resamples=resamples, seed=seed)
    yes, rated = counted(runs, raters)
    n = int((rated[:, 0] >= 2).sum())
    if not n:
        return Figure("raters", title, columns, (), 0, reason=NO_TWO, drawn=drawn)
    rows = [
        {"asked": asked, "runs": int((rated[:, k] >= 2).sum())} | found
        for k, (asked, found) in enumerate(
            zip(("hallucination", *TYPES), coefficients(draws, yes, rated), strict=True)
        )
    ]
    note = left_out(len(runs) - n, len(runs), "which only one of them has labelled")
    return Figure("raters", title, columns, rows, n, note=note, drawn=drawn)


def _matrix_figure(runs: Sequence[Run], raters: Sequence[str], seed: int, resamples: int) -> Figure:
    """Every two raters on whether there is a hallucination."""
    columns = (
        Column("one", "Rater"),
        Column("other", "And"),
        Column("runs", "Runs", "count"),
        percent("agreement", "Agreement"),
        number("kappa", "Kappa"),
        number("ac1", "AC1"),
        number("f1", "F1"),
    )
    title, drawn = "Every two raters", Drawn("heat", "other", "kappa", "one")
    rows = []
    for one, other in combinations(raters, 2):
        pairs = pairs_of(runs, one, other, seed=seed, resamples=resamples)
        _, found = binary(pairs.draws, pairs.one.present, pairs.other.present)
        shown = {name: found[name] for name in ("agreement", "kappa", "ac1", "f1")}
        rows += [{"one": one, "other": other, "runs": len(pairs)} | shown]
    n = len(runs)
    if not n:
        return Figure("rater-pairs", title, columns, (), 0, reason=NO_RUN, drawn=drawn)
    return Figure("rater-pairs", title, columns, rows, n, note=_shared(rows), drawn=drawn)


def _shared(rows: Sequence[Mapping[str, Any]]) -> str:
    """On how many runs the pairs rest, which a heat map does not show."""
    least, most = min(row["runs"] for row in rows), max(row["runs"] for row in rows)
    few = " A pair of so few runs says little." if most < FEW_SHARED else ""
    between = f"{least} to {most}" if least < most else f"{most}"
    return f"Every two share {between} run{'s' * (most != 1)}.{few}"
