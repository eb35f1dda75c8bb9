"""How far judges of the same item agree, question by question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from annotation.agreement_tables import by_label, panel
from annotation.judgement_rows import Judgement
from annotation.long_ratings import LongRatings
from annotation.pair_agreement import by_question

RESAMPLES = 1000


def agreement(judgements: Sequence[Judgement], *, seed: int = 0) -> dict[str, Any]:
    """How far judges of the same item agree, per question, over items with two judges or more.

    Categories are the declared answers. The onset is counted in assistant turns, among those who
    chose one; ratings and onsets are numbers and have no kappa and no AC1. Beside the coefficients
    each question has `items` and `pairs` (shared ones), `judgements` (all answers), `note` (see
    `agreement_tables.Panel`) and `labels` (specific agreement per word); over all answers
    `answers` (counts of the words) or `mean` and `spread` (standard deviation, n - 1; None with
    fewer than two) of the numbers.
    """
    return {name: _question(found, seed) for name, found in by_question(judgements).items()}


def _question(ratings: LongRatings, seed: int) -> dict[str, Any]:
    found = panel(ratings, resamples=RESAMPLES, seed=seed)
    return {
        **found.figures,
        "items": found.units,
        "pairs": found.pairs,
        "judgements": len(ratings),
        "note": found.note,
        "labels": by_label(ratings),
        **_answers(ratings),
    }


def _answers(ratings: LongRatings) -> dict[str, Any]:
    values = ratings.values
    if ratings.categories is not None:
        counts = np.bincount(values.astype(np.intp), minlength=len(ratings.categories))
        return {"answers": dict(zip(ratings.categories, counts.tolist(), strict=True))}
    return {
        "mean": float(values.mean()) if len(values) else None,
        "spread": float(values.std(ddof=1)) if len(values) > 1 else None,
    }
