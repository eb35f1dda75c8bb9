"""For researchers: the studies and how far each is."""

from __future__ import annotations

from django.db.models import Count, F, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.models import Assignment, Seat, Study


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """All studies with their progress; people and simulated seats apart. Three queries."""
    seats = {row["study"]: row for row in _seats()}
    work = {row["study"]: row for row in _work()}
    studies = list(Study.objects.all())
    for study in studies:
        counts = {**NOTHING, **seats.get(study.pk, {}), **work.get(study.pk, {})}
        for name in NOTHING:
            setattr(study, name, counts[name])
    return render(request, "annotation/studies.html", {"studies": studies})


NOTHING = dict.fromkeys(("n_seats", "n_taken", "n_simulated", "n_assigned", "n_finished"), 0)


def _seats():
    return (
        Seat.objects.order_by()
        .values("study")
        .annotate(
            n_seats=Count("pk", filter=Q(simulated=False)),
            n_taken=Count("pk", filter=Q(user__isnull=False)),
            n_simulated=Count("pk", filter=Q(simulated=True)),
        )
    )


def _work():
    """Main items that are still theirs who have them, and those that are finished."""
    live = Assignment.objects.main().blind().filter(ended="").order_by()
    return (
        live.values(study=F("seat__study"))
        .annotate(
            n_assigned=Count("pk"),
            n_finished=Count("pk", filter=Q(finished_at__isnull=False)),
        )
        .values("study", "n_assigned", "n_finished")
    )
