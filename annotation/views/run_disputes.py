"""For researchers: the agent runs on which the people of a study differ."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy

from annotation import run_disputes
from annotation.models import Study
from annotation.run_differences import PARTS
from annotation.run_disputes import Dispute
from annotation.run_words import label_in_words
from benchmark.label_records import LabelRecord
from benchmark.views.paging import choice, number

PER_PAGE = 50
PART_WORDS = {
    "presence": gettext_lazy("presence"),
    "type": gettext_lazy("types"),
    "step": gettext_lazy("first step"),
    "component": gettext_lazy("parts of steps"),
}


def queue(request: HttpRequest, study: Study) -> HttpResponse:
    """Runs whose people differ; `?on=` one part of the answer, `?judges=people|all`."""
    asked = {
        "on": choice(request, "on", PARTS),
        "judges": choice(request, "judges", ("people", "all")) or "people",
    }
    found = run_disputes.disputes(study, simulated=asked["judges"] == "all", on=asked["on"])
    page = Paginator(found, PER_PAGE).get_page(number(request, "page") or 1)
    context = {
        "study": study,
        "asked": asked,
        "page": page,
        "rows": [_row(dispute) for dispute in page],
        "parts": PART_WORDS.items(),
    }
    return render(request, "annotation/adjudication_runs.html", context)


def _row(dispute: Dispute) -> dict[str, Any]:
    return {
        "run": dispute.run,
        "differ": [PART_WORDS[name] for name in dispute.on],
        "said": [_in_words(label) for label in dispute.labels],
        "judge": _in_words(dispute.judge) if dispute.judge else "",
        "changed": dispute.changed,
    }


def _in_words(label: LabelRecord) -> str:
    words = label_in_words(label.present, label.types)
    return f"{words} ({label.onset})" if label.onset is not None else words
