"""The results of one run as tables: all workflows first, then per workflow and per k."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from scoring import charts
from scoring.models import Run, RunResult

STATISTICS = {
    "tau": "Kendall's tau",
    "exact_recovery": "Exact recovery",
    "fisher_p": "p, permutations combined by Fisher",
    "order_share": "Share of pairs in order",
    "error": "Onset error, turns",
    "coverage": "Coverage, %",
    "exact_hit": "Exact hits, %",
    "conformant_error": "Onset error of conformant dialogues, turns",
    "false_alarms": "False alarms, %",
    "score": "Score",
    "difference": "Difference from the reference",
    "path score": "Path score",
    "auc": "ROC-AUC over runs, each scored by a detector that never saw its question",
    "auc_by_corpus": "ROC-AUC within one corpus",
    "auc_by_model": "ROC-AUC within the runs of one model",
    "auc_by_type": "ROC-AUC of runs with one type against runs without a hallucination",
    "step_auc": "ROC-AUC over steps",
    "hit_at_1": "The named step ranks first",
    "hit_at_1_by_corpus": "The named step ranks first, within one corpus",
    "mrr": "Mean of 1 / rank of the named step",
}
UNITS = {"task1": "sets of forks", "comparison": "comparisons", "labels": "agent runs"}


def title(statistic: str) -> str:
    return STATISTICS.get(statistic, statistic.replace("_", " ").capitalize())


def unit(run: Run) -> str:
    """What a run of this kind scores, in the plural."""
    return UNITS.get(run.kind, "dialogues")


def results(run: Run) -> dict[str, Any]:
    """{"tables", "folded", "ablation", "compared"} in the order the run wrote its rows."""
    rows = list(run.results.all())
    if run.kind == "comparison":
        return {"compared": compared(rows)}
    overall = [row for row in rows if not row.workflow and not row.k]
    by_workflow = [row for row in rows if row.workflow and not row.k]
    by_k = [row for row in rows if row.k and not row.workflow]
    folded = [
        ("Per workflow", "Workflow", grids(by_workflow, lambda row: row.workflow)),
        ("Per fork position", "k", grids(by_k, lambda row: str(row.k))),
    ]
    return {
        "tables": [table(name, group) for name, group in by_statistic(overall)],
        "folded": [(*words, found) for *words, found in folded if found],
        "ablation": ablation(overall),
    }


def by_statistic(rows: Iterable[RunResult]) -> list[tuple[str, list[RunResult]]]:
    found: dict[str, list[RunResult]] = {}
    for row in rows:
        found.setdefault(row.statistic, []).append(row)
    return list(found.items())


def table(statistic: str, rows: Sequence[RunResult]) -> dict[str, Any]:
    ends = [v for r in rows for v in (r.value, r.ci_low, r.ci_high) if v is not None]
    low, high = charts.axis_of(statistic, ends)
    chance = 0.5 if statistic in charts.AREAS else 0.0
    return {
        "statistic": title(statistic),
        "low": low,
        "high": high,
        "rows": [
            (row, charts.interval_bar(row.value, row.ci_low, row.ci_high, low, high, chance))
            for row in rows
        ],
    }


def grids(rows: Iterable[RunResult], place: Any) -> list[dict[str, Any]]:
    """Per statistic a grid of groups by place (workflow or k); a cell may be absent (None)."""
    found = []
    for statistic, members in by_statistic(rows):
        groups = list(dict.fromkeys(row.group for row in members))
        lines: dict[str, dict[str, RunResult]] = {}
        for row in members:
            lines.setdefault(place(row), {})[row.group] = row
        found.append(
            {
                "statistic": title(statistic),
                "groups": groups,
                "lines": [(name, [line.get(g) for g in groups]) for name, line in lines.items()],
            }
        )
    return found


def ablation(rows: Iterable[RunResult]) -> list[tuple[str, float | None]]:
    """The Score of task 3 under other weights, as (weights, Score)."""
    for row in rows:
        if row.statistic == "score" and row.detail.get("ablation"):
            return list(row.detail["ablation"].items())
    return []


def compared(rows: Sequence[RunResult]) -> list[dict[str, Any]]:
    """Of a comparison: differences per type and run, and the pairs of runs where there are some.

    The group of a row is "<type>|<run>" or "<type>|<run>|<run>". Two statements.
    """
    keys = {int(key) for row in rows for key in row.group.split("|")[1:]}
    runs = Run.objects.in_bulk(keys)
    tables = []
    for statistic, members in by_statistic(rows):
        ends = [v for r in members for v in (r.value, r.ci_low, r.ci_high) if v is not None]
        low, high = charts.axis_of(statistic, ends)
        lines = []
        for row in members:
            type_, *others = row.group.split("|")
            bar = charts.interval_bar(row.value, row.ci_low, row.ci_high, low, high)
            named = [(int(key), runs.get(int(key))) for key in others]
            lines.append({"type": type_, "runs": named, "row": row, "bar": bar})
        tables.append({"statistic": statistic, "low": low, "high": high, "lines": lines})
    return tables
