"""Distances between two dialogues (DialFork, task 2), one pair at a time and in batches.

A distance is 0 for equal dialogues and grows with the deviation. The first of a pair is the source
(conformant), the second the fork. Roles are data, so any role may match any role unless asked
otherwise. Batches share the work on a source over its forks: one matrix product per source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from scoring.discounted_alignment import (
    discounted_alignment,
    discounted_alignment_pairs,
    soft_lcs,
    soft_lcs_pairs,
)
from scoring.time_warping import dtw_pairs, dtw_path_pairs, flow_dtw
from scoring.turn_vectors import (
    Block,
    DialogueVectors,
    Distance,
    Floats,
    Pair,
    Pairs,
    cosine_distance,
    one_thread,
    scored_turns,
    similarity_blocks,
    snapped,
)

__all__ = [
    "METHODS",
    "WITH_THETA",
    "DialogueVectors",
    "Distance",
    "cosine_distance",
    "discounted_alignment",
    "discounted_alignment_pairs",
    "dtw_pairs",
    "dtw_path_pairs",
    "flow_dtw",
    "flow_score",
    "flow_score_pairs",
    "full_pairs",
    "mean_pairs",
    "random_pairs",
    "scored_turns",
    "shared_prefix_pairs",
    "soft_lcs",
    "soft_lcs_pairs",
    "turn_difference_pairs",
    "word_difference_pairs",
]


# -- FlowScore ---------------------------------------------------------------------------------


def flow_score(
    a: DialogueVectors,
    b: DialogueVectors,
    *,
    matching: str = "greedy",
    same_role: bool = False,
) -> Distance:
    """1 - F of turn-level maximum matching by cosine (DialFork, task 2); turn order is not used.

    P is the mean over turns of `b`, R over turns of `a`, of the best cosine ("greedy") or of the
    cosine under the best one-to-one assignment ("assignment": a turn left over counts 0). With
    `same_role` a turn matches turns of its own role only, else counts 0. F is 0 where P or R is
    not positive. Two empty dialogues: 0; one empty: 1. `detail` holds `precision`, `recall`, `f`
    and the matching: `source` and `fork`, for each turn of `a` and of `b` its partner in the other
    dialogue (from 0) and their cosine, or None for a turn without one.
    """
    found = flow_score_pairs([(a, b)], matching=matching, same_role=same_role)[0]
    sides = _partners(a, b, matching, same_role)
    return found._replace(detail={**found.detail, **sides})


def flow_score_pairs(
    pairs: Pairs, *, matching: str = "greedy", same_role: bool = False
) -> list[Distance]:
    """`flow_score` of many pairs; pairs with one source object share one matrix product."""
    if matching not in ("greedy", "assignment"):
        raise ValueError(f"matching is {matching!r}; it must be 'greedy' or 'assignment'")
    found = [_without_turns(pair) for pair in pairs]
    with one_thread():
        best = _greedy if matching == "greedy" else _assigned
        places, precisions, recalls = best(pairs, same_role)
    scores = _harmonic(precisions, recalls)
    parts = (side.tolist() for side in (1.0 - scores, precisions, recalls, scores))
    for place, value, p, r, f in zip(places, *parts, strict=True):
        found[place] = Distance(value, "", {"precision": p, "recall": r, "f": f})
    return found


NEITHER = Distance(0.0, "", {"precision": 1.0, "recall": 1.0, "f": 1.0})
ONE_ONLY = Distance(1.0, "", {"precision": 0.0, "recall": 0.0, "f": 0.0})


def _without_turns(pair: Pair) -> Distance:
    return ONE_ONLY if pair[0].roles or pair[1].roles else NEITHER


def _harmonic(precisions: Floats, recalls: Floats) -> Floats:
    positive = (precisions > 0) & (recalls > 0)
    total = np.where(positive, precisions + recalls, 1.0)
    return np.minimum(np.where(positive, 2 * precisions * recalls / total, 0.0), 1.0)


Matched = tuple[list[int], Floats, Floats]


def _greedy(pairs: Pairs, same_role: bool) -> Matched:
    """Places, P and R of the pairs with two sides; per source only the maxima are taken."""
    places: list[int] = []
    of_forks, of_source, lengths, sizes = [], [], [], []
    for block in similarity_blocks(pairs):
        likeness = block.cosines
        if same_role:
            likeness = np.where(_role_mask(pairs, block), likeness, -np.inf)
        places += block.places
        of_forks.append(np.maximum.reduce(likeness, axis=1))
        of_source.append(np.maximum.reduceat(likeness, block.starts, axis=0).ravel())
        lengths.append(block.lengths)
        sizes.append(np.full(len(block.places), likeness.shape[1]))
    return places, _means(of_forks, lengths), _means(of_source, sizes)


def _means(maxima: list[Floats], lengths: list[NDArray[np.intp]]) -> Floats:
    """Means of consecutive stretches of the maxima."""
    if not maxima:
        return np.zeros(0)
    values = snapped(np.concatenate(maxima))
    # A turn without a partner of its role counts 0.
    values[np.isneginf(values)] = 0.0
    sizes = np.concatenate(lengths)
    return np.asarray(np.add.reduceat(values, np.cumsum(sizes) - sizes) / sizes)


def _assigned(pairs: Pairs, same_role: bool) -> Matched:
    """Places, P and R under the best one-to-one assignment of each pair with two sides."""
    places: list[int] = []
    precisions, recalls = [], []
    for block in similarity_blocks(pairs):
        likeness = snapped(block.cosines)
        if same_role:
            likeness = np.where(_role_mask(pairs, block), likeness, 0.0)
        for place, start, length in zip(block.places, block.starts, block.lengths, strict=True):
            part = likeness[start : start + length]
            total = float(part[linear_sum_assignment(part, maximize=True)].sum())
            places.append(place)
            precisions.append(total / length)
            recalls.append(total / part.shape[1])
    return places, np.array(precisions), np.array(recalls)


Partner = tuple[int, float] | None


def _partners(
    a: DialogueVectors, b: DialogueVectors, matching: str, same_role: bool
) -> dict[str, list[Partner]]:
    """Who is matched with whom, for the turns of both sides."""
    source: list[Partner] = [None] * len(a.roles)
    fork: list[Partner] = [None] * len(b.roles)
    for block in similarity_blocks([(a, b)]):
        likeness = snapped(block.cosines)
        allowed = np.ones(likeness.shape, dtype=bool)
        if same_role:
            allowed = _role_mask([(a, b)], block)
        if matching == "assignment":
            likeness = np.where(allowed, likeness, 0.0)
            both = linear_sum_assignment(likeness, maximize=True)
            for j, i in zip(*(side.tolist() for side in both), strict=True):
                if allowed[j, i]:
                    source[i], fork[j] = (j, float(likeness[j, i])), (i, float(likeness[j, i]))
        else:
            masked = np.where(allowed, likeness, -np.inf)
            fork = _best(masked)
            source = _best(masked.T)
    return {"source": source, "fork": fork}


def _best(likeness: Floats) -> list[Partner]:
    """The best column of each row, None where none is allowed; of equal ones the first."""
    places = likeness.argmax(axis=1).tolist()
    best = likeness.max(axis=1).tolist()
    return [None if np.isneginf(c) else (i, c) for i, c in zip(places, best, strict=True)]


def _role_mask(pairs: Pairs, block: Block) -> NDArray[np.bool_]:
    columns = np.array(pairs[block.places[0]][0].roles, dtype=object)
    rows = np.array([role for i in block.places for role in pairs[i][1].roles], dtype=object)
    return rows[:, None] == columns[None, :]


# -- Mean, Full and the controls ---------------------------------------------------------------


def mean_pairs(pairs: Pairs) -> list[Distance]:
    """1 - cos of the plain means of the turn vectors; 1 for no turn or a zero mean."""
    means: dict[int, Floats | None] = {}
    for dialogue in (d for pair in pairs for d in pair):
        if id(dialogue) not in means:
            rows = np.asarray(dialogue.vectors, dtype=np.float64)
            means[id(dialogue)] = rows.mean(axis=0) if len(rows) else None
    found = []
    for a, b in pairs:
        x, y = means[id(a)], means[id(b)]
        found.append(Distance(1.0 if x is None or y is None else cosine_distance(x, y)))
    return found


def full_pairs(pairs: Pairs) -> list[Distance]:
    """1 - cos of the vectors of the whole texts; undefined where a dialogue was given none."""
    return [
        Distance(None, "no_vector_of_the_whole_dialogue")
        if a.full is None or b.full is None
        else Distance(cosine_distance(a.full, b.full))
        for a, b in pairs
    ]


def shared_prefix_pairs(pairs: Pairs) -> list[Distance]:
    """1 - (leading turns equal in role and stripped text) / (turns of the longer dialogue)."""
    return [_shared_prefix(a, b) for a, b in pairs]


def _shared_prefix(a: DialogueVectors, b: DialogueVectors) -> Distance:
    shared = 0
    for role, other, text, other_text in zip(a.roles, b.roles, a.texts, b.texts, strict=False):
        if role != other or text.strip() != other_text.strip():
            break
        shared += 1
    longest = max(len(a.roles), len(b.roles))
    return Distance(1.0 - shared / longest if longest else 0.0, detail={"shared": shared})


def turn_difference_pairs(pairs: Pairs) -> list[Distance]:
    """Absolute difference of the numbers of scored turns."""
    return [Distance(float(abs(len(a.roles) - len(b.roles)))) for a, b in pairs]


def word_difference_pairs(pairs: Pairs) -> list[Distance]:
    """Absolute difference of the numbers of words, parted by white space."""
    return [Distance(float(abs(_words(a) - _words(b)))) for a, b in pairs]


def _words(dialogue: DialogueVectors) -> int:
    return sum(len(text.split()) for text in dialogue.texts)


def random_pairs(pairs: Pairs, *, seed: int = 0) -> list[Distance]:
    """A number in [0, 1) drawn from the seed and the two texts: the same in any batch."""
    return [Distance(_drawn(seed, a, b)) for a, b in pairs]


def _drawn(seed: int, a: DialogueVectors, b: DialogueVectors) -> float:
    said = "\x1e".join([str(seed), *a.texts, "\x1d", *b.texts])
    digest = hashlib.sha256(said.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") / 2.0**64


METHODS: dict[str, Callable[..., list[Distance]]] = {
    "flow_score": flow_score_pairs,
    "mean": mean_pairs,
    "flow_dtw": dtw_pairs,
    "discounted_alignment": discounted_alignment_pairs,
    "soft_lcs": soft_lcs_pairs,
    "full": full_pairs,
    "shared_prefix": shared_prefix_pairs,
    "turn_difference": turn_difference_pairs,
    "word_difference": word_difference_pairs,
    "random": random_pairs,
}
# Methods with an argument `theta`, measured on conformant dialogues of the workflow.
WITH_THETA = frozenset({"discounted_alignment", "soft_lcs"})
