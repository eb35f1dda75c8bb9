"""The dialogues of a corpus: filters, keyset pages, the same few statements at any size."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from benchmark.models import Corpus, Dialogue, Fork
from benchmark.records import FORK_TYPES
from benchmark.views.corpora import workflow_names
from benchmark.views.paging import choice, keyset

KNOWN = {
    "conformant": {"conformant": True},
    "deviating": {"conformant": False},
    "unknown": {"conformant__isnull": True},
}


@require_safe
def dialogues(request: HttpRequest, slug: str) -> HttpResponse:
    corpus = get_object_or_404(Corpus, slug=slug)
    names = workflow_names(corpus)
    shown = read_filters(request, names)
    rows = filtered(corpus.dialogues.all(), shown)
    page = keyset(request, rows.select_related("workflow").prefetch_related("forks"))
    return render(
        request,
        "benchmark/dialogues.html",
        {
            "corpus": corpus,
            "page": page,
            "n": rows.count(),
            "shown": shown,
            "narrowed": any(shown.values()),
            "workflow_names": names,
            "fork_types": FORK_TYPES,
        },
    )


def read_filters(request: HttpRequest, workflows: list[str]) -> dict[str, str]:
    """The filters of the query string; BadRequest for a word that no filter knows."""
    return {
        "workflow": choice(request, "workflow", workflows),
        "known": choice(request, "known", KNOWN),
        "type": choice(request, "type", FORK_TYPES),
        "k": choice(request, "k", ("1", "2", "3", "4")),
        "split": choice(request, "split", ("train", "test")),
        "q": request.GET.get("q", "").replace("\x00", "").strip()[:200],
    }


def filtered(rows: QuerySet[Dialogue], shown: dict[str, str]) -> QuerySet[Dialogue]:
    """`rows` narrowed by every filter that is not empty."""
    if shown["workflow"]:
        rows = rows.filter(workflow__name=shown["workflow"])
    if shown["known"]:
        rows = rows.filter(**KNOWN[shown["known"]])
    if shown["split"]:
        rows = rows.filter(split=shown["split"])
    if shown["q"]:
        rows = rows.filter(external_id__icontains=shown["q"])
    fork: dict[str, Any] = {key: shown[key] for key in ("type", "k") if shown[key]}
    if fork:
        rows = rows.filter(Exists(Fork.objects.filter(dialogue=OuterRef("pk"), **fork)))
    return rows
