"""What came out of a study: people and simulated seats apart, never mixed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from django.core.cache import cache

from annotation.fork_summary import as_json, summarise
from annotation.group_reports import GroupReport, counts, group_report
from annotation.judgement_rows import PEOPLE, SIMULATED, JudgementRow, counted
from annotation.models import Study
from annotation.practice import attention_by_seat
from annotation.report_rows import read_all

__all__ = ["PEOPLE", "SIMULATED", "fork_study", "group_reports"]
GROUPS = (PEOPLE, SIMULATED)
CACHE_SECONDS = 3600


def fork_study(study: Study) -> dict[str, Any]:
    """The report of a study as plain JSON values.

    `groups` holds "people" and "simulated", each with counts and, where there is a rating, the
    statistics of `fork_summary.summarise`. Every statistic has `value` (null when undefined, with
    `reason`), `n` and `ci`. Skipped and unfinished items enter as far as they were answered; what
    expired, was withdrawn or was judged again after the reveal does not.
    """
    rows = read_all(study)
    return {
        "study": {
            "slug": study.slug,
            "title": study.title,
            "state": study.state,
            "seed": study.seed,
            "protocol_version": study.protocol_version,
            "design": study.design,
        },
        "groups": {
            name: {
                "counts": counts(group, counted(group)),
                "statistics": statistics(group, study.seed),
            }
            for name, group in _grouped(rows).items()
        },
    }


def group_reports(study: Study) -> list[GroupReport]:
    """The full report of each group: people first, each group for itself."""
    rows, by_seat = read_all(study), attention_by_seat(study)
    checks = {row.judgement.person: by_seat[row.seat] for row in rows if row.seat in by_seat}
    return [
        group_report(name, group, statistics(group, study.seed), checks, seed=study.seed)
        for name, group in _grouped(rows).items()
    ]


def statistics(rows: Sequence[JudgementRow], seed: int) -> dict[str, Any] | None:
    """The statistics of the rows that count, None where there are none.

    They are kept for an hour under a digest of the answers: any new answer is another digest.
    """
    judgements = counted(rows)
    if not judgements:
        return None
    digest = hashlib.sha256(repr((seed, judgements)).encode()).hexdigest()
    key = f"study-statistics-{digest}"
    found = cache.get(key)
    if found is None:
        found = as_json(summarise(judgements, seed=seed))
        cache.set(key, found, CACHE_SECONDS)
    return found


def _grouped(rows: Sequence[JudgementRow]) -> dict[str, list[JudgementRow]]:
    return {name: [row for row in rows if row.group == name] for name in GROUPS}
