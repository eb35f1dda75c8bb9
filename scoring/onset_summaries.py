"""Every figure of a task 3 run, with intervals (DialFork, task 3).

Statistics are "error" (mean absolute error in turns, over flagged forks), "coverage" and
"exact_hit" (per cent of forks) of each fork type and "all", "conformant_error" and "false_alarms"
of conformant dialogues, and "score". They are given over all workflows, over all workflows at each
k, and for each workflow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmark.records import FORK_TYPES
from scoring import conformal
from scoring.detection_metrics import ABLATION
from scoring.estimates import Estimate, undefined
from scoring.onset_sums import (
    ALL,
    CONFORMANT,
    KS,
    AnswerTable,
    Figures,
    Floats,
    OnsetRow,
    draws,
    figures_of,
    score_resamples,
    tabled,
)

RESAMPLES = 2000
IN_SAMPLE = "in_sample"
# Forks and conformant dialogues together, which only the score counts.
SCORED = "scored"
# Where thresholds are varied for the curve of false alarms against the score.
ALPHAS = (0.01, 0.02, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
NOTHING_FLAGGED = "no dialogue of the group was flagged"
NO_DIALOGUE = "the group has no dialogue that could be judged"
NO_FORK = "no fork could be judged"
NO_CONFORMANT = "no conformant test dialogue could be judged"
NO_NORMALISER = "the first- and last-turn baselines make no error to measure against"
Skipped = Mapping[tuple[str, str, int], Counter[str]]


class SummaryRow(NamedTuple):
    """One figure of a run; `workflow` "" and `k` 0 mean all."""

    statistic: str
    group: str
    workflow: str
    k: int
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What was set on the training dialogues of a workflow.

    `n` counts the dialogues it was set on, `form` says how ("in_sample" promises nothing), `alpha`
    is that of the run, and `cuts` are (alpha, threshold; None: never alarm) over a grid.
    """

    n: int
    form: str
    alpha: float
    cuts: Sequence[tuple[float, float | None]]


def summarise(
    rows: Sequence[OnsetRow],
    thresholds: Mapping[str, Thresholds],
    *,
    seed: int,
    resamples: int = RESAMPLES,
    several_injections: int = 0,
) -> list[SummaryRow]:
    """Every figure of the answers `rows`; `thresholds` by workflow, empty for a trivial baseline.

    Intervals are 95 % percentile bootstrap over source dialogues, None below two of them or where
    over half of the resamples have no value. `detail` always holds `skipped` (dialogues of the
    group that could not be judged) and `reasons`. That of "score" holds `curve` (one row per alpha
    of the grid), `ablation` (score by weights), `histogram` (signed error of flagged forks by type,
    counted), the normalisers, and `several_injections`: forks left out of the test set because
    they leave their workflow more than once.
    """
    skipped = _skipped(rows)
    table = tabled(rows)
    weights = draws(len(table.sources), resamples, seed)
    found = list(_figures_at(table, weights, skipped, "", 0))
    for k in KS:
        found += _figures_at(table, weights, skipped, "", k)
    for name in sorted({row.workflow for row in rows}):
        part = table.of_workflow(name)
        own = draws(len(part.sources), resamples, seed)
        found += _figures_at(part, own, skipped, name, 0)
    further = {
        ("score", ""): {
            **_score_detail(table, thresholds),
            "several_injections": several_injections,
            "sources": len(table.sources),
            "seed": seed,
            "resamples": resamples,
        },
        ("false_alarms", ""): _promise_detail(table, thresholds),
    }
    return [_with_detail(row, further.get((row.statistic, row.workflow), {})) for row in found]


def _figures_at(
    table: AnswerTable, weights: Any, skipped: Skipped, workflow: str, k: int
) -> Iterator[SummaryRow]:
    """The rows of one workflow ("": all) at one k (0: all)."""
    sums = table.sums()
    point, many = figures_of(table, k=k), score_resamples(sums, weights, k=k)
    counts = _counts(sums, k)
    types = [name for name in FORK_TYPES if counts[name][0] or (workflow, name, k) in skipped]
    clusters = len(table.sources)

    def row(statistic: str, group: str, value: Floats, samples: Floats, why: str) -> SummaryRow:
        among = SCORED if statistic == "score" else group
        judged, flagged = counts[among]
        n = flagged if statistic in ("error", "conformant_error") else judged
        reasons = skipped.get((workflow, among, k), Counter())
        detail = {"skipped": reasons.total(), "reasons": dict(sorted(reasons.items()))}
        estimate = _estimate(float(value), samples, clusters, n, why, detail)
        return SummaryRow(statistic, group, workflow, k, estimate)

    for statistic in ("error", "coverage", "exact_hit"):
        values, resampled = getattr(point, statistic), getattr(many, statistic)
        for group in (*types, ALL):
            nothing = statistic == "error" and counts[group][0]
            why = NOTHING_FLAGGED if nothing else NO_DIALOGUE
            yield row(statistic, group, values[group], resampled[group], why)
    if k:
        return
    why = NOTHING_FLAGGED if counts[CONFORMANT][0] else NO_DIALOGUE
    values = (point.conformant_error, many.conformant_error)
    yield row("conformant_error", CONFORMANT, *values, why)
    yield row("false_alarms", CONFORMANT, point.false_alarms, many.false_alarms, NO_DIALOGUE)
    yield row("score", ALL, point.score(), many.score(), _no_score(counts))


def _counts(sums: Floats, k: int) -> dict[str, tuple[int, int]]:
    """Judged and flagged dialogues of each group."""
    cells = sums.sum(axis=0)[:, :2].astype(np.int64)
    forks = cells[:-1].reshape(len(FORK_TYPES), len(KS), 2)
    by_type = (forks[:, [k - 1]] if k else forks).sum(axis=1)
    found = dict(zip(FORK_TYPES, map(tuple, by_type.tolist()), strict=True))
    every = by_type.sum(axis=0)
    wider = {ALL: every, CONFORMANT: cells[-1], SCORED: every + cells[-1]}
    return found | {name: tuple(pair.tolist()) for name, pair in wider.items()}


def _no_score(counts: Mapping[str, tuple[int, int]]) -> str:
    if not counts[ALL][0]:
        return NO_FORK
    return NO_NORMALISER if counts[CONFORMANT][0] else NO_CONFORMANT


def _estimate(
    value: float, samples: Floats, clusters: int, n: int, why: str, detail: dict[str, Any]
) -> Estimate:
    if np.isnan(value):
        return undefined(why, n=n, **detail)
    there = samples[~np.isnan(samples)]
    if clusters < 2 or 2 * len(there) <= len(samples):
        return Estimate(value, n=n, detail=detail)
    low, high = np.percentile(there, [2.5, 97.5])
    return Estimate(value, n=n, ci=(float(low), float(high)), detail=detail)


def _skipped(rows: Sequence[OnsetRow]) -> Skipped:
    """Why dialogues could not be judged, by (workflow, group, k)."""
    found: dict[tuple[str, str, int], Counter[str]] = {}
    for row in rows:
        if not row.reason:
            continue
        groups = (row.type, ALL, SCORED) if row.type else (CONFORMANT, SCORED)
        for workflow in ("", row.workflow):
            for k in (0, row.k) if row.k else (0,):
                for group in groups:
                    found.setdefault((workflow, group, k), Counter())[row.reason] += 1
    return found


def _score_detail(table: AnswerTable, thresholds: Mapping[str, Thresholds]) -> dict[str, Any]:
    point = figures_of(table)
    return {
        "normalisers": {
            "fork_error": _number(point.most_fork_error),
            "conformant_error": _number(point.most_conformant_error),
        },
        "ablation": {name: _number(point.score(weights)) for name, weights in ABLATION.items()},
        "histogram": _histogram(table),
        "curve": _curve(table, thresholds),
    }


def _curve(table: AnswerTable, thresholds: Mapping[str, Thresholds]) -> list[dict[str, Any]]:
    cuts = {name: dict(each.cuts) for name, each in thresholds.items()}
    alphas = sorted({alpha for by_alpha in cuts.values() for alpha in by_alpha})
    rows = []
    for alpha in alphas:
        at = {name: by_alpha.get(alpha) for name, by_alpha in cuts.items()}
        rows.append({"alpha": alpha, **_main(figures_of(table, table.answers_at(at)))})
    return rows


def _main(figures: Figures) -> dict[str, float | None]:
    return {
        "false_alarms": _number(figures.false_alarms),
        "coverage": _number(figures.coverage[ALL]),
        "exact_hit": _number(figures.exact_hit[ALL]),
        "error": _number(figures.error[ALL]),
        "conformant_error": _number(figures.conformant_error),
        "score": _number(figures.score()),
    }


def _histogram(table: AnswerTable) -> dict[str, dict[str, int]]:
    """Signed errors (answer - truth) of flagged forks by type; errors are text, as JSON keys."""
    found = {}
    for i, name in enumerate(FORK_TYPES):
        here = (table.answers > 0) & (table.cell // len(KS) == i)
        errors, counts = np.unique((table.answers - table.truth)[here], return_counts=True)
        found[name] = dict(zip(map(str, errors.tolist()), counts.tolist(), strict=True))
    return found


def _promise_detail(table: AnswerTable, thresholds: Mapping[str, Thresholds]) -> dict[str, Any]:
    """Alpha, and the share of false alarms a conformal threshold leads one to expect, in per cent.

    `expectation` is the mean over the conformant test dialogues; it is None where the thresholds
    are not conformal. `silent_workflows` have too few training dialogues for any alarm.
    """
    if not thresholds:
        return {}
    names = table.workflow[table.cell == len(FORK_TYPES) * len(KS)].tolist()
    known = [thresholds[name] for name in names if name in thresholds]
    shares = [100 * conformal.expectation(each.n, each.alpha) for each in known]
    conformally = all(each.form != IN_SAMPLE for each in thresholds.values())
    return {
        "alpha": next(iter(thresholds.values())).alpha,
        "expectation": float(np.mean(shares)) if shares and conformally else None,
        "silent_workflows": sum(
            dict(each.cuts).get(each.alpha) is None for each in thresholds.values()
        ),
    }


def _with_detail(row: SummaryRow, further: Mapping[str, Any]) -> SummaryRow:
    if row.k or not further:
        return row
    estimate = row.estimate
    detail = {**estimate.detail, **further}
    return row._replace(
        estimate=Estimate(estimate.value, estimate.reason, estimate.n, estimate.ci, detail)
    )


def _number(value: Floats) -> float | None:
    return None if np.isnan(value) else float(value)
