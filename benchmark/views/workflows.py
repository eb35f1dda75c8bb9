"""One workflow: its steps, its graph, and the flow graph that a run fitted to its dialogues."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import BadRequest
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from benchmark.models import Workflow, WorkflowStep
from benchmark.views.paging import number
from scoring.graph_layouts import Move, Node, TooLarge, drawing
from scoring.models import FlowGraph
from scoring.views.flow_graph_drawings import fitted


@require_safe
def workflow(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    found = get_object_or_404(
        Workflow.objects.select_related("corpus"), corpus__slug=slug, name=name
    )
    steps = list(found.steps.all())
    moves = list(found.transitions.select_related("source", "target"))
    return render(
        request,
        "benchmark/workflow.html",
        {
            "workflow": found,
            "corpus": found.corpus,
            "steps": with_moves([s for s in steps if s.kind != WorkflowStep.Kind.REPLY], moves),
            "replies": [s for s in steps if s.kind == WorkflowStep.Kind.REPLY],
            "moves": moves,
            "counts": found.dialogues.filter(corpus=found.corpus).aggregate(
                all=Count("id"),
                following=Count("id", filter=Q(conformant=True)),
                train=Count("id", filter=Q(split="train")),
                test=Count("id", filter=Q(split="test")),
            ),
            "procedure": procedure(steps, moves),
            **fitted_graph(request, found),
        },
    )


def with_moves(steps: list[WorkflowStep], moves: list[Any]) -> list[tuple[WorkflowStep, list[Any]]]:
    out: dict[int, list[Any]] = {}
    for move in moves:
        out.setdefault(move.source_id, []).append(move)
    return [(step, out.get(step.pk, [])) for step in steps]


def procedure(steps: list[WorkflowStep], moves: list[Any]) -> dict[str, Any]:
    """The drawing of the procedure, or the reason why there is none."""
    used = {move.source_id for move in moves} | {move.target_id for move in moves}
    used |= {step.pk for step in steps if step.is_start or step.is_terminal}
    nodes = [
        Node(
            step.key,
            step.text or step.key,
            kind="t" if step.is_start or step.is_terminal else kind_of(step),
            rank="first" if step.is_start else "",
        )
        for step in steps
        if step.pk in used or (step.kind != WorkflowStep.Kind.REPLY and len(steps) == 1)
    ]
    lines = [Move(m.source.key, m.target.key, m.observation[:24], 0.3) for m in moves]
    return drawn(nodes, lines, empty="This workflow has no moves to draw.")


def kind_of(step: WorkflowStep) -> str:
    return "s" if step.kind == WorkflowStep.Kind.STATE else ""


def drawn(nodes: list[Node], moves: list[Move], *, empty: str) -> dict[str, Any]:
    if not nodes:
        return {"reason": empty}
    try:
        return drawing(nodes, moves)
    except TooLarge as error:
        return {"reason": str(error)}


def fitted_graph(request: HttpRequest, workflow: Workflow) -> dict[str, Any]:
    """The flow graph of the wanted run (the newest by default), and the runs that have one."""
    runs = list(
        FlowGraph.objects.filter(workflow=workflow)
        .order_by("-run_id")
        .values_list("run_id", flat=True)
    )
    wanted = number(request, "run")
    if wanted is not None and wanted not in runs:
        raise BadRequest(f"run {wanted} has no flow graph of this workflow.")
    if not runs:
        return {"fitted": None, "graph_runs": []}
    row = FlowGraph.objects.select_related("run").get(
        workflow=workflow, run_id=wanted if wanted else runs[0]
    )
    graph = fitted(row.graph)
    graph["drawing"] = drawn(graph["nodes"], graph["moves"], empty="The fitted graph is empty.")
    return {"fitted": graph, "fitted_run": row.run, "graph_runs": runs}
