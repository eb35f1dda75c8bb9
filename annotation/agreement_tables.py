"""Agreement taken apart: by question, item, pair of people, person, answer and condition.

One number hides who disagrees on what. Everything here is computed from long-form ratings, and each
row can be recomputed from the exported answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.agreement import fleiss_kappa, gwet_ac_of_counts, wilson
from annotation.krippendorff_alpha import alpha_of_long
from annotation.long_ratings import LongRatings
from annotation.rated_pairs import PeoplePairs, RatedPairs, people_pairs, rated_pairs
from scoring.estimates import Estimate, undefined
from scoring.resampling import bootstrap_ci

Floats = NDArray[np.float64]
DOMINANT = 0.8
ONE_ANSWER_DOMINATES = "one_answer_dominates"


@dataclass(frozen=True, slots=True)
class Panel:
    """All coefficients of one set of answers, with what is needed to read them.

    `units` and `pairs` count shared units and pairs of answers; `ratings` their answers by
    `annotators` people. `prevalence` is the share of each category among them ({} for numbers).
    `note` is "one_answer_dominates" where one category has at least 80 % of the answers: kappa and
    alpha then fall however much people agree.
    """

    units: int
    pairs: int
    ratings: int
    annotators: int
    prevalence: Mapping[Any, float]
    figures: Mapping[str, Estimate]
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The panel as JSON values."""
        return {
            "units": self.units,
            "pairs": self.pairs,
            "ratings": self.ratings,
            "annotators": self.annotators,
            "prevalence": {str(label): share for label, share in self.prevalence.items()},
            "figures": {name: figure.as_dict() for name, figure in self.figures.items()},
            "note": self.note,
        }


def panel(
    ratings: LongRatings,
    *,
    level: str = "interval",
    ordered: bool = False,
    resamples: int = 0,
    seed: int = 0,
) -> Panel:
    """Every coefficient side by side.

    Categories: `raw`, `ac1`, `alpha` (nominal), `fleiss`, `kappa` (Cohen's, mean over pairs of
    people by shared units); with `ordered` also `ac2`, `alpha_ordinal` and `kappa_weighted`, which
    count a neighbouring answer as nearly right (linear weights). Numbers: `raw` (the same number),
    `alpha` of `level`, `away` (mean absolute difference of two people). With `resamples` raw
    agreement, alpha and the difference have percentile intervals over units; AC1 and AC2 have
    Gwet's.
    """
    shared = ratings.shared()
    pairs = rated_pairs(shared)
    drawn = {"resamples": resamples, "seed": seed}
    if ratings.categories is None:
        figures = _of_numbers(shared, pairs, level, drawn)
    else:
        figures = _of_words(ratings, shared, pairs, ordered, drawn)
    prevalence = _prevalence(shared)
    dominated = max(prevalence.values(), default=0.0) >= DOMINANT
    return Panel(
        units=len(np.unique(shared.units)),
        pairs=len(pairs),
        ratings=len(shared),
        annotators=len(np.unique(shared.annotators)),
        prevalence=prevalence,
        figures=figures,
        note=ONE_ANSWER_DOMINATES if dominated else "",
    )


def _prevalence(shared: LongRatings) -> dict[Any, float]:
    if shared.categories is None or not len(shared):
        return {}
    n = np.bincount(shared.values.astype(np.intp), minlength=len(shared.categories))
    return {label: float(n[i] / len(shared)) for i, label in enumerate(shared.categories)}


def _of_words(
    ratings: LongRatings,
    shared: LongRatings,
    pairs: RatedPairs,
    ordered: bool,
    drawn: Mapping[str, int],
) -> dict[str, Estimate]:
    categories, counts = ratings.categories or (), ratings.counts()
    figures = {
        "raw": _unit_mean(pairs, pairs.x == pairs.y, drawn),
        "ac1": gwet_ac_of_counts(counts, categories=categories),
        "alpha": alpha_of_long(shared.units, shared.values, level="nominal", **drawn),
        "fleiss": fleiss_kappa(counts, categories=categories),
        "kappa": mean_kappa(people_pairs(shared)),
    }
    if ordered:
        weighted = people_pairs(shared, weights="linear")
        figures |= {
            "ac2": gwet_ac_of_counts(counts, categories=categories, weights="linear"),
            "alpha_ordinal": alpha_of_long(shared.units, shared.values, level="ordinal", **drawn),
            "kappa_weighted": mean_kappa(weighted),
        }
    return figures


def _of_numbers(
    shared: LongRatings, pairs: RatedPairs, level: str, drawn: Mapping[str, int]
) -> dict[str, Estimate]:
    return {
        "raw": _unit_mean(pairs, pairs.x == pairs.y, drawn),
        "alpha": alpha_of_long(shared.units, shared.values, level=level, **drawn),
        "away": _unit_mean(pairs, np.abs(pairs.x - pairs.y), drawn),
    }


def _unit_mean(pairs: RatedPairs, values: NDArray, drawn: Mapping[str, int]) -> Estimate:
    """Mean over units of the mean over their pairs, with an interval over units."""
    detail = {"pairs": len(pairs)}
    if not len(pairs):
        return undefined("no_pairable_values", **detail)
    units = np.unique(pairs.units, return_inverse=True)[1]
    means = np.bincount(units, values * pairs.unit_share)
    if not drawn["resamples"]:
        return Estimate(float(means.mean()), n=len(means), detail=detail)
    found = bootstrap_ci(means.tolist(), resamples=drawn["resamples"], seed=drawn["seed"])
    return Estimate(found.value, found.reason, n=found.n, ci=found.ci, detail=detail)


def mean_kappa(pairs: PeoplePairs) -> Estimate:
    """Mean kappa over pairs of people, weighted by shared units; undefined pairs are counted."""
    kappas = pairs.kappa if pairs.kappa is not None else np.zeros(0)
    defined = np.isfinite(kappas)
    detail = {"pairs": len(kappas), "pairs_undefined": int((~defined).sum())}
    if not len(kappas):
        return undefined("no_pairable_values", **detail)
    if not defined.any():
        return undefined("no_defined_pair", n=int(pairs.n.sum()), **detail)
    n = pairs.n[defined]
    value = float((n * kappas[defined]).sum() / n.sum())
    return Estimate(value, n=int(n.sum()), detail=detail)


def by_condition(
    ratings: LongRatings, condition_of: Mapping[Any, str], **settings: Any
) -> dict[str, Panel]:
    """A panel per condition of the units, in rising order; settings as in `panel`.

    `condition_of` maps unit names to conditions; units it does not hold are left out.
    """
    given = np.array([condition_of.get(name, "") for name in ratings.unit_names], dtype=object)
    found = {}
    for condition in sorted({str(name) for name in given} - {""}):
        kept = (given == condition)[ratings.units]
        found[condition] = panel(ratings.where(kept), **settings)
    return found


# -- items -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One unit with two or more answers.

    `agreement` is the share of its pairs that are equal, `spread` the largest minus the smallest
    (of categories: in steps of their order). `answers` are (annotator, answer) pairs.
    """

    unit: Any
    n: int
    agreement: float
    spread: float
    answers: tuple[tuple[Any, Any], ...]


def by_item(ratings: LongRatings) -> list[ItemRow]:
    """Shared units, those with the least agreement first, then the widest spread."""
    shared = ratings.shared()
    pairs = rated_pairs(shared)
    same = np.bincount(
        pairs.units, (pairs.x == pairs.y) * pairs.unit_share, len(ratings.unit_names)
    )
    order = np.lexsort((shared.annotators, shared.units))
    cuts = np.flatnonzero(np.diff(shared.units[order])) + 1
    rows = [_item(shared, part, same) for part in np.split(order, cuts) if len(part)]
    return sorted(rows, key=lambda row: (row.agreement, -row.spread, str(row.unit)))


def _item(shared: LongRatings, rows: NDArray[np.intp], same: Floats) -> ItemRow:
    values = shared.values[rows]
    unit = int(shared.units[rows[0]])
    answers = tuple(
        (shared.annotator_names[who], shared.shown(value))
        for who, value in zip(shared.annotators[rows], values.tolist(), strict=True)
    )
    spread = float(values.max() - values.min())
    # A sum of thirds may miss 1 by a rounding.
    agreement = 1.0 if not spread else float(same[unit])
    return ItemRow(shared.unit_names[unit], len(rows), agreement, spread, answers)


# -- people ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PairRow:
    """Two people over the `n` units both answered.

    `raw` is the share of equal answers (Wilson interval). `kappa` is Cohen's for categories, `away`
    the mean absolute difference for numbers; the other one is None.
    """

    first: Any
    second: Any
    n: int
    raw: Estimate
    kappa: Estimate | None
    away: float | None


def by_pair(ratings: LongRatings, *, weights: str | None = None) -> list[PairRow]:
    """Each two people who share a unit, in rising order of their names."""
    found = people_pairs(ratings, weights=weights)
    return [_pair(ratings.annotator_names, found, i) for i in range(len(found.n))]


def _pair(names: Sequence[Any], found: PeoplePairs, i: int) -> PairRow:
    n = int(found.n[i])
    kappa = None
    if found.kappa is not None:
        value = float(found.kappa[i])
        kappa = Estimate(value, n=n) if np.isfinite(value) else None
        kappa = kappa or undefined("chance_agreement_is_one", n=n)
    return PairRow(
        first=names[found.first[i]],
        second=names[found.second[i]],
        n=n,
        raw=wilson(int(found.same[i]), n),
        kappa=kappa,
        away=None if found.away is None else float(found.away[i]),
    )


def by_annotator(ratings: LongRatings) -> dict[Any, Estimate]:
    """Share of equal answers of each person with all others they share units with.

    `n` counts pairs of answers. Pairs of one person hang together, so there is no interval.
    """
    found = people_pairs(ratings)
    ends = np.concatenate([found.first, found.second])
    people = len(ratings.annotator_names)
    n = np.bincount(ends, np.tile(found.n, 2), people)
    same = np.bincount(ends, np.tile(found.same, 2), people)
    return {
        name: Estimate(float(same[i] / n[i]), n=int(n[i]))
        if n[i]
        else undefined("no_pairable_values")
        for i, name in enumerate(ratings.annotator_names)
    }


def by_label(ratings: LongRatings) -> dict[Any, Estimate]:
    """Specific agreement per category: of the pairs that hold it, how often both people gave it.

    2 * both / (given by the first + given by the second), pairs pooled (Cicchetti and Feinstein
    1990). `n` counts answers with the category among the pairs; `both` counts pairs.
    """
    pairs = rated_pairs(ratings.shared())
    found = {}
    for i, label in enumerate(ratings.categories or ()):
        given = int((pairs.x == i).sum() + (pairs.y == i).sum())
        both = int(((pairs.x == i) & (pairs.y == i)).sum())
        found[label] = (
            Estimate(2 * both / given, n=given, detail={"both": both})
            if given
            else undefined("never_given", both=0)
        )
    return found
