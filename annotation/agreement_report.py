"""Everything about agreement in one study as plain JSON values, computed from its answers alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from annotation.agreement_rows import by_annotator, by_item, by_pair
from annotation.agreement_tables import by_condition, by_label, panel
from annotation.judgement_rows import CONFORMANT, Judgement
from annotation.long_ratings import LongRatings
from annotation.pair_agreement import by_question
from annotation.report_resampling import report_intervals
from scoring.estimates import Estimate

RESAMPLES = 1000
TABLES = ("panel", "conditions", "answers", "people", "pairs", "items")


def agreement_report(
    judgements: Sequence[Judgement], *, seed: int = 0, resamples: int = RESAMPLES
) -> dict[str, Any]:
    """`questions` holds for each question the tables of `TABLES`; `over_people` every figure of the
    report with its interval over people, by dotted path (see `report_intervals`).

    Conditions are the fork's type and position ("WIC 2"), or "conformant".
    """
    conditions = {
        judged.item: f"{judged.type} {judged.k}" if judged.type else CONFORMANT
        for judged in judgements
    }
    over_people = report_intervals(judgements, seed=seed, resamples=resamples)
    drawn = {"seed": seed, "resamples": resamples}
    return {
        "questions": {
            name: _tables(ratings, conditions, drawn)
            for name, ratings in by_question(judgements).items()
        },
        "over_people": {path: figure.as_dict() for path, figure in over_people.items()},
    }


def _tables(
    ratings: LongRatings, conditions: dict[str, str], drawn: dict[str, int]
) -> dict[str, Any]:
    settings = {"ordered": ratings.categories is not None, **drawn}
    by_place = by_condition(ratings, conditions, **settings)
    return {
        "panel": panel(ratings, **settings).as_dict(),
        "conditions": {name: each.as_dict() for name, each in by_place.items()},
        "answers": {str(k): each.as_dict() for k, each in by_label(ratings).items()},
        "people": {str(k): each.as_dict() for k, each in by_annotator(ratings).items()},
        "pairs": [_plain(row) for row in by_pair(ratings)],
        "items": [_plain(row) for row in by_item(ratings)],
    }


def _plain(row: Any) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in row.__slots__}
    return {
        name: value.as_dict() if isinstance(value, Estimate) else value
        for name, value in values.items()
    }
