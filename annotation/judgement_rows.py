"""One row per assignment: what was asked, what was answered, and whether it counts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

PEOPLE, SIMULATED = "people", "simulated"
CONFORMANT = "conformant"
COLUMNS = (
    "group",
    "judge",
    "rank",
    "item",
    "dialogue",
    "workflow",
    "type",
    "k",
    "fork_assistant_turn",
    "instruction",
    "status",
    "attempt",
    "counted",
    "rating",
    "appears",
    "onset_assistant_turn",
    "onset_minus_fork",
    "prefix",
    "skip_reason",
    "active_seconds",
    "opened_at",
    "finished_at",
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """One assignment as far as it was answered; None where there is no answer.

    `type` is "" and `k` and `fork` are 0 for a conformant dialogue. `fork` and `onset` count
    assistant turns from 1.
    """

    person: str
    item: str
    workflow: str
    is_foil: bool
    type: str = ""
    k: int = 0
    fork: int = 0
    rating: int | None = None
    confirmed: str | None = None
    onset: int | None = None
    prefix: str | None = None


@dataclass(frozen=True, slots=True)
class JudgementRow:
    """An assignment with its condition, its answers, and how it stands.

    `key` and `seat` are keys of the assignment and its seat, `dialogue` is the dialogue's key and
    `external_id` its name in its corpus. `status` is finished, skipped, in progress, waiting,
    expired or withdrawn. `active_ms` is None where no time was measured. Times are aware.
    """

    key: int
    group: str
    rank: int
    dialogue: int
    external_id: str
    status: str
    judgement: Judgement
    seat: int = 0
    attempt: int = 1
    post_reveal: bool = False
    skip: str = ""
    active_ms: int | None = None
    opened_at: dt.datetime | None = None
    finished_at: dt.datetime | None = None

    @property
    def live(self) -> bool:
        """A first attempt that was neither left behind nor taken back."""
        return not self.post_reveal and self.status not in ("expired", "withdrawn")

    @property
    def counted(self) -> bool:
        """Whether its answers are in the statistics: live, with at least a rating."""
        return self.live and self.judgement.rating is not None

    @property
    def active_seconds(self) -> float | None:
        return None if self.active_ms is None else self.active_ms / 1000

    @property
    def offset(self) -> int | None:
        """Onset minus fork turn, in assistant turns; None without an onset or a fork."""
        judged = self.judgement
        return judged.onset - judged.fork if judged.onset and judged.type else None

    def cells(self) -> tuple[Any, ...]:
        """The row under `COLUMNS`; times as ISO 8601 in UTC."""
        judged = self.judgement
        return (
            self.group,
            judged.person,
            self.rank,
            int(judged.item),
            self.external_id,
            judged.workflow,
            judged.type or CONFORMANT,
            judged.k or None,
            judged.fork or None,
            "foil" if judged.is_foil else "true",
            self.status,
            self.attempt,
            "yes" if self.counted else "no",
            judged.rating,
            judged.confirmed,
            judged.onset,
            self.offset,
            judged.prefix,
            self.skip,
            self.active_seconds,
            utc(self.opened_at),
            utc(self.finished_at),
        )


def counted(rows: Sequence[JudgementRow]) -> list[Judgement]:
    """The judgements that statistics are computed from."""
    return [row.judgement for row in rows if row.counted]


def utc(moment: dt.datetime | None) -> str:
    """ISO 8601 in UTC with seconds and a Z; "" for no moment. The moment must be aware."""
    if moment is None:
        return ""
    return moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
