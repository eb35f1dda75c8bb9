"""For researchers: the studies, a new one, and the plan of one until and after its launch."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import auditing, launching, phases, plan_tables, planning, study_counts
from annotation.interval_forecasts import questions
from annotation.models import Study
from annotation.refusals import EnrolmentRefused
from annotation.rehearsal import simulate_study
from annotation.study_counts import Counters, Places
from annotation.views.planning_forms import StudyForm, initial_of
from annotation.views.strength_forms import StrengthForm

FORM_METHODS = ["GET", "HEAD", "POST"]
# Overlap reached may differ from what was asked by this much before the page speaks of it.
OVERLAP_SLACK = 0.03


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """All studies with their progress; people and simulated seats apart."""
    studies = list(Study.objects.all())
    counts, places = study_counts.by_study(studies), study_counts.places(studies)
    rows = [
        {
            "study": study,
            "places": places.get(study.pk, Places()),
            "people": counts.get((study.pk, study_counts.PEOPLE), Counters()),
            "simulated": counts.get((study.pk, study_counts.SIMULATED), Counters()),
        }
        for study in studies
    ]
    return render(request, "annotation/studies.html", {"rows": rows})


@require_http_methods(FORM_METHODS)
def new(request: HttpRequest) -> HttpResponse:
    """Set a study up: it is drawn as a draft."""
    form = StudyForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            study = launching.create_study(
                forks=form.corpus,
                state=Study.State.DRAFT,
                created_by=request.user,
                **form.shape.as_dict(),
                **form.columns,
            )
        except EnrolmentRefused as refused:
            form.add_error(None, str(refused))
        else:
            messages.success(request, _("The draft is drawn. Nobody sees it before the launch."))
            return redirect("annotation:plan", study.slug)
    status = 400 if request.method == "POST" else 200
    return render(request, "annotation/plan_new.html", {"form": form}, status=status)


@require_http_methods(FORM_METHODS)
def plan(request: HttpRequest, slug: str) -> HttpResponse:
    """The plan of a study; a POST draws a draft again."""
    study = get_object_or_404(Study.objects.select_related("version_of"), slug=slug)
    if request.method != "POST":
        return _page(request, study)
    if study.state != Study.State.DRAFT:
        messages.error(request, _("The study was launched: what people are asked stands."))
        return _page(request, study, status=409)
    form = StudyForm(request.POST)
    if form.is_valid():
        try:
            again = launching.redraw(
                study, corpora=[form.corpus], shape=form.shape, actor=request.user, **form.columns
            )
        except EnrolmentRefused as refused:
            form.add_error(None, str(refused))
        else:
            messages.success(request, _("The draft is drawn again."))
            return redirect("annotation:plan", again.slug)
    return _page(request, study, form, status=400)


Act = Callable[[HttpRequest, Study], Study]


def _act(act: Act) -> Callable[..., HttpResponse]:
    """A button: POST only, back to the plan with what happened; 409 where it is refused."""

    @require_POST
    @wraps(act)
    def view(request: HttpRequest, slug: str) -> HttpResponse:
        study = get_object_or_404(Study, slug=slug)
        try:
            shown = act(request, study)
        except EnrolmentRefused as refused:
            messages.error(request, str(refused))
            return _page(request, study, status=409)
        return redirect("annotation:plan", shown.slug)

    return view


@_act
def launch(request: HttpRequest, study: Study) -> Study:
    """Freeze a draft and open it."""
    launching.launch(study, request.user)
    messages.success(request, _("The study is open. What people are asked stands from now on."))
    return study


@_act
def state(request: HttpRequest, study: Study) -> Study:
    """Pause, close or reopen."""
    changed = launching.set_state(study, request.POST.get("state", ""), request.user)
    messages.success(
        request, _("The study is now: %(state)s.") % {"state": changed.get_state_display().lower()}
    )
    return changed


@_act
def version(request: HttpRequest, study: Study) -> Study:
    """Copy to a draft with the next protocol version."""
    later = launching.new_version(study, request.user)
    messages.success(
        request,
        _("This is version %(n)d, a draft. The version before keeps its answers.")
        % {"n": later.protocol_version},
    )
    return later


@_act
def rehearse(request: HttpRequest, study: Study) -> Study:
    """Fill the simulated seats."""
    if not study.seats.filter(simulated=True).exists():
        raise EnrolmentRefused(_("The study has no simulated seats."))
    answered = simulate_study(study)
    auditing.record("study.rehearsed", actor=request.user, study=study, items=answered)
    messages.success(
        request,
        ngettext(
            "%(n)d item was answered on simulated seats.",
            "%(n)d items were answered on simulated seats.",
            answered,
        )
        % {"n": answered},
    )
    return study


def _page(
    request: HttpRequest, study: Study, form: StudyForm | None = None, *, status: int = 200
) -> HttpResponse:
    study.refresh_from_db()
    drawn = planning.plan_of(study)
    strength = StrengthForm(request.GET if "draws" in request.GET else None)
    asked = strength.is_bound
    if not asked:
        strength = StrengthForm(_defaults(strength))
    found = None
    if strength.is_valid():
        draws = strength.cleaned_data["draws"]
        found = drawn.forecast(strength.strength, draws=draws, seed=study.seed)
    elif status == 200:
        status = 400
    counts = study_counts.by_study([study])
    context = {
        "study": study,
        "is_draft": study.state == Study.State.DRAFT,
        "form": form or StudyForm(initial=initial_of(study)),
        "strength": strength,
        "asked": asked,
        "forecasts": found,
        "questions": questions(found.rows) if found else [],
        "changed": launching.changed_since_launch(study),
        "frozen": None if study.state == Study.State.DRAFT else launching.shape_in(study),
        "places": study_counts.places([study]).get(study.pk, Places()),
        "people": counts.get((study.pk, study_counts.PEOPLE), Counters()),
        "simulated": counts.get((study.pk, study_counts.SIMULATED), Counters()),
        "minutes": _minutes(study),
        **_tables(study, drawn),
    }
    return render(request, "annotation/plan.html", context, status=status)


def _defaults(form: StrengthForm) -> dict[str, Any]:
    return {name: field.initial for name, field in form.fields.items()}


def _minutes(study: Study) -> int | None:
    first = study.seats.order_by("number").first()
    return phases.minutes(first) if first else None


def _tables(study: Study, drawn: planning.Plan) -> dict[str, Any]:
    rows = drawn.rows
    seats = plan_tables.by_seat(rows)
    reached = plan_tables.overlap(rows)
    asked = study.design.get("overlap")
    return {
        "plan": drawn,
        "by_position": plan_tables.by_position(rows),
        "by_workflow": plan_tables.by_workflow(rows),
        "by_workflow_and_position": plan_tables.by_workflow_and_position(rows),
        "exposure": plan_tables.exposure(rows),
        "overlap": reached,
        "overlap_asked": asked,
        "overlap_off": asked is not None and abs(asked - reached.reached) > OVERLAP_SLACK,
        "seats": seats,
        "uneven": [seat.seat for seat in seats if seat.most - seat.fewest > 1],
        "n_simulated": study.design.get("n_simulated", 0),
    }
