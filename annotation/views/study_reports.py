"""The report of a study: its page, its tables as files, and the judgements behind each figure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from annotation import report_charts, report_files, report_tables
from annotation.condition_tables import by_position
from annotation.group_reports import GroupReport
from annotation.item_spread import ONSET_APART, RATING_APART, differing
from annotation.judgement_rows import COLUMNS, PEOPLE
from annotation.models import Study
from annotation.pair_agreement import CLOSE, Pair, matrix
from annotation.report_rows import ANSWERS, TYPE_SETS, Filters, matching, read, read_all, read_some
from annotation.reports import GROUPS, group_reports
from annotation.views import run_reports
from benchmark.views.paging import choice, keyset, number
from scoring.charts import Figure
from scoring.views import csv_files

MOST_JUDGES = 40
MOST_ITEMS = 25
KS = ("1", "2", "3", "4")
INSTRUCTIONS = ("true", "foil")
PSEUDONYM = re.compile(r"A-[0-9a-f]{8}\Z")


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """Two judges as the matrix prints them; `level` from 0 to 4 shades the share."""

    pair: Pair
    level: int
    query: str


@require_safe
def report(request: HttpRequest, slug: str) -> HttpResponse:
    """What people saw, and apart from it what was simulated."""
    study = get_object_or_404(Study, slug=slug)
    if study.kind == Study.Kind.RUNS:
        return run_reports.report(request, study)
    question = choice(request, "question", tuple(ANSWERS)) or "confirmation"
    found = group_reports(study)
    drawn = {
        group.name: report_charts.figures(group.statistics, group.name) if group.statistics else []
        for group in found
    }
    if csv_files.wanted(request):
        return _figure_file(request, study, [f for figures in drawn.values() for f in figures])
    context = {
        "study": study,
        "design": study.design,
        "groups": [
            _shown(group, drawn[group.name], question)
            for group in found
            if group.name == PEOPLE or group.rows
        ],
        "question": question,
        "questions": report_tables.QUESTIONS.items(),
        "close": CLOSE.get(question),
        "tables": report_files.TABLES,
        "file": study.slug,
        "apart": {"rating": RATING_APART, "onset": ONSET_APART},
    }
    return render(request, "annotation/report.html", context)


def _figure_file(request: HttpRequest, study: Study, figures: Sequence[Figure]) -> HttpResponse:
    names = [figure.name for figure in figures] or ["(there is no figure yet)"]
    name = choice(request, "of", names)
    if not name:
        raise BadRequest(f"of is missing; it must be one of {', '.join(names)}.")
    figure = next(figure for figure in figures if figure.name == name)
    return csv_files.answer(f"{study.slug}-{name}", *figure.file)


def _shown(group: GroupReport, figures: Sequence[Figure], question: str) -> dict[str, Any]:
    apart = differing(group.items)
    shown: dict[str, Any] = {
        "name": group.name,
        "counts": group.counts,
        "figures": figures,
        "profiles": group.profiles,
        "coverage": by_position(group.coverage),
    }
    if group.statistics:
        shown |= {
            "questions": report_tables.research_questions(group.statistics),
            "blocks": report_tables.agreement_blocks(group.statistics),
            "conditions": group.conditions,
            "matrix": _matrix(group.pairs[question], question),
            "differing": apart[:MOST_ITEMS],
            "n_differing": len(apart),
        }
    return shown


def _matrix(pairs: Sequence[Pair], question: str) -> dict[str, Any]:
    """The pairs as a square table; no rows where there are too many judges to read one."""
    names, cells = matrix(pairs)
    if len(names) > MOST_JUDGES:
        return {"names": names, "rows": [], "most": MOST_JUDGES}
    rows = [
        (
            one,
            [
                _cell(cells[one, other], question) if (one, other) in cells else None
                for other in names
            ],
        )
        for one in names
    ]
    return {"names": names, "rows": rows, "most": MOST_JUDGES}


def _cell(pair: Pair, question: str) -> MatrixCell:
    query = urlencode([("question", question), ("judge", pair.one), ("judge", pair.other)])
    return MatrixCell(pair, min(4, int(5 * pair.share)), query)


@require_safe
def table(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """One table of the report as CSV, all groups, each row with the name of its group."""
    study = get_object_or_404(Study, slug=slug)
    if study.kind == Study.Kind.RUNS:
        return run_reports.table(request, study, name)
    if name not in report_files.TABLES:
        raise Http404(f"There is no table {name}.")
    if name == "rows":
        cells = (row.cells() for row in read_all(study))
        return csv_files.answer(f"{study.slug}-rows", COLUMNS, cells)
    columns, found = report_files.table(name, group_reports(study))
    return csv_files.answer(f"{study.slug}-{name}", columns, found)


@require_safe
def rows(request: HttpRequest, slug: str) -> HttpResponse:
    """The judgements that a filter names: what is behind a figure, without names of people."""
    study = get_object_or_404(Study, slug=slug)
    if study.kind == Study.Kind.RUNS:
        return run_reports.rows(request, study)
    wanted = read_filters(request)
    found = matching(study, wanted)
    if csv_files.wanted(request):
        listed = read(found.order_by("seat__number", "rank", "attempt"))
        return csv_files.answer(f"{study.slug}-rows", COLUMNS, (row.cells() for row in listed))
    page = keyset(request, found.only("pk"))
    context = {
        "study": study,
        "wanted": wanted,
        "page": page,
        "n": found.count(),
        "rows": read_some(assignment.pk for assignment in page.rows),
        "groups": GROUPS,
        "questions": report_tables.QUESTIONS.items(),
        "types": list(TYPE_SETS),
        "ks": KS,
        "instructions": INSTRUCTIONS,
    }
    return render(request, "annotation/report_rows.html", context)


def read_filters(request: HttpRequest) -> Filters:
    """The filters of the address; BadRequest for a word that is none."""
    judges = tuple(name for name in request.GET.getlist("judge") if name)
    for name in judges:
        if not PSEUDONYM.match(name):
            raise BadRequest(f"judge is {name[:40]!r}; it must be a pseudonym such as A-0123abcd.")
    if len(judges) > 2:
        raise BadRequest(f"judge is given {len(judges)} times; it must be given twice at most.")
    k = choice(request, "k", KS)
    return Filters(
        group=choice(request, "group", GROUPS),
        question=choice(request, "question", tuple(ANSWERS)),
        type=choice(request, "type", tuple(TYPE_SETS)),
        k=int(k) if k else None,
        instruction=choice(request, "instruction", INSTRUCTIONS),
        judges=judges,
        item=number(request, "item"),
        shared=choice(request, "shared", ("1",)) == "1",
        counted=choice(request, "rows", ("counted", "all")) != "all",
    )
