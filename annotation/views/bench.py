"""What an item page shows. Only what the step may reveal is put together here."""

from __future__ import annotations

from typing import Any

from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from annotation import drafts, judging, notices, phases, practice, procedures, reaching
from annotation.models import Assignment, Item, Skip
from annotation.titles import behaviour_of, in_words
from annotation.views import run_bench
from benchmark.models import Turn, Workflow

# A system turn can hold the very instruction that is asked about; it is no part of the talk.
SHOWN_ROLES = (Turn.Role.USER, Turn.Role.ASSISTANT, Turn.Role.ACTION, Turn.Role.OBSERVATION)


def page(
    request: HttpRequest,
    assignment: Assignment,
    step: judging.Step,
    given: judging.Answers,
    form: Form,
    *,
    status: int = 200,
) -> HttpResponse:
    """Render a step: the same page for every item, with what this step adds."""
    draft = drafts.current(assignment, step)
    if draft and not form.is_bound:
        form.initial = draft.values
    context = {
        **(frame(assignment) if not judging.is_run(assignment) else common(assignment)),
        "step": step,
        "form": form,
        "revision": draft.revision if draft else 0,
        "saved_at": draft.saved_at.isoformat() if draft else "",
    }
    if judging.is_run(assignment):
        context |= run_bench.shown(assignment, step, given, form)
    if step in ("instruction", "prefix") and given.slider:
        context["rating"] = given.slider.value
        context["instruction"] = judging.reveal(assignment)
    if step == "prefix" and given.confirmation:
        fork = judging.fork_of(assignment)
        context["confirmed"] = judging.confirmation_in_words(given.confirmation)
        context["fork_turn"] = fork.fork_turn if fork else None
    return render(request, f"annotation/{step}.html", context, status=status)


def given_page(request: HttpRequest, assignment: Assignment) -> HttpResponse:
    """What has been answered so far, to read only; of a practice item also what fits, and why."""
    given = judging.answers(assignment)
    step = judging.open_step(assignment, given)
    ways = {"onwards": _onwards_url(assignment, step), "finished": step is None}
    if judging.is_run(assignment):
        context = {**common(assignment), **run_bench.given(assignment, given), **ways}
        return render(request, "annotation/given_run.html", context)
    context = {
        **frame(assignment),
        **ways,
        "rating": reaching.in_words("rate", given) if given.slider else None,
        "skip": Skip.objects.filter(assignment=assignment).first(),
    }
    if given.confirmation:
        context["instruction"] = behaviour_of(assignment.item.instruction)
        context["confirmed"] = reaching.in_words("instruction", given)
        context["onset"] = given.onset.turn.number if given.onset and given.onset.turn else None
    if given.prefix:
        fork = judging.fork_of(assignment)
        context["prefix"] = reaching.in_words("prefix", given)
        context["fork_turn"] = fork.fork_turn if fork else None
    if assignment.finished_at and assignment.item.kind == Item.Kind.PRACTICE:
        context["feedback"] = practice.judged(assignment)
    return render(request, "annotation/given.html", context)


def frame(assignment: Assignment) -> dict[str, Any]:
    """What every page of a conversation shows, whatever the item and the step."""
    return {
        **common(assignment),
        "turns": turns_of(assignment),
        "procedure": procedure_of(assignment.item.dialogue.workflow),
    }


def common(assignment: Assignment) -> dict[str, Any]:
    """What every page of an item shows, be it a conversation or a run."""
    return {
        "token": assignment.token,
        "again": assignment.post_reveal,
        "practising": assignment.item.kind == Item.Kind.PRACTICE,
        "notices": list(notices.unread(assignment.seat)),
        **phases.progress(assignment),
    }


def turns_of(assignment: Assignment) -> list[dict[str, Any]]:
    """Number, role and text of each turn, and nothing else; altered texts in place of their own."""
    turns = list(
        Turn.objects.filter(dialogue_id=assignment.item.dialogue_id, role__in=SHOWN_ROLES)
        .order_by("number")
        .values("number", "role", "text")
    )
    for turn in turns:
        turn["text"] = assignment.item.altered.get(str(turn["number"]), turn["text"])
    return turns


def procedure_of(workflow: Workflow | None) -> dict[str, Any]:
    """Title, aim and numbered steps of the workflow the assistant should follow."""
    if workflow is None:
        return {"title": "", "aim": "", "lines": [], "extras": []}
    steps = workflow.steps.values_list("key", "text", "kind", "is_start")
    nodes = [procedures.Node(*row) for row in steps]
    moves = [
        procedures.Move(*row)
        for row in workflow.transitions.values_list("source__key", "target__key", "observation")
    ]
    return {
        "title": in_words(workflow.name),
        "aim": workflow.objective,
        "lines": procedures.lines(nodes, moves),
        "extras": procedures.extras(nodes),
    }


def _onwards_url(assignment: Assignment, step: judging.Step | None) -> str:
    if step:
        return reverse(f"annotation:{step}", args=[assignment.token])
    if following := phases.waiting(assignment.seat):
        return reverse("annotation:item", args=[following.token])
    return phases.seat_url(assignment.seat)
