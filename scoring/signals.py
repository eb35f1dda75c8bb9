"""How well yes-or-no signals of a run tell whether it hallucinates (Trajel, section 6).

A signal is 1 (yes), 0 (no) or NaN (not computed, or left undecided); the outcome is whether a rater
finds a hallucination. Nothing here is fitted: a signal is taken as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from annotation.agreement import wilson
from annotation.figure_tables import Column, Drawn, Figure
from benchmark.label_records import ASC, CJ, DRA, RV, TC
from scoring.estimates import Estimate, undefined
from scoring.significance import holm

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
ABSENT, PRESENT = "absent", "present"
# How Trajel abbreviates its five signals; pairs of them are named so.
SHORT = {TC: "TC", DRA: "DRA", RV: "RV", ASC: "ASC", CJ: "CJ"}
NO_RUN = "no run has both the signal and a label"
ONE_CLASS = "all runs have the same label"
ONE_VALUE = "the signal has the same value on all runs"


@dataclass(frozen=True, slots=True)
class Signals:
    """Signals of n runs: `values` has shape (k, n) with 1, 0 or NaN, `outcome` shape (n,)."""

    names: tuple[str, ...]
    values: Floats
    outcome: Bools

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.names), len(self.outcome)):
            raise ValueError(
                f"values have the shape {self.values.shape}, not "
                f"({len(self.names)}, {len(self.outcome)})"
            )


def signals_of(
    rows: Sequence[Mapping[str, bool | None]], outcome: Sequence[bool], names: Sequence[str] = ()
) -> Signals:
    """Signals from one mapping per run (a missing name counts as None) and its outcome.

    `names` gives the order; without it all that occur, sorted.
    """
    named = tuple(names) or tuple(sorted({name for row in rows for name in row}))
    values = [[_number(row.get(name)) for row in rows] for name in named]
    return Signals(
        named,
        np.array(values, dtype=np.float64).reshape(len(named), len(rows)),
        np.array(outcome, dtype=bool),
    )


def rates(signals: Signals, name: str) -> dict[str, Estimate]:
    """The share of runs with a hallucination where the signal is yes ("present") and no ("absent").

    Wilson intervals; undefined where no run has the value.
    """
    values = signals.values[signals.names.index(name)]
    found = {}
    for word, value in ((PRESENT, 1.0), (ABSENT, 0.0)):
        chosen = values == value
        found[word] = wilson(int(signals.outcome[chosen].sum()), int(chosen.sum()))
    return found


def binary_auc(signals: Signals, name: str, *, confidence: float = 0.95) -> Estimate:
    """ROC-AUC of one signal for the outcome, at least .5: `detail["predicts"]` says which value of
    the signal ("present" or "absent") speaks for a hallucination, "" at .5.

    For a yes-or-no signal the area is half the sum of sensitivity and specificity. Its interval
    joins the Wilson intervals of the two (MOVER; Zou and Donner 2008, doi:10.1002/sim.3095), so
    that it keeps within 0 and 1 and is no point where both are 1. Runs without a value are left out
    and counted in `detail["missing"]`.
    """
    values = signals.values[signals.names.index(name)]
    known = ~np.isnan(values)
    missing = int((~known).sum())
    yes, bad = values[known] == 1.0, signals.outcome[known]
    detail: dict[str, Any] = {"missing": missing, "predicts": ""}
    if not len(yes):
        return undefined(NO_RUN, **detail)
    if bad.all() or not bad.any():
        return undefined(ONE_CLASS, n=len(yes), **detail)
    present = wilson(int((yes & bad).sum()), int(bad.sum()), confidence=confidence)
    absent = wilson(int((~yes & ~bad).sum()), int((~bad).sum()), confidence=confidence)
    area = (float(present.value or 0.0) + float(absent.value or 0.0)) / 2
    low, high = _mover(present, absent)
    if area < 0.5:
        area, low, high = 1 - area, 1 - high, 1 - low
        detail["predicts"] = ABSENT
    elif area > 0.5:
        detail["predicts"] = PRESENT
    reason = ONE_VALUE if yes.all() or not yes.any() else ""
    return Estimate(area, reason, n=len(yes), ci=(low, high), detail=detail)


def pair_rates(signals: Signals, one: str, other: str) -> dict[str, Estimate]:
    """The share with a hallucination where both signals are no, one of them is, and none is.

    Keys "both_absent", "one_absent", "none_absent". "Both absent" is the stop rule of section 6.
    """
    values = signals.values[[signals.names.index(name) for name in (one, other)]]
    known = ~np.isnan(values).any(axis=0)
    absent = (values == 0.0).sum(axis=0)
    words = ("none_absent", "one_absent", "both_absent")
    return {
        word: wilson(
            int(signals.outcome[known & (absent == n)].sum()), int((known & (absent == n)).sum())
        )
        for n, word in reversed(list(enumerate(words)))
    }


def exact_ps(signals: Signals) -> list[float | None]:
    """Fisher's exact p of each signal against the outcome, corrected over all by Holm.

    None where a signal or the outcome has one value only.
    """
    found: list[float | None] = []
    for values in signals.values:
        known = ~np.isnan(values)
        yes, bad = values[known] == 1.0, signals.outcome[known]
        table = [[int((a & b).sum()) for b in (bad, ~bad)] for a in (yes, ~yes)]
        sides = [sum(row) for row in (*table, *zip(*table, strict=True))]
        found.append(float(stats.fisher_exact(table).pvalue) if all(sides) else None)
    return holm(found)


def figures(signals: Signals, rater: str) -> list[Figure]:
    """Every table of the signals against what `rater` says of the runs."""
    return [_single_figure(signals, rater), _pairs_figure(signals, rater)]


def _single_figure(signals: Signals, rater: str) -> Figure:
    rows = []
    for name, p in zip(signals.names, exact_ps(signals), strict=True):
        area, share = binary_auc(signals, name), rates(signals, name)
        rows.append(
            {
                "signal": name,
                "auc": area,
                "predicts": area.detail["predicts"],
                "absent": share[ABSENT],
                "present": share[PRESENT],
                "p": p,
                "missing": area.detail["missing"],
            }
        )
    rows.sort(key=lambda row: (row["auc"].value is None, -(row["auc"].value or 0), row["signal"]))
    return Figure(
        name="signals",
        title=f"Signals against {rater}",
        columns=(
            Column("signal", "Signal"),
            Column("auc", "ROC-AUC", "estimate"),
            Column("predicts", "Speaks for a hallucination"),
            Column("absent", "Rate where the signal is no", "estimate", percent=True),
            Column("present", "Rate where it is yes", "estimate", percent=True),
            Column("p", "Exact p (Holm)", "number"),
            Column("missing", "Not known", "count"),
        ),
        rows=rows,
        n=len(signals.outcome),
        note="Each signal alone, nothing fitted. Intervals: MOVER for areas, Wilson for rates.",
        reason="" if rows else "no run has a signal",
        drawn=Drawn("points", "signal", "auc") if rows else None,
    )


def _pairs_figure(signals: Signals, rater: str) -> Figure:
    rows = [
        {
            "pair": " + ".join(SHORT.get(name, name) for name in (one, other)),
            **pair_rates(signals, one, other),
        }
        for one, other in combinations(signals.names, 2)
    ]
    rows.sort(key=lambda row: _order(row["both_absent"]))
    return Figure(
        name="signal-pairs",
        title=f"Pairs of signals against {rater}",
        columns=(
            Column("pair", "Pair"),
            Column("both_absent", "Both no", "estimate", percent=True),
            Column("one_absent", "One no", "estimate", percent=True),
            Column("none_absent", "None no", "estimate", percent=True),
        ),
        rows=rows,
        n=len(signals.outcome),
        note="Share of runs with a hallucination; Wilson. Both no can serve as a rule to stop. "
        + ", ".join(f"{SHORT[name]}: {name}" for name in signals.names if name in SHORT),
        reason="" if rows else "there are fewer than two signals",
        drawn=Drawn("points", "pair", "both_absent") if rows else None,
    )


def _order(share: Estimate) -> tuple[bool, float, int]:
    return share.value is None, -(share.value or 0.0), -share.n


def _mover(one: Estimate, other: Estimate) -> tuple[float, float]:
    """The interval of half the sum of two independent shares."""
    a, b = float(one.value or 0.0), float(other.value or 0.0)
    (low_a, high_a), (low_b, high_b) = one.ci or (a, a), other.ci or (b, b)
    low = (a + b) / 2 - math.hypot(a - low_a, b - low_b) / 2
    high = (a + b) / 2 + math.hypot(high_a - a, high_b - b) / 2
    return max(0.0, low), min(1.0, high)


def _number(value: bool | None) -> float:
    return math.nan if value is None else float(value)
