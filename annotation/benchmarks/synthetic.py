"""Made-up answers for measuring speed, drawn by seed. They say nothing about people."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from annotation.design import TYPES
from annotation.judgement_rows import Judgement

Ints = NDArray[np.intp]
SLIDER = 100


class SliderRatings(NamedTuple):
    """Ratings in long form, arrays of shape (items x ratings each,), in no order."""

    annotators: Ints
    items: Ints
    values: Ints


def slider_ratings(annotators: int, items: int, each: int, *, seed: int = 0) -> SliderRatings:
    """Each item rated 0 to 100 by `each` different annotators, near a value of its own."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, annotators, items)
    step = annotators // each
    who = (first[:, None] + step * np.arange(each)) % annotators
    truth = rng.integers(0, SLIDER + 1, items)
    values = (truth[:, None] + rng.integers(-12, 13, who.shape)).clip(0, SLIDER)
    order = rng.permutation(who.size)
    which = np.repeat(np.arange(items), each)
    return SliderRatings(who.ravel()[order], which[order], values.ravel()[order])


def judgements(
    people: int = 30, items: int = 428, total: int = 526, *, seed: int = 0
) -> list[Judgement]:
    """A study in which `total` - `items` judgements are of an item that somebody else has.

    Nine items in ten are forks of the four types at k = 1 to 4, in five workflows.
    """
    rng = np.random.default_rng(seed)
    second = rng.choice(items, total - items, replace=False)
    turns = [(i % people, i) for i in range(items)]
    turns += [((i + 1 + n % (people - 1)) % people, int(i)) for n, i in enumerate(second)]
    return [_judged(rng, person, item) for person, item in turns]


def _judged(rng: np.random.Generator, person: int, item: int) -> Judgement:
    fork = item % 10 != 0
    # Neighbouring items of one person, `people` apart, walk through types and positions.
    k = item // 7 % 4 + 1 if fork else 0
    at = 2 * k + item % 3 if fork else 0
    said = str(rng.choice(["yes", "partly", "no"], p=[0.7, 0.2, 0.1]))
    rating = int(np.clip(18 * k + rng.normal(0, 12), 0, 100)) if fork else 94
    return Judgement(
        person=f"p{person:02}",
        item=f"i{item:05}",
        workflow=f"w{item % 5}",
        is_foil=not fork or item % 2 == 0,
        type=TYPES[item // 3 % 4] if fork else "",
        k=k,
        fork=at,
        rating=rating,
        confirmed=said,
        onset=int(at + rng.choice([-1, 0, 0, 0, 1, 2])) if said != "no" else None,
        prefix=str(rng.choice(["yes", "mostly", "no"], p=[0.8, 0.15, 0.05])) if at > 1 else None,
    )
