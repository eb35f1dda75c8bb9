"""Forks by scripted simulation: the source is played again, corrupted from the fork turn on.

Needs no language model: the two agents are `benchmark.scripted_agents`, a conversation of theirs is
`simulate`. Corruption swaps W, delta or O, or adds a side goal (DialFork, table 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from benchmark.corruption import (
    POSITIONS,
    VARIANTS,
    VARIANTS_VERSION,
    Refusal,
    Variant,
    draw_variant,
    fork_id,
    fork_points,
    generator_of,
    instruction,
)
from benchmark.progressions import possible
from benchmark.records import (
    EXACT,
    FORK_TYPES,
    SSPC,
    WIC,
    DialogueRecord,
    ForkRecord,
    TurnRecord,
    WorkflowRecord,
)
from benchmark.scripted_agents import Corruption
from benchmark.scripted_conversations import draw_length, simulate, standings
from benchmark.scripts import check_script
from benchmark.witnesses import (
    align,
    assistant_labels,
    assistant_numbers,
    procedure_of_workflow,
)

__all__ = ["Corruption", "ScriptedEngine", "look_alikes", "simulate"]

SIMULATION_VERSION = "1"
NO_PARTNER = "no other task to turn to"
NO_SCRIPT = "the source was not simulated: its meta holds no seed"
NO_STRATEGY = "no strategy is possible at this fork point"
PREFIX_DIFFERS = "the replay does not give the turns before the fork"
SAME_TURN = "the first forked turn is the source's"
NOT_SHOWN = "the witness does not show the type at the fork turn"


class ScriptedEngine:
    """Forks by simulating a source again, corrupted from the fork turn on.

    Parameters
    ----------
    pool : taken for the sake of the common interface; the forks of a source depend on it alone.
    workflows : by the names that dialogues use, each with its script.
    """

    name = "scripted"
    format = "scripted-fork"

    def __init__(
        self,
        pool: Sequence[DialogueRecord],
        workflows: Mapping[str, WorkflowRecord],
        *,
        seed: int,
    ) -> None:
        for workflow in workflows.values():
            check_script(workflow)
        self.workflows = workflows
        self.procedures = {name: procedure_of_workflow(w) for name, w in workflows.items()}
        self.seed = seed

    @property
    def generator(self) -> str:
        """Name and versions, stored with each fork."""
        return f"scripted {SIMULATION_VERSION} (variants {VARIANTS_VERSION})"

    def forks(self, source: DialogueRecord) -> list[DialogueRecord | Refusal]:
        """Up to sixteen forks or refusals, by type and k. BadRecord when T < 4."""
        points = fork_points(len(assistant_labels(source.turns)))
        made: list[DialogueRecord | Refusal] = []
        for type_ in FORK_TYPES:
            found = self._corruption(source, type_, points)
            for k, point in zip(POSITIONS, points, strict=True):
                if isinstance(found, str):
                    made.append(Refusal(source.external_id, type_, k, found))
                else:
                    made.append(self._fork(source, *found, k, point))
        return made

    def _corruption(
        self, source: DialogueRecord, type_: str, points: Sequence[int]
    ) -> tuple[Variant, Corruption, Mapping[str, str]] | str:
        """One corruption for the four positions, with what the witness adds; or a reason."""
        workflow = self.workflows[source.workflow]
        if "seed" not in source.meta:
            return NO_SCRIPT
        if type_ == SSPC:
            at = standings(workflow, seed=source.meta["seed"], turns=points)
            ways = [v for v in VARIANTS[SSPC] if all(possible(v.key, one) for one in at)]
            if not ways:
                return NO_STRATEGY
            variant = draw_variant(type_, source.external_id, self.seed, ways)
            return variant, Corruption(type_, variant.key), {}
        variant = draw_variant(type_, source.external_id, self.seed)
        if type_ != WIC:
            return variant, Corruption(type_, variant.key), {}
        partners, far = look_alikes(workflow, self.workflows.values())
        if not partners:
            return NO_PARTNER
        other = generator_of(self.seed, "partner", source.external_id).choice(partners)
        note = {
            "partner": "other domain" if far else "same domain",
            "other_workflow": other.name,
        }
        return variant, Corruption(type_, variant.key, other), note

    def _fork(
        self,
        source: DialogueRecord,
        variant: Variant,
        corruption: Corruption,
        note: Mapping[str, str],
        k: int,
        point: int,
    ) -> DialogueRecord | Refusal:
        workflow = self.workflows[source.workflow]
        numbers = assistant_numbers(source.turns)
        length = draw_length(
            variant.type, len(numbers), source=source.external_id, k=k, seed=self.seed
        )
        forked = simulate(
            workflow,
            seed=source.meta["seed"],
            external_id=fork_id(source.external_id, variant.type, k),
            corruption=corruption,
            fork_assistant_turn=point,
            length=length,
        )
        fork_turn = numbers[point - 1]
        labels = assistant_labels(forked.turns)
        witness = align(labels, self.procedures[source.workflow], start=point)
        reason = ""
        if _spoken(forked.turns[: fork_turn - 1]) != _spoken(source.turns[: fork_turn - 1]):
            reason = PREFIX_DIFFERS
        elif forked.turns[fork_turn - 1].text == source.turns[fork_turn - 1].text:
            reason = SAME_TURN
        elif not witness.shows(variant.type, point):
            reason = NOT_SHOWN
        if reason:
            return Refusal(source.external_id, variant.type, k, reason, variant.key)
        record = ForkRecord(
            source_corpus="",
            source=source.external_id,
            type=variant.type,
            variant=variant.key,
            k=k,
            fork_assistant_turn=point,
            fork_turn=fork_turn,
            instruction=instruction(variant, task=note.get("other_workflow", "")),
            seed=self.seed,
            replay=EXACT,
            generator=self.generator,
            witness=witness.to_dict(assistant_numbers(forked.turns)) | dict(note),
        )
        return replace(forked, workflow=source.workflow, forks=(record,))


def look_alikes(
    workflow: WorkflowRecord, others: Iterable[WorkflowRecord]
) -> tuple[list[WorkflowRecord], bool]:
    """Other workflows of the domain; if none, those of the domain that shares most step keys.

    The second value says whether another domain had to do. Overlap is the Jaccard index of the
    domains' step keys; ties go to the first name.
    """
    rest = sorted((w for w in others if w.name != workflow.name), key=lambda w: w.name)
    own = [w for w in rest if w.domain == workflow.domain]
    if own or not rest:
        return own, not own
    mine = {step.key for step in workflow.steps}

    def overlap(domain: str) -> float:
        theirs = {step.key for w in rest if w.domain == domain for step in w.steps}
        return len(mine & theirs) / len(mine | theirs)

    nearest = min({w.domain for w in rest}, key=lambda domain: (-overlap(domain), domain))
    return [w for w in rest if w.domain == nearest], True


def _spoken(turns: Sequence[TurnRecord]) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in turns]
