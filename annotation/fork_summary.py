"""The judgements of a fork study, summed up by its four questions and by how far people agree.

RQ1: do earlier forks look worse to a blind eye? RQ2: is the instruction recognised, and a foil
not? RQ3: is the fork turn found? RQ4: was the conversation sound before it? (DialFork, human
study.) Every figure is an estimate with its n; where it is undefined it carries the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from annotation.agreement_summary import agreement
from annotation.design import POSITIONS, TYPES
from annotation.judgement_rows import CONFORMANT, Judgement
from annotation.people_draws import PeopleDraws
from annotation.study_statistics import (
    CONFIRMED,
    FOLLOWED,
    confirmation_rate,
    mean_rating_by_position,
    onset_agreement,
    prefix_rate,
    superiority_within_groups,
    tau_b_within_groups,
)
from scoring.estimates import Estimate, undefined

__all__ = ["Judgement", "as_json", "rating_order", "recognition", "summarise"]
RESAMPLES = 1000
# The types that break the workflow. A side goal (CSC) keeps every part of it.
BREAKING = ("WIC", "SSPC", "GR")
Rows = Sequence[tuple[str, int, int | None]]


def summarise(judgements: Sequence[Judgement], *, seed: int = 0) -> dict[str, Any]:
    """All statistics of one group of judges as `Estimate`s in nested dictionaries.

    Shares have Wilson's interval, and with people drawn a second one in their details.
    """
    people = PeopleDraws((j.person for j in judgements), resamples=RESAMPLES, seed=seed)
    return {
        "rq1": rating_order(judgements, seed=seed),
        "rq2": recognition(judgements, people),
        "rq3": onsets(judgements, people),
        "rq4": prefixes(judgements, people),
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
        "tau": _tau(_by_task(forks), seed),
        "tau_breaking": _tau(_by_task(breaking), seed),
        "tau_by_type": {t: _tau(by_person[t], seed) for t in TYPES},
        "superiority": _superiority(_by_task(forks), seed),
        "superiority_breaking": _superiority(_by_task(breaking), seed),
    }


def _by_position(judgements: Iterable[Judgement]) -> Rows:
    return [(j.person, j.k, j.rating) for j in judgements]


def _by_task(judgements: Iterable[Judgement]) -> Rows:
    return [(f"{j.person}|{j.workflow}", j.k, j.rating) for j in judgements]


def _means(rows: Rows, seed: int) -> dict[int, Estimate]:
    found = mean_rating_by_position(rows, seed=seed, resamples=RESAMPLES)
    return {k: found.get(k, undefined("no_observations")) for k in POSITIONS}


def _tau(rows: Rows, seed: int) -> Estimate:
    """Mean tau-b of the groups, with an interval over people."""
    return tau_b_within_groups(rows, resamples=RESAMPLES, seed=seed)


def _superiority(rows: Rows, seed: int) -> Estimate:
    """Share of pairs in which the later fork is rated higher, with an interval over people."""
    return superiority_within_groups(rows, resamples=RESAMPLES, seed=seed)


def recognition(judgements: Iterable[Judgement], people: PeopleDraws) -> dict[str, Any]:
    """RQ2: share who say yes or partly, to the true instruction and to foils."""
    rows = [j for j in judgements if j.confirmed is not None]
    true = [j for j in rows if j.type and not j.is_foil]

    def share(asked: Sequence[Judgement]) -> Estimate:
        found = confirmation_rate(j.confirmed for j in asked)
        return people.beside(found, asked, share=lambda j: j.confirmed in CONFIRMED)

    return {
        "true": share(true),
        "true_by_type": {t: share([j for j in true if j.type == t]) for t in TYPES},
        "foil_on_fork": share([j for j in rows if j.type and j.is_foil]),
        "foil_on_conformant": share([j for j in rows if not j.type]),
    }


def onsets(judgements: Iterable[Judgement], people: PeopleDraws) -> dict[str, Any]:
    """RQ3: chosen onset against the fork, on confirmed true instructions only.

    `differences` counts onset minus fork turn.
    """
    rows = [j for j in judgements if j.type and not j.is_foil and j.onset is not None]
    return {
        "all": _onset(rows, people),
        "by_type": {t: _onset([j for j in rows if j.type == t], people) for t in TYPES},
        "differences": dict(sorted(Counter(_away(j) for j in rows).items())),
    }


def _away(judged: Judgement) -> int:
    return (judged.onset or 0) - judged.fork


def _onset(marked: Sequence[Judgement], people: PeopleDraws) -> Estimate:
    found = onset_agreement([j.onset for j in marked], [j.fork for j in marked])
    return people.beside(
        found,
        marked,
        exact=lambda j: _away(j) == 0,
        within_1=lambda j: abs(_away(j)) <= 1,
        at_or_after=lambda j: _away(j) >= 0,
    )


def prefixes(judgements: Iterable[Judgement], people: PeopleDraws) -> dict[str, Any]:
    """RQ4: share who say that the turns before the fork followed the workflow or mostly did."""
    rows = [j for j in judgements if j.type and j.fork > 1 and j.prefix is not None]

    def share(asked: Sequence[Judgement]) -> Estimate:
        found = prefix_rate(j.prefix for j in asked)
        return people.beside(found, asked, share=lambda j: j.prefix in FOLLOWED)

    return {
        "all": share(rows),
        "by_k": {k: share([j for j in rows if j.k == k]) for k in POSITIONS if k > 1},
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
