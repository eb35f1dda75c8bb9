"""The list of runs, and one run: progress that refreshes itself, results, parameters, scores."""

from __future__ import annotations

import json
from typing import Any

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from benchmark.views.paging import Page, number
from scoring import charts
from scoring.models import Run, RunResult
from scoring.views.progress import progress, with_progress

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
    context = {"run": found, "now": progress(found), **results(found), "left_out": left_out(found)}
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "scoring/_run_live.html", context)
    context |= {"parameters": parameters(found), "page": scores_page(request, found)}
    return render(request, "scoring/run.html", context)


def parameters(run: Run) -> list[tuple[str, str]]:
    """Name and value of every parameter, as words."""
    return [
        (key.replace("_", " "), value if isinstance(value, str) else json.dumps(value))
        for key, value in sorted(run.parameters.items())
    ]


def results(run: Run) -> dict[str, Any]:
    """Result tables, one per statistic, rows in the order the run wrote them."""
    tables: dict[str, list[RunResult]] = {}
    for row in run.results.all():
        tables.setdefault(row.statistic, []).append(row)
    return {"tables": [table(name, rows) for name, rows in tables.items()]}


def table(statistic: str, rows: list[RunResult]) -> dict[str, Any]:
    ends = [v for r in rows for v in (r.value, r.ci_low, r.ci_high) if v is not None]
    low, high = charts.axis_of(statistic, ends)
    return {
        "statistic": statistic,
        "low": low,
        "high": high,
        "rows": [
            (row, charts.interval_bar(row.value, row.ci_low, row.ci_high, low, high))
            for row in rows
        ],
    }


def left_out(run: Run) -> list[dict[str, Any]]:
    """How many dialogues have no value, per reason."""
    undefined = run.scores.filter(value__isnull=True).order_by()
    return list(undefined.values("reason").annotate(n=Count("id")).order_by("-n", "reason"))


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
