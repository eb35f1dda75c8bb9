"""The Score of one detector against another on the same dialogues (DialFork, task 3).

The Score is no mean over dialogues, so it is compared by resampling: source dialogues are drawn,
each with its conformant dialogue and all its forks, and both Scores are taken of the same draw.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.estimates import Estimate, undefined
from scoring.onset_sums import ALL, Figures, OnsetRow, figures_of, score_resamples, tabled
from scoring.paired_comparisons import RESAMPLES, Compared, draws
from scoring.significance import holm

NO_COMMON_SCORE = "the two runs have no score on the dialogues that both could judge"
FIGURES = ("error", "coverage", "exact_hit", "conformant_error", "false_alarms")

Floats = NDArray[np.float64]


def compare_scores(
    rows_by_run: Mapping[Hashable, Sequence[OnsetRow]],
    reference: Hashable,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Compared]:
    """Score of the reference minus that of every other run, on dialogues both could judge.

    `n` counts those dialogues, `ci` is the 95 % percentile interval over source dialogues. `detail`
    holds `p`, the share of resamples in which the reference is not ahead, (hits + 1) / (m + 1), and
    `holm_p` over the other runs; `clusters`; `unpaired` (dialogues one run alone could judge); and
    `figures`: the differences of the parts, {name: {"value", "ci"}}, of "all" forks or conformant
    dialogues.
    """
    keyed = {run: _keyed(rows) for run, rows in rows_by_run.items()}
    others = [run for run in rows_by_run if run != reference]
    rows = [_against(keyed[reference], keyed[other], resamples, seed) for other in others]
    adjusted = holm([row.detail.get("p") for row in rows])
    family = sum(p is not None for p in adjusted)
    return [
        Compared(
            reference,
            other,
            ALL,
            Estimate(
                row.value,
                row.reason,
                row.n,
                row.ci,
                {**row.detail, "holm_p": p, "family": family},
            ),
        )
        for other, row, p in zip(others, rows, adjusted, strict=True)
    ]


Key = tuple[str, str, int]


def _keyed(rows: Sequence[OnsetRow]) -> dict[Key, OnsetRow]:
    return {(row.source, row.type, row.k): row for row in rows if not row.reason}


def _against(
    first: Mapping[Key, OnsetRow], second: Mapping[Key, OnsetRow], resamples: int, seed: int
) -> Estimate:
    common = sorted(first.keys() & second.keys())
    detail: dict[str, Any] = {
        "unpaired": len(first.keys() ^ second.keys()),
        "alternative": "greater",
        "resamples": resamples,
        "seed": seed,
    }
    names = sorted({source for source, _, _ in common})
    tables = [tabled([rows[key] for key in common], names) for rows in (first, second)]
    points = [figures_of(table) for table in tables]
    value = float(points[0].score() - points[1].score()) if common else float("nan")
    if np.isnan(value):
        return undefined(NO_COMMON_SCORE, n=len(common), **detail)
    sums = [table.sums() for table in tables]
    drawn = [
        [_figures(score_resamples(each, weights)) for each in sums]
        for weights in draws(len(names), resamples, seed)
    ]
    steps = {
        name: np.concatenate([a[name] - b[name] for a, b in drawn]) for name in ("score", *FIGURES)
    }
    score = steps.pop("score")
    # A resample without a score is not one in which the reference is ahead.
    detail["p"] = (int((~(score > 0)).sum()) + 1) / (resamples + 1)
    detail["clusters"] = len(names)
    at = [_figures(point) for point in points]
    detail["figures"] = {
        name: _figure(float(at[0][name] - at[1][name]), many) for name, many in steps.items()
    }
    return Estimate(value, n=len(common), ci=_interval(score), detail=detail)


def _figures(found: Figures) -> dict[str, Floats]:
    by_group = {name: getattr(found, name)[ALL] for name in ("error", "coverage", "exact_hit")}
    calm = {name: getattr(found, name) for name in ("conformant_error", "false_alarms")}
    return {"score": found.score(), **by_group, **calm}


def _figure(value: float, resampled: Floats) -> dict[str, Any]:
    interval = _interval(resampled)
    return {
        "value": None if np.isnan(value) else value,
        "ci": list(interval) if interval and not np.isnan(value) else None,
    }


def _interval(values: Floats) -> tuple[float, float] | None:
    """95 % percentiles; none where over half of the resamples have no value."""
    defined = values[~np.isnan(values)]
    if len(defined) * 2 <= len(values):
        return None
    low, high = np.percentile(defined, [2.5, 97.5])
    return float(low), float(high)
