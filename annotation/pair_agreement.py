"""How far every two judges agree, question by question, over the items that both answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.agreement import wilson
from annotation.judgement_rows import Judgement
from annotation.long_ratings import LongRatings, long_ratings
from annotation.rated_pairs import people_pairs, rated_pairs

CONFIRMATIONS = ("yes", "partly", "no")
PREFIXES = ("yes", "mostly", "no")
# Numbers agree when they are at most so far apart: points of the rating, assistant turns.
CLOSE: Mapping[str, int] = {"rating": 10, "onset": 1}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two judges (`one` before `other` by name) on one question.

    `n` items both answered, `agreeing` of them alike: the same word, or numbers at most `CLOSE`
    apart; `low` and `high` are Wilson's interval of the share. `distance` is the mean absolute
    difference of numbers, None for words. `kappa` is Cohen's, None for numbers and where chance
    alone would agree.
    """

    question: str
    one: str
    other: str
    n: int
    agreeing: int
    low: float
    high: float
    distance: float | None = None
    kappa: float | None = None

    @property
    def share(self) -> float:
        return self.agreeing / self.n


def by_question(judgements: Sequence[Judgement]) -> dict[str, LongRatings]:
    """The answers to each question as columns: judges, items, answers."""

    def columns(answer: str, categories: Sequence[str] | None = None) -> LongRatings:
        records = ((j.person, j.item, getattr(j, answer)) for j in judgements)
        return long_ratings(records, categories)

    return {
        "rating": columns("rating"),
        "confirmation": columns("confirmed", CONFIRMATIONS),
        "onset": columns("onset"),
        "prefix": columns("prefix", PREFIXES),
    }


def pairs(ratings: LongRatings, question: str) -> list[Pair]:
    """Every two judges with a shared item, by name."""
    found, near = people_pairs(ratings), _near(ratings, CLOSE.get(question, 0))
    names = [str(name) for name in ratings.annotator_names]
    rows = []
    for i, n in enumerate(found.n.astype(int).tolist()):
        agreeing = int(near[i])
        low, high = wilson(agreeing, n).ci or (0.0, 1.0)
        away = None if found.away is None else float(found.away[i])
        kappa = None if found.kappa is None or np.isnan(found.kappa[i]) else float(found.kappa[i])
        one, other = names[found.first[i]], names[found.second[i]]
        rows.append(Pair(question, one, other, n, agreeing, low, high, away, kappa))
    return rows


def _near(ratings: LongRatings, apart: int) -> NDArray[np.intp]:
    """Answers at most `apart` from each other, per two people in the order of `people_pairs`."""
    answers = rated_pairs(ratings)
    keys = answers.first * max(1, len(ratings.annotator_names)) + answers.second
    codes, which = np.unique(keys, return_inverse=True)
    return np.bincount(which[np.abs(answers.x - answers.y) <= apart], minlength=len(codes))


def matrix(found: Sequence[Pair]) -> tuple[list[str], dict[tuple[str, str], Pair]]:
    """The judges of some pairs by name, and each pair under both orders of its names."""
    cells = {(p.one, p.other): p for p in found} | {(p.other, p.one): p for p in found}
    return sorted({name for names in cells for name in names}), cells
