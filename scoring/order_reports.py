"""What came of a rule of order over many runs, as tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from annotation.agreement import wilson
from annotation.figure_tables import Column, Drawn, Figure
from annotation.label_agreement import precision_recall_f1
from scoring.run_monitor import Watched
from scoring.step_rules import Kept, OrderRule, check, events_of


@dataclass(frozen=True, slots=True)
class Ordered:
    """A run and how it stands to a rule of order."""

    run: Watched
    found: Kept


def ordered(rule: OrderRule, runs: Sequence[Watched], over: str) -> list[Ordered]:
    """How each run stands to `rule` about its agents or actions."""
    return [
        Ordered(run, check(rule, events_of([(s.agent, s.action) for s in run.steps], over)))
        for run in runs
    ]


def models_figure(rule: OrderRule, rows: Sequence[Ordered]) -> Figure:
    """How often the rule is broken, by model and over all, among runs it speaks of."""
    groups: dict[str, list[Ordered]] = defaultdict(list)
    for row in rows:
        groups[row.run.model].append(row)
    named = sorted(groups.items()) if len(groups) > 1 else []
    cells = [_counts(model or "(no model)", group) for model, group in named]
    cells.append(_counts("all", rows))
    return Figure(
        name="order",
        title="Runs that break the rule",
        columns=(
            Column("model", "Model"),
            Column("broken", "Broken", "estimate", percent=True),
            Column("kept", "Kept", "count"),
            Column("missing", "Broken: a name never occurs", "count"),
            Column("silent", "The rule does not speak of", "count"),
        ),
        rows=cells if rows else [],
        n=len(rows),
        note=f"Rule: {rule.text}. Wilson intervals over the runs that the rule speaks of.",
        reason="" if rows else "there is no run",
        drawn=Drawn("points", "model", "broken"),
    )


def labels_figure(
    rule: OrderRule, rows: Sequence[Ordered], procedural: Mapping[int, bool], rater: str
) -> Figure:
    """Broken rules against a rater's procedural labels; `procedural` maps keys of runs to theirs.

    Runs that the rater did not label by type, or that the rule does not speak of, are left out.
    """
    judged = [r for r in rows if r.run.key in procedural and r.found.kept is not None]
    cells = [(not r.found.kept, procedural[r.run.key]) for r in judged]
    tp, fp = cells.count((True, True)), cells.count((True, False))
    fn, tn = cells.count((False, True)), cells.count((False, False))
    words = (
        ("precision: broken and called procedural", wilson(tp, tp + fp)),
        ("recall: procedural faults that break the rule", wilson(tp, tp + fn)),
        ("agreement", wilson(tp + tn, len(cells))),
    )
    return Figure(
        name="order-labels",
        title=f"The rule against procedural labels of {rater}",
        columns=(
            Column("measure", "Measure"),
            Column("share", "Share", "estimate", percent=True),
            Column("f1", "F1", "estimate"),
        ),
        rows=[
            *({"measure": text, "share": share, "f1": None} for text, share in words),
            {"measure": "F1", "share": None, "f1": precision_recall_f1(tp, fp, fn, tn)},
        ]
        if judged
        else [],
        n=len(judged),
        note=f"Broken and procedural {tp}, broken only {fp}, procedural only {fn}, neither {tn}. "
        "A rule of order sees one kind of procedural fault: low recall is no flaw of it.",
        reason="" if judged else f"{rater} has labelled no run by type that the rule speaks of",
    )


def _counts(name: str, rows: Sequence[Ordered]) -> dict[str, object]:
    told = [row.found for row in rows if row.found.kept is not None]
    broken = [found for found in told if not found.kept]
    return {
        "model": name,
        "broken": wilson(len(broken), len(told)),
        "kept": len(told) - len(broken),
        "missing": sum(found.step is None for found in broken),
        "silent": len(rows) - len(told),
    }
