"""A synthetic corpus of DialFork's size: scripted dialogues and their forks, for measuring speed.

The paper has 24 workflows, 2,134 conformant dialogues and sixteen forks of each. Here three
branches of four businesses play two procedures each, with the scripts of the demo; a branch has
the name, not the wording, of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from benchmark.corruption import generator_of
from benchmark.demo.workflow_files import read_workflows
from benchmark.records import BadRecord, DialogueRecord, WorkflowRecord
from benchmark.simulation import ScriptedEngine, simulate

DIALOGUES = 2134
BRANCHES = 3
# Sizes of the workflows run evenly from this share of their mean to its counterpart above it, as
# the sizes of real workflows differ.
SMALLEST_SHARE = 0.4
TRIES = 20


def branch_workflows() -> list[WorkflowRecord]:
    """24 workflows: a domain needs two of its own, because forks of type WIC turn to the other."""
    own = read_workflows()
    domains = Counter(workflow.domain for workflow in own)
    return [
        replace(
            workflow,
            name=f"{workflow.name}_{branch}",
            domain=f"{workflow.domain} {branch}",
        )
        for branch in range(1, BRANCHES + 1)
        for workflow in own
        if domains[workflow.domain] == 2
    ]


def sizes(dialogues: int, workflows: int) -> list[int]:
    """How many dialogues each workflow gets: sums to `dialogues`, each at least one."""
    if dialogues < workflows:
        raise BadRecord("dialogues", f"{dialogues} do not give each of {workflows} workflows one")
    step = 2 * (1 - SMALLEST_SHARE) / max(1, workflows - 1)
    shares = [SMALLEST_SHARE + i * step for i in range(workflows)]
    rest = dialogues - workflows
    ends = [round(rest * sum(shares[: i + 1]) / sum(shares)) for i in range(workflows)]
    return [1 + end - begin for begin, end in zip([0, *ends], ends, strict=False)]


def families(
    dialogues: int = DIALOGUES, seed: int = 0
) -> Iterator[tuple[DialogueRecord, list[DialogueRecord]]]:
    """Conformant dialogues, each with its sixteen forks; the same seed gives the same ones.

    A dialogue that does not take all sixteen forks is left out and the next one drawn. Raises
    BadRecord when there are fewer dialogues than workflows.
    """
    workflows = branch_workflows()
    engine = ScriptedEngine([], {w.name: w for w in workflows}, seed=seed)
    for workflow, n in zip(workflows, sizes(dialogues, len(workflows)), strict=True):
        for number in range(1, n + 1):
            yield _family(engine, workflow, number, seed)


def _family(
    engine: ScriptedEngine, workflow: WorkflowRecord, number: int, seed: int
) -> tuple[DialogueRecord, list[DialogueRecord]]:
    name = f"{workflow.name}-{number:03d}"
    for attempt in range(TRIES):
        own = generator_of(seed, "full size", name, attempt).getrandbits(32)
        source = simulate(workflow, seed=own, external_id=name)
        forks = engine.forks(source)
        made = [fork for fork in forks if isinstance(fork, DialogueRecord)]
        if len(made) == len(forks):
            return source, made
    raise BadRecord(name, f"no dialogue in {TRIES} takes every fork")


def stored_elsewhere(
    forks: Iterable[DialogueRecord], corpus: str, format_: str
) -> Iterator[DialogueRecord]:
    """The forks for a corpus of their own, whose sources and workflows are stored in `corpus`."""
    for fork in forks:
        yield replace(
            fork,
            workflow=f"{corpus}/{fork.workflow}",
            forks=tuple(
                replace(one, source_corpus=corpus, source_format=format_) for one in fork.forks
            ),
        )
