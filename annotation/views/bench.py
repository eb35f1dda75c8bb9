"""What an item page shows. Only what the step may reveal is put together here."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Q
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from annotation import judging, procedures
from annotation.models import Assignment
from annotation.titles import in_words
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
    context = {
        "token": assignment.token,
        "step": step,
        "form": form,
        "turns": turns_of(assignment),
        "procedure": procedure_of(assignment.item.dialogue.workflow),
        **progress_of(assignment),
    }
    if step in ("instruction", "prefix") and given.slider:
        context["rating"] = given.slider.value
        context["instruction"] = judging.reveal(assignment)
    if step == "prefix" and given.confirmation:
        fork = judging.fork_of(assignment)
        context["confirmed"] = judging.confirmation_in_words(given.confirmation)
        context["fork_turn"] = fork.fork_turn if fork else None
    return render(request, f"annotation/{step}.html", context, status=status)


def turns_of(assignment: Assignment) -> list[dict[str, Any]]:
    """Number, role and text of each turn, and nothing else."""
    return list(
        Turn.objects.filter(dialogue_id=assignment.item.dialogue_id, role__in=SHOWN_ROLES)
        .order_by("number")
        .values("number", "role", "text")
    )


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


def progress_of(assignment: Assignment) -> dict[str, int]:
    return {
        "number": assignment.rank,
        **assignment.seat.assignments.aggregate(
            total=Count("pk"), done=Count("pk", filter=Q(finished_at__isnull=False))
        ),
    }
