"""Home, profile and error pages."""

from __future__ import annotations

import logging
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import REASON_BAD_ORIGIN
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation import enrolment, study_counts
from annotation.models import Study
from benchmark.models import Corpus
from benchmark.views.counting import labelled_counts, with_counts
from dialfork_site.roles import annotator_may_see, is_researcher
from scoring import encoders
from scoring.models import Run
from scoring.views.progress import with_progress

LATEST = 8
logger = logging.getLogger(__name__)


@annotator_may_see
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """For researchers what is there and what runs; for annotators their own studies."""
    if is_researcher(request.user):
        return render(request, "home.html", researcher_overview())
    return render(request, "home_annotator.html", {"studies": enrolment.overview(request.user)})


def researcher_overview() -> dict[str, Any]:
    studies = list(Study.objects.order_by("-pk")[:LATEST])
    counts = study_counts.by_study(studies)
    corpora = list(with_counts(Corpus.objects.all())[:LATEST])
    labelled = labelled_counts(corpus.pk for corpus in corpora if corpus.n_trajectories)
    return {
        "corpora": corpora,
        "agent_runs": [(c, labelled.get(c.pk, 0)) for c in corpora if c.n_trajectories],
        "encoder_note": encoders.fallback_note(settings.ENCODER),
        "n_corpora": Corpus.objects.count(),
        "runs": with_progress(Run.objects.select_related("corpus")).order_by("-pk")[:LATEST],
        "studies": [
            (study, counts.get((study.pk, study_counts.PEOPLE), study_counts.Counters()))
            for study in studies
        ],
    }


@annotator_may_see
@require_http_methods(["GET", "HEAD", "POST"])
def profile(request: HttpRequest) -> HttpResponse:
    """Who is signed in, and a form to change the password."""
    form = PasswordChangeForm(request.user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        update_session_auth_hash(request, form.save())
        messages.success(request, _("The password is changed. You stay signed in here."))
        return redirect("profile")
    return render(request, "profile.html", {"form": form})


def error_page(status: int) -> Any:
    """A handler that answers JSON below /api/ and a page elsewhere."""
    words = {400: "bad request", 403: "not allowed", 404: "not found"}

    def handler(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
        if request.path_info.startswith("/api/"):
            return JsonResponse({"detail": words[status]}, status=status)
        # Our own sentences only: the text of other exceptions is not written for people.
        sentence = str(exception) if isinstance(exception, BadRequest) else ""
        return render(request, f"{status}.html", {"sentence": sentence}, status=status)

    return handler


def form_refused(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form without its token, or from another address than PUBLIC_URL, which is said by name."""
    seen, sentence = request.headers.get("Origin", ""), ""
    if reason == REASON_BAD_ORIGIN % seen:
        sentence = f"The form came from {seen[:200]!r}, but PUBLIC_URL is {settings.PUBLIC_URL}."
        logger.warning("%s Set PUBLIC_URL to the address that people type.", sentence)
    return render(request, "403_csrf.html", {"sentence": sentence}, status=403)


bad_request, forbidden, not_found = error_page(400), error_page(403), error_page(404)
