"""One row per review of an agent run: what was said blind, beside the judge, and after it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.judgement_rows import utc
from annotation.people_labels import SeenRun
from benchmark.label_records import LabelRecord

STEPS = ("review", "compare", "revise")
PARTS = ("presence", "type", "step", "component")
AGREEMENTS = ("agree", "partly", "disagree")
TOWARDS, AWAY, NEITHER, SAME = DIRECTIONS = (
    "towards the judge",
    "away from the judge",
    "as far from the judge as before",
    "the same answer again",
)
COLUMNS = (
    "group",
    "person",
    "rank",
    "item",
    "run",
    "model",
    "question",
    "status",
    "attempt",
    "counted",
    "present",
    "types",
    "first_step",
    "judge_present",
    "judge_types",
    "judge_first_step",
    "agreement",
    "differs_on",
    "changed",
    "revised_present",
    "revised_types",
    "revised_first_step",
    "moved",
    "skip_reason",
    "problems",
    "review_seconds",
    "compare_seconds",
    "revise_seconds",
    "opened_at",
    "finished_at",
)


@dataclass(frozen=True, slots=True)
class ReviewRow:
    """An assignment of a run with its answers, as far as they were given, and how it stands.

    `run` is the key of the run. `label` is the blind answer, `judge` what people saw after it,
    `revised` the answer after a changed mind: it is never blind. `agreement`, `differs_on` and
    `changed` are None where the two were not compared. `seconds` holds the active time per step.
    """

    key: int
    group: str
    person: str
    rank: int
    item: int
    run: int
    external_id: str
    corpus: str
    model: str
    question: str
    n_steps: int
    status: str
    attempt: int = 1
    post_reveal: bool = False
    label: LabelRecord | None = None
    judge: LabelRecord | None = None
    revised: LabelRecord | None = None
    agreement: str | None = None
    differs_on: Sequence[str] | None = None
    changed: bool | None = None
    skip: str = ""
    problems: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    opened_at: dt.datetime | None = None
    finished_at: dt.datetime | None = None

    @property
    def counted(self) -> bool:
        """Whether its answers are in the statistics: first attempts that were not left or taken
        back, with a blind answer."""
        kept = not self.post_reveal and self.status not in ("expired", "withdrawn")
        return kept and self.label is not None

    @property
    def total_seconds(self) -> float | None:
        """Active time over all steps, None where none was measured."""
        return sum(self.seconds.values()) if self.seconds else None

    @property
    def moved(self) -> str:
        """Where a second answer went, one of DIRECTIONS; "" where there is none, or no judge."""
        if self.label is None or self.revised is None or self.judge is None:
            return ""
        if not any(distance(self.label, self.revised)):
            return SAME
        before, after = distance(self.label, self.judge), distance(self.revised, self.judge)
        return TOWARDS if after < before else AWAY if after > before else NEITHER

    def cells(self) -> tuple[Any, ...]:
        """The row under `COLUMNS`; times as ISO 8601 in UTC, several words apart by blanks."""
        return (
            self.group,
            self.person,
            self.rank,
            self.item,
            self.external_id,
            self.model,
            self.question,
            self.status,
            self.attempt,
            _yes(self.counted),
            *_said(self.label),
            *_said(self.judge),
            self.agreement,
            None if self.differs_on is None else " ".join(self.differs_on),
            None if self.changed is None else _yes(self.changed),
            *_said(self.revised),
            self.moved,
            self.skip,
            self.problems,
            *(self.seconds.get(step) for step in STEPS),
            utc(self.opened_at),
            utc(self.finished_at),
        )


def distance(one: LabelRecord, other: LabelRecord) -> tuple[int, int]:
    """How far two answers are apart, to be compared as a pair: presence before all else.

    (1, 0) where they differ on presence. Else 0 and the points in which they differ: each type, and
    each place (step and part). A "no" is not nearer to a "yes" for naming fewer wrong types.
    """
    if one.present != other.present:
        return (1, 0)
    places = ({(p.step, p.component) for p in each.places} for each in (one, other))
    return (0, len(set(one.types) ^ set(other.types)) + len(set.symmetric_difference(*places)))


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _said(label: LabelRecord | None) -> tuple[Any, ...]:
    if label is None:
        return (None, None, None)
    return _yes(label.present), " ".join(label.types), label.onset


def runs_of(rows: Sequence[ReviewRow], agents: Mapping[int, tuple[str, ...]]) -> list[SeenRun]:
    """The runs of the rows that count, once each, with the labels of people and of the judge.

    `agents` holds the agents of the steps by key of the run.
    """
    labels: dict[int, dict[str, LabelRecord]] = {}
    first: dict[int, ReviewRow] = {}
    for row in rows:
        if row.counted and row.label is not None:
            first.setdefault(row.run, row)
            held = labels.setdefault(row.run, {})
            held[row.person] = row.label
            if row.judge is not None:
                held[row.judge.rater] = row.judge
    return [
        SeenRun(
            pk,
            row.external_id,
            row.corpus,
            row.model,
            row.question,
            row.n_steps,
            agents.get(pk, ()),
            labels[pk],
        )
        for pk, row in first.items()
    ]
