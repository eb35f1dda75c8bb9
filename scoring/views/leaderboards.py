"""Leaderboards: one table per task and corpus, every filter in the address, figures below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from benchmark.models import Corpus
from benchmark.records import FORK_TYPES
from benchmark.views.paging import choice, number
from scoring import leaderboards as reading
from scoring.charts import Figure, interval_bar
from scoring.detector_boards import corpora_with_detectors
from scoring.leaderboard_tables import (
    AVERAGE,
    Cell,
    Column,
    Difference,
    Entry,
    best_first,
    known_keys,
    promise_words,
    written,
)
from scoring.leaderboards import Board, Choice
from scoring.methods import TASKS
from scoring.views import csv_files
from scoring.views.leaderboard_figures import figures_of, pick, single_runs

KS = ("1", "2", "3", "4")
HEADINGS = {
    1: (
        "Set to set: which distance orders the sets?",
        "Sets of forks lie farther from the conformant set the earlier they leave it. Kendall’s "
        "tau per workflow, averaged over workflows and types.",
    ),
    2: (
        "Dialogue to dialogue: which distance orders the forks?",
        "Four forks of one source should lie farther from it the earlier they leave it. Kendall’s "
        "tau per source, averaged over sources and types.",
    ),
    3: (
        "First off-track turn: who finds it?",
        "Error in turns over the forks that are flagged; false alarms over conformant dialogues "
        "that never took part in the fit.",
    ),
}


@dataclass(frozen=True, slots=True)
class Head:
    """A column head: its word, the address that sorts by it, and how it is sorted now."""

    label: str
    sort: str
    aria: str
    column: Column | None = None


@dataclass(frozen=True, slots=True)
class Printed:
    """A cell as text: its value, its interval, and what else is known of it."""

    column: Column
    cell: Cell | None
    value: str
    interval: str = ""
    more: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A run as the table prints it; `standing` is its difference to the reference, if compared."""

    entry: Entry
    cells: list[Printed]
    bar: Mapping[str, float] | None
    main: Cell | None
    standing: Difference | None
    reference: bool


@require_safe
def leaderboards(request: HttpRequest) -> HttpResponse:
    """Which corpora have results, per task."""
    found = reading.corpora_with_runs()
    detected = corpora_with_detectors()
    slugs = sorted(detected.union(*found.values()))
    rows = [
        (slug, [(int(task[-1]), slug in names) for task, names in found.items()], slug in detected)
        for slug in slugs
    ]
    return render(request, "scoring/leaderboards.html", {"rows": rows, "tasks": TASKS.values()})


@require_safe
def leaderboard(request: HttpRequest, slug: str, task: int) -> HttpResponse:
    if f"task{task}" not in TASKS:
        raise Http404
    if (other := request.GET.get("corpus", slug)) != slug:
        get_object_or_404(Corpus, slug=other)
        return redirect("scoring:leaderboard", slug=other, task=task)
    corpus = get_object_or_404(Corpus, slug=slug)
    chosen = read_choice(request, task)
    board = read_board(request, corpus, chosen)
    able = single_runs(board, chosen)
    picked = pick(able, number(request, "run"))
    figures = figures_of(board, chosen, picked)
    if csv_files.wanted(request):
        return as_csv(request, corpus, chosen, board, figures)
    heading, lede = HEADINGS[task]
    compared = board.comparison if not (chosen.workflow or chosen.k) else None
    context = {
        "corpus": corpus,
        "task": task,
        "tasks": [(int(name[-1]), label) for name, label in TASKS.items()],
        "corpora": reading.corpora_with_runs()[chosen.task],
        "heading": heading,
        "lede": lede,
        "chosen": chosen,
        "board": board,
        "heads": heads(board),
        "groups": [
            ("", rows_of(board, board.entries, compared)),
            ("Controls", rows_of(board, board.controls, compared)),
        ],
        "ends": [written(end, board.main.form) for end in axis_ends(board)],
        "compared": compared,
        "reference": next(
            (e for e in board.all_entries if compared and e.run == compared.reference), None
        ),
        "partial": bool(chosen.workflow or chosen.k),
        "compare": compare_address(corpus, chosen, board),
        "figures": figures,
        "fork_types": FORK_TYPES,
        "ks": KS,
        "able": able if len(able) > 1 else [],
        "picked": picked,
        "kept": [(name, value) for name, value in request.GET.items() if name != "run"],
        "width": len(board.columns) + (5 if compared else 4),
        "file": f"{corpus.slug}-{chosen.task}",
    }
    return render(request, "scoring/leaderboard.html", context)


def read_choice(request: HttpRequest, task: int) -> Choice:
    """The filters of the address that need no data; BadRequest for a word that is none."""
    k = choice(request, "k", KS)
    if k and task != 3:
        raise BadRequest("k is a filter of task 3 only: tasks 1 and 2 order the four k.")
    return Choice(
        task=f"task{task}",
        encoder=request.GET.get("encoder", ""),
        workflow=request.GET.get("workflow", ""),
        fork_type=choice(request, "type", FORK_TYPES),
        k=int(k or 0),
        sort=request.GET.get("sort", ""),
    )


def read_board(request: HttpRequest, corpus: Corpus, chosen: Choice) -> Board:
    """The board; BadRequest where a filter names what no run has, with what there is."""
    try:
        board = reading.board(corpus, chosen)
    except ValueError:
        allowed = ", ".join(known_keys(chosen.task))
        raise BadRequest(
            f"sort is {chosen.sort[:40]!r}; it must be one of {allowed}, each also with - before it"
        ) from None
    choice(request, "encoder", board.encoders or ["(no run has an encoder)"])
    choice(request, "workflow", board.workflows or ["(no run has results per workflow)"])
    return board


def heads(board: Board) -> list[Head]:
    """Heads of the columns of results. A second click turns the order round."""
    found = []
    for column in board.columns:
        first = best_first(column)
        other = column.key if first.startswith("-") else f"-{column.key}"
        sort = other if board.sort == first else first
        found.append(Head(column.label, sort, _aria(board.sort, column.key), column))
    return found


def _aria(sort: str, key: str) -> str:
    return {key: "ascending", f"-{key}": "descending"}.get(sort, "")


def axis_ends(board: Board) -> tuple[float, float]:
    """Both ends of the axis on which the ranking column is drawn: 0 and all values lie on it."""
    cells = [e.cells.get(board.main.key) for e in (*board.entries, *board.controls)]
    ends = [v for c in cells if c for v in (c.value, c.low, c.high) if v is not None]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    if board.main.form == "tau" or high <= low:
        high = 1.0
    return low, high


def rows_of(
    board: Board, entries: Sequence[Entry], compared: reading.Comparison | None
) -> list[Row]:
    low, high = axis_ends(board)
    found = []
    for entry in entries:
        main = entry.cells.get(board.main.key)
        found.append(
            Row(
                entry=entry,
                cells=[printed(entry, column) for column in board.columns],
                bar=interval_bar(main.value, main.low, main.high, low, high) if main else None,
                main=main,
                standing=compared.differences.get(entry.run) if compared else None,
                reference=bool(compared and entry.run == compared.reference),
            )
        )
    return found


def printed(entry: Entry, column: Column) -> Printed:
    cell = entry.cells.get(column.key)
    if cell is None or cell.value is None:
        return Printed(column, cell, written(None, column.form))
    more = promise_words(entry, cell) if column.statistic == "false_alarms" else ""
    more = more or averaged(entry, column)
    if cell.detail.get("source_ci"):
        more = f"sources {interval(cell.detail['source_ci'], column.form)}"
    ends = interval((cell.low, cell.high), column.form)
    return Printed(column, cell, written(cell.value, column.form), ends, more)


def averaged(entry: Entry, column: Column) -> str:
    """How many types an average is over, where one of them has no value."""
    if column.group != AVERAGE:
        return ""
    cells = [entry.cells.get(f"{column.statistic}-{name}") for name in FORK_TYPES]
    defined = sum(cell is not None and cell.value is not None for cell in cells)
    undefined = sum(cell is not None and cell.value is None for cell in cells)
    return f"mean of {defined} types, {undefined} without a value" if undefined else ""


def interval(ends: Sequence[float | None], form: str) -> str:
    """Both ends in brackets; "" where there is no interval."""
    low, high = ends
    if low is None or high is None:
        return ""
    first = written(low, form)
    return f"[{first.removesuffix(' %')}, {written(high, form)}]"


def compare_address(corpus: Corpus, chosen: Choice, board: Board) -> str:
    """Where a comparison of the best run with the others is started; "" with fewer than two."""
    if board.best is None or len(board.entries) + len(board.controls) < 2:
        return ""
    query = f"?corpus={corpus.slug}&task={chosen.task}&reference={board.best.run}"
    return reverse("scoring:new-comparison") + query


def as_csv(
    request: HttpRequest, corpus: Corpus, chosen: Choice, board: Board, figures: Sequence[Figure]
) -> HttpResponse:
    """`?of=` names a figure; the table of the page without it."""
    name = request.GET.get("of", "")
    by_name = {figure.name: figure for figure in figures}
    if name and name not in by_name:
        raise BadRequest(f"of is {name[:40]!r}; it must be one of {', '.join(by_name)}.")
    file = f"{corpus.slug}-{chosen.task}" + (f"-{name}" if name else "")
    if name:
        return csv_files.answer(file, *by_name[name].file)
    rows = [csv_row(entry, board.columns) for entry in (*board.entries, *board.controls)]
    return csv_files.answer(file, csv_head(board.columns), rows)


def csv_head(columns: Sequence[Column]) -> list[str]:
    parts = ("", " low", " high", " n", " left out", " reason")
    return ["run", "method", "encoder", "settings", "control"] + [
        f"{column.statistic} {column.group}{part}" for column in columns for part in parts
    ]


def csv_row(entry: Entry, columns: Sequence[Column]) -> list[Any]:
    row: list[Any] = [
        entry.run,
        entry.label,
        entry.encoder,
        "; ".join(entry.settings),
        "yes" if entry.control else "no",
    ]
    for column in columns:
        cell = entry.cells.get(column.key) or Cell(None, "not computed by this run")
        row += [cell.value, cell.low, cell.high, cell.n, cell.skipped, cell.reason]
    return row
