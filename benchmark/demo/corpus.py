"""Dialogues of the demo corpus, varied enough that one needs the workflow to judge them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from benchmark.corruption import generator_of
from benchmark.demo.trajectory_files import read_trajectories
from benchmark.demo.workflow_files import read_workflows
from benchmark.records import (
    ASSISTANT,
    BadRecord,
    DialogueRecord,
    TrajectoryRecord,
    WorkflowRecord,
)
from benchmark.simulation import simulate

SEED = 2026
DIALOGUES_PER_WORKFLOW = 40
LARGEST_SHARE = 0.05
TRIES = 400


def records(seed: int = SEED) -> Iterator[WorkflowRecord | DialogueRecord | TrajectoryRecord]:
    """Workflows, then their conformant dialogues, then agent trajectories."""
    workflows = read_workflows()
    yield from workflows
    for workflow in workflows:
        yield from dialogues(workflow, seed)
    yield from read_trajectories()


def dialogues(
    workflow: WorkflowRecord, seed: int = SEED, n: int = DIALOGUES_PER_WORKFLOW
) -> Iterator[DialogueRecord]:
    """`n` conformant dialogues in which no assistant text recurs in over 5 % of them.

    A dialogue that would break this is left out and the next one tried.

    Raises
    ------
    BadRecord
        If the script's wordings do not suffice for `n` dialogues.
    """
    most = max(1, int(LARGEST_SHARE * n))
    heard: Counter[str] = Counter()
    made = 0
    for attempt in range(TRIES):
        if made == n:
            return
        own = generator_of(seed, "dialogue", workflow.name, attempt).getrandbits(32)
        name = f"{workflow.name}-{made + 1:02d}"
        dialogue = simulate(workflow, seed=own, external_id=name)
        said = {turn.text for turn in dialogue.turns if turn.role == ASSISTANT}
        if any(heard[text] >= most for text in said):
            continue
        heard.update(said)
        made += 1
        yield dialogue
    if made < n:
        raise BadRecord(workflow.name, f"its wordings suffice for {made} of {n} dialogues")
