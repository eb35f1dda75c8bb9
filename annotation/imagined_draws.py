"""Imagined answers for a whole design, many times over, in arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.design import POSITIONS, TYPES
from annotation.imagined_judges import (
    MOSTLY_OF_FOLLOWED,
    PARTLY_OF_CONFIRMED,
    Strength,
    beta_of,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Layout:
    """The judgements of a design, arrays of shape (n,), sorted by person.

    `person`, `item` and `workflow` are numbered from 0 without gaps. `type` is a place in TYPES, or
    -1 for a conformant dialogue, whose `k` and `fork` are 0. `fork` counts assistant turns from 1,
    of which the dialogue has `turns`.
    """

    person: Ints
    item: Ints
    workflow: Ints
    type: Ints
    k: Ints
    is_foil: NDArray[np.bool_]
    fork: Ints
    turns: Ints


@dataclass(frozen=True, slots=True)
class Drawn:
    """Answers of shape (draws, n).

    `confirmed` is 0 yes, 1 partly, 2 no; `prefix` 0 yes, 1 mostly, 2 no, to be read where there is
    a prefix; `onset` counts assistant turns, to be read where something was confirmed.
    """

    rating: Floats
    confirmed: Ints
    onset: Ints
    prefix: Ints


def draw_answers(layout: Layout, strength: Strength, draws: int, rng: np.random.Generator) -> Drawn:
    """`draws` studies judged by the rule of `imagined_judges`, each by people of its own."""
    source = _Source(layout, strength.alike, draws, rng)
    return Drawn(
        rating=_ratings(layout, strength, draws, rng),
        confirmed=_three(_chance(layout, strength), PARTLY_OF_CONFIRMED, source),
        onset=_onsets(layout, strength, source),
        prefix=_three(strength.followed, MOSTLY_OF_FOLLOWED, source),
    )


@dataclass(frozen=True, slots=True)
class _Source:
    """Numbers from 0 to 1: a judge's own, or with chance `alike` the one an item's judges share."""

    layout: Layout
    alike: float
    draws: int
    rng: np.random.Generator

    def next(self) -> Floats:
        """Shape (draws, n)."""
        item = self.layout.item
        common = self.rng.random((self.draws, int(item.max()) + 1))[:, item]
        own, alike = (self.rng.random(common.shape) for _ in range(2))
        return np.where(alike < self.alike, common, own)


def _ratings(layout: Layout, strength: Strength, draws: int, rng: np.random.Generator) -> Floats:
    means = np.full(len(layout.person), float(strength.conformant))
    for place, name in enumerate(TYPES):
        for k in POSITIONS:
            means[(layout.type == place) & (layout.k == k)] = strength.mean(name, k)
    leaning = rng.normal(0, strength.person, (draws, int(layout.person.max()) + 1))
    a, b = beta_of(means + leaning[:, layout.person], strength.spread)
    return np.asarray(np.round(100 * rng.beta(a, b)))


def _chance(layout: Layout, strength: Strength) -> Floats:
    chance = np.full(len(layout.person), float(strength.confirm_true))
    chance[layout.is_foil] = strength.confirm_foil
    chance[layout.type < 0] = strength.confirm_foil_conformant
    return chance


def _three(chance: float | Floats, second: float, source: _Source) -> Ints:
    """0 or 1 with `chance`, of them 1 with `second`; else 2."""
    positive = source.next() < chance
    return np.where(positive, (source.next() < second).astype(np.int64), 2)


def _onsets(layout: Layout, strength: Strength, source: _Source) -> Ints:
    offsets = strength.offsets()
    places = source.next()
    ends = np.cumsum(list(offsets.values()))[:-1]
    away = np.array(list(offsets))[np.searchsorted(ends, places, side="right")]
    anywhere = 1 + (places * layout.turns).astype(np.int64)
    near = np.clip(layout.fork + away, 1, layout.turns)
    guessed = layout.is_foil | (layout.type < 0)
    return np.where(guessed, anywhere, near)
