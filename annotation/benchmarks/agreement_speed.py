"""Alpha of a very large slider study, and all intervals of a study's report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from annotation.alpha_sums import closed_form, pairable
from annotation.benchmarks.synthetic import judgements, slider_ratings
from annotation.design import POSITIONS, TYPES
from annotation.judgement_rows import Judgement
from annotation.krippendorff_alpha import alpha_of_long, by_package
from annotation.people_resampling import percentile_interval
from annotation.report_resampling import report_intervals
from annotation.study_statistics import (
    confirmation_rate,
    onset_agreement,
    prefix_rate,
    superiority_within_groups,
    tau_b_within_groups,
)
from scoring.benchmarks.measuring import Limit, Measured, seconds

RESAMPLES = 1000
Figures = dict[str, float | None]


def measure() -> dict[str, Measured]:
    """The measured cases of this area, by name."""
    found = {f"alpha_{level}_250000": alpha(level) for level in ("interval", "ordinal", "nominal")}
    return found | {"report_resampling_526": report()}


def alpha(
    level: str, *, annotators: int = 100, items: int = 50_000, each: int = 5, peer_items: int = 1000
) -> Measured:
    """Alpha of five ratings of each item on a slider of 101 values.

    The package holds items x 101 x 101 numbers several times over (4 GB once, for 50,000 items), so
    it is measured on the first `peer_items`; its work grows with the items, and both sides are
    counted in ratings per second.
    """
    whole = slider_ratings(annotators, items, each)
    (ours,) = seconds(lambda: alpha_of_long(whole.items, whole.values, level=level), repeats=3)
    part = whole.items < peer_items
    some = pairable(whole.items[part], whole.values[part])
    equal = abs(closed_form(some, level) - by_package(some, level)) <= 1e-12
    (peer,) = seconds(lambda: by_package(some, level), repeats=2)
    limit = Limit(ours, 0.1, f"{len(whole.values):,} ratings")
    note = f"the package on {peer_items:,} items"
    rates = len(whole.values) / ours, len(some.units) / peer
    return Measured(*rates, 10.0, "ratings/s", equal, note, limit)


def report(*, people: int = 30, items: int = 428, total: int = 526, loops: int = 10) -> Measured:
    """Every figure of the report with its interval, beside a loop that draws and computes again.

    The loop computes the answers to RQ1 to RQ4 only, no agreement: it has less to do.
    """
    rows = judgements(people, items, total)
    (ours,) = seconds(lambda: report_intervals(rows, resamples=RESAMPLES), repeats=2)
    (loop,) = seconds(lambda: plain_intervals(rows, loops), repeats=1)
    found, plain = report_intervals(rows, resamples=loops), plain_intervals(rows, loops)
    equal = all(
        interval is None or np.allclose(found[name].ci or (), interval, rtol=0, atol=1e-12)
        for name, interval in plain.items()
    )
    limit = Limit(ours, 2.0, f"{RESAMPLES:,} resamples of the report")
    note = f"{len(found)} figures of {total} judgements; the loop has {len(plain)}"
    return Measured(RESAMPLES / ours, loops / loop, 10.0, "resamples/s", equal, note, limit)


def plain_intervals(
    rows: Sequence[Judgement], resamples: int
) -> dict[str, tuple[float, float] | None]:
    """Intervals over people, a whole set of judgements drawn and computed at a time."""
    by_person: dict[str, list[Judgement]] = defaultdict(list)
    for row in rows:
        by_person[row.person].append(row)
    names = sorted(by_person)
    rng = np.random.default_rng(0)
    found: dict[str, list[float]] = defaultdict(list)
    for _ in range(resamples):
        drawn: NDArray[np.intp] = rng.integers(0, len(names), len(names))
        sample = [
            replace(row, person=f"{copy}.{row.person}")
            for copy, who in enumerate(drawn)
            for row in by_person[names[who]]
        ]
        for name, value in plain_figures(sample).items():
            found[name].append(np.nan if value is None else value)
    return {name: percentile_interval(np.array(values))[0] for name, values in found.items()}


def plain_figures(rows: Sequence[Judgement]) -> Figures:
    """RQ1 to RQ4 of one set of judgements, figure by figure."""
    forks = [row for row in rows if row.type]
    true = [row for row in forks if not row.is_foil]
    by_task = [(f"{row.person}|{row.workflow}", row.k, row.rating) for row in forks]
    figures: Figures = {
        "rq1.tau": tau_b_within_groups(by_task).value,
        "rq1.superiority": superiority_within_groups(by_task).value,
        "rq1.conformant": _mean(rows, "", 0),
        "rq2.true": confirmation_rate(row.confirmed for row in true).value,
        "rq2.foil_on_fork": confirmation_rate(r.confirmed for r in forks if r.is_foil).value,
        "rq2.foil_on_conformant": confirmation_rate(r.confirmed for r in rows if not r.type).value,
        "rq4.all": prefix_rate(row.prefix for row in forks if row.fork > 1).value,
    }
    for name in TYPES:
        mine = [row for row in forks if row.type == name]
        by_person = [(row.person, row.k, row.rating) for row in mine]
        figures[f"rq1.tau_by_type.{name}"] = tau_b_within_groups(by_person).value
        figures |= {f"rq1.mean_by_type.{name}.{k}": _mean(mine, name, k) for k in POSITIONS}
    marked = [row for row in true if row.onset is not None]
    onsets = onset_agreement([row.onset for row in marked], [row.fork for row in marked])
    for part in ("exact", "within_1", "at_or_after"):
        figures[f"rq3.all.{part}"] = onsets.detail[part]
    return figures


def _mean(rows: Sequence[Judgement], type_: str, k: int) -> float | None:
    values = [
        row.rating for row in rows if row.type == type_ and row.k == k and row.rating is not None
    ]
    return fmean(values) if values else None
