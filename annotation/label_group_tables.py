"""How two raters agree within groups of runs: per model, per pool of reviewers.

(Trajel, table 4 and appendix C: agreement of each pool.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from annotation.figure_tables import Column, Drawn, Figure
from annotation.label_binary import cells_of, measures
from annotation.label_intervals import NO_RUN
from annotation.label_pairs import LabelPairs, grouped
from annotation.label_type_tables import left_out, number, percent

UNNAMED = "(no model)"
NO_POOL = "no run that both have labelled belongs to a pool"


def group_rows(pairs: LabelPairs, names: Sequence[str]) -> list[dict[str, object]]:
    """One row per group in rising order: its runs and every measure; a name "" is in no group."""
    found, held = grouped(names)
    parts = cells_of(pairs.one.present, pairs.other.present)[:, None, :] * held[:, :, None]
    rows = measures(pairs.draws, parts)
    return [
        {"group": name, "runs": int(held[:, place].sum())} | rows[place]
        for place, name in enumerate(found)
        if name
    ]


def _columns(pairs: LabelPairs, title: str) -> tuple[Column, ...]:
    return (
        Column("group", title),
        Column("runs", "Runs", "count"),
        percent("rate_one", f"Rate of {pairs.one.rater}"),
        percent("rate_other", f"Rate of {pairs.other.rater}"),
        percent("agreement", "Agreement"),
        percent("precision", "Precision"),
        percent("recall", "Recall"),
        number("f1", "F1"),
        number("kappa", "Kappa"),
        number("ac1", "AC1"),
        number("alpha", "Alpha"),
    )


def models_figure(pairs: LabelPairs) -> Figure:
    """Agreement on whether there is a hallucination, per model of the runs."""
    title = f"Per model: {pairs.other.rater} against {pairs.one.rater}"
    columns = _columns(pairs, "Model")
    rows = group_rows(pairs, [run.model or UNNAMED for run in pairs.runs])
    reason, drawn = "" if rows else NO_RUN, Drawn("points", "group", "agreement")
    return Figure("agreement-models", title, columns, rows, len(pairs), reason=reason, drawn=drawn)


def pools_figure(pairs: LabelPairs, pools: Mapping[int, str]) -> Figure:
    """Agreement on whether there is a hallucination, per pool; runs of no pool are counted."""
    title = f"Per reviewer or pool: {pairs.other.rater} against {pairs.one.rater}"
    rows = group_rows(pairs, [pools.get(run.pk, "") for run in pairs.runs])
    n = sum(run.pk in pools for run in pairs.runs)
    note = left_out(len(pairs) - n, len(pairs), "which belong to no pool")
    return Figure(
        "agreement-pools",
        title,
        _columns(pairs, "Pool"),
        rows,
        n,
        note=note,
        reason="" if rows else NO_POOL,
        drawn=Drawn("points", "group", "agreement"),
    )
