"""Signals of runs against labels, and rules over signals and order, asked of a whole corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from annotation.figure_files import table_of
from annotation.figure_tables import Figure
from benchmark.labelling import labelled_runs
from benchmark.models import Corpus
from benchmark.views.paging import choice
from scoring import order_reports, run_monitor, signal_rules, step_rules
from scoring.prefix_signals import PREFIX_SIGNALS
from scoring.run_signals import Material, material
from scoring.signals import figures
from scoring.views import csv_files

MOST_LISTED = 200
# What the stop rule of Trajel's section 6 would be, where its two signals are there.
EXAMPLE = "not clarity_and_justification and not generalized_result_verification"
EARLY_EXAMPLE = "tool_error and repeated_action"


@require_safe
def signals(request: HttpRequest, slug: str) -> HttpResponse:
    """`?rater=` whose labels are the outcome, `?source=` whose signals, `?rule=` what to watch."""
    corpus = get_object_or_404(Corpus, slug=slug)
    text = request.GET.get("rule", "").strip()
    held = _material(request, corpus)
    drawn = figures(held.table(), held.rater) if held.names and held.rater else []
    alarms, problem = _watched(text, held)
    if alarms:
        rule = signal_rules.parse(text)
        drawn.insert(0, run_monitor.figure(rule, alarms, held.rater or "anybody"))
    if csv_files.wanted(request):
        return _file(request, corpus, drawn)
    yes = [alarm for alarm in alarms if alarm.value]
    context = {
        "corpus": corpus,
        "held": held,
        "figures": _linked(request, drawn),
        "rule": text,
        "problem": problem,
        "example": EXAMPLE if set(EXAMPLE.split()) & set(held.names) else EARLY_EXAMPLE,
        "early_names": list(PREFIX_SIGNALS),
        "alarms": yes[:MOST_LISTED],
        "n_alarms": len(yes),
        "asked": bool(alarms),
        "n_labelled": sum(run.present is not None for run in held.runs),
    }
    return render(request, "scoring/signals.html", context, status=400 if problem else 200)


@require_safe
def rules(request: HttpRequest, slug: str) -> HttpResponse:
    """`?order=` a rule about the order of `?over=` agents or actions, asked of every run."""
    corpus = get_object_or_404(Corpus, slug=slug)
    text = request.GET.get("order", "").strip()
    over = choice(request, "over", step_rules.OVER) or step_rules.AGENTS
    held = _material(request, corpus)
    drawn: list[Figure] = []
    rows: list[order_reports.Ordered] = []
    problem = ""
    if text:
        try:
            rule = step_rules.parse(text)
            rows = order_reports.ordered(rule, held.runs, over)
            drawn.append(order_reports.models_figure(rule, rows))
            if held.rater:
                typed = _procedural(corpus, held.rater)
                drawn.append(order_reports.labels_figure(rule, rows, typed, held.rater))
        except step_rules.BadOrder as bad:
            problem = str(bad)
    if csv_files.wanted(request):
        return _file(request, corpus, drawn)
    broken = [row for row in rows if row.found.kept is False]
    context = {
        "corpus": corpus,
        "held": held,
        "order": text,
        "over": over,
        "overs": step_rules.OVER,
        "problem": problem,
        "figures": _linked(request, drawn),
        "broken": broken[:MOST_LISTED],
        "n_broken": len(broken),
        "asked": bool(text) and not problem,
        "names": _names(held, over),
    }
    return render(request, "scoring/rules.html", context, status=400 if problem else 200)


def _material(request: HttpRequest, corpus: Corpus) -> Material:
    asked = {name: request.GET.get(name, "") for name in ("rater", "source")}
    try:
        return material(corpus, **asked)
    except ValueError as error:
        raise BadRequest(f"{error}.") from error


def _watched(text: str, held: Material) -> tuple[list[run_monitor.Alarm], str]:
    if not text:
        return [], ""
    try:
        rule = signal_rules.parse(text, [*held.names, *PREFIX_SIGNALS])
    except signal_rules.BadRule as bad:
        return [], f"Character {bad.place}: {bad.reason}."
    return [run_monitor.watch(rule, run) for run in held.runs], ""


def _procedural(corpus: Corpus, rater: str) -> Mapping[int, bool]:
    """What a single rater says of procedural faults, of runs they labelled by type."""
    return {
        run.pk: "procedural" in label.types
        for run in labelled_runs(corpus.trajectories.all(), [rater])
        for label in run.labels.values()
        if label.typed
    }


def _names(held: Material, over: str) -> list[str]:
    """The names that occur, most frequent first, to write rules with."""
    counts: dict[str, int] = {}
    for run in held.runs:
        pairs = [(step.agent, step.action) for step in run.steps]
        for name in set(step_rules.events_of(pairs, over)) - {""}:
            counts[name] = counts.get(name, 0) + 1
    return sorted(counts, key=lambda name: (-counts[name], name))[:30]


def _linked(request: HttpRequest, drawn: Sequence[Figure]) -> list[tuple[Figure, str]]:
    kept = [(name, value) for name, value in request.GET.items() if name not in ("format", "of")]
    return [
        (figure, "?" + urlencode([*kept, ("format", "csv"), ("of", figure.name)]))
        for figure in drawn
    ]


def _file(request: HttpRequest, corpus: Corpus, drawn: Sequence[Figure]) -> HttpResponse:
    names = [figure.name for figure in drawn] or ["(there is no table yet)"]
    name = choice(request, "of", names)
    if not name:
        raise BadRequest(f"of is missing; it must be one of {', '.join(names)}.")
    figure = next(figure for figure in drawn if figure.name == name)
    columns, rows = table_of(figure)
    return csv_files.answer(f"{corpus.slug}-{name}", columns, rows)
