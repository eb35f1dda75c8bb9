"""Figures of task 3: the same as one by one, resampled over sources, undefined with a reason."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.records import FORK_TYPES
from scoring import conformal
from scoring.detection_metrics import ABLATION, detection, detection_score
from scoring.onset_methods import Suspicion, first_alarm
from scoring.onset_summaries import (
    ALPHAS,
    NO_CONFORMANT,
    NO_DIALOGUE,
    NO_FORK,
    NO_NORMALISER,
    NOTHING_FLAGGED,
    Thresholds,
    summarise,
)
from scoring.onset_sums import OnsetRow, draws, figures_of, score_resamples, tabled

SOURCES = ("a", "b", "c")
answers = st.none() | st.integers(1, 12)
values = st.lists(st.floats(-5, 5), max_size=4)


def row(source="a", type_="GR", k=2, answer=4, truth=6, **more):
    fixed = {"workflow": "w", "first": 2, "last": 12, **more}
    return OnsetRow(source=source, type=type_, k=k, answer=answer, truth=truth, **fixed)


def calm(source="a", answer=None, **more):
    return row(source, "", 0, answer, 13, **more)


@st.composite
def rows(draw):
    forks = st.builds(
        row,
        source=st.sampled_from(SOURCES),
        type_=st.sampled_from(FORK_TYPES),
        k=st.sampled_from([1, 2, 3, 4]),
        answer=answers,
        truth=st.integers(1, 6).map(lambda turn: 2 * turn),
    )
    others = st.builds(calm, source=st.sampled_from(SOURCES), answer=answers)
    return draw(st.lists(forks, max_size=14)) + draw(st.lists(others, max_size=5))


def found(summary, statistic, group="all", workflow="", k=0):
    [each] = [
        r.estimate
        for r in summary
        if (r.statistic, r.group, r.workflow, r.k) == (statistic, group, workflow, k)
    ]
    return each


def number(array):
    return None if np.isnan(array) else pytest.approx(float(array))


@given(rows())
def test_sums_give_the_figures_of_the_plain_form(given_rows):
    figures = figures_of(tabled(given_rows))
    forks = [r for r in given_rows if r.type]
    plain = detection(
        [(r.type, r.truth, r.answer) for r in forks],
        [(r.last, r.answer) for r in given_rows if not r.type],
    )
    assert plain.fork_error == number(figures.error["all"])
    assert plain.fork_coverage == number(figures.coverage["all"])
    assert plain.conformant_error == number(figures.conformant_error)
    assert plain.false_alarms == number(figures.false_alarms)
    for type_ in FORK_TYPES:
        of_type = [r for r in forks if r.type == type_]
        assert plain.error_by_type.get(type_) == number(figures.error[type_])
        if of_type:
            exact = 100 * sum(r.answer == r.truth for r in of_type) / len(of_type)
            assert figures.exact_hit[type_] == pytest.approx(exact)
        else:
            assert np.isnan(figures.exact_hit[type_])


@given(rows(), st.sampled_from(sorted(ABLATION)))
def test_the_score_is_that_of_the_plain_form_with_normalisers_of_the_same_test_set(
    given_rows, weights
):
    figures = figures_of(tabled(given_rows))
    score = number(figures.score(ABLATION[weights]))
    if score is None:
        return
    plain = detection_score(
        fork_error=None if np.isnan(figures.error["all"]) else float(figures.error["all"]),
        fork_coverage=float(figures.coverage["all"]),
        conformant_error=(
            None if np.isnan(figures.conformant_error) else float(figures.conformant_error)
        ),
        false_alarms=float(figures.false_alarms),
        most_fork_error=float(figures.most_fork_error),
        most_conformant_error=float(figures.most_conformant_error),
        weights=ABLATION[weights],
    )
    assert plain == score


@given(rows(), st.lists(st.integers(0, 3), min_size=3, max_size=3))
def test_a_source_drawn_twice_counts_twice(given_rows, times):
    table = tabled(given_rows, SOURCES)
    weighted = score_resamples(table.sums(), np.array([times, times]))
    repeated = [
        r
        for name, n in zip(SOURCES, times, strict=True)
        for r in given_rows * n
        if r.source == name
    ]
    again = figures_of(tabled(repeated, SOURCES))
    for one in (0, 1):
        assert number(weighted.error["all"][one]) == number(again.error["all"])
        assert number(weighted.false_alarms[one]) == number(again.false_alarms)
        assert number(weighted.score()[one]) == number(again.score())


@given(rows())
def test_a_fork_position_counts_its_own_forks_only(given_rows):
    for k in (1, 2, 3, 4):
        part = [r for r in given_rows if r.k in (0, k)]
        here = figures_of(tabled(given_rows, SOURCES), k=k)
        there = figures_of(tabled(part, SOURCES))
        assert number(here.error["all"]) == number(there.error["all"])
        assert number(here.coverage["all"]) == number(there.coverage["all"])


@given(st.lists(st.tuples(values, st.sampled_from("vw")), max_size=6), st.floats(-5, 5))
def test_other_thresholds_give_what_the_detector_would_have_said(dialogues, cut):
    given_rows = [
        row(workflow=name, turns=[[2 * i + 1, value] for i, value in enumerate(row_values)])
        for row_values, name in dialogues
    ]
    answered = tabled(given_rows).answers_at({"v": cut, "w": None})
    for each, answer in zip(given_rows, answered.tolist(), strict=True):
        alarm = first_alarm([Suspicion(*turn) for turn in each.turns], cut)
        assert answer == (alarm or 0 if each.workflow == "v" else 0)


def test_first_and_last_turn_make_the_normalisers():
    figures = figures_of(tabled([row(truth=4), row(type_="WIC", truth=6), calm()]))
    assert float(figures.most_fork_error) == 7  # last turn: 8 and 6; first turn: 2 and 4
    assert float(figures.most_conformant_error) == 11


def summary(*given_rows, thresholds=None, **settings):
    return summarise(list(given_rows), thresholds or {}, seed=1, resamples=200, **settings)


def test_every_figure_is_given_over_all_per_k_and_per_workflow():
    rows_of_two = [
        r._replace(workflow=name, source=f"{name}{i}")
        for name in "vw"
        for i in range(3)
        for r in (row(answer=6 + i), row(type_="WIC", k=1), calm(answer=3 if i else None))
    ]
    summed = summary(*rows_of_two)
    places = Counter((r.workflow, r.k) for r in summed)
    assert set(places) == {("", 0), ("", 1), ("", 2), ("", 3), ("", 4), ("v", 0), ("w", 0)}
    assert found(summed, "error", "GR").value == 1
    assert found(summed, "error", "GR", k=2).value == 1
    assert found(summed, "error", k=1).value == found(summed, "error", "WIC").value == 2
    assert found(summed, "exact_hit", "GR", workflow="v").value == pytest.approx(100 / 3)
    assert found(summed, "false_alarms", "conformant").n == 6
    assert found(summed, "conformant_error", "conformant").n == 4
    assert found(summed, "score").n == 18
    json.dumps([r.estimate.as_dict() for r in summed], allow_nan=False)


def test_intervals_come_from_sources_and_the_seed():
    many = [row(f"s{i}", answer=6 + i % 3) for i in range(30)] + [calm(f"s{i}") for i in range(30)]
    first, again = summary(*many), summary(*many)
    assert [r.estimate for r in first] == [r.estimate for r in again]
    estimate = found(first, "error", "GR")
    assert estimate.ci[0] < estimate.value == 1 < estimate.ci[1]
    assert summarise(many, {}, seed=2, resamples=200)[0].estimate.ci != first[0].estimate.ci
    alone = summary(row(), calm(), row("a", "WIC"))
    assert found(alone, "error", "GR").ci is None
    assert found(alone, "error", "GR").value == 2


def test_draws_give_each_resample_as_many_sources_as_there_are():
    assert draws(7, 50, seed=3).sum(axis=1).tolist() == [7] * 50
    assert draws(0, 50, seed=3).shape == (50, 0)


@pytest.mark.parametrize(
    ("given_rows", "statistic", "group", "reason"),
    [
        ([row(answer=None), calm()], "error", "all", NOTHING_FLAGGED),
        ([row(), calm()], "conformant_error", "conformant", NOTHING_FLAGGED),
        ([row()], "score", "all", NO_CONFORMANT),
        ([row()], "false_alarms", "conformant", NO_DIALOGUE),
        ([calm()], "score", "all", NO_FORK),
        ([calm()], "coverage", "all", NO_DIALOGUE),
        ([row(truth=2, last=2), calm()], "score", "all", NO_NORMALISER),
        ([], "score", "all", NO_FORK),
    ],
)
def test_what_has_no_value_says_why(given_rows, statistic, group, reason):
    estimate = found(summary(*given_rows), statistic, group)
    assert (estimate.value, estimate.reason) == (None, reason)


def test_dialogues_that_could_not_be_judged_are_counted_where_they_belong():
    silent = row("b", answer=None, reason="no turn")
    summed = summary(row(), calm(), silent, calm("c", reason="no turn"))
    assert found(summed, "coverage", "GR").value == 100
    for place in (("coverage", "GR"), ("error", "all"), ("false_alarms", "conformant")):
        detail = found(summed, *place).detail
        assert (detail["skipped"], detail["reasons"]) == (1, {"no turn": 1})
    assert found(summed, "score").detail["skipped"] == 2
    assert found(summed, "coverage", "GR", k=2).detail["skipped"] == 1
    assert found(summed, "coverage", k=3).detail["skipped"] == 0


def test_the_score_carries_ablation_histogram_and_curve():
    turns = [[2, 0.1], [4, 0.7], [6, 0.9]]
    given_rows = [row(turns=turns), row("b", answer=None, turns=[[2, 0.2]]), calm(turns=turns)]
    cuts = [(0.05, 0.8), (0.1, 0.5), (0.2, None)]
    thresholds = {"w": Thresholds(30, "leave_one_out", 0.1, cuts)}
    detail = found(summary(*given_rows, thresholds=thresholds), "score").detail
    assert set(detail["ablation"]) == set(ABLATION)
    assert detail["histogram"]["GR"] == {"-2": 1}
    assert detail["histogram"]["WIC"] == {}
    curve = {each["alpha"]: each for each in detail["curve"]}
    assert (curve[0.05]["error"], curve[0.1]["error"], curve[0.2]["error"]) == (0, 2, None)
    assert curve[0.1]["coverage"] == 50
    assert curve[0.2]["false_alarms"] == 0
    assert detail["normalisers"] == {"fork_error": 6.0, "conformant_error": 11.0}
    assert found(summary(*given_rows), "score").detail["curve"] == []


def test_false_alarms_stand_beside_what_a_conformal_threshold_leads_one_to_expect():
    cuts = [(alpha, None) for alpha in ALPHAS]
    for form, expected in (("exact", 100 * conformal.expectation(30, 0.1)), ("in_sample", None)):
        thresholds = {"w": Thresholds(30, form, 0.1, cuts)}
        detail = found(
            summary(row(), calm(), thresholds=thresholds), "false_alarms", "conformant"
        ).detail
        assert (detail["alpha"], detail["silent_workflows"]) == (0.1, 1)
        assert detail["expectation"] == (None if expected is None else pytest.approx(expected))


def test_forks_with_several_injections_are_counted_beside_the_score():
    assert (
        found(summary(row(), calm(), several_injections=3), "score").detail["several_injections"]
        == 3
    )


def test_sources_and_forks_that_are_not_known_are_refused():
    with pytest.raises(ValueError, match="source 'z' is not among the 3 given"):
        tabled([row("z")], SOURCES)
    with pytest.raises(ValueError, match="fork 'XYZ' at k = 2 is unknown"):
        tabled([row(type_="XYZ")])
