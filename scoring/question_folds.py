"""Folds that never part a question: what is trained on has not seen the question it is tested on.

Runs of several models answer the same questions (Trajel, section 5), so folds over single runs
would leak the question from training into the test.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray


def question_groups(names: Sequence[tuple[str, str, str, str]]) -> list[str]:
    """The group of every run, from (corpus, external id, question, task text) of each.

    Runs are of one group when they share the question of a corpus or, in any corpus, the words of
    the task (blanks and case aside), directly or through others. A run with neither is its own
    group. A group is named by the least of its members' "corpus/external id", so that names do not
    hang on the order.
    """
    parent = list(range(len(names)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    first: dict[Hashable, int] = {}
    for place, (corpus, _, question, task) in enumerate(names):
        words = " ".join(task.split()).casefold()
        for mark in (("question", corpus, question) if question else None, words or None):
            if mark is not None:
                parent[root(place)] = root(first.setdefault(mark, place))
    least: dict[int, str] = {}
    for place, (corpus, external_id, *_) in enumerate(names):
        name = f"{corpus}/{external_id}"
        least[root(place)] = min(least.get(root(place), name), name)
    return [least[root(place)] for place in range(len(names))]


def folds_of(
    groups: Sequence[str], positive: Sequence[bool], *, folds: int, seed: int = 0
) -> NDArray[np.intp]:
    """The fold (from 0) of every run: whole groups, with positives and runs spread evenly.

    Groups with most positives are dealt first, each to the fold that has fewest; equal ones in an
    order drawn by `seed` from their names. So the deal does not hang on the order of the runs.
    There are no more folds than groups. Raises ValueError for fewer than two folds or groups.
    """
    if folds < 2:
        raise ValueError(f"folds is {folds}; it must be at least 2")
    counts: dict[str, list[int]] = {}
    for group, yes in zip(groups, positive, strict=True):
        held = counts.setdefault(group, [0, 0])
        held[0] += bool(yes)
        held[1] += 1
    if len(counts) < 2:
        raise ValueError(
            f"There is only {len(counts)} question; training and testing on different questions "
            "needs two."
        )
    dealt = _dealt(counts, min(folds, len(counts)), seed)
    return np.array([dealt[group] for group in groups], dtype=np.intp)


def _dealt(counts: Mapping[str, Sequence[int]], folds: int, seed: int) -> dict[str, int]:
    def drawn(name: str) -> str:
        return hashlib.sha256(f"{seed}/{name}".encode()).hexdigest()

    order = sorted(counts, key=lambda name: (-counts[name][0], -counts[name][1], drawn(name)))
    positives, runs = [0] * folds, [0] * folds
    found = {}
    for name in order:
        yes, n = counts[name]
        load = (lambda f: (positives[f], runs[f], f)) if yes else (lambda f: (runs[f], f))
        fold = min(range(folds), key=load)
        positives[fold] += yes
        runs[fold] += n
        found[name] = fold
    return found
