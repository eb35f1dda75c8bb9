"""What crosses the border of the product: frozen records that readers yield and `importing` stores.

A record that exists is well-formed: text holds no NUL, roles and types are known words, numbers are
in range. Nothing downstream checks again. Positions are never stored twice: a turn's number is its
place in `DialogueRecord.turns`, counted over all turns from 1.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmark.label_records import LabelRecord, SignalRecord

USER, ASSISTANT, SYSTEM, ACTION, OBSERVATION = (
    "user",
    "assistant",
    "system",
    "action",
    "observation",
)
ROLES = (USER, ASSISTANT, SYSTEM, ACTION, OBSERVATION)

WIC, SSPC, GR, CSC = "WIC", "SSPC", "GR", "CSC"
FORK_TYPES = (WIC, SSPC, GR, CSC)

EXACT, EDITED, FORCED = "exact", "edited", "forced"
REPLAYS = (EXACT, EDITED, FORCED)


class BadRecord(ValueError):
    """A place in an input that cannot become a record, said in one sentence.

    `where` names file and line or field; `reason` says what is wrong and what is allowed. Half
    characters (lone surrogates) that either quotes are spelt out.
    """

    def __init__(self, where: str, reason: str) -> None:
        # A report quotes hostile input, and no terminal or file takes half a character.
        self.where, self.reason = (
            text.encode("utf-8", "backslashreplace").decode() for text in (where, reason)
        )
        super().__init__(f"{self.where}: {self.reason}")


@dataclass(frozen=True, slots=True)
class StepSpec:
    """One step of a workflow.

    `kind` is "action" (the assistant says or does it), "state" (a condition that is only reached,
    never uttered) or "reply" (an allowed utterance outside the graph).
    """

    key: str
    text: str = ""
    kind: str = "action"


@dataclass(frozen=True, slots=True)
class TransitionSpec:
    """An allowed move; `observation` is what authorises it ("" when it needs nothing)."""

    source: str
    target: str
    observation: str = ""


@dataclass(frozen=True, slots=True)
class WorkflowRecord:
    """A procedure W = (S, A, delta, O) (DialFork, section 2)."""

    name: str
    domain: str
    objective: str = ""
    system_instruction: str = ""
    user_instruction: str = ""
    steps: Sequence[StepSpec] = ()
    transitions: Sequence[TransitionSpec] = ()
    start: str = ""
    terminals: Sequence[str] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)
    warnings: Mapping[str, int] = field(default_factory=dict)
    where: str = ""

    def __post_init__(self) -> None:
        keys = {step.key for step in self.steps}
        if not self.name:
            raise BadRecord(self.where or "workflow", "a workflow needs a name")
        for move in self.transitions:
            for end in (move.source, move.target):
                if end not in keys:
                    raise BadRecord(
                        self.where or self.name,
                        f"transition {move.source} -> {move.target} names the unknown step {end}",
                    )

    @property
    def digest(self) -> str:
        return digest_of(
            [
                self.name,
                self.domain,
                self.objective,
                self.system_instruction,
                self.user_instruction,
                [[s.key, s.text, s.kind] for s in self.steps],
                [[t.source, t.target, t.observation] for t in self.transitions],
                self.start,
                list(self.terminals),
                self.meta,
            ]
        )


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One turn. An empty `text` is kept: numbers must not shift. `name` is as written."""

    role: str
    text: str
    name: str = ""
    label: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise BadRecord("turn", f"role {self.role!r} is not one of {', '.join(ROLES)}")
        if "\x00" in self.text:
            raise BadRecord("turn", "text holds a NUL character")


@dataclass(frozen=True, slots=True)
class ForkRecord:
    """One injection: where a dialogue leaves its source, and by which instruction.

    `fork_assistant_turn` counts assistant turns, `fork_turn` counts all turns; both from 1.
    `witness` is what the alignment found (see `benchmark.witnesses`).
    """

    source_corpus: str
    source: str
    type: str
    variant: str
    k: int
    fork_assistant_turn: int
    fork_turn: int
    instruction: str
    seed: int
    replay: str
    generator: str
    rule: str = "half_even"
    witness: Mapping[str, Any] = field(default_factory=dict)
    source_format: str = ""

    def __post_init__(self) -> None:
        if self.type not in FORK_TYPES:
            raise BadRecord("fork", f"type {self.type!r} is not one of {', '.join(FORK_TYPES)}")
        if self.replay not in REPLAYS:
            raise BadRecord("fork", f"replay {self.replay!r} is not one of {', '.join(REPLAYS)}")
        if not 1 <= self.k <= 4:
            raise BadRecord("fork", f"k is {self.k}; it must be 1, 2, 3 or 4")
        if not 1 <= self.fork_assistant_turn <= self.fork_turn:
            raise BadRecord("fork", "fork_assistant_turn must lie between 1 and fork_turn")


# Where the source lies is left out: a fork is the same fork in a corpus of another name.
_FORK_DIGEST = tuple(
    name
    for name in ForkRecord.__dataclass_fields__
    if name not in ("source_corpus", "source_format")
)


@dataclass(frozen=True, slots=True)
class DialogueRecord:
    """One dialogue as read. `conformant` is None when the input does not say.

    `workflow` is the name of a workflow of the same corpus ("" when unknown; "corpus/name" for one
    of another corpus). `forks` holds the injections of a forked dialogue (usually one).
    """

    external_id: str
    turns: Sequence[TurnRecord]
    workflow: str = ""
    conformant: bool | None = None
    split: str = ""
    forks: Sequence[ForkRecord] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)
    warnings: Mapping[str, int] = field(default_factory=dict)
    where: str = ""

    @property
    def digest(self) -> str:
        return digest_of(
            [
                self.workflow,
                self.conformant,
                [[t.role, t.text, t.name, t.label, t.meta] for t in self.turns],
                [[getattr(f, name) for name in _FORK_DIGEST] for f in self.forks],
                self.meta,
            ]
        )


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step of an agent run; `number` is as given and may repeat (parallel tool calls)."""

    number: int
    agent: str = ""
    thought: str = ""
    action: str = ""
    observation: str = ""
    response: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TrajectoryRecord:
    """An agent run: a task and its ordered steps (Trajel, section 3.1 and appendix A).

    `question` is the id of what was asked, by which runs of several models are grouped; `expected`
    the answer it should have had, `response` the one it gave. `labels` and `signals` are what
    others say of the run: they are stored beside it and are no part of its digest.
    """

    external_id: str
    task: str
    steps: Sequence[StepRecord]
    model: str = ""
    question: str = ""
    expected: str = ""
    response: str = ""
    signals: Sequence[SignalRecord] = ()
    labels: Sequence[LabelRecord] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)
    warnings: Mapping[str, int] = field(default_factory=dict)
    where: str = ""

    @property
    def digest(self) -> str:
        parts = [
            self.task,
            [
                [s.number, s.agent, s.thought, s.action, s.observation, s.response, s.meta]
                for s in self.steps
            ],
            self.meta,
        ]
        # Runs that were stored before there were these fields keep their digest.
        if self.expected or self.response:
            parts.append([self.model, self.question, self.expected, self.response])
        return digest_of(parts)


Record = WorkflowRecord | DialogueRecord | TrajectoryRecord


def digest_of(value: Any) -> str:
    """SHA-256 (hex) of `value` as canonical JSON: sorted keys, no spaces, UTF-8."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=dict
    )
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
