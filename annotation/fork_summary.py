"""The judgements of a fork study, summed up by its four questions and by how far people agree.

RQ1: do earlier forks look worse to a blind eye? RQ2: is the instruction recognised, and a foil
not? RQ3: is the fork turn found? RQ4: was the conversation sound before it? (DialFork, human
study.) Every figure is an estimate with its n; where it is undefined it carries the reason.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from annotation.agreement import cohen_kappa, gwet_ac, krippendorff_alpha, ratings_of, raw_agreement
from annotation.design import POSITIONS, TYPES
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
from scoring.resampling import bootstrap_ci, cluster_bootstrap_ci

CONFIRMATIONS = ("yes", "partly", "no")
PREFIXES = ("yes", "mostly", "no")
CONFORMANT = "conformant"
RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Judgement:
    """One assignment as far as it was answered; None where there is no answer.

    `type` is "" and `k` and `fork` are 0 for a conformant dialogue. `fork` and `onset` count
    assistant turns from 1.
    """

    person: str
    item: str
    workflow: str
    is_foil: bool
    type: str = ""
    k: int = 0
    fork: int = 0
    rating: int | None = None
    confirmed: str | None = None
    onset: int | None = None
    prefix: str | None = None


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

    "all" groups by person and workflow, within which positions are compared; a type alone has one
    fork per position and person, so it groups by person.
    """
    forks = [j for j in judgements if j.type]
    rated = [(j.person, j.k if j.type else CONFORMANT, j.rating) for j in judgements]
    by_task = [(f"{j.person} {j.workflow}", j.k, j.rating) for j in forks]
    by_person = {t: [(j.person, j.k, j.rating) for j in forks if j.type == t] for t in TYPES}
    means = mean_rating_by_position(rated, seed=seed, resamples=RESAMPLES)
    nothing = undefined("no_observations")
    return {
        "mean_by_k": {k: means.get(k, nothing) for k in POSITIONS},
        "conformant": means.get(CONFORMANT, nothing),
        "mean_by_type": {t: _means(by_person[t], seed) for t in TYPES},
        "tau": _tau(by_task, seed, person_of=lambda group: group.split(" ")[0]),
        "tau_by_type": {t: _tau(by_person[t], seed) for t in TYPES},
        "superiority": _superiority(by_task, seed),
    }


def _means(rows: Sequence[tuple[str, int, int | None]], seed: int) -> dict[int, Estimate]:
    found = mean_rating_by_position(rows, seed=seed, resamples=RESAMPLES)
    return {k: found.get(k, undefined("no_observations")) for k in POSITIONS}


def _tau(
    rows: Sequence[tuple[str, int, int | None]],
    seed: int,
    person_of: Callable[[str], str] = str,
) -> Estimate:
    """Mean tau-b of the groups, with an interval over people."""
    found = tau_b_within_groups(rows)
    if found.value is None:
        return found
    groups: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for group, k, rating in rows:
        if rating is not None:
            groups[group].append((k, rating))
    taus: dict[str, list[float]] = defaultdict(list)
    for group, pairs in groups.items():
        tau = kendall_tau_b(*zip(*pairs, strict=True)).value
        if tau is not None:
            taus[person_of(group)].append(tau)
    interval = cluster_bootstrap_ci(taus, seed=seed, resamples=RESAMPLES)
    reason = "" if interval.ci else interval.reason
    return Estimate(found.value, reason, n=found.n, ci=interval.ci, detail=found.detail)


def _superiority(rows: Sequence[tuple[str, int, int | None]], seed: int) -> Estimate:
    """Share of pairs in which the later fork is rated higher, with an interval over people."""
    found = superiority_within_groups(rows)
    groups: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for group, k, rating in rows:
        if rating is not None:
            groups[group].append((k, rating))
    wins: dict[str, list[float]] = defaultdict(list)
    for group, rated in groups.items():
        for (k, first), (other, second) in combinations(sorted(rated), 2):
            if k != other:
                wins[group.split(" ")[0]].append((second > first) + (second == first) / 2)
    interval = cluster_bootstrap_ci(wins, seed=seed, resamples=RESAMPLES)
    reason = found.reason or ("" if interval.ci else interval.reason)
    return Estimate(found.value, reason, n=found.n, ci=interval.ci, detail=found.detail)


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


def agreement(judgements: Sequence[Judgement], *, seed: int = 0) -> dict[str, Any]:
    """How far judges of the same item agree, per question, over items with two judges or more.

    Categories are the declared answers. The onset is counted in assistant turns, among those who
    chose one; ratings and onsets are numbers and have no kappa.
    """
    return {
        "rating": _numbers(judgements, lambda j: j.rating, seed),
        "confirmation": _words(judgements, lambda j: j.confirmed, CONFIRMATIONS, seed),
        "onset": _numbers(judgements, lambda j: j.onset, seed),
        "prefix": _words(judgements, lambda j: j.prefix, PREFIXES, seed),
    }


def _records(
    judgements: Iterable[Judgement], answer: Callable[[Judgement], Any]
) -> list[tuple[str, str, Any]]:
    return [(j.person, j.item, answer(j)) for j in judgements if answer(j) is not None]


def _raw(records: Sequence[tuple[str, str, Any]], seed: int) -> Estimate:
    """Mean share of agreeing pairs per item, with a bootstrap interval over items."""
    found = raw_agreement(ratings_of(records))
    by_item: dict[str, list[Any]] = defaultdict(list)
    for _, item, label in records:
        by_item[item].append(label)
    shares = []
    for labels in by_item.values():
        same = [a == b for a, b in combinations(labels, 2)]
        if same:
            shares.append(sum(same) / len(same))
    interval = bootstrap_ci(shares, seed=seed, resamples=RESAMPLES)
    reason = found.reason or ("" if interval.ci else interval.reason)
    return Estimate(found.value, reason, n=found.n, ci=interval.ci, detail=found.detail)


def _numbers(
    judgements: Sequence[Judgement], answer: Callable[[Judgement], Any], seed: int
) -> dict[str, Any]:
    records = _records(judgements, answer)
    ratings = ratings_of(records)
    return {
        "raw": _raw(records, seed),
        "alpha": krippendorff_alpha(ratings, level="interval", resamples=RESAMPLES, seed=seed),
    }


def _words(
    judgements: Sequence[Judgement],
    answer: Callable[[Judgement], Any],
    categories: Sequence[str],
    seed: int,
) -> dict[str, Any]:
    records = _records(judgements, answer)
    ratings = ratings_of(records)
    alpha = krippendorff_alpha(
        ratings, level="nominal", categories=categories, resamples=RESAMPLES, seed=seed
    )
    return {
        "raw": _raw(records, seed),
        "ac1": gwet_ac(ratings, categories=categories),
        "alpha": alpha,
        **_kappas(records, categories),
    }


def _kappas(records: Sequence[tuple[str, str, Any]], categories: Sequence[str]) -> dict[str, Any]:
    """Cohen's kappa of each two people who share items, and the mean of the defined ones."""
    given: dict[str, dict[str, Any]] = defaultdict(dict)
    for person, item, label in records:
        given[person][item] = label
    pairs = []
    for one, other in combinations(sorted(given), 2):
        shared = sorted(given[one].keys() & given[other].keys())
        if shared:
            first, second = ([given[p][item] for item in shared] for p in (one, other))
            pairs.append((one, other, cohen_kappa(first, second, categories=categories)))
    return {"kappa": _mean_kappa(pairs), "kappa_by_pair": pairs}


def _mean_kappa(pairs: Sequence[tuple[str, str, Estimate]]) -> Estimate:
    """Mean over pairs weighted by their shared items; undefined pairs are counted."""
    defined = [k for _, _, k in pairs if k.value is not None]
    detail = {"pairs": len(pairs), "pairs_undefined": len(pairs) - len(defined)}
    if not pairs:
        return undefined("no_pairable_values", **detail)
    if not defined:
        return undefined("no_defined_pair", n=sum(k.n for _, _, k in pairs), **detail)
    n = sum(k.n for k in defined)
    value = sum(k.n * (k.value or 0.0) for k in defined) / n
    return Estimate(value, n=n, detail=detail)


def as_json(value: Any) -> Any:
    """Nested results with every estimate as a dictionary; keys as text."""
    if isinstance(value, Estimate):
        return value.as_dict()
    if isinstance(value, Mapping):
        return {str(key): as_json(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(part) for part in value]
    return value
