"""How far Kendall's tau of sets of forks rests on the sources that happen to be in the corpus.

Sources are drawn with replacement within their workflow; the conformant set and every set of forks
are made anew from those drawn, and each type's four distances and their tau are computed again. The
values of dialogues stay as they are: a flow graph is not fitted again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.fork_order import KS
from scoring.rankings import order_taus

RESAMPLES = 200
AT_ONCE = 20
TAU_DECIMALS = 6

Floats = NDArray[np.float64]
# Rows of reference values and rows of candidate values to one distance per row; NaN is missing.
Distances = Callable[[Floats, Floats], Floats]


class Values(NamedTuple):
    """A value per dialogue, None where it is undefined: of the sources, and of the forks of each
    (type, k) with the source each goes back to."""

    reference: Mapping[int, float | None]
    candidates: Mapping[tuple[str, int], Sequence[tuple[int, float | None]]]


def resampled_taus(
    distances: Distances, values: Values, *, name: str, seed: int, resamples: int = RESAMPLES
) -> dict[str, list[float | None]]:
    """Tau of each type with all four k in each resample, None where a distance is undefined.

    `name` (the workflow's) and `seed` fix the draws, alike for all types and methods. A type of
    which a source has several forks at one k is left out, and so is everything below two sources.
    """
    sources = sorted(values.reference)
    types = sorted({type_ for type_, _ in values.candidates})
    if len(sources) < 2:
        return {}
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    rng = np.random.default_rng([seed, int.from_bytes(digest[:4], "big")])
    drawn = rng.integers(0, len(sources), (resamples, len(sources)))
    known = _column(values.reference, sources)
    found = {}
    for type_ in types:
        sets = [dict(values.candidates.get((type_, k), ())) for k in KS]
        sizes = [len(values.candidates.get((type_, k), ())) for k in KS]
        if all(sizes) and sizes == list(map(len, sets)):
            columns = [_column(rows, sources) for rows in sets]
            found[type_] = _taus(distances, known, columns, drawn)
    return found


def _column(rows: Mapping[int, float | None], sources: Sequence[int]) -> Floats:
    return np.array([rows.get(source) for source in sources], dtype=np.float64)


def _taus(
    distances: Distances, known: Floats, columns: Sequence[Floats], drawn: NDArray[np.intp]
) -> list[float | None]:
    taus: list[float | None] = []
    for start in range(0, len(drawn), AT_ONCE):
        part = drawn[start : start + AT_ONCE]
        rows = np.stack([distances(known[part], column[part]) for column in columns], axis=1)
        there = np.isfinite(rows).all(axis=1)
        found = iter(order_taus(rows[there]).tolist() if there.any() else ())
        taus += [round(next(found), TAU_DECIMALS) if each else None for each in there.tolist()]
    return taus


def mean_interval(
    taus: Sequence[Sequence[float | None]], confidence: float = 0.95
) -> tuple[float, float] | None:
    """Percentile interval of the mean over units, resample by resample; shape (units, resamples).

    A resample counts the units that have a tau in it. None without a resample that has one.
    """
    rows = [np.array(each, dtype=np.float64) for each in taus if len(each)]
    if not rows:
        return None
    table = np.stack(rows)
    some = table[:, ~np.isnan(table).all(axis=0)]
    if not some.shape[1]:
        return None
    tail = (1 - confidence) / 2
    low, high = np.quantile(np.nanmean(some, axis=0), [tail, 1 - tail])
    return float(low), float(high)
