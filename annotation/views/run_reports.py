"""The report of a study of runs: its page, its figures as files, and the reviews behind them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import BadRequest
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from annotation import run_reports
from annotation.figure_files import table_of
from annotation.models import Assignment, Study
from annotation.people_labels import EACH, RULES
from annotation.review_rows import AGREEMENTS, COLUMNS, ReviewRow
from annotation.run_reports import GROUPS
from annotation.run_summary import STUDY_VIEWS, Section, study_sections
from annotation.views.label_words import RULE_WORDS, VIEW_WORDS
from benchmark.views.paging import choice, keyset, number
from scoring.views import csv_files

PSEUDONYM = re.compile(r"A-[0-9a-f]{8}\Z")
ANSWERED = ("yes", "no")


def report(request: HttpRequest, study: Study) -> HttpResponse:
    """What people saw in agent runs, blind and beside the judge, and how the work went."""
    rule = choice(request, "rule", RULES) or EACH
    view = choice(request, "view", STUDY_VIEWS) or STUDY_VIEWS[0]
    wanted = choice(request, "group", GROUPS)
    found = run_reports.study_reviews(study)
    reviews = {name: sum(row.counted for row in found.of(name)) for name in GROUPS}
    group = wanted or next((name for name in GROUPS if reviews[name]), GROUPS[0])
    context = {
        "study": study,
        "rule": rule,
        "rules": [(name, RULE_WORDS[name]) for name in RULES],
        "view": view,
        "views": [(name, VIEW_WORDS[name]) for name in STUDY_VIEWS],
        "reviews": reviews,
        "agreements": AGREEMENTS,
        "group": _shown(group, found.of(group)),
        "sections": study_sections(
            found.of(group),
            found.agents,
            seed=study.seed,
            rule=rule,
            views=[view],
            tasks=found.tasks,
        ),
        "query": urlencode({"group": group, "rule": rule}),
    }
    return render(request, "annotation/run_report.html", context)


def _shown(name: str, rows: Sequence[ReviewRow]) -> dict[str, Any]:
    first = [row for row in rows if not row.post_reveal]
    counted = [row for row in rows if row.counted]
    return {
        "name": name,
        "seats": len({row.person for row in rows}),
        "runs": len({row.run for row in rows}),
        "assigned": sum(row.status not in ("expired", "withdrawn") for row in first),
        "done": sum(row.status in ("finished", "skipped") for row in first),
        "skipped": sum(row.status == "skipped" for row in first),
        "expired": sum(row.status == "expired" for row in first),
        "withdrawn": sum(row.status == "withdrawn" for row in first),
        "reopened": len(rows) - len(first),
        "reviews": len(counted),
        "compared": sum(row.agreement is not None for row in counted),
        "changed": sum(bool(row.changed) for row in counted),
        "problems": sum(row.problems for row in rows),
    }


def table(request: HttpRequest, study: Study, name: str) -> HttpResponse:
    """One figure of people, or of simulated seats, as CSV; all assignments as `rows`."""
    rule = choice(request, "rule", RULES) or EACH
    found = run_reports.study_reviews(study)
    if name == "rows":
        return _rows_file(study, found.rows)
    group = choice(request, "group", GROUPS) or "people"
    sections = study_sections(
        found.of(group), found.agents, seed=study.seed, rule=rule, tasks=found.tasks
    )
    return figure_file(f"{study.slug}-{group}", sections, name)


def figure_file(stem: str, sections: Sequence[Section], name: str) -> HttpResponse:
    """The figure `name` of `sections` as CSV; Http404 naming those there are."""
    figures = {key: figure for section in sections for key, figure in section.named().items()}
    if name not in figures:
        known = ", ".join(figures) or "none yet"
        raise Http404(f"There is no figure {name[:60]}. There are: {known}.")
    return csv_files.answer(f"{stem}-{name}", *table_of(figures[name]))


def _rows_file(study: Study, rows: Sequence[ReviewRow]) -> HttpResponse:
    return csv_files.answer(f"{study.slug}-rows", COLUMNS, (row.cells() for row in rows))


def rows(request: HttpRequest, study: Study) -> HttpResponse:
    """The reviews that a filter names, without names of people."""
    wanted = _filters(request)
    found = Assignment.objects.main().filter(_where(wanted), seat__study=study)
    if csv_files.wanted(request):
        ordered = found.order_by("seat__number", "rank", "attempt")
        return _rows_file(study, run_reports.read(ordered))
    page = keyset(request, found.only("pk"))
    keys = [assignment.pk for assignment in page.rows]
    context = {
        "study": study,
        "wanted": wanted,
        "page": page,
        "n": found.count(),
        "rows": run_reports.read(Assignment.objects.filter(pk__in=keys).order_by("pk")),
        "groups": GROUPS,
        "agreements": AGREEMENTS,
        "answered": ANSWERED,
    }
    return render(request, "annotation/run_report_rows.html", context)


def _filters(request: HttpRequest) -> dict[str, Any]:
    person = request.GET.get("person", "")
    if person and not PSEUDONYM.match(person):
        raise BadRequest(f"person is {person[:40]!r}; it must be a pseudonym such as A-0123abcd.")
    return {
        "group": choice(request, "group", GROUPS),
        "person": person,
        "agreement": choice(request, "agreement", AGREEMENTS),
        "present": choice(request, "present", ANSWERED),
        "changed": choice(request, "changed", ANSWERED),
        "item": number(request, "item"),
        "counted": choice(request, "rows", ("counted", "all")) != "all",
    }


def _where(wanted: dict[str, Any]) -> Q:
    where = Q()
    if wanted["group"]:
        where &= Q(seat__simulated=wanted["group"] == "simulated")
    if wanted["person"]:
        where &= Q(seat__pseudonym=wanted["person"])
    if wanted["agreement"]:
        where &= Q(review__comparison__agreement=wanted["agreement"])
    if wanted["present"]:
        where &= Q(review__labels__present=wanted["present"] == "yes")
    if wanted["changed"]:
        where &= Q(review__comparison__changed=wanted["changed"] == "yes")
    if wanted["item"]:
        where &= Q(item=wanted["item"])
    if wanted["counted"]:
        where &= Q(post_reveal=False, ended="", review__isnull=False)
    return where
