"""The item, step by step: whose is it, is the answer valid, store it, lead on."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_http_methods, require_safe

from annotation import judging
from annotation.enrolment import knows_conditions
from annotation.forms import ConfirmationForm, PrefixForm, RatingForm, SkipForm
from annotation.models import Assignment, Study
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
        mine = Assignment.objects.filter(seat__user=request.user, token=token)
        assignment = mine.select_related("item__dialogue__workflow", "seat__study").first()
        if assignment is None or knows_conditions(request.user):
            raise Http404("No such item.")
        if assignment.seat.study.state != Study.State.OPEN:
            return render(request, "annotation/closed.html", status=409)
        try:
            return view(request, assignment)
        except judging.StepLocked as error:
            raise Http404("No such step.") from error
        except judging.AnsweredBefore as error:
            context = {"stored": error.stored, "assignment": assignment}
            return render(request, "annotation/answered_before.html", context, status=409)

    return guarded


@item_page
def item(request: HttpRequest, assignment: Assignment) -> HttpResponse:
    """To the step that is open, to the next item, or home."""
    if step := judging.open_step(assignment):
        return redirect(f"annotation:{step}", assignment.token)
    return _onwards(request, assignment)


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
def skip(request: HttpRequest, assignment: Assignment) -> HttpResponse:
    """Put an item aside, with a reason."""
    if not judging.open_step(assignment):
        return _onwards(request, assignment)
    form = SkipForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        judging.record_skip(assignment, **form.cleaned_data)
        return _onwards(request, assignment)
    context = {"assignment": assignment, "form": form}
    status = 400 if request.method == "POST" else 200
    return render(request, "annotation/skip.html", context, status=status)


@annotator_may_see
@require_safe
def guidelines(request: HttpRequest) -> HttpResponse:
    """What each step asks."""
    return render(request, "annotation/guidelines.html")


def _step(
    request: HttpRequest,
    assignment: Assignment,
    step: judging.Step,
    form_class: type[Form],
    store: Callable[[dict[str, Any]], None],
) -> HttpResponse:
    given = judging.answers(assignment)
    _require_reached(assignment, step, given)
    if request.method == "POST":
        form = form_class(request.POST)
        try:
            if form.is_valid():
                store(form.cleaned_data)
                return redirect("annotation:item", assignment.token)
        except judging.AnswerRefused as refused:
            form.add_error(refused.field, str(refused))
        return bench.page(request, assignment, step, given, form, status=400)
    if judging.open_step(assignment, given) != step:
        return redirect("annotation:item", assignment.token)
    judging.open_item(assignment)
    return bench.page(request, assignment, step, given, form_class())


def _require_reached(assignment: Assignment, step: judging.Step, given: judging.Answers) -> None:
    """Before any form is read: a step that is not reached yet is not there at all."""
    if step == "instruction" and not given.slider:
        raise judging.StepLocked("The conversation has no rating yet.")
    if step == "prefix" and not (given.onset and judging.has_prefix(judging.fork_of(assignment))):
        raise judging.StepLocked("This item is not at that step.")


def _onwards(request: HttpRequest, assignment: Assignment) -> HttpResponse:
    following = assignment.seat.assignments.unfinished().order_by("rank").first()
    if following:
        return redirect("annotation:item", following.token)
    messages.success(
        request, _("That was the last item of “%s”. Thank you.") % assignment.seat.study.title
    )
    return redirect("home")
