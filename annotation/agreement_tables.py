"""All coefficients of a question side by side, by condition and by answer, over long ratings.

No coefficient is read alone: raw agreement, prevalence, units and pairs stand beside each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.agreement import cohen_kappa_of_table, fleiss_kappa, gwet_ac_of_counts
from annotation.krippendorff_alpha import alpha_of_long
from annotation.long_ratings import LongRatings
from annotation.people_resampling import percentile_interval, person_weights, resampled_kappa
from annotation.rated_pairs import RatedPairs, people_pairs, rated_pairs
from annotation.rating_tables import table_of
from scoring.estimates import Estimate, undefined
from scoring.resampling import bootstrap_ci

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
    `alpha` of `level`, `away` (mean absolute difference of two people).

    AC1 and AC2 have Gwet's interval. With `resamples` the others have percentile intervals over
    units, except kappa: of two people the large-sample one, of more over people drawn whole.
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
        "fleiss": fleiss_kappa(counts, categories=categories, **drawn),
        "kappa": mean_kappa(shared, **drawn),
    }
    if ordered:
        figures |= {
            "ac2": gwet_ac_of_counts(counts, categories=categories, weights="linear"),
            "alpha_ordinal": alpha_of_long(shared.units, shared.values, level="ordinal", **drawn),
            "kappa_weighted": mean_kappa(shared, weights="linear", **drawn),
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


def mean_kappa(
    ratings: LongRatings, *, weights: str | None = None, resamples: int = 0, seed: int = 0
) -> Estimate:
    """Mean of Cohen's kappa over pairs of people, weighted by shared units.

    `pairs_undefined` counts pairs of people whose shared answers are all the same. With `resamples`
    people are drawn whole; a single pair has the large-sample interval instead.
    """
    pairs = people_pairs(ratings, weights=weights)
    kappas = pairs.kappa if pairs.kappa is not None else np.zeros(0)
    defined = np.isfinite(kappas)
    detail = {"pairs": len(kappas), "pairs_undefined": int((~defined).sum())}
    if not len(kappas):
        return undefined("no_pairable_values", **detail)
    if not defined.any():
        return undefined("no_defined_pair", n=int(pairs.n.sum()), **detail)
    n = pairs.n[defined]
    value = float((n * kappas[defined]).sum() / n.sum())
    ci = None
    if resamples and len(kappas) > 1:
        drawn = person_weights(len(ratings.annotator_names), resamples=resamples, seed=seed)
        ci, _ = percentile_interval(resampled_kappa(pairs, drawn))
    elif resamples:
        ci = _of_one_pair(ratings, weights).ci
    return Estimate(value, n=int(n.sum()), ci=ci, detail=detail)


def _of_one_pair(ratings: LongRatings, weights: str | None) -> Estimate:
    categories, pairs = ratings.categories or (), rated_pairs(ratings)
    both = [(ratings.shown(x), ratings.shown(y)) for x, y in zip(pairs.x, pairs.y, strict=True)]
    table = table_of(both, categories)
    return cohen_kappa_of_table(table, categories=categories, weights=weights)


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
