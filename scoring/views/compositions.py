"""What a corpus is made of: tables 5, 6 and 9 of the paper from stored rows, with figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from benchmark.models import Corpus
from scoring import composition_charts
from scoring import leaderboards as reading
from scoring.charts import Figure
from scoring.composition_tables import ConditionRow, WorkflowRow
from scoring.compositions import Composition
from scoring.compositions import composition as read_composition
from scoring.leaderboard_tables import Column, Entry
from scoring.views import csv_files
from scoring.views.leaderboards import csv_head, csv_row, printed

CONDITION_COLUMNS = ("condition", "dialogues", "share", "mean turns", "mean words")
WORKFLOW_COLUMNS = (
    "domain",
    "workflow",
    *(
        f"{part} {what}"
        for part in ("conformant", "forks", "total")
        for what in ("dialogues", "mean turns", "mean words")
    ),
    "train",
    "test",
    "in neither half",
)


class Detector:
    """A row of table 9: an N-gram detector, its settings and its results as text."""

    def __init__(self, entry: Entry, columns: Sequence[Column]) -> None:
        chosen = entry.parameters.get("settings") or {}
        self.entry = entry
        self.name = "SS" if entry.method == "ngram_ss" else "IT"
        self.confidence = "with NC" if chosen.get("node_confidence") else "–"
        self.order = chosen.get("order")
        self.threshold = str(chosen.get("calibration") or "").replace("_", " ")
        self.cells = [printed(entry, column) for column in columns]


@require_safe
def composition(request: HttpRequest, slug: str) -> HttpResponse:
    corpus = get_object_or_404(Corpus, slug=slug)
    found = read_composition(corpus)
    figures = figures_of(found)
    if csv_files.wanted(request):
        return as_csv(request, corpus, found, figures)
    columns, detectors = reading.detectors(corpus)
    context = {
        "columns": columns,
        "detectors": [Detector(entry, columns) for entry in detectors],
        "corpus": corpus,
        "found": found,
        "every": found.conditions[-1].sizes,
        "figures": figures,
    }
    return render(request, "scoring/composition.html", context)


def figures_of(found: Composition) -> list[Figure]:
    """The figures that have something to show."""
    drawn = (
        composition_charts.domains(found.workflows),
        composition_charts.lengths(found.workflows),
        composition_charts.boxes(found.spreads),
        composition_charts.around(found.around),
    )
    return [figure for figure in drawn if figure]


def as_csv(
    request: HttpRequest, corpus: Corpus, found: Composition, figures: Sequence[Figure]
) -> HttpResponse:
    """`?of=` names a table ("detectors" among them) or a figure; the workflows without it."""
    tables: dict[str, tuple[Sequence[str], Sequence[Sequence[Any]]]] = {
        "workflows": (WORKFLOW_COLUMNS, [workflow_cells(row) for row in found.workflows]),
        "conditions": (CONDITION_COLUMNS, [condition_cells(row) for row in found.conditions]),
        **{figure.name: figure.file for figure in figures},
    }
    name = request.GET.get("of") or "workflows"
    if name == "detectors":
        columns, rows = reading.detectors(corpus)
        tables[name] = (csv_head(columns), [csv_row(entry, columns) for entry in rows])
    if name not in tables:
        raise BadRequest(f"of is {name[:40]!r}; it must be one of {', '.join(tables)}.")
    return csv_files.answer(f"{corpus.slug}-{name}", *tables[name])


def condition_cells(row: ConditionRow) -> tuple[Any, ...]:
    return (
        row.condition,
        row.sizes.n,
        row.share,
        row.sizes.mean_turns,
        row.sizes.mean_words,
    )


def workflow_cells(row: WorkflowRow) -> tuple[Any, ...]:
    sizes = (row.conformant, row.forks, row.total)
    means = [cell for part in sizes for cell in (part.n, part.mean_turns, part.mean_words)]
    return (row.domain, row.workflow, *means, row.train, row.test, row.unsplit)
