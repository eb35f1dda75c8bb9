"""What came out of a study: people and simulated seats apart, never mixed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from annotation.fork_summary import Judgement, as_json, summarise
from annotation.models import Assignment, Study
from benchmark.models import Fork

PEOPLE, SIMULATED = "people", "simulated"


def fork_study(study: Study) -> dict[str, Any]:
    """The report of a study as plain JSON values.

    `groups` holds "people" and "simulated", each with counts and, where there is a rating, the
    statistics of `fork_summary.summarise`. Every statistic has `value` (null when undefined, with
    `reason`), `n` and `ci`. Skipped and unfinished items enter as far as they were answered.
    """
    found = {PEOPLE: [], SIMULATED: []}
    rows = list(_rows(study))
    forks = _forks(study)
    for row in rows:
        found[SIMULATED if row["seat__simulated"] else PEOPLE].append(row)
    return {
        "study": {
            "slug": study.slug,
            "title": study.title,
            "state": study.state,
            "seed": study.seed,
            "protocol_version": study.protocol_version,
            "design": study.design,
        },
        "groups": {name: _group(group, forks, study.seed) for name, group in found.items()},
    }


def _rows(study: Study) -> Any:
    confirmation = "slider__confirmation"
    return (
        Assignment.objects.filter(seat__study=study)
        .order_by("seat__number", "rank")
        .values(
            "seat__pseudonym",
            "seat__simulated",
            "item_id",
            "item__is_foil",
            "item__dialogue_id",
            "item__dialogue__workflow__name",
            "finished_at",
            "skip__reason",
            "slider__value",
            f"{confirmation}__answer",
            f"{confirmation}__onset__turn__assistant_number",
            f"{confirmation}__onset__prefix__answer",
        )
    )


def _forks(study: Study) -> dict[int, tuple[str, int, int]]:
    """dialogue id -> (type, k, fork_assistant_turn) of its first injection."""
    forks = Fork.objects.filter(dialogue__items__study=study).order_by("-ordinal")
    rows = forks.values_list("dialogue_id", "type", "k", "fork_assistant_turn")
    return {dialogue: (type_, k, at) for dialogue, type_, k, at in rows}


def _group(
    rows: Sequence[dict[str, Any]], forks: dict[int, tuple[str, int, int]], seed: int
) -> dict[str, Any]:
    judged = [_judgement(row, forks) for row in rows if row["slider__value"] is not None]
    per_item: dict[str, int] = {}
    for judgement in judged:
        per_item[judgement.item] = per_item.get(judgement.item, 0) + 1
    counts = {
        "seats": len({row["seat__pseudonym"] for row in rows}),
        "judges": len({j.person for j in judged}),
        "assigned": len(rows),
        "finished": sum(row["finished_at"] is not None for row in rows),
        "skipped": sum(row["skip__reason"] is not None for row in rows),
        "judgements": len(judged),
        "items": len(per_item),
        "shared_items": sum(n > 1 for n in per_item.values()),
    }
    statistics = as_json(summarise(judged, seed=seed)) if judged else None
    return {"counts": counts, "statistics": statistics}


def _judgement(row: dict[str, Any], forks: dict[int, tuple[str, int, int]]) -> Judgement:
    type_, k, fork = forks.get(row["item__dialogue_id"], ("", 0, 0))
    return Judgement(
        person=row["seat__pseudonym"],
        item=str(row["item_id"]),
        workflow=row["item__dialogue__workflow__name"] or "",
        is_foil=row["item__is_foil"],
        type=type_,
        k=k,
        fork=fork,
        rating=row["slider__value"],
        confirmed=row["slider__confirmation__answer"],
        onset=row["slider__confirmation__onset__turn__assistant_number"],
        prefix=row["slider__confirmation__onset__prefix__answer"],
    )
