"""The list of corpora, and one corpus with its workflows, forks and import warnings."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from benchmark.models import Corpus, Fork, Workflow, WorkflowStep
from benchmark.records import FORK_TYPES
from benchmark.views.counting import with_counts
from benchmark.views.run_lists import run_summary


@require_safe
def corpora(request: HttpRequest) -> HttpResponse:
    return render(request, "benchmark/corpora.html", {"corpora": with_counts(Corpus.objects.all())})


@require_safe
def corpus(request: HttpRequest, slug: str) -> HttpResponse:
    found = get_object_or_404(with_counts(Corpus.objects.all()), slug=slug)
    return render(
        request,
        "benchmark/corpus.html",
        {
            "corpus": found,
            "workflows": workflow_rows(found),
            "dialogues": dialogue_counts(found),
            "forks": forks_by_type(found),
            "sources": sources_of(found),
            "warnings": warning_counts(found),
            "releases": found.releases.all(),
            "fork_types": FORK_TYPES,
            "runs": run_summary(found) if found.n_trajectories else None,
        },
    )


def workflow_rows(corpus: Corpus) -> list[dict[str, Any]]:
    """Its workflows with counts of its dialogues and of forks of them, in four statements.

    Counted in groups, not by a subquery per row: a corpus may hold many dialogues.
    """
    steps = dict(
        WorkflowStep.objects.filter(workflow__corpus=corpus)
        .order_by()
        .values_list("workflow")
        .annotate(n=Count("id"))
    )
    forks = dict(
        Fork.objects.filter(source__corpus=corpus)
        .order_by()
        .values_list("source__workflow")
        .annotate(n=Count("id"))
    )
    dialogues = {row.pop("workflow"): row for row in by_workflow(corpus)}
    return [
        {
            "workflow": workflow,
            "n_steps": steps.get(workflow.pk, 0),
            "n_forks": forks.get(workflow.pk, 0),
            **dialogues.get(workflow.pk, dict.fromkeys(("all", "following", "train", "test"), 0)),
        }
        for workflow in corpus.workflows.all()
    ]


def by_workflow(corpus: Corpus) -> list[dict[str, Any]]:
    grouped = corpus.dialogues.order_by().values("workflow")
    return list(
        grouped.annotate(
            all=Count("id"),
            following=Count("id", filter=Q(conformant=True)),
            train=Count("id", filter=Q(conformant=True, split="train")),
            test=Count("id", filter=Q(conformant=True, split="test")),
        )
    )


def dialogue_counts(corpus: Corpus) -> dict[str, int]:
    """Dialogues by what is known of them; every dialogue falls into one of the first three."""
    return corpus.dialogues.aggregate(
        following=Count("id", filter=Q(conformant=True)),
        deviating=Count("id", filter=Q(conformant=False)),
        unknown=Count("id", filter=Q(conformant__isnull=True)),
        train=Count("id", filter=Q(conformant=True, split="train")),
        test=Count("id", filter=Q(conformant=True, split="test")),
        without_turn=Count("id", filter=Q(n_turns=0)),
    )


def forks_by_type(corpus: Corpus) -> list[dict[str, Any]]:
    """Per type the number of forks stored in `corpus` at each k, and their sum."""
    counted = (
        Fork.objects.filter(dialogue__corpus=corpus)
        .values_list("type", "k")
        .annotate(n=Count("id"))
        .order_by()
    )
    at = {(type_, k): n for type_, k, n in counted}
    return [
        {
            "type": type_,
            "name": Fork.Type(type_).label,
            "at": [at.get((type_, k), 0) for k in (1, 2, 3, 4)],
            "n": sum(at.get((type_, k), 0) for k in (1, 2, 3, 4)),
        }
        for type_ in FORK_TYPES
        if any(key[0] == type_ for key in at)
    ]


def sources_of(corpus: Corpus) -> list[Corpus]:
    """The other corpora whose dialogues the forks in `corpus` start from."""
    keys = Fork.objects.filter(dialogue__corpus=corpus).order_by().values("source__corpus")
    return list(Corpus.objects.filter(pk__in=keys.distinct()).exclude(pk=corpus.pk))


def warning_counts(corpus: Corpus) -> list[tuple[str, int]]:
    """(warning, number of dialogues that carry it), the most frequent first."""
    counts: Counter[str] = Counter()
    rows = corpus.dialogues.exclude(warnings={}).values_list("warnings", flat=True)
    for warnings in rows.iterator(chunk_size=2000):
        counts.update(warnings.keys())
    return counts.most_common()


def workflow_names(corpus: Corpus) -> list[str]:
    """Names of the workflows that dialogues of `corpus` belong to, its own or its sources'."""
    used = corpus.dialogues.order_by().values("workflow").distinct()
    found = Workflow.objects.filter(Q(pk__in=used) | Q(corpus=corpus))
    return list(found.order_by("name").values_list("name", flat=True).distinct())
