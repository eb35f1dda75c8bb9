"""The report of one group of judges, from its rows. Groups are never pooled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation import pair_agreement
from annotation.condition_tables import Condition, Coverage, conditions, coverage
from annotation.item_spread import ItemSpread, items
from annotation.judge_profiles import Profile, profiles
from annotation.judgement_rows import Judgement, JudgementRow, counted
from annotation.pair_agreement import Pair

STATUSES = ("finished", "skipped", "in progress", "waiting", "expired", "withdrawn")


@dataclass(frozen=True, slots=True)
class GroupReport:
    """What one group of judges has done and answered.

    `statistics` is the JSON form of `fork_summary.summarise`, None where nothing counts. `pairs`
    are by question, in the order of `pair_agreement.by_question`.
    """

    name: str
    rows: Sequence[JudgementRow]
    counts: Mapping[str, int]
    statistics: Mapping[str, Any] | None
    pairs: Mapping[str, Sequence[Pair]]
    items: Sequence[ItemSpread]
    profiles: Sequence[Profile]
    conditions: Sequence[Condition]
    coverage: Sequence[Coverage]


def group_report(
    name: str,
    rows: Sequence[JudgementRow],
    statistics: Mapping[str, Any] | None,
    attention: Mapping[str, tuple[int, int]],
    *,
    seed: int = 0,
) -> GroupReport:
    """The tables of one group; `rows` are its assignments, `attention` its checks by judge."""
    judgements = counted(rows)
    return GroupReport(
        name=name,
        rows=rows,
        counts=counts(rows, judgements),
        statistics=statistics,
        pairs={
            question: pair_agreement.pairs(ratings, question)
            for question, ratings in pair_agreement.by_question(judgements).items()
        },
        items=items(rows),
        profiles=profiles(rows, attention),
        conditions=conditions(judgements, seed=seed),
        coverage=coverage(rows),
    )


def counts(rows: Sequence[JudgementRow], judgements: Sequence[Judgement]) -> dict[str, int]:
    """How much was asked and done. `assigned` counts live assignments; what ended stands apart."""
    live = Counter(row.status for row in rows if not row.post_reveal)
    per_item = Counter(judged.item for judged in judgements)
    return {
        "seats": len({row.judgement.person for row in rows}),
        "judges": len({judged.person for judged in judgements}),
        "assigned": sum(live[status] for status in STATUSES[:4]),
        "finished": live["finished"] + live["skipped"],
        "skipped": live["skipped"],
        "expired": live["expired"],
        "withdrawn": live["withdrawn"],
        "reopened": sum(row.post_reveal for row in rows),
        "judgements": len(judgements),
        "items": len(per_item),
        "shared_items": sum(n > 1 for n in per_item.values()),
    }
