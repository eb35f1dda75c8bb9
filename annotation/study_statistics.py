"""What a fork study asks of its judgements (DialFork, human study, RQ1 to RQ4).

RQ1: do blind ratings rise with the fork position, within (annotator, task)? RQ2: is the true
instruction recognised and the foil not? RQ3: is the onset found? RQ4: did the prefix follow?
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from annotation.agreement import wilson
from scoring.estimates import Estimate, undefined
from scoring.rankings import kendall_tau_b, superiority
from scoring.significance import cluster_bootstrap_ci

Row = tuple[str, float, float | None]
CONFIRMED = ("yes", "partly")
FOLLOWED = ("yes", "mostly")

__all__ = [
    "confirmation_rate",
    "mean_rating_by_position",
    "onset_agreement",
    "prefix_rate",
    "superiority",
    "superiority_within_groups",
    "tau_b_within_groups",
]


# -- RQ1 ---------------------------------------------------------------------------------------


def tau_b_within_groups(rows: Iterable[Row], *, aggregate: str = "mean") -> Estimate:
    """Tau-b of rating against position within groups; rows are (group, position, rating).

    A group is usually one annotator on one task. "mean": plain mean of the groups' values;
    "pooled_pairs": pairs of all defined groups pooled before dividing. Groups that are constant or
    have fewer than two rows are skipped and counted; `n` counts rows of the groups used.
    """
    if aggregate not in ("mean", "pooled_pairs"):
        raise ValueError(f"aggregate is {aggregate!r}; it must be 'mean' or 'pooled_pairs'")
    groups = _grouped(rows)
    found = {name: kendall_tau_b(*zip(*pairs, strict=True)) for name, pairs in groups.items()}
    used = {name: tau.value for name, tau in found.items() if tau.value is not None}
    detail = {"groups_used": len(used), "groups_skipped": len(groups) - len(used)}
    if not used:
        return undefined("no_defined_group", **detail)
    n = sum(len(groups[name]) for name in used)
    if aggregate == "mean":
        return Estimate(sum(used.values()) / len(used), n=n, detail=detail)
    return Estimate(_pooled_tau([groups[name] for name in used]), n=n, detail=detail)


def _grouped(rows: Iterable[Row]) -> dict[str, list[tuple[float, float]]]:
    groups: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for group, position, rating in rows:
        if rating is not None:
            groups[group].append((float(position), float(rating)))
    return dict(groups)


def _pooled_tau(groups: list[list[tuple[float, float]]]) -> float:
    balance = untied_x = untied_y = 0
    for pairs in groups:
        for i, (x, y) in enumerate(pairs):
            for u, v in pairs[:i]:
                side_x, side_y = _sign(x - u), _sign(y - v)
                balance += side_x * side_y
                untied_x += side_x != 0
                untied_y += side_y != 0
    return balance / (untied_x * untied_y) ** 0.5


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def superiority_within_groups(rows: Iterable[Row]) -> Estimate:
    """Over pairs of a group with different positions: share where the later is rated higher.

    Ties count a half, so a constant group counts (unlike for tau-b). `n` and `pairs` count pairs.
    """
    wins, pairs = 0.0, 0
    for group in _grouped(rows).values():
        for i, (x, y) in enumerate(group):
            for u, v in group[:i]:
                if x != u:
                    pairs += 1
                    wins += (_sign(x - u) * _sign(y - v) + 1) / 2
    if not pairs:
        return undefined("no_pairs", pairs=0)
    return Estimate(wins / pairs, n=pairs, detail={"pairs": pairs})


def mean_rating_by_position(
    rows: Iterable[tuple[str, Any, float | None]], *, seed: int = 0, resamples: int = 2000
) -> dict[Any, Estimate]:
    """Mean rating per position, interval over annotators; rows are (annotator, position, rating).

    A position is k = 1 to 4, or any other name such as "conformant". Whole annotators are
    resampled, because the ratings of one person hang together.
    """
    positions: dict[Any, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for annotator, position, rating in rows:
        if rating is not None:
            positions[position][annotator].append(float(rating))
    return {
        position: cluster_bootstrap_ci(by_annotator, seed=seed, resamples=resamples)
        for position, by_annotator in sorted(positions.items(), key=lambda item: str(item[0]))
    }


# -- RQ2 and RQ4 -------------------------------------------------------------------------------


def confirmation_rate(answers: Iterable[str | None]) -> Estimate:
    """Share of "yes" or "partly" among the answers given, Wilson interval; counts per answer."""
    return _share(answers, CONFIRMED)


def prefix_rate(answers: Iterable[str | None]) -> Estimate:
    """Share of "yes" or "mostly" among the answers given, Wilson interval; counts per answer."""
    return _share(answers, FOLLOWED)


def _share(answers: Iterable[str | None], positive: Sequence[str]) -> Estimate:
    counts = Counter(answer for answer in answers if answer is not None)
    allowed = {*positive, "no"}
    if extra := sorted(set(counts) - allowed):
        raise ValueError(f"{extra[0]!r} is not an answer; {', '.join(sorted(allowed))} are")
    found = wilson(sum(counts[answer] for answer in positive), sum(counts.values()))
    detail = {**found.detail, "answers": dict(sorted(counts.items()))}
    return Estimate(found.value, found.reason, n=found.n, ci=found.ci, detail=detail)


# -- RQ3 ---------------------------------------------------------------------------------------


def onset_agreement(annotated: Sequence[int | None], truth: Sequence[int | None]) -> Estimate:
    """How near the marked onsets lie to the fork points, in assistant turns.

    Only answered onsets count. `value` is the share within one turn, early and late alike;
    `exact`, `within_1` and `at_or_after` are shares, `*_ci` their Wilson intervals, `histogram`
    counts absolute differences (keys are text).
    """
    differences = [
        marked - fork
        for marked, fork in zip(annotated, truth, strict=True)
        if marked is not None and fork is not None
    ]
    if not differences:
        nothing = dict.fromkeys(("exact", "within_1", "at_or_after"))
        return undefined("no_observations", histogram={}, **nothing)
    tests: Mapping[str, Callable[[int], bool]] = {
        "exact": lambda d: d == 0,
        "within_1": lambda d: abs(d) <= 1,
        "at_or_after": lambda d: d >= 0,
    }
    detail: dict[str, Any] = {}
    for name, test in tests.items():
        found = wilson(sum(test(d) for d in differences), len(differences))
        detail[name], detail[f"{name}_ci"] = found.value, list(found.ci or ())
    counts = Counter(abs(d) for d in differences)
    detail["histogram"] = {str(away): counts[away] for away in sorted(counts)}
    found = wilson(sum(abs(d) <= 1 for d in differences), len(differences))
    return Estimate(found.value, n=len(differences), ci=found.ci, detail=detail)
