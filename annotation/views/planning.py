"""For researchers: the studies, a new one, and the plan of one until and after its launch."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import (
    auditing,
    launching,
    phases,
    plan_tables,
    planning,
    run_planning,
    study_counts,
)
from annotation.interval_forecasts import questions
from annotation.models import Study
from annotation.refusals import EnrolmentRefused
from annotation.rehearsal import simulate_study
from annotation.study_counts import Counters, Places
from annotation.views import run_plan_forms, run_plans
from annotation.views.planning_forms import DesignForm, StudyForm, initial_of
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
    """Set a study of conversations up: it is drawn as a draft."""
    return _new(request, Study.Kind.FORKS)


@require_http_methods(FORM_METHODS)
def new_of_runs(request: HttpRequest) -> HttpResponse:
    """Set a study of agent runs up: it is drawn as a draft."""
    return _new(request, Study.Kind.RUNS)


def _new(request: HttpRequest, kind: str) -> HttpResponse:
    form = PAGES[kind].form(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        study = Study(kind=kind, created_by=request.user, **form.columns)
        try:
            launching.begin(study, form.chosen, form.shape, state=Study.State.DRAFT)
        except EnrolmentRefused as refused:
            form.add_error(None, str(refused))
        else:
            messages.success(request, _("The draft is drawn. Nobody sees it before the launch."))
            return redirect("annotation:plan", study.slug)
    status = 400 if request.method == "POST" else 200
    context = {"form": form, "kind": kind}
    return render(request, "annotation/plan_new.html", context, status=status)


@require_http_methods(FORM_METHODS)
def plan(request: HttpRequest, slug: str) -> HttpResponse:
    """The plan of a study; a POST draws a draft again."""
    study = get_object_or_404(Study.objects.select_related("version_of", "judge"), slug=slug)
    if request.method != "POST":
        return _page(request, study)
    if study.state != Study.State.DRAFT:
        messages.error(request, _("The study was launched: what people are asked stands."))
        return _page(request, study, status=409)
    form = PAGES[study.kind].form(request.POST)
    if form.is_valid():
        try:
            again = launching.redraw(
                study, corpora=form.chosen, shape=form.shape, actor=request.user, **form.columns
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
    request: HttpRequest, study: Study, form: DesignForm | None = None, *, status: int = 200
) -> HttpResponse:
    study.refresh_from_db()
    page = PAGES[study.kind]
    drawn = page.drawn(study)
    strength = page.strength(request.GET if "draws" in request.GET else None)
    asked = strength.is_bound
    if not asked:
        strength = page.strength(_defaults(strength))
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
        "form": form or page.form(initial=page.initial(study)),
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
        **page.tables(study, drawn),
    }
    return render(request, page.template, context, status=status)


def _defaults(form: forms.Form) -> dict[str, Any]:
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


class _Plan(NamedTuple):
    """What the plan of a kind of study is made of."""

    form: Any
    initial: Callable[[Study], dict[str, Any]]
    strength: Any
    drawn: Callable[[Study], Any]
    tables: Callable[[Study, Any], dict[str, Any]]
    template: str


PAGES: dict[str, _Plan] = {
    Study.Kind.FORKS: _Plan(
        StudyForm, initial_of, StrengthForm, planning.plan_of, _tables, "annotation/plan.html"
    ),
    Study.Kind.RUNS: _Plan(
        run_plan_forms.RunStudyForm,
        run_plan_forms.initial_of,
        run_plan_forms.RunStrengthForm,
        run_planning.plan_of_runs,
        run_plans.tables,
        "annotation/plan_runs.html",
    ),
}
