"""Agent runs: the list of a corpus, and one run step by step."""

from __future__ import annotations

from collections import Counter

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from benchmark.models import Corpus, Trajectory, TrajectoryStep
from benchmark.views.paging import keyset, number

WINDOW = 100
PARTS = (
    ("Thought", "thought", False),
    ("Action", "action", True),
    ("Observation", "observation", True),
    ("Response", "response", False),
)


@require_safe
def trajectories(request: HttpRequest, slug: str) -> HttpResponse:
    corpus = get_object_or_404(Corpus, slug=slug)
    rows = corpus.trajectories.all()
    context = {"corpus": corpus, "page": keyset(request, rows), "n": rows.count()}
    return render(request, "benchmark/trajectories.html", context)


@require_safe
def trajectory(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(Trajectory.objects.select_related("corpus"), pk=pk)
    step = number(request, "step") or 1
    if step > max(found.n_steps, 1):
        raise BadRequest(f"step is {step}; this run has {found.n_steps} steps.")
    first = (step - 1) // WINDOW * WINDOW + 1
    steps = list(found.steps.filter(position__gte=first, position__lt=first + WINDOW))
    repeated = Counter(found.steps.values_list("number", flat=True))
    return render(
        request,
        "benchmark/trajectory.html",
        {
            "trajectory": found,
            "steps": [(step, parts_of(step)) for step in steps],
            "repeated": {n for n, times in repeated.items() if times > 1},
            "agents": sorted({step.agent for step in steps if step.agent}),
            "first": first,
            "last": first + len(steps) - 1,
            "earlier": first - WINDOW if first > 1 else None,
            "later": first + WINDOW if first + WINDOW <= found.n_steps else None,
            "at": number(request, "step"),
        },
    )


def parts_of(step: TrajectoryStep) -> list[tuple[str, str, bool]]:
    """(name, text, is it code) of the parts that hold anything."""
    parts = [(name, getattr(step, field), code) for name, field, code in PARTS]
    return [part for part in parts if part[1].strip()]
