"""For researchers: the studies, and what came out of one."""

from __future__ import annotations

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from annotation.models import Study


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
    """The report of one study."""
    study = get_object_or_404(Study, slug=slug)
    return render(request, "annotation/report.html", {"study": study})
