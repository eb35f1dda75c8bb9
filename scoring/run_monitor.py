"""A rule watched over runs: where it alarms, and how often it is right.

A rule over signals of beginnings alone is asked after every step and alarms at the first step at
which it is yes. A rule that names a signal of whole runs is asked once, at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from annotation.agreement import wilson
from annotation.figure_tables import Column, Figure
from annotation.label_agreement import precision_recall_f1
from scoring.estimates import Estimate, undefined
from scoring.prefix_signals import PREFIX_SIGNALS, SeenStep, Steps, traced
from scoring.signal_rules import Rule

Signal = Callable[[Steps], Iterator[bool]]


@dataclass(frozen=True, slots=True)
class Watched:
    """A run as a monitor takes it. `present` is what a rater says (None: no label), `onset` the
    first step they name, `signals` those of the whole run."""

    key: int
    name: str
    steps: Sequence[SeenStep]
    signals: Mapping[str, bool | None] = field(default_factory=dict)
    present: bool | None = None
    onset: int | None = None
    model: str = ""


@dataclass(frozen=True, slots=True)
class Alarm:
    """What a rule says of a run: yes, no, or None (unknown); `step` is where it first says yes,
    None where it is asked at the end only. `early` says that it was asked after every step."""

    run: Watched
    value: bool | None
    step: int | None
    early: bool


def is_early(rule: Rule, more: Mapping[str, Signal] | None = None) -> bool:
    """Whether the rule can be asked while a run is going on."""
    return all(name in PREFIX_SIGNALS or name in (more or {}) for name in rule.names)


def watch(rule: Rule, run: Watched, more: Mapping[str, Signal] | None = None) -> Alarm:
    """Ask `rule` of a run, after every step where it can be; `more` are further signals."""
    local = [name for name in rule.names if name in PREFIX_SIGNALS or name in (more or {})]
    rows = traced(run.steps, local, more)
    if len(local) == len(rule.names):
        for number, known in enumerate(rows, start=1):
            if rule(known):
                return Alarm(run, True, number, early=True)
        return Alarm(run, rule(rows[-1]) if rows else None, None, early=True)
    last = rows[-1] if rows else {}
    return Alarm(run, rule({**run.signals, **last}), None, early=False)


def outcomes(alarms: Sequence[Alarm]) -> dict[str, Estimate]:
    """Precision, recall, F1 and the rate of false alarms against labels, with Wilson intervals.

    A run for which the rule is unknown counts as not alarmed: nothing would have stopped it.
    `unknown` counts these runs, `unlabelled` those without a label, which are left out. `lead` is
    the median number of steps by which a right alarm comes before the labelled onset (negative:
    after it), where both are known.
    """
    judged = [alarm for alarm in alarms if alarm.run.present is not None]
    cells = [(bool(alarm.value), bool(alarm.run.present)) for alarm in judged]
    tp, fp = cells.count((True, True)), cells.count((True, False))
    fn, tn = cells.count((False, True)), cells.count((False, False))
    leads = [
        alarm.run.onset - alarm.step
        for alarm in judged
        if alarm.value and alarm.run.present and alarm.step and alarm.run.onset
    ]
    lead = (
        Estimate(float(median(leads)), n=len(leads))
        if leads
        else undefined("no right alarm has both a step and a labelled first step")
    )
    return {
        "precision": wilson(tp, tp + fp),
        "recall": wilson(tp, tp + fn),
        "f1": precision_recall_f1(tp, fp, fn, tn),
        "false_alarms": wilson(fp, fp + tn),
        "alarms": wilson(sum(bool(a.value) for a in alarms), len(alarms)),
        "lead": lead,
    }


def figure(rule: Rule, alarms: Sequence[Alarm], rater: str) -> Figure:
    """What came of a rule, as a table."""
    found = outcomes(alarms)
    unknown = sum(alarm.value is None for alarm in alarms)
    unlabelled = sum(alarm.run.present is None for alarm in alarms)
    words = (
        ("alarms", "runs with an alarm", True),
        ("precision", "precision: alarms that are right", True),
        ("recall", "recall: hallucinations with an alarm", True),
        ("f1", "F1", False),
        ("false_alarms", "false alarms: sound runs with an alarm", True),
        ("lead", "median steps between alarm and labelled onset", False),
    )
    early = bool(alarms) and alarms[0].early
    when = "Asked after every step." if early else "Asked once a run is over."
    return Figure(
        name="monitor",
        title=f"The rule against {rater}",
        columns=(
            Column("measure", "Measure"),
            Column("share", "Share", "estimate", percent=True),
            Column("value", "Value", "estimate"),
        ),
        rows=[
            {
                "measure": text,
                "share": found[key] if is_share else None,
                "value": None if is_share else found[key],
            }
            for key, text, is_share in words
        ],
        n=len(alarms),
        note=f"Rule: {rule.text}. {when} "
        f"Runs for which it is unknown count as not alarmed: {unknown}. "
        f"Runs without a label of {rater} count for alarms only: {unlabelled}. Wilson intervals.",
        reason="" if alarms else "there is no run",
    )
