"""Two raters on a yes or no: every measure as a function of the four cells of their table.

Cells are (yes yes, yes no, no yes, no no), the reference first: with the reference as truth these
are true positives, false negatives, false positives and true negatives. (Trajel, tables 2 and 3;
Cohen 1960; Gwet 2008, doi:10.1348/000711006X126600; Krippendorff 2011.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from annotation.label_intervals import Draws, Floats, Statistic, estimates, share
from annotation.label_pairs import Bools
from annotation.people_resampling import ratio
from scoring.estimates import Estimate

NO_CHANCE_LEFT = 1e-12
ONE_ANSWER = "all answers are the same, so chance alone would agree"
NO_VARIATION = "all answers are the same, so there is nothing to agree on"
NOTHING_GIVEN = "neither says yes"
NO_REFERENCE_YES = "the reference never says yes"
NO_REFERENCE_NO = "the reference never says no"
NO_OTHER_YES = "the other never says yes"


def cells_of(one: NDArray, other: NDArray) -> Floats:
    """What each unit adds to the four cells: two arrays of truth values (...) to (..., 4)."""
    a, b = np.asarray(one, dtype=bool), np.asarray(other, dtype=bool)
    return np.stack([a & b, a & ~b, ~a & b, ~a & ~b], axis=-1).astype(np.float64)


def f1(cells: Floats) -> Floats:
    """2 tp / (2 tp + fn + fp); NaN where neither says yes. `cells` has shape (..., 4)."""
    tp, fn, fp, _ = np.moveaxis(cells, -1, 0)
    return ratio(2 * tp, 2 * tp + fn + fp)


def kappa(cells: Floats) -> Floats:
    """Cohen's kappa; NaN where chance alone would agree."""
    tp, fn, fp, tn = np.moveaxis(cells, -1, 0)
    n = cells.sum(axis=-1)
    seen = ratio(tp + tn, n)
    chance = ratio((tp + fn) * (tp + fp) + (fp + tn) * (fn + tn), n * n)
    return _beyond(seen, chance)


def ac1(cells: Floats) -> Floats:
    """Gwet's AC1 of two categories."""
    tp, fn, fp, tn = np.moveaxis(cells, -1, 0)
    n = cells.sum(axis=-1)
    rate = ratio(2 * tp + fn + fp, 2 * n)
    return _beyond(ratio(tp + tn, n), 2 * rate * (1 - rate))


def alpha(cells: Floats) -> Floats:
    """Krippendorff's nominal alpha; NaN where only one answer was ever given."""
    tp, fn, fp, tn = np.moveaxis(cells, -1, 0)
    yes, no = 2 * tp + fn + fp, 2 * tn + fn + fp
    differ = (fn + fp) * np.maximum(yes + no - 1, 0)
    return np.asarray(1 - ratio(differ, yes * no))


def _beyond(seen: Floats, chance: Floats) -> Floats:
    left = 1 - chance
    return ratio(seen - chance, np.where(left > NO_CHANCE_LEFT, left, 0.0))


# By their names in tables, with what to say where they have no value.
BEYOND_SHARES: Mapping[str, tuple[Statistic, str]] = {
    "f1": (f1, NOTHING_GIVEN),
    "kappa": (kappa, ONE_ANSWER),
    "ac1": (ac1, ONE_ANSWER),
    "alpha": (alpha, NO_VARIATION),
}


def shares(cells: Sequence[float] | Floats) -> dict[str, Estimate]:
    """Precision, recall, specificity, agreement and both rates of one table, Wilson intervals."""
    tp, fn, fp, tn = (float(cell) for cell in cells)
    n = tp + fn + fp + tn
    return {
        "precision": share(tp, tp + fp, NO_OTHER_YES),
        "recall": share(tp, tp + fn, NO_REFERENCE_YES),
        "specificity": share(tn, tn + fp, NO_REFERENCE_NO),
        "agreement": share(tp + tn, n),
        "rate_one": share(tp + fn, n),
        "rate_other": share(tp + fp, n),
    }


def measures(draws: Draws, parts: Floats, names: Sequence[str] = ()) -> list[dict[str, Estimate]]:
    """Every measure of each group; `parts` (runs, groups, 4), 0 where a run is not of the group.

    `names` restricts what is resampled to some of "f1", "kappa", "ac1", "alpha".
    """
    cells = parts.sum(axis=0)
    wanted = {name: BEYOND_SHARES[name] for name in names or BEYOND_SHARES}
    drawn = estimates(draws, parts, wanted, cells.sum(axis=-1))
    return [
        shares(cells[g]) | {name: values[g] for name, values in drawn.items()}
        for g in range(len(cells))
    ]


def binary(draws: Draws, one: Bools, other: Bools) -> tuple[dict[str, int], dict[str, Estimate]]:
    """The four counts (tp, fn, fp, tn) and every measure of two raters' answers, shape (n,)."""
    parts = cells_of(one, other)[:, None, :]
    counts = parts.sum(axis=(0, 1)).astype(int).tolist()
    return dict(zip(("tp", "fn", "fp", "tn"), counts, strict=True)), measures(draws, parts)[0]
