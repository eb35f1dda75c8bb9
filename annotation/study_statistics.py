"""What a fork study asks of its judgements (DialFork, human study, RQ1 to RQ4).

RQ1: do blind ratings rise with the fork position, within (annotator, task)? RQ2: is the true
instruction recognised and the foil not? RQ3: is the onset found? RQ4: did the prefix follow?
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from annotation.agreement import wilson
from annotation.group_orders import GroupOrders, group_orders
from annotation.long_ratings import numbered
from annotation.people_resampling import percentile_interval, person_weights
from scoring.estimates import Estimate, undefined
from scoring.rankings import superiority
from scoring.significance import cluster_bootstrap_ci

Floats = NDArray[np.float64]
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


def annotator_of_group(group: str) -> str:
    """The annotator of a group named "annotator|task"; a name without a bar is its own."""
    return group.split("|", 1)[0]


def tau_b_within_groups(
    rows: Iterable[Row],
    *,
    aggregate: str = "mean",
    resamples: int = 0,
    seed: int = 0,
    confidence: float = 0.95,
    annotator_of: Callable[[str], str] = annotator_of_group,
) -> Estimate:
    """Tau-b of rating against position within groups; rows are (group, position, rating).

    A group is usually one annotator on one task. "mean": plain mean of the groups' values;
    "pooled_pairs": pairs of all defined groups pooled before dividing. Groups that are constant or
    have fewer than two rows are skipped and counted; `n` counts rows of the groups used. With
    `resamples` a percentile interval comes along, whole annotators drawn.
    """
    if aggregate not in ("mean", "pooled_pairs"):
        raise ValueError(f"aggregate is {aggregate!r}; it must be 'mean' or 'pooled_pairs'")
    names, orders = _orders(rows)
    used = np.isfinite(orders.taus) if orders else np.zeros(0, dtype=bool)
    detail = {"groups_used": int(used.sum()), "groups_skipped": int((~used).sum())}
    if orders is None or not used.any():
        return undefined("no_defined_group", **detail)
    n = int(orders.rows[used].sum())
    if aggregate == "mean":
        sums = [np.where(used, orders.taus, 0.0), used.astype(float)]
    else:
        sums = [
            np.where(used, side, 0.0) for side in (orders.balance, orders.untied_x, orders.untied_y)
        ]
    drawn = _Draws(resamples, seed, confidence)
    people = [annotator_of(name) for name in names]
    return _over_annotators(sums, people, used, drawn, n=n, detail=detail)


def superiority_within_groups(
    rows: Iterable[Row],
    *,
    resamples: int = 0,
    seed: int = 0,
    confidence: float = 0.95,
    annotator_of: Callable[[str], str] = annotator_of_group,
) -> Estimate:
    """Over pairs of a group with different positions: share where the later is rated higher.

    Ties count a half, so a constant group counts (unlike for tau-b). `n` and `pairs` count pairs.
    With `resamples` a percentile interval comes along, whole annotators drawn.
    """
    names, orders = _orders(rows)
    pairs = int(orders.pairs.sum()) if orders else 0
    if orders is None or not pairs:
        return undefined("no_pairs", pairs=0)
    people = [annotator_of(name) for name in names]
    drawn = _Draws(resamples, seed, confidence)
    sums = [orders.wins, orders.pairs]
    detail = {"pairs": pairs}
    return _over_annotators(sums, people, orders.pairs > 0, drawn, n=pairs, detail=detail)


def _orders(rows: Iterable[Row]) -> tuple[tuple[str, ...], GroupOrders | None]:
    given = [row for row in rows if row[2] is not None]
    if not given:
        return (), None
    groups, names = numbered([row[0] for row in given])
    x, y = (np.array([row[side] for row in given], dtype=np.float64) for side in (1, 2))
    return tuple(map(str, names)), group_orders(groups, x, y)


class _Draws(NamedTuple):
    resamples: int
    seed: int
    confidence: float


def _over_annotators(
    sums: Sequence[Floats],
    people: Sequence[str],
    kept: NDArray[np.bool_],
    draws: _Draws,
    *,
    n: int,
    detail: Mapping[str, Any],
) -> Estimate:
    """sums[0] / sums[1] (with three sums: / root of sums[1] sums[2]) of groups, annotators drawn.

    Only annotators with a group in `kept` are drawn.
    """
    owners, names = numbered([who for who, keep in zip(people, kept, strict=True) if keep])
    by_person = [np.bincount(owners, side[kept], len(names)) for side in sums]
    value = float(_quotient([side.sum() for side in by_person]))
    if not draws.resamples:
        return Estimate(value, n=n, detail=detail)
    if len(names) < 2:
        return Estimate(value, "fewer_than_two_clusters", n=n, detail=detail)
    weights = person_weights(len(names), resamples=draws.resamples, seed=draws.seed)
    values = _quotient([weights @ side for side in by_person])
    ci, _ = percentile_interval(values, draws.confidence)
    return Estimate(value, n=n, ci=ci, detail={**detail, "clusters": len(names)})


def _quotient(sums: Sequence[Any]) -> Any:
    return sums[0] / (sums[1] if len(sums) == 2 else np.sqrt(sums[1] * sums[2]))


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
    `exact`, `within_1`, `before`, `at_or_after` are shares, `*_ci` their Wilson intervals.
    `histogram` counts absolute differences, `offsets` signed ones (marked minus fork; keys are
    text); `mean_offset` and `median_offset` sum these up.
    """
    differences = [
        marked - fork
        for marked, fork in zip(annotated, truth, strict=True)
        if marked is not None and fork is not None
    ]
    if not differences:
        shares = ("exact", "within_1", "before", "at_or_after", "mean_offset", "median_offset")
        return undefined("no_observations", histogram={}, offsets={}, **dict.fromkeys(shares))
    detail = _onset_shares(differences) | {
        "histogram": _counted(abs(d) for d in differences),
        "offsets": _counted(differences),
        "mean_offset": sum(differences) / len(differences),
        "median_offset": float(np.median(differences)),
    }
    low, high = detail["within_1_ci"]
    return Estimate(detail["within_1"], n=len(differences), ci=(low, high), detail=detail)


def _onset_shares(differences: Sequence[int]) -> dict[str, Any]:
    tests: Mapping[str, Callable[[int], bool]] = {
        "exact": lambda d: d == 0,
        "within_1": lambda d: abs(d) <= 1,
        "before": lambda d: d < 0,
        "at_or_after": lambda d: d >= 0,
    }
    detail: dict[str, Any] = {}
    for name, test in tests.items():
        found = wilson(sum(test(d) for d in differences), len(differences))
        detail[name], detail[f"{name}_ci"] = found.value, list(found.ci or ())
    return detail


def _counted(differences: Iterable[int]) -> dict[str, int]:
    counts = Counter(differences)
    return {str(away): counts[away] for away in sorted(counts)}
