"""For researchers: the studies, and what came out of one."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from annotation import report_charts, report_tables
from annotation.models import Study
from annotation.reports import PEOPLE, SIMULATED, fork_study


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """All studies with their progress; people and simulated seats apart."""
    studies = Study.objects.annotate(
        n_seats=Count("seats", filter=Q(seats__simulated=False), distinct=True),
        n_taken=Count("seats", filter=Q(seats__user__isnull=False), distinct=True),
        n_simulated=Count("seats", filter=Q(seats__simulated=True), distinct=True),
        n_assigned=Count("seats__assignments", distinct=True),
        n_finished=Count(
            "seats__assignments",
            filter=Q(seats__assignments__finished_at__isnull=False),
            distinct=True,
        ),
    )
    return render(request, "annotation/studies.html", {"studies": studies})


@require_safe
def report(request: HttpRequest, slug: str) -> HttpResponse:
    """The report of one study: what people saw, and apart from it what was simulated."""
    study = get_object_or_404(Study, slug=slug)
    found = fork_study(study)
    groups = [_group(name, found["groups"][name]) for name in (PEOPLE, SIMULATED)]
    context = {"study": study, "design": study.design, "groups": groups}
    return render(request, "annotation/report.html", context)


def _group(name: str, group: dict[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": name, "counts": group["counts"]}
    if statistics := group["statistics"]:
        shown |= {
            "charts": report_charts.charts(statistics),
            "questions": report_tables.questions(statistics),
            "means": report_tables.means(statistics),
            "agreements": report_tables.agreements(statistics),
        }
    return shown
