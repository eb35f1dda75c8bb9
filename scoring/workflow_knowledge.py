"""What the stored rows say of a workflow, for detectors that may know it (DialFork, task 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmark.models import Turn, Workflow, WorkflowStep, WorkflowTransition
from scoring.embeddings import vectors_for
from scoring.encoders import Encoder
from scoring.onset_methods import ObservedTurn
from scoring.workflow_steps import KnownStep, WorkflowKnowledge


def knowledge_of(
    workflow_id: int,
    train: Mapping[int, Sequence[ObservedTurn]],
    encoder: Encoder,
    *,
    other_workflows: bool = False,
) -> WorkflowKnowledge:
    """Steps with vectors, moves, and the labels of the training turns `train` (by dialogue id).

    With `other_workflows` also the steps of the corpus's other workflows. Labels of no other
    dialogue are read.
    """
    workflow = Workflow.objects.get(pk=workflow_id)
    steps = list(WorkflowStep.objects.filter(workflow=workflow).order_by("position"))
    others = list(
        WorkflowStep.objects.filter(workflow__corpus=workflow.corpus_id)
        .exclude(workflow=workflow)
        .exclude(kind=WorkflowStep.Kind.STATE)
        .order_by("workflow__name", "position")
        if other_workflows
        else ()
    )
    known = _known([*steps, *others], encoder)
    moves = WorkflowTransition.objects.filter(workflow=workflow).order_by("position")
    return WorkflowKnowledge(
        steps=tuple(known[: len(steps)]),
        labels=_labels(train),
        moves=tuple(dict.fromkeys(moves.values_list("source__key", "target__key"))),
        start=next((step.key for step in steps if step.is_start), ""),
        terminals=frozenset(step.key for step in steps if step.is_terminal),
        others=tuple(known[len(steps) :]),
    )


def _known(steps: Sequence[WorkflowStep], encoder: Encoder) -> list[KnownStep]:
    vectors = vectors_for(encoder, [step.text for step in steps])
    return [
        KnownStep(
            step.key,
            step.text,
            vector if step.text.strip() else None,
            step.kind != WorkflowStep.Kind.STATE,
        )
        for step, vector in zip(steps, vectors, strict=True)
    ]


def _labels(train: Mapping[int, Sequence[ObservedTurn]]) -> tuple[tuple[str, ...], ...]:
    rows = Turn.objects.filter(dialogue_id__in=list(train)).exclude(label="")
    found = {
        (pk, number): label
        for pk, number, label in rows.values_list("dialogue_id", "number", "label")
    }
    return tuple(
        tuple(found.get((pk, turn.number), "") for turn in turns) for pk, turns in train.items()
    )
