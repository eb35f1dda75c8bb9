"""The item, step by step: whose is it, is the answer valid, store it, lead on."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_http_methods, require_safe

from annotation import drafts, judging, phases, problems, reaching, reviewing, seating, step_times
from annotation.forms import ConfirmationForm, PrefixForm, ProblemForm, RatingForm, SkipForm
from annotation.models import Assignment, Item, Study
from annotation.review_forms import ComparisonForm, ReviewForm
from annotation.views import bench
from dialfork_site.roles import annotator_may_see

View = Callable[..., HttpResponse]


def item_page(view: View) -> View:
    """A page of one's own item, never cached; nobody who knows the conditions gets in."""

    @annotator_may_see
    @cache_control(private=True, no_store=True)
    @require_http_methods(["GET", "HEAD", "POST"])
    @wraps(view)
    def guarded(request: HttpRequest, token: str) -> HttpResponse:
        try:
            assignment = reaching.find(request.user, token)
            reaching.require(assignment)
            return view(request, assignment)
        except (judging.NotYours, judging.StepLocked) as error:
            raise Http404("No such item, or no such step.") from error
        except reaching.OutOfReach as error:
            return _out_of_reach(request, assignment, error.why)
        except judging.ItemEnded:
            # The seat was paused or given up between the look at it and the answer.
            return _out_of_reach(request, assignment, _why_now(request, token))
        except judging.AnsweredBefore as error:
            context = {"stored": error.stored, "assignment": assignment}
            return render(request, "annotation/answered_before.html", context, status=409)

    return guarded


@item_page
def item(request: HttpRequest, assignment: Assignment) -> HttpResponse:
    """To the step that is open; what was answered, where none is."""
    if step := judging.open_step(assignment):
        return redirect(f"annotation:{step}", assignment.token)
    return bench.given_page(request, assignment)


@item_page
def rate(request: HttpRequest, assignment: Assignment) -> HttpResponse:
    """Step 1, blind."""

    def store(data: dict[str, Any]) -> None:
        judging.record_slider(assignment, data["rating"])

    return _step(request, assignment, "rate", RatingForm, store)


@item_page
def instruction(request: HttpRequest, assignment: Assignment) -> HttpResponse:
    """Step 2: the instruction, or a foil, and where it starts."""

    def store(data: dict[str, Any]) -> None:
        judging.record_confirmation(assignment, data["appears"], data["onset"])

    return _step(request, assignment, "instruction", ConfirmationForm, store)


@item_page
def prefix(request: HttpRequest, assignment: Assignment) -> HttpResponse:
    """Step 3: what came before the fork."""

    def store(data: dict[str, Any]) -> None:
        judging.record_prefix(assignment, data["prefix"])

    return _step(request, assignment, "prefix", PrefixForm, store)


@item_page
def review(request: HttpRequest, assignment: Assignment) -> HttpResponse:
    """Step 1 of a run, blind."""

    def store(data: dict[str, Any]) -> None:
        reviewing.record_review(assignment, data)

    return _keep(request, assignment, "review") or _step(
        request, assignment, "review", ReviewForm, store
    )


@item_page
def compare(request: HttpRequest, assignment: Assignment) -> HttpResponse:
    """Step 2 of a run: the judge's answer beside one's own."""

    def store(data: dict[str, Any]) -> None:
        reviewing.record_comparison(assignment, data)

    return _step(request, assignment, "compare", ComparisonForm, store)


@item_page
def revise(request: HttpRequest, assignment: Assignment) -> HttpResponse:
    """Step 3 of a run, after a changed mind."""

    def store(data: dict[str, Any]) -> None:
        reviewing.record_revision(assignment, data)

    return _keep(request, assignment, "revise") or _step(
        request, assignment, "revise", ReviewForm, store
    )


@item_page
def skip(request: HttpRequest, assignment: Assignment) -> HttpResponse:
    """Put an item aside, with a reason."""
    step = judging.open_step(assignment)
    if not step:
        return _onwards(assignment)
    form = SkipForm(request.POST or None, of_run=judging.is_run(assignment))
    if request.method == "POST" and form.is_valid():
        judging.record_skip(assignment, **form.cleaned_data)
        drafts.drop(assignment, step)
        seating.touch(assignment.seat)
        return _onwards(assignment)
    context = {"assignment": assignment, "form": form}
    status = 400 if request.method == "POST" else 200
    return render(request, "annotation/skip.html", context, status=status)


@item_page
def problem(request: HttpRequest, assignment: Assignment) -> HttpResponse:
    """Say that something is wrong with an item. The item stays open."""
    form = ProblemForm(request.POST or None)
    status = 400 if request.method == "POST" else 200
    if request.method == "POST" and form.is_valid():
        try:
            problems.report(assignment, **form.cleaned_data)
            messages.success(request, _("Reported. The study team reads it; the item stays open."))
            return redirect("annotation:item", assignment.token)
        except judging.AnswerRefused as refused:
            form.add_error(refused.field, str(refused))
        except problems.TooManyReports as refused:
            form.add_error(None, str(refused))
            status = 429
    run = judging.is_run(assignment)
    context = {"assignment": assignment, "token": assignment.token, "form": form, "of_run": run}
    return render(request, "annotation/problem.html", context, status=status)


@annotator_may_see
@require_safe
def guidelines(request: HttpRequest) -> HttpResponse:
    """What each step asks, of conversations or of runs: as asked for, or as one's studies are."""
    seated = Study.objects.filter(seats__user=request.user.pk)
    kinds = set(seated.values_list("kind", flat=True).order_by())
    about = request.GET.get("about")
    if about not in Study.Kind.values:
        about = Study.Kind.RUNS if kinds == {Study.Kind.RUNS} else Study.Kind.FORKS
    # Who judges one kind of item is not told of another.
    context = {"about": about, "both": len(kinds) != 1}
    return render(request, "annotation/guidelines.html", context)


def _step(
    request: HttpRequest,
    assignment: Assignment,
    step: judging.Step,
    form_class: type[Form],
    store: Callable[[dict[str, Any]], None],
) -> HttpResponse:
    given = judging.answers(assignment)
    reaching.require_reached(assignment, step, given)
    if request.method == "POST":
        form = form_class(request.POST)
        try:
            if form.is_valid():
                store(form.cleaned_data)
                return _answered(assignment, step)
        except judging.AnswerRefused as refused:
            form.add_error(refused.field, str(refused))
        return bench.page(request, assignment, step, given, form, status=400)
    if judging.open_step(assignment, given) != step:
        return bench.given_page(request, assignment)
    judging.open_item(assignment)
    step_times.opened(assignment, step)
    return bench.page(request, assignment, step, given, form_class())


def _keep(request: HttpRequest, assignment: Assignment, step: judging.Step) -> HttpResponse | None:
    """Without script: keep what is entered as a draft, and show the page with it."""
    if request.method != "POST" or "keep" not in request.POST:
        return None
    reaching.require_waiting(assignment, step, judging.answers(assignment))
    held = drafts.current(assignment, step)
    form = ReviewForm(request.POST)
    try:
        drafts.save(assignment, step, form.flat, held.revision if held else 0)
    except drafts.StaleDraft as stale:
        # Who works without script has nobody to ask which of two tabs is meant: the last one.
        drafts.save(assignment, step, form.flat, stale.newer.revision)
    except judging.AnswerRefused as refused:
        form.add_error(None, str(refused))
        return bench.page(request, assignment, step, judging.answers(assignment), form, status=400)
    return redirect(f"{reverse(f'annotation:{step}', args=[assignment.token])}#places-h")


def _answered(assignment: Assignment, step: judging.Step) -> HttpResponse:
    """After an answer, new or repeated: its draft has served, and the way leads on."""
    drafts.drop(assignment, step)
    step_times.submitted(assignment, step)
    seating.touch(assignment.seat)
    if following := judging.open_step(assignment):
        return redirect(f"annotation:{following}", assignment.token)
    if assignment.item.kind == Item.Kind.PRACTICE:
        return redirect("annotation:item", assignment.token)
    return _onwards(assignment)


def _onwards(assignment: Assignment) -> HttpResponse:
    return redirect(phases.next_url(assignment.seat))


def _why_now(request: HttpRequest, token: str) -> str:
    try:
        reaching.require(reaching.find(request.user, token))
    except reaching.OutOfReach as error:
        return error.why
    return "passed_on"


def _out_of_reach(request: HttpRequest, assignment: Assignment, why: str) -> HttpResponse:
    context = {
        "why": why,
        "sentence": reaching.SENTENCES[why],
        "seat_url": phases.seat_url(assignment.seat),
    }
    return render(request, "annotation/closed.html", context, status=409)
