"""Which detector finds hallucinations in the agent runs of a corpus: one table, controls apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from annotation.figure_files import table_of
from annotation.figure_tables import Figure
from benchmark.models import Corpus
from benchmark.views.paging import choice
from scoring.charts import interval_bar
from scoring.detector_boards import COLUMNS, Detector, DetectorBoard, detector_board
from scoring.label_summaries import AUC
from scoring.leaderboard_tables import Cell
from scoring.views import csv_files
from scoring.views.detector_figures import figures_of

CHANCE = 0.5
FILE_COLUMNS = (
    "run",
    "method",
    "origin",
    "encoder",
    "judge",
    "settings",
    "statistic",
    "group",
    "value",
    "reason",
    "n",
    "left out",
    "low",
    "high",
)


@dataclass(frozen=True, slots=True)
class Row:
    """A detector with its cells in the order of the columns; `bar` is its area as a drawing."""

    detector: Detector
    cells: Sequence[Cell | None]
    main: Cell | None
    bar: Mapping[str, float] | None


@require_safe
def detectors(request: HttpRequest, slug: str) -> HttpResponse:
    """`?truth=NAME` chooses whose labels were predicted; `?format=csv` gives every number."""
    corpus = get_object_or_404(Corpus, slug=slug)
    board = detector_board(corpus, request.GET.get("truth", ""))
    choice(request, "truth", board.truths or ["(no detector has run)"])
    figures = figures_of(board)
    if csv_files.wanted(request):
        return as_csv(request, corpus, board, figures)
    columns = occurring(board)
    context = {
        "corpus": corpus,
        "board": board,
        "columns": [label for *_, label in columns],
        "groups": [
            ("", [row_of(each, columns) for each in board.detectors]),
            ("Controls", [row_of(each, columns) for each in board.controls]),
        ],
        "orders": [
            (
                name,
                [cells.get((statistic, name)) for statistic, *_ in columns],
                next(iter(cells.values())).n,
            )
            for name, cells in board.orders.items()
        ],
        "figures": figures,
        "width": len(columns) + 5,
    }
    return render(request, "scoring/detectors.html", context)


def as_csv(
    request: HttpRequest, corpus: Corpus, board: DetectorBoard, figures: Sequence[Figure]
) -> HttpResponse:
    """Every figure of every run, or with `?of=NAME` one drawing's."""
    known = {figure.name: figure for figure in figures}
    if of := choice(request, "of", known):
        return csv_files.answer(f"{corpus.slug}-detectors-{of}", *table_of(known[of]))
    return csv_files.answer(f"{corpus.slug}-detectors", FILE_COLUMNS, lines(board))


def occurring(board: DetectorBoard) -> list[tuple[str, str, str]]:
    """The columns that some detector has a result in; the area over runs always."""
    there = {key for row in board.everything for key in row.cells}
    return [column for column in COLUMNS if column[0] == AUC or column[:2] in there]


def row_of(detector: Detector, columns: Sequence[tuple[str, str, str]]) -> Row:
    main = detector.cell(AUC)
    bar = interval_bar(main.value, main.low, main.high, 0, 1, CHANCE) if main else None
    return Row(detector, [detector.cell(*column[:2]) for column in columns], main, bar)


def lines(board: DetectorBoard) -> list[tuple[Any, ...]]:
    """Every figure of every run shown, a line each."""
    return [
        (
            row.run,
            row.method,
            row.origin,
            row.encoder,
            row.judge,
            ", ".join(row.settings),
            statistic,
            group,
            cell.value,
            cell.reason,
            cell.n,
            cell.skipped,
            cell.low,
            cell.high,
        )
        for row in board.everything
        for (statistic, group), cell in row.cells.items()
    ]
