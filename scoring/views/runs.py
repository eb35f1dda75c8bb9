"""The list of runs, and one run: progress that refreshes itself, results, parameters, scores."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from django.contrib import messages
from django.db.models import Count, F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from benchmark.label_records import PERSON
from benchmark.labelling import counted_labels
from benchmark.models import Trajectory
from benchmark.views.paging import Page, number
from scoring import runs as running
from scoring import tasks
from scoring.methods import METHODS
from scoring.models import Run, SetDistance
from scoring.seen_runs import PEOPLE
from scoring.trajectory_methods import KIND as LABELS
from scoring.views.naming import method_label, task_label
from scoring.views.progress import UNDEFINED, progress, row_sets, with_progress
from scoring.views.run_tables import results, unit

PAGE = 50


@require_safe
def runs(request: HttpRequest) -> HttpResponse:
    page = newest_first(request, with_progress(Run.objects.select_related("corpus", "started_by")))
    return render(request, "scoring/runs.html", {"page": page, "n": Run.objects.count()})


def newest_first(request: HttpRequest, rows: Any) -> Page:
    """Runs by descending id; `?before=ID` names the older page."""
    before = number(request, "before")
    found = list((rows.filter(pk__lt=before) if before else rows).order_by("-pk")[: PAGE + 1])
    shown = found[:PAGE]
    return Page(shown, before=shown[-1].pk if len(found) > PAGE else None, after=before)


@require_safe
@vary_on_headers("HX-Request")
def run(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(Run.objects.select_related("corpus", "started_by"), pk=pk)
    context = {
        "run": found,
        "now": progress(found),
        **results(found),
        "left_out": left_out(found),
        "unit": unit(found),
    }
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "scoring/_run_live.html", context)
    context |= {
        "name": method_label(found),
        "task": task_label(found),
        "parameters": parameters(found),
        "page": rows_page(request, found),
        "sets": sets(found),
        "board": board(found),
    }
    return render(request, "scoring/run.html", context)


def board(run: Run) -> str:
    """Address of the leaderboard that lists the run or its comparison; "" where none does."""
    kind = run.parameters.get("task") if run.kind == "comparison" else run.kind
    if kind == LABELS:
        return reverse("scoring:leaderboard-detectors", args=[run.corpus.slug])
    if kind not in METHODS:
        return ""
    return reverse("scoring:leaderboard", args=[run.corpus.slug, int(kind[-1])])


def parameters(run: Run) -> list[tuple[str, str]]:
    """Name and value of every parameter, as words."""
    return [
        (key.replace("_", " "), value if isinstance(value, str) else json.dumps(value))
        for key, value in sorted(run.parameters.items())
    ]


def left_out(run: Run) -> list[dict[str, Any]]:
    """How many rows of the run have no value, per reason."""
    found: Counter[str] = Counter()
    for name in row_sets(run):
        rows = getattr(run, name).filter(UNDEFINED[name]).order_by()
        found.update(dict(rows.values_list("reason").annotate(n=Count("id"))))
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return [{"reason": reason, "n": n} for reason, n in ordered]


@require_POST
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    """Stop an open run; one that has ended is left as it is, and the page says so."""
    found = get_object_or_404(Run, pk=pk)
    if running.cancel(found):
        messages.success(
            request, "The run is cancelled. What is scored stays; it can go on from there."
        )
    else:
        messages.warning(request, "The run had ended before. Nothing was changed.")
    return redirect(found)


@require_POST
def go_on(request: HttpRequest, pk: int) -> HttpResponse:
    """Take up a run that was cancelled or failed; any other one is left as it is."""
    found = get_object_or_404(Run, pk=pk)
    if found.state in (Run.State.CANCELLED, Run.State.FAILED):
        running.take_up(found)
        tasks.hand_over(found)
        messages.success(request, "The run goes on where it stopped.")
    else:
        messages.warning(request, "The run was neither cancelled nor did it fail.")
    return redirect(found)


def rows_page(request: HttpRequest, run: Run) -> Page:
    """The rows of a run of any kind."""
    pages = {"task3": answers_page, LABELS: suspicions_page}
    return pages.get(run.kind, scores_page)(request, run)


def suspicions_page(request: HttpRequest, run: Run) -> Page:
    """Agent runs, the most suspicious first and those without a value last; `?from=N` skips N."""
    start = number(request, "from") or 0
    rows = run.trajectory_scores.select_related("trajectory").defer("trajectory__task")
    ordered = rows.order_by(F("value").desc(nulls_last=True), "pk")
    found = list(ordered[start : start + PAGE + 1])
    shown = found[:PAGE]
    truth = labels_by(run, [score.trajectory_id for score in shown])
    for score in shown:
        score.truth = truth.get(score.trajectory_id)
        score.worst = max(score.steps, key=lambda step: step[1], default=None)
    return Page(shown, before=start, after=start + PAGE if len(found) > PAGE else None)


def labels_by(run: Run, keys: list[int]) -> dict[int, bool]:
    """Whether the rater of the truth sees a hallucination in each run; people by majority."""
    named = run.parameters["truth"]
    sets = counted_labels(Trajectory.objects.filter(pk__in=keys)).order_by()
    people = named == PEOPLE
    sets = sets.filter(**({"rater__kind": PERSON} if people else {"rater__name": named}))
    said: dict[int, list[bool]] = {}
    for pk, present in sets.values_list("trajectory_id", "present"):
        said.setdefault(pk, []).append(present)
    halves = {pk: 2 * sum(each) - len(each) for pk, each in said.items()}
    return {pk: balance > 0 for pk, balance in halves.items() if balance}


def scores_page(request: HttpRequest, run: Run) -> Page:
    """Scores by id, those without a value after all others; `?after=ID` names the last one seen."""
    after = number(request, "after")
    rows = run.scores.select_related("dialogue").prefetch_related("dialogue__forks").defer("turns")
    defined, undefined = (rows.filter(value__isnull=none).order_by("pk") for none in (False, True))
    if after and run.scores.filter(pk=after, value__isnull=True).exists():
        found = list(undefined.filter(pk__gt=after)[: PAGE + 1])
    else:
        found = list(defined.filter(pk__gt=after or 0)[: PAGE + 1])
        found += list(undefined[: PAGE + 1 - len(found)])
    shown = found[:PAGE]
    return Page(shown, before=after, after=shown[-1].pk if len(found) > PAGE else None)


def answers_page(request: HttpRequest, run: Run) -> Page:
    """Onset answers by id; `?after=ID` names the last one seen."""
    after = number(request, "after")
    rows = run.onset_answers.select_related("dialogue").prefetch_related("dialogue__forks")
    found = list(rows.defer("turns").filter(pk__gt=after or 0).order_by("pk")[: PAGE + 1])
    shown = found[:PAGE]
    return Page(shown, before=after, after=shown[-1].pk if len(found) > PAGE else None)


def sets(run: Run) -> list[tuple[str, str, list[SetDistance | None]]]:
    """Of task 1: workflow, type, and the distance at each k (None where there is none)."""
    if run.kind != "task1":
        return []
    lines: dict[tuple[str, str], dict[int, SetDistance]] = {}
    for row in run.set_distances.select_related("workflow").order_by("workflow__name", "type", "k"):
        lines.setdefault((row.workflow.name, row.type), {})[row.k] = row
    return [(*names, [cells.get(k) for k in (1, 2, 3, 4)]) for names, cells in lines.items()]
