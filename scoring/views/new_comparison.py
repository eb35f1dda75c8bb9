"""The page that starts a comparison: one run as the reference, others against it."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from benchmark.models import Corpus
from benchmark.views.paging import choice, number
from scoring.methods import METHODS
from scoring.models import Run
from scoring.views.naming import method_label, settings_words
from scoring.views.new_run import tell
from scoring.views.starting import KIND_LABELS, Wanted, start

MOST_RUNS = 200


@require_http_methods(["GET", "HEAD", "POST"])
def new_comparison(request: HttpRequest) -> HttpResponse:
    """`?corpus=SLUG&task=KIND&reference=RUN` choose which done runs are listed and preselected."""
    task = choice(request, "task", tuple(METHODS)) or "task2"
    slug = request.GET.get("corpus", "")
    corpora = list(Corpus.objects.filter(runs__kind__in=METHODS).distinct().order_by("slug"))
    corpus = next(
        (c for c in corpora if c.slug == slug), None if slug else next(iter(corpora), None)
    )
    if slug and corpus is None:
        raise BadRequest(f"There is no run over a corpus {slug[:80]!r}.")
    runs = done_runs(corpus, task)
    context: dict[str, Any] = {
        "corpora": corpora,
        "corpus": corpus,
        "task": task,
        "tasks": [(kind, KIND_LABELS[kind]) for kind in METHODS],
        "runs": [(run, method_label(run), settings_words(run)) for run in runs],
        "reference": number(request, "reference") or (runs[0].pk if runs else None),
        "baselines": None,
    }
    if request.method != "POST":
        return render(request, "scoring/new_comparison.html", context)
    try:
        reference, baselines = chosen(request.POST, runs)
        given = {"task": task, "reference": reference.pk, "baselines": [r.pk for r in baselines]}
        scope = list(Corpus.objects.filter(slug__in=reference.parameters["corpora"]))
        started = start(Wanted("comparison", scope, given), request.user)
    except ValueError as error:
        context |= {
            "error": str(error),
            "reference": request.POST.get("reference"),
            "baselines": request.POST.getlist("baselines"),
        }
        return render(request, "scoring/new_comparison.html", context, status=400)
    tell(request, [started])
    return redirect(started.run)


def done_runs(corpus: Corpus | None, task: str) -> list[Run]:
    """Done runs of the task over the corpus, newest first: those that can be compared with the
    newest, over the same dialogues and scored in the same way."""
    if corpus is None:
        return []
    rows = Run.objects.filter(corpus=corpus, kind=task, state=Run.State.DONE)
    found = list(rows.order_by("-pk")[:MOST_RUNS])
    return [run for run in found if basis(run) == basis(found[0])]


def basis(run: Run) -> tuple[object, ...]:
    """What two runs must share to be compared."""
    return tuple(run.parameters.get(name) for name in ("corpora", "content", "version"))


def chosen(post: QueryDict, runs: list[Run]) -> tuple[Run, list[Run]]:
    """The reference and the others. Raises ValueError with what is missing."""
    by_key = {str(run.pk): run for run in runs}
    reference = by_key.get(post.get("reference", ""))
    if reference is None:
        raise ValueError("Choose the reference among the runs of the list.")
    baselines = [by_key[key] for key in post.getlist("baselines") if key in by_key]
    baselines = [run for run in dict.fromkeys(baselines) if run != reference]
    if not baselines:
        raise ValueError("Choose at least one run besides the reference.")
    return reference, baselines
