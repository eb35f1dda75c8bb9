"""Task 1 on one workflow: every set of forks (type, k) against the conformant set, by any method.

The conformant set are the sources of the forks. FlowKL's graph is fitted on that same set and its
dialogues are scored in sample, as the published tool does: a reference likelihood is therefore a
little higher than that of unseen conformant dialogues, alike for all four k of a type.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from scoring.estimates import Estimate, undefined
from scoring.flow_graphs import FlowGraph, fit
from scoring.flow_tables import FlowTable
from scoring.set_distances import (
    flow_kl,
    flow_kl_compat,
    flow_kl_rows,
    frechet,
    gaussian,
    pair_vectors,
    prd,
)
from scoring.set_resampling import Distances, Values, resampled_taus
from scoring.turn_vectors import DialogueVectors

Key = tuple[str, int]


class Member(NamedTuple):
    """A dialogue of a set with the source it goes back to; a conformant one is its own source."""

    source: int
    dialogue: DialogueVectors


@dataclass(frozen=True, eq=False)
class MeasuredSets:
    """`distances` by (type, k). Methods that score dialogues one by one also give `reference` and
    `candidates`, estimates in the order of the members, and `taus`: Kendall's tau of each type
    where the sources are resampled (see `set_resampling`). `graph` is the flow graph, if any.
    """

    distances: Mapping[Key, Estimate]
    reference: Sequence[Estimate] = ()
    candidates: Mapping[Key, Sequence[Estimate]] = field(default_factory=dict)
    taus: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    graph: FlowGraph | None = None


Sets = Mapping[Key, Sequence[Member]]
Settings = Mapping[str, Any]
Scorer = Callable[[Sequence[DialogueVectors]], Sequence[Estimate]]


class Given(NamedTuple):
    """What a method gets: one workflow's sets, and the seed of the resampling."""

    workflow: str
    reference: Sequence[Member]
    sets: Sets
    seed: int

    def dialogues(self) -> list[DialogueVectors]:
        """The conformant ones."""
        return [member.dialogue for member in self.reference]


def measure(
    method: str,
    settings: Settings,
    workflow: str,
    reference: Sequence[Member],
    sets: Sets,
    *,
    seed: int = 0,
) -> MeasuredSets:
    """Distances of `sets` from `reference` by a method of `METHODS`; `seed` is of the resampling.

    Dialogues without a scored turn are left out and counted in the detail. Raises ValueError for a
    method that does not exist.
    """
    if method not in METHODS:
        raise ValueError(f"method is {method!r}; it must be one of {', '.join(METHODS)}")
    return METHODS[method](settings, Given(workflow, reference, sets, seed))


# -- sets of turn pairs ------------------------------------------------------------------------


def _fbd(settings: Settings, given: Given) -> MeasuredSets:
    known = gaussian(_pairs(given.reference, settings))
    found = {key: frechet(known, _pairs(members, settings)) for key, members in given.sets.items()}
    return MeasuredSets(_described(found, given))


def _prd(settings: Settings, given: Given) -> MeasuredSets:
    known = _pairs(given.reference, settings)
    drawn = {
        "clusters": settings["clusters"],
        "runs": settings["rounds"],
        "seed": settings["seed"],
    }
    found = {
        key: prd(known, _pairs(members, settings), **drawn) for key, members in given.sets.items()
    }
    return MeasuredSets(_described(found, given))


def _pairs(members: Sequence[Member], settings: Settings) -> Any:
    return pair_vectors([member.dialogue for member in members], pairs=settings["pairs"])


# -- one value per dialogue --------------------------------------------------------------------


def _flow_kl(settings: Settings, given: Given) -> MeasuredSets:
    graph = fit(given.dialogues(), threshold=settings["threshold"])
    return _by_value(given, FlowTable(graph).scores, flow_kl, flow_kl_rows, graph)


def _flow_kl_compat(settings: Settings, given: Given) -> MeasuredSets:
    graph = fit(given.dialogues(), threshold=settings["threshold"], compat="sdialog")
    table = FlowTable(graph)

    def scored(members: Sequence[DialogueVectors]) -> Sequence[Estimate]:
        return table.scores(members, node_confidence=True)

    return _by_value(given, scored, flow_kl_compat, None, graph)


def _turn_count(settings: Settings, given: Given) -> MeasuredSets:
    return _by_value(given, _turns, _apart, count_differences)


def _word_count(settings: Settings, given: Given) -> MeasuredSets:
    return _by_value(given, _words, _apart, count_differences)


def _turns(dialogues: Sequence[DialogueVectors]) -> list[Estimate]:
    """The number of scored turns of each dialogue."""
    return [_counted(len(d.roles), d) for d in dialogues]


def _words(dialogues: Sequence[DialogueVectors]) -> list[Estimate]:
    """The number of words of each dialogue's scored turns, parted by white space."""
    return [_counted(sum(len(text.split()) for text in d.texts), d) for d in dialogues]


def _counted(count: int, dialogue: DialogueVectors) -> Estimate:
    turns = len(dialogue.roles)
    return Estimate(float(count), n=turns) if turns else undefined("no_scored_turn")


def _apart(reference: Sequence[float], candidate: Sequence[float]) -> Estimate:
    """Absolute difference of the means of two sets of counts."""
    n = len(reference) + len(candidate)
    if not len(reference) or not len(candidate):
        return undefined("no_observations", n=n)
    return Estimate(abs(float(np.mean(candidate)) - float(np.mean(reference))), n=n)


def count_differences(reference: Any, candidate: Any) -> Any:
    """Absolute difference of the means of each row of two arrays; NaN is a missing count."""
    sides = [np.asarray(side, dtype=np.float64) for side in (reference, candidate)]
    sums = [np.nansum(side, axis=1) for side in sides]
    n = [(~np.isnan(side)).sum(axis=1) for side in sides]
    there = (n[0] > 0) & (n[1] > 0)
    means = [total / np.maximum(count, 1) for total, count in zip(sums, n, strict=True)]
    return np.where(there, np.abs(means[1] - means[0]), np.nan)


def _by_value(
    given: Given,
    scored: Scorer,
    distance: Callable[..., Estimate],
    rows: Distances | None,
    graph: FlowGraph | None = None,
) -> MeasuredSets:
    """The distances of sets of values, one value per dialogue; `rows` measures many resamples."""
    reference, sets = given.reference, given.sets
    known = scored(given.dialogues())
    others = {key: scored([m.dialogue for m in members]) for key, members in sets.items()}
    defined = _defined(known)
    found = {key: distance(defined, _defined(values)) for key, values in others.items()}
    taus = {}
    if rows is not None:
        values = Values(
            {m.source: v.value for m, v in zip(reference, known, strict=True)},
            {
                key: [(m.source, v.value) for m, v in zip(sets[key], each, strict=True)]
                for key, each in others.items()
            },
        )
        taus = resampled_taus(rows, values, name=given.workflow, seed=given.seed)
    return MeasuredSets(_described(found, given, known, others), known, others, taus, graph)


def _defined(values: Sequence[Estimate]) -> list[float]:
    return [each.value for each in values if each.value is not None]


# -- chance ------------------------------------------------------------------------------------


def _random(settings: Settings, given: Given) -> MeasuredSets:
    """A number in [0, 1) drawn from the seed and the names: the same in any order of scoring."""
    found = {}
    for type_, k in given.sets:
        words = "\x1e".join([str(settings["seed"]), given.workflow, type_, str(k)])
        digest = hashlib.sha256(words.encode("utf-8", "surrogatepass")).digest()
        found[type_, k] = Estimate(int.from_bytes(digest[:8], "big") / 2.0**64)
    return MeasuredSets(_described(found, given))


def _described(
    found: Mapping[Key, Estimate],
    given: Given,
    known: Sequence[Estimate] = (),
    others: Mapping[Key, Sequence[Estimate]] | None = None,
) -> dict[Key, Estimate]:
    """The distances with the sizes of both sets, and the dialogues left out by reason."""
    described = {}
    for key, estimate in found.items():
        detail: dict[str, Any] = {
            "reference": len(given.reference),
            "candidates": len(given.sets[key]),
        }
        if known:
            left_out = Counter(v.reason for v in (*known, *(others or {}).get(key, ())) if v.reason)
            detail["left_out"] = dict(sorted(left_out.items()))
        described[key] = Estimate(
            estimate.value, estimate.reason, n=estimate.n, detail={**detail, **estimate.detail}
        )
    return described


METHODS: dict[str, Callable[[Settings, Given], MeasuredSets]] = {
    "fbd": _fbd,
    "prd": _prd,
    "flow_kl": _flow_kl,
    "flow_kl_compat": _flow_kl_compat,
    "turn_count": _turn_count,
    "word_count": _word_count,
    "random": _random,
}
