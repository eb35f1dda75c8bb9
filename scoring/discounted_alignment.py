"""Order-aware distance from a dialogue to its fork: discounted alignment and soft common turns.

FlowScore does not see the order of turns. Here the turns of both dialogues are matched in order,
and softly: cosines below `theta`, what unrelated turns of one workflow have in common, count
nothing. Every turn left out on the way multiplies what is matched later by `discount`, so that an
early departure costs more than a late one. That is the benchmark's own premise (an earlier fork is
farther away) put into the distance; with `discount` 1 it is a soft longest common subsequence and
assumes nothing of the kind.

With s_ij the match of turn i of the source and turn j of the fork, and g the discount, from the
last turns backwards,

    H_ij = max(s_ij + (g + (1 - g) s_ij) H_i+1,j+1,  g H_i+1,j,  g H_i,j+1)

and the distance is 1 - H_11 / n, n the turns of the source.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scoring.estimates import Estimate, undefined
from scoring.turn_grids import Grid, diagonals, grids
from scoring.turn_vectors import (
    SCORED_ROLES,
    DialogueVectors,
    Distance,
    Floats,
    Pair,
    Pairs,
)

DISCOUNT = 0.9
THETA_PAIRS = 4000
ALIKE = 0.999
ROUNDING = 1e-12


# -- distances ---------------------------------------------------------------------------------


def discounted_alignment(
    a: DialogueVectors, b: DialogueVectors, *, theta: float, discount: float = DISCOUNT
) -> Distance:
    """Discounted alignment of one pair; `a` is the source, the distance is directed.

    `theta` in [-1, 1) is the cosine at and below which two turns do not match (see `theta_of`),
    `discount` in [0, 1] the factor per turn left out. `detail` holds `matched` (H_11) and
    `alignment`, the matched turns as (turn of a, turn of b, match) from 0, matches in (0, 1].
    The distance lies in [0, 1]; it is 0 for equal dialogues and where `b` goes on after `a`.
    Two empty dialogues: 0; one empty: 1.
    """
    return _distances([(a, b)], theta, discount, aligned=True)[0]


def discounted_alignment_pairs(
    pairs: Pairs, *, theta: float, discount: float = DISCOUNT
) -> list[Distance]:
    """`discounted_alignment` of many pairs, without the alignments."""
    return _distances(pairs, theta, discount)


def soft_lcs(a: DialogueVectors, b: DialogueVectors, *, theta: float) -> Distance:
    """1 - 2 H / (n + m) of the soft longest common subsequence (discount 1), with its alignment.

    Symmetric and in [0, 1]. Turns added anywhere count as much as turns lost.
    """
    return _distances([(a, b)], theta, 1.0, symmetric=True, aligned=True)[0]


def soft_lcs_pairs(pairs: Pairs, *, theta: float) -> list[Distance]:
    """`soft_lcs` of many pairs, without the alignments."""
    return _distances(pairs, theta, 1.0, symmetric=True)


def _distances(
    pairs: Pairs, theta: float, discount: float, *, symmetric: bool = False, aligned: bool = False
) -> list[Distance]:
    _checked(theta, discount)
    found = [_empty(pair) for pair in pairs]
    codes = _RoleCodes()
    for grid in grids(pairs, backwards=True):
        match = _matches(pairs, grid, theta, codes)
        total = _accumulated(match, discount)
        best = total[grid.rows, grid.columns, np.arange(len(grid.places))]
        size = (grid.rows + grid.columns) / 2 if symmetric else grid.rows
        values = np.clip(1.0 - best / size, 0.0, 1.0)
        for place, value, h in zip(
            grid.places.tolist(), values.tolist(), best.tolist(), strict=True
        ):
            found[place] = Distance(value, detail={"matched": h})
        if aligned:
            for b, place in enumerate(grid.places.tolist()):
                corner = match[-grid.rows[b] :, -grid.columns[b] :, b]
                path = _alignment(corner, total[:, :, b], discount)
                found[place] = Distance(
                    found[place].value, detail={**found[place].detail, "alignment": path}
                )
    return found


def _checked(theta: float, discount: float) -> None:
    if not -1 <= theta < 1:
        raise ValueError(f"theta is {theta}; it must be at least -1 and below 1")
    if not 0 <= discount <= 1:
        raise ValueError(f"discount is {discount}; it must lie between 0 and 1")


def _empty(pair: Pair) -> Distance:
    return Distance(1.0 if pair[0].roles or pair[1].roles else 0.0, detail={"matched": 0.0})


class _RoleCodes:
    """Roles as numbers; dialogues with the same roles in turn are looked up, not read again."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._known: dict[tuple[str, ...], NDArray[np.int8]] = {}

    def of(self, roles: tuple[str, ...]) -> NDArray[np.int8]:
        found = self._known.get(roles)
        if found is None:
            numbers = [self._numbers.setdefault(role, len(self._numbers)) for role in roles]
            found = self._known[roles] = np.array(numbers, dtype=np.int8)
        return found

    def ending_together(self, said: Sequence[tuple[str, ...]], size: int) -> NDArray[np.int8]:
        """One column per dialogue, shape (size, B); -1 before a dialogue begins."""
        rows = np.full((len(said), size), -1, dtype=np.int8)
        for row, roles in zip(rows, said, strict=True):
            row[size - len(roles) :] = self.of(roles)
        return np.ascontiguousarray(rows.T)


def _matches(pairs: Pairs, grid: Grid, theta: float, codes: _RoleCodes) -> Floats:
    """s_ij of a grid, shape (N, M, B): 0 between roles. The grid's cosines are overwritten."""
    match = grid.cosines
    match -= theta
    match /= 1.0 - theta
    np.clip(match, 0.0, 1.0, out=match)
    sides = [
        codes.ending_together([pairs[place][side].roles for place in grid.places.tolist()], size)
        for side, size in enumerate(match.shape[:2])
    ]
    match *= sides[0][:, None, :] == sides[1][None, :, :]
    return match


def _accumulated(match: Floats, discount: float) -> Floats:
    """H from the last turns on: shape (N, M, B) to (N + 1, M + 1, B).

    Place (i, j) of the answer is about the last i turns of the source and the last j of the fork.
    """
    rows, columns, batch = match.shape
    total = np.zeros(((rows + 1) * (columns + 1), batch))
    # Both axes read from their end, at once and without a copy.
    flat = match.reshape(rows * columns, batch)[::-1]
    room = np.empty((2, min(rows, columns), batch))
    for at in diagonals(rows, columns):
        cells, matched = total[at.cells], flat[at.inner]
        kept, gap = room[:, : len(cells)]
        np.multiply(matched, 1.0 - discount, out=kept)
        kept += discount
        kept *= total[at.before]
        kept += matched
        np.maximum(total[at.above], total[at.left], out=gap)
        gap *= discount
        np.maximum(kept, gap, out=cells)
    return total.reshape(rows + 1, columns + 1, batch)


def _alignment(match: Floats, total: Floats, discount: float) -> list[tuple[int, int, float]]:
    """The matched turns of one pair, first turns first; of equal ways the one that matches."""
    n, m = match.shape
    i, j = n, m
    found = []
    while i and j:
        s = float(match[n - i, m - j])
        through = s + (discount + (1 - discount) * s) * total[i - 1, j - 1]
        if through >= total[i, j] - ROUNDING:
            if s > 0:
                found.append((n - i, m - j, s))
            i, j = i - 1, j - 1
        elif total[i - 1, j] >= total[i, j - 1]:
            i -= 1
        else:
            j -= 1
    return found


# -- theta -------------------------------------------------------------------------------------


def theta_of(
    dialogues: Sequence[DialogueVectors], *, seed: int = 0, pairs: int = THETA_PAIRS
) -> Estimate:
    """What unrelated turns of one workflow have in common, measured on its conformant dialogues.

    The mean cosine of turns of one role from different dialogues, over `pairs` seeded pairs per
    role, averaged over the roles. Order the dialogues: the draw depends on it. Undefined where no
    role is spoken in two dialogues. Not above 0.999: beyond it nothing could match at all.
    `n` counts pairs; `detail` holds the roles' means, `dialogues`, `seed`, and `pairs` per role.
    """
    rng = np.random.default_rng(seed)
    means: dict[str, float] = {}
    for role in SCORED_ROLES:
        rows, owners = _said_by(dialogues, role)
        if len(set(owners.tolist())) > 1:
            left, right = _drawn_pairs(owners, pairs, rng)
            means[role] = float(np.vecdot(rows[left], rows[right]).mean())
    detail = {"dialogues": len(dialogues), "pairs": pairs, "seed": seed, "roles": means}
    if not means:
        return undefined("no_two_training_dialogues_with_turns_of_one_role", **detail)
    value = min(float(np.mean(list(means.values()))), ALIKE)
    return Estimate(value, n=pairs * len(means), detail=detail)


def _said_by(dialogues: Sequence[DialogueVectors], role: str) -> tuple[Floats, NDArray[np.intp]]:
    """Unit rows of the turns of a role, and the place of the dialogue each is from."""
    places = [[i for i, said in enumerate(d.roles) if said == role] for d in dialogues]
    owners = np.repeat(np.arange(len(dialogues)), [len(found) for found in places])
    if not len(owners):
        return np.zeros((0, 0)), owners
    rows = np.concatenate(
        [
            np.asarray(d.vectors[at], np.float64)
            for d, at in zip(dialogues, places, strict=True)
            if at
        ]
    )
    lengths = np.sqrt(np.vecdot(rows, rows))
    lengths[lengths == 0] = 1.0
    return rows / lengths[:, None], owners


def _drawn_pairs(
    owners: NDArray[np.intp], pairs: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Places of turns from different dialogues: the first uniform, the second among the others."""
    starts = np.searchsorted(owners, owners, side="left")
    own = np.searchsorted(owners, owners, side="right") - starts
    left = rng.integers(0, len(owners), pairs)
    right = rng.integers(0, len(owners) - own[left])
    return left, right + np.where(right >= starts[left], own[left], 0)
