"""The plan of a study of runs in numbers: coverage, exposure, and the widths to be expected."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.agreement import cohen_kappa_of_table, gwet_ac_of_table
from annotation.run_forecasts import RunStrength, ac1_of, forecast_runs, kappa_of, layout_of
from annotation.run_plan_tables import (
    PlannedRun,
    by_model,
    by_question,
    by_seat,
    exposure,
    judged_times,
    models_of,
)


def planned(seat: int, item: int, model: str, question: str, *, answered: bool = True):
    return PlannedRun(seat, item, "c", model, question, 4 + item, answered)


ROWS = [
    planned(1, 1, "a", "q2"),
    planned(1, 2, "b", "q10", answered=False),
    planned(1, 3, "a", "q10"),
    planned(2, 1, "a", "q2"),
    planned(2, 4, "b", ""),
    planned(2, 5, "b", ""),
]


def test_a_model_has_its_runs_judgements_questions_and_answers():
    one, two = by_model(ROWS)
    assert (one.model, one.runs, one.judgements, one.questions, one.answered) == ("a", 2, 3, 2, 2)
    assert (two.model, two.runs, two.judgements, two.questions, two.answered) == ("b", 3, 3, 1, 2)
    assert one.steps == 6


def test_questions_are_counted_by_model_and_in_the_order_people_count():
    assert models_of(ROWS) == ["a", "b"]
    lines = by_question(ROWS)
    assert [line.question for line in lines] == ["q2", "q10", ""]
    assert [[cell.n for cell in line.cells] for line in lines] == [[2, 0], [1, 1], [0, 2]]
    assert [line.total for line in lines] == [2, 2, 2]


def test_a_question_met_again_is_told_and_whether_it_had_to_be():
    met = exposure(ROWS, n_seats=2)
    assert (met.most, met.judgements, met.questions, met.again) == (2, 4, 2, 1)
    assert met.needed == 0
    assert exposure(ROWS, n_seats=1).needed == 2


def test_runs_without_a_question_repeat_nothing():
    assert exposure([ROWS[4], ROWS[5]], n_seats=1).again == 0


def test_seats_and_judgements_are_counted():
    assert judged_times(ROWS) == {1: 4, 2: 1}
    first, second = by_seat(ROWS)
    assert (first.runs, first.models, first.questions, first.again) == (3, 2, 2, 1)
    assert (first.fewest, first.most) == (1, 2)
    assert (second.runs, second.again) == (3, 0)


def test_kappa_of_the_published_table_is_that_of_the_paper():
    cells = (np.array([float(n)]) for n in (141, 12, 36, 35))
    assert kappa_of(*cells)[0] == pytest.approx(0.4558, abs=5e-5)


@given(st.lists(st.integers(0, 60), min_size=4, max_size=4))
def test_kappa_and_ac1_are_those_of_the_report(cells):
    both, first, second, neither = cells
    table = [[both, first], [second, neither]]
    kappa = cohen_kappa_of_table(table, categories=(True, False)).value
    found = kappa_of(*(np.array([float(n)]) for n in cells))[0]
    assert np.isnan(found) if kappa is None else found == pytest.approx(kappa)
    n = sum(cells)
    if n:
        ac1 = gwet_ac_of_table(table, categories=(True, False)).value
        sums = (both + neither, n, both + (first + second) / 2, n)
        assert ac1_of(*(np.array([float(x)]) for x in sums))[0] == pytest.approx(ac1)


def layout(runs: int, per_item: int, *, answered: bool = True, questions: int = 0):
    names = [f"q{run % questions}" if questions else "" for run in range(runs)]
    return layout_of(list(range(runs)) * per_item, names * per_item, [answered] * runs * per_item)


def test_runs_that_fare_as_their_question_does_make_wider_intervals():
    widths = []
    for alike in (0.0, 1.0):
        strength = RunStrength(prevalence=0.5, alike=alike)
        rows = forecast_runs(layout(240, 2, questions=20), strength, seed=1).rows
        widths.append({row.figure: row.width for row in rows}["Cohen's kappa of judge and people"])
    assert widths[1] > 1.1 * widths[0]


def test_runs_of_one_question_have_no_interval_of_kappa():
    rows = {r.figure: r for r in forecast_runs(layout(30, 2, questions=1), RunStrength()).rows}
    assert rows["Cohen's kappa of two people"].width is None
    assert rows["Cohen's kappa of two people"].value is not None
    assert rows["agreement of two people"].width is not None


def test_more_runs_make_narrower_intervals():
    few, many = (
        {row.figure: row for row in forecast_runs(layout(n, 2), RunStrength(), seed=1).rows}
        for n in (40, 400)
    )
    assert set(few) == set(many)
    for name in few:
        assert many[name].width < few[name].width / 2, name


def test_a_forecast_finds_the_rates_it_was_told():
    strength = RunStrength(0.5, 0, person_sensitivity=1, person_specificity=1)
    rows = {row.figure: row for row in forecast_runs(layout(300, 2), strength, seed=1).rows}
    assert rows["runs with a hallucination"].value == pytest.approx(0.5, abs=0.02)
    assert rows["Cohen's kappa of two people"].value == pytest.approx(1)
    assert rows["Gwet's AC1"].value == pytest.approx(1)
    assert rows["recall against people"].value == pytest.approx(0.92, abs=0.02)
    assert rows["recall against people"].n == pytest.approx(150, abs=5)


def test_one_judge_a_run_has_no_agreement_and_no_answers_no_judge():
    rows = forecast_runs(layout(30, 1, answered=False), RunStrength(), seed=1).rows
    assert [row.figure for row in rows] == ["runs with a hallucination"]


def test_the_same_seed_forecasts_the_same():
    one, other = (forecast_runs(layout(30, 3), RunStrength(), seed=5) for _ in range(2))
    assert one == other


def test_without_judgements_nothing_is_forecast():
    with pytest.raises(ValueError, match="without judgements"):
        forecast_runs(layout_of([], [], []), RunStrength())
