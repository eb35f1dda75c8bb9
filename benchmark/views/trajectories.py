"""One agent run step by step, with what everybody says of it; and one step in full."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from benchmark.label_records import COMPONENTS
from benchmark.models import Trajectory
from benchmark.run_filters import FILTERS, choices_of, narrow_runs
from benchmark.run_pages import (
    WINDOW,
    PlaceMarks,
    agents_of,
    columns_of,
    marks_of,
    outline_of,
    part_of,
    signal_table,
    steps_of,
)
from benchmark.views.paging import choice, number
from benchmark.views.run_lists import read_filters


@require_safe
def trajectory(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(Trajectory.objects.select_related("corpus"), pk=pk)
    step = number(request, "step") or 1
    if step > max(found.n_steps, 1):
        raise BadRequest(f"step is {step}; this run has {found.n_steps} steps.")
    first = (step - 1) // WINDOW * WINDOW + 1
    columns = columns_of(found)
    marks = marks_of(columns)
    outline = outline_of(found)
    steps = steps_of(found, first, outline, marks)
    sources, signals = signal_table(found)
    texts = [("expected", found.expected), ("response", found.response)]
    return render(
        request,
        "benchmark/trajectory.html",
        {
            "trajectory": found,
            "steps": steps,
            "agents": agents_of(outline),
            "columns": columns,
            "raw": any(column.answer for column in columns),
            "named": marks.positions,
            "final": PlaceMarks(marks.final),
            "texts": {name: part_of(name, text, len(text)) for name, text in texts if text},
            "task": part_of("task", found.task, len(found.task)) if found.task else None,
            "sources": sources,
            "signals": signals,
            "first": first,
            "last": first + len(steps) - 1,
            "earlier": first - WINDOW if first > 1 else None,
            "later": first + WINDOW if first + WINDOW <= found.n_steps else None,
            "at": number(request, "step"),
            **neighbours(request, found),
        },
    )


def neighbours(request: HttpRequest, run: Trajectory) -> dict[str, Any]:
    """The runs before and after this one in its corpus, and `kept`, the filters of the list.

    With filters in the query string they are the neighbours in that list: eight statements, two
    without.
    """
    rows, kept = run.corpus.trajectories.order_by(), {}
    if any(request.GET.get(name) for name in FILTERS):
        shown = read_filters(request, choices_of(run.corpus))
        kept = {name: value for name, value in shown.items() if value}
        rows = narrow_runs(rows, shown)
    return {
        "previous": rows.only("pk").filter(pk__lt=run.pk).order_by("-pk").first(),
        "next": rows.only("pk").filter(pk__gt=run.pk).order_by("pk").first(),
        "kept": f"?{urlencode(kept)}" if kept else "",
    }


@require_safe
def step(request: HttpRequest, pk: int, position: int) -> HttpResponse:
    """One step with all its text; with ?part= that text alone, as plain text."""
    found = get_object_or_404(Trajectory.objects.select_related("corpus"), pk=pk)
    name = choice(request, "part", COMPONENTS)
    if not 1 <= position <= found.n_steps:
        raise Http404(f"This run has {found.n_steps} steps.")
    if name:
        row = get_object_or_404(found.steps.only("pk", name), position=position)
        response = HttpResponse(getattr(row, name), content_type="text/plain; charset=utf-8")
        response["X-Content-Type-Options"] = "nosniff"
        return response
    columns = columns_of(found)
    outline = outline_of(found)
    shown = steps_of(found, position, outline, marks_of(columns), size=1, excerpt=None)
    return render(
        request,
        "benchmark/run_step.html",
        {"trajectory": found, "steps": shown, "position": position},
    )
