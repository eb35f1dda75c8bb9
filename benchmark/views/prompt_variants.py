"""The prompt-variant stress test of a corpus: what other words change in what judges answer."""

from __future__ import annotations

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from annotation.figure_files import csv_text
from benchmark.models import Corpus
from benchmark.prompt_variant_rows import judged, variant_sets
from benchmark.prompt_variant_tables import figures
from benchmark.views.paging import choice


@require_safe
def prompt_variants(request: HttpRequest, slug: str) -> HttpResponse:
    """The page; with `figure` and `format=csv` one of its tables as a file."""
    corpus = get_object_or_404(Corpus, slug=slug)
    sets = variant_sets(corpus)
    name = choice(request, "set", sets) or (sets[0] if sets else "")
    table = judged(corpus, name) if name else None
    found = figures(table) if table else []
    if choice(request, "format", ("html", "csv")) == "csv":
        by_name = {figure.name: figure for figure in found}
        asked = choice(request, "figure", by_name)
        if not asked:
            raise BadRequest(f"figure must be one of {', '.join(by_name) or 'none'}.")
        response = HttpResponse(csv_text(by_name[asked]), content_type="text/csv; charset=utf-8")
        file = f"{corpus.slug}-{name}-{asked}.csv"
        response["Content-Disposition"] = f'attachment; filename="{file}"'
        return response
    context = {"corpus": corpus, "sets": sets, "set": name, "table": table, "figures": found}
    return render(request, "benchmark/judge_variants.html", context)
