"""The judgements of a fork study, summed up by its four questions and by how far people agree.

RQ1: do earlier forks look worse to a blind eye? RQ2: is the instruction recognised, and a foil
not? RQ3: is the fork turn found? RQ4: was the conversation sound before it? (DialFork, human
study.) Every figure is an estimate with its n; where it is undefined it carries the reason.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from annotation.agreement_summary import agreement
from annotation.design import POSITIONS, TYPES
from annotation.judgement_rows import CONFORMANT, Judgement
from annotation.study_statistics import (
    confirmation_rate,
    mean_rating_by_position,
    onset_agreement,
    prefix_rate,
    superiority_within_groups,
    tau_b_within_groups,
)
from scoring.estimates import Estimate, undefined
from scoring.rankings import kendall_tau_b
from scoring.resampling import cluster_bootstrap_ci

__all__ = ["Judgement", "as_json", "rating_order", "recognition", "summarise"]
RESAMPLES = 1000
# The types that break the workflow. A side goal (CSC) keeps every part of it.
BREAKING = ("WIC", "SSPC", "GR")
Rows = Sequence[tuple[str, int, int | None]]


def summarise(judgements: Sequence[Judgement], *, seed: int = 0) -> dict[str, Any]:
    """All statistics of one group of judges as `Estimate`s in nested dictionaries."""
    return {
        "rq1": rating_order(judgements, seed=seed),
        "rq2": recognition(judgements),
        "rq3": onsets(judgements),
        "rq4": prefixes(judgements),
        "agreement": agreement(judgements, seed=seed),
    }


def rating_order(judgements: Sequence[Judgement], *, seed: int = 0) -> dict[str, Any]:
    """RQ1: mean blind rating per type and k; tau-b and superiority of rating against k.

    Over all types, and over those that break the workflow ("breaking"), positions are compared
    within a person and a workflow; a type alone has one fork per position and person, so it groups
    by person.
    """
    forks = [j for j in judgements if j.type]
    breaking = [j for j in forks if j.type in BREAKING]
    conformant = [(j.person, CONFORMANT, j.rating) for j in judgements if not j.type]
    by_person = {t: _by_position(j for j in forks if j.type == t) for t in TYPES}
    anchor = mean_rating_by_position(conformant, seed=seed, resamples=RESAMPLES)
    return {
        "mean_by_k": _means(_by_position(forks), seed),
        "mean_breaking": _means(_by_position(breaking), seed),
        "conformant": anchor.get(CONFORMANT, undefined("no_observations")),
        "mean_by_type": {t: _means(by_person[t], seed) for t in TYPES},
        "tau": _tau(_by_task(forks), seed, person_of=_person),
        "tau_breaking": _tau(_by_task(breaking), seed, person_of=_person),
        "tau_by_type": {t: _tau(by_person[t], seed) for t in TYPES},
        "superiority": _superiority(_by_task(forks), seed),
        "superiority_breaking": _superiority(_by_task(breaking), seed),
    }


def _by_position(judgements: Iterable[Judgement]) -> Rows:
    return [(j.person, j.k, j.rating) for j in judgements]


def _by_task(judgements: Iterable[Judgement]) -> Rows:
    return [(f"{j.person} {j.workflow}", j.k, j.rating) for j in judgements]


def _person(group: str) -> str:
    return group.split(" ")[0]


def _means(rows: Rows, seed: int) -> dict[int, Estimate]:
    found = mean_rating_by_position(rows, seed=seed, resamples=RESAMPLES)
    return {k: found.get(k, undefined("no_observations")) for k in POSITIONS}


def _tau(rows: Rows, seed: int, person_of: Callable[[str], str] = str) -> Estimate:
    """Mean tau-b of the groups, with an interval over people."""
    found = tau_b_within_groups(rows)
    if found.value is None or found.ci:
        return found
    taus: dict[str, list[float]] = defaultdict(list)
    for group, pairs in _grouped(rows).items():
        tau = kendall_tau_b(*zip(*pairs, strict=True)).value
        if tau is not None:
            taus[person_of(group)].append(tau)
    interval = cluster_bootstrap_ci(taus, seed=seed, resamples=RESAMPLES)
    reason = "" if interval.ci else interval.reason
    return Estimate(found.value, reason, n=found.n, ci=interval.ci, detail=found.detail)


def _superiority(rows: Rows, seed: int) -> Estimate:
    """Share of pairs in which the later fork is rated higher, with an interval over people."""
    found = superiority_within_groups(rows)
    if found.value is None or found.ci:
        return found
    wins: dict[str, list[float]] = defaultdict(list)
    for group, pairs in _grouped(rows).items():
        wins[_person(group)] += _wins(pairs)
    interval = cluster_bootstrap_ci(wins, seed=seed, resamples=RESAMPLES)
    reason = "" if interval.ci else interval.reason
    return Estimate(found.value, reason, n=found.n, ci=interval.ci, detail=found.detail)


def _wins(pairs: Sequence[tuple[int, int]]) -> list[float]:
    """Per two positions of a group: 1 where the later is rated higher, a half where they tie."""
    k, rating = np.array(pairs, dtype=np.float64).T
    later, earlier = np.nonzero(k[:, None] > k[None, :])
    return ((np.sign(rating[later] - rating[earlier]) + 1) / 2).tolist()


def _grouped(rows: Rows) -> dict[str, list[tuple[int, int]]]:
    groups: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for group, k, rating in rows:
        if rating is not None:
            groups[group].append((k, rating))
    return groups


def recognition(judgements: Iterable[Judgement]) -> dict[str, Any]:
    """RQ2: share who say yes or partly, to the true instruction and to foils."""
    rows = list(judgements)
    true = [j for j in rows if j.type and not j.is_foil]
    return {
        "true": confirmation_rate(j.confirmed for j in true),
        "true_by_type": {
            t: confirmation_rate(j.confirmed for j in true if j.type == t) for t in TYPES
        },
        "foil_on_fork": confirmation_rate(j.confirmed for j in rows if j.type and j.is_foil),
        "foil_on_conformant": confirmation_rate(j.confirmed for j in rows if not j.type),
    }


def onsets(judgements: Iterable[Judgement]) -> dict[str, Any]:
    """RQ3: chosen onset against the fork, on confirmed true instructions only."""
    rows = [j for j in judgements if j.type and not j.is_foil and j.onset is not None]
    differences = Counter(j.onset - j.fork for j in rows if j.onset is not None)
    return {
        "all": onset_agreement([j.onset for j in rows], [j.fork for j in rows]),
        "by_type": {
            t: onset_agreement(
                [j.onset for j in rows if j.type == t], [j.fork for j in rows if j.type == t]
            )
            for t in TYPES
        },
        "differences": dict(sorted(differences.items())),
    }


def prefixes(judgements: Iterable[Judgement]) -> dict[str, Any]:
    """RQ4: share who say that the turns before the fork followed the workflow or mostly did."""
    rows = [j for j in judgements if j.type and j.fork > 1]
    return {
        "all": prefix_rate(j.prefix for j in rows),
        "by_k": {k: prefix_rate(j.prefix for j in rows if j.k == k) for k in POSITIONS if k > 1},
    }


def as_json(value: Any) -> Any:
    """Nested results with every estimate as a dictionary; keys as text."""
    if isinstance(value, Estimate):
        return value.as_dict()
    if isinstance(value, Mapping):
        return {str(key): as_json(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(part) for part in value]
    return value
