"""What the planner foresees is what the report will say: the same figures, widths and spread."""

from __future__ import annotations

import time

import numpy as np
import pytest

from annotation import interval_forecasts
from annotation.design import TYPES
from annotation.forecast_statistics import Resampling
from annotation.fork_summary import Judgement, summarise
from annotation.imagined_draws import Drawn, Layout, draw_answers
from annotation.imagined_judges import Case, Judge, Strength
from annotation.interval_forecasts import _agreement, _orders, _ratings, _shares, forecast
from tests.layouts import layout

CONFIRMATIONS, PREFIXES = ("yes", "partly", "no"), ("yes", "mostly", "no")
DESIGN = layout()


def judgements(design: Layout, drawn: Drawn, draw: int) -> list[Judgement]:
    """One draw as the report reads it."""
    rows = []
    for i in range(len(design.person)):
        confirmed = CONFIRMATIONS[drawn.confirmed[draw, i]]
        rows.append(
            Judgement(
                person=f"P{design.person[i]:02}",
                item=f"I{design.item[i]:04}",
                workflow=f"w{design.workflow[i]}",
                is_foil=bool(design.is_foil[i]),
                type=TYPES[design.type[i]] if design.type[i] >= 0 else "",
                k=int(design.k[i]),
                fork=int(design.fork[i]),
                rating=int(drawn.rating[draw, i]),
                confirmed=confirmed,
                onset=None if confirmed == "no" else int(drawn.onset[draw, i]),
                prefix=PREFIXES[drawn.prefix[draw, i]] if design.fork[i] > 1 else None,
            )
        )
    return rows


@pytest.fixture(scope="module")
def both():
    """The planner's figures of one drawn study, and the report's."""
    rng = np.random.default_rng(5)
    drawn = draw_answers(DESIGN, Strength(), 3, rng)
    people = Resampling.of(int(DESIGN.person.max()) + 1, 4000, rng)
    rows = [
        *_ratings(DESIGN, drawn, people),
        *_orders(DESIGN, drawn, people),
        *_shares(DESIGN, drawn),
        *_agreement(DESIGN, drawn, 4000, rng),
    ]
    planned = {name: (found.value[1], found.width[1]) for _, name, found in rows}
    return planned, summarise(judgements(DESIGN, drawn, 1), seed=3)


def width(estimate) -> float:
    low, high = estimate.ci
    return high - low


def reported(report) -> dict[str, tuple[float, float]]:
    """The report's figures under the planner's names; resampled intervals only."""
    rq1, agreement = report["rq1"], report["agreement"]
    found = {
        **{f"mean rating, k = {k}": rq1["mean_by_k"][k] for k in (1, 2, 3, 4)},
        "mean rating, conformant": rq1["conformant"],
        "mean rating, GR, k = 2": rq1["mean_by_type"]["GR"][2],
        "tau-b within person and workflow": rq1["tau"],
        "superiority within person and workflow": rq1["superiority"],
        "tau-b, WIC": rq1["tau_by_type"]["WIC"],
        "rating, alpha": agreement["rating"]["alpha"],
        "confirmation, alpha": agreement["confirmation"]["alpha"],
        "onset, alpha": agreement["onset"]["alpha"],
        "prefix, alpha": agreement["prefix"]["alpha"],
    }
    return {name: (estimate.value, width(estimate)) for name, estimate in found.items()}


def test_resampled_intervals_are_as_wide_as_the_reports(both):
    planned, report = both
    for name, (value, wide) in reported(report).items():
        assert planned[name][0] == pytest.approx(value, abs=1e-9), name
        assert planned[name][1] == pytest.approx(wide, rel=0.15), name


def test_intervals_by_formula_equal_the_reports(both):
    planned, report = both
    found = {
        "true instruction confirmed": report["rq2"]["true"],
        "true instruction confirmed, SSPC": report["rq2"]["true_by_type"]["SSPC"],
        "foil confirmed on a fork": report["rq2"]["foil_on_fork"],
        "foil confirmed on a conformant dialogue": report["rq2"]["foil_on_conformant"],
        "onset within one turn": report["rq3"]["all"],
        "prefix followed": report["rq4"]["all"],
        "confirmation, AC1": report["agreement"]["confirmation"]["ac1"],
        "prefix, AC1": report["agreement"]["prefix"]["ac1"],
    }
    for name, estimate in found.items():
        assert planned[name] == pytest.approx((estimate.value, width(estimate)), abs=1e-9), name
    detail = report["rq3"]["all"].detail
    for name, key in (("onset exact", "exact"), ("onset at the fork or after", "at_or_after")):
        low, high = detail[f"{key}_ci"]
        assert planned[name] == pytest.approx((detail[key], high - low), abs=1e-9), name


def by_name(found) -> dict:
    return {row.figure: row for row in found.rows}


def test_more_people_and_more_overlap_narrow_the_intervals():
    few, many = (by_name(forecast(layout(n), draws=20)) for n in (6, 24))
    for name in ("mean rating, k = 2", "tau-b within person and workflow", "onset exact"):
        assert many[name].width < 0.75 * few[name].width, name
    apart, shared = (by_name(forecast(layout(12, overlap=o), draws=20)) for o in (0.05, 0.3))
    assert shared["rating, alpha"].width < apart["rating, alpha"].width


def test_the_same_seed_foresees_the_same_and_the_strength_matters():
    one, again, other = (forecast(DESIGN, draws=10, seed=s) for s in (1, 1, 2))
    assert one == again
    assert one != other
    blind = Strength(mean_1=50, mean_2=50, mean_3=50, mean_4=50, side_goal_1=50, side_goal_4=50)
    found = by_name(forecast(DESIGN, blind, draws=20))
    assert abs(found["tau-b within person and workflow"].value) < 0.1


def test_the_defaults_come_out_near_the_published_study():
    """Tau-b .64 without side goals and .41 with them, alpha .66 and .84, AC1 .85 (DialFork)."""
    found = by_name(forecast(layout(30), draws=40))
    published = {
        "tau-b without CSC": 0.64,
        "tau-b within person and workflow": 0.41,
        "rating, alpha": 0.66,
        "onset, alpha": 0.84,
        "prefix, AC1": 0.85,
        "true instruction confirmed": 0.91,
        "onset exact": 0.67,
        "prefix followed": 0.95,
    }
    for name, value in published.items():
        assert found[name].value == pytest.approx(value, abs=0.07), name


def test_a_study_without_overlap_has_no_agreement_to_foresee():
    found = forecast(layout(6, overlap=0), draws=5)
    assert "rating, alpha" not in by_name(found)


def test_an_interval_that_cannot_be_is_none_and_counted():
    found = by_name(forecast(layout(1), draws=5))
    row = found["mean rating, k = 1"]
    assert (row.width, row.narrow, row.undefined) == (None, None, 1.0)
    assert row.value is not None


def test_one_shared_item_has_no_interval_either():
    one = np.zeros(4, dtype=np.int64)
    design = Layout(
        np.array([0, 1, 0, 1]),
        np.array([0, 0, 1, 2]),
        one,
        one,
        one + 2,
        one > 0,
        one + 2,
        one + 7,
    )
    found = by_name(forecast(design, draws=20))
    assert found["rating, alpha"].width is None
    assert found["rating, alpha"].undefined == 1.0


def test_a_large_study_is_simulated_less_often(monkeypatch):
    assert forecast(DESIGN, draws=200).draws == 200
    monkeypatch.setattr(interval_forecasts, "MOST_CELLS", 50 * len(DESIGN.person))
    assert forecast(DESIGN, draws=200).draws == 50
    monkeypatch.setattr(interval_forecasts, "MOST_CELLS", 0)
    assert forecast(DESIGN, draws=200).draws == 10


@pytest.mark.slow
def test_two_hundred_studies_of_thirty_people_take_seconds():
    design = layout(30)
    begin = time.perf_counter()
    forecast(design, draws=200)
    assert time.perf_counter() - begin < 8


@pytest.mark.parametrize(
    ("wrong", "word"),
    [({"exact": 1.2}, "from 0 to 1"), ({"mean_1": 101}, "0 to 100"), ({"near": 0.1}, "near")],
)
def test_a_strength_out_of_range_is_refused(wrong, word):
    with pytest.raises(ValueError, match=word):
        Strength(**wrong)


def test_one_rule_is_behind_rehearsals_and_forecasts():
    """A judge answering one by one and the arrays have the same rates, within sampling error."""
    strength = Strength()
    case = Case("GR", 3, False, fork=4, assistant_turns=range(1, TURNS_OF_CASE + 1))
    answers = [Judge(f"s {i}", strength).judge(case) for i in range(1500)]
    one = np.ones(1, dtype=np.int64)
    place = TYPES.index("GR")
    alone = Layout(
        0 * one, 0 * one, 0 * one, place * one, 3 * one, one < 0, 4 * one, TURNS_OF_CASE * one
    )
    drawn = draw_answers(alone, strength, 1500, np.random.default_rng(0))
    assert np.mean([a.rating for a in answers]) == pytest.approx(drawn.rating.mean(), abs=2)
    yes = np.mean([a.confirmed == "yes" for a in answers])
    assert yes == pytest.approx((drawn.confirmed == 0).mean(), abs=0.05)
    exact = np.mean([a.onset == 4 for a in answers if a.onset])
    assert exact == pytest.approx((drawn.onset == 4).mean(), abs=0.05)
    no = np.mean([a.prefix == "no" for a in answers])
    assert no == pytest.approx((drawn.prefix == 2).mean(), abs=0.03)


TURNS_OF_CASE = 7
