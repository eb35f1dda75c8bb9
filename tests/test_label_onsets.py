"""The first wrong step and the agent at fault: raters and baselines against a reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.label_onset_measures import (
    RANDOM_AGENT,
    RANDOM_STEP,
    agent_named,
    random_agent,
    random_step,
    truth_of,
)
from annotation.label_onsets import figures
from annotation.label_tables import single_rater_figures
from benchmark.label_records import FACTUAL, PlaceRecord
from tests.labelled import JUDGE, PEOPLE, Run, named, row, said

QUICK = {"resamples": 60}


def at_step(rater, step, **more):
    if step is None:
        return said(rater, None)
    return said(rater, [FACTUAL], [PlaceRecord(step)] if step else [], **more)


def run(pk, true, guess="unseen", agents="AABB", **more):
    """A run whose reference names step `true`; the judge `guess` (None: no fault, 0: none)."""
    labels = {PEOPLE: at_step(PEOPLE, true)}
    if guess != "unseen":
        labels[JUDGE] = at_step(JUDGE, guess)
    fields = {"question": f"q{pk}", "n_steps": len(agents), "agents": tuple(agents)}
    return Run(pk, labels, **fields | more)


def judged(runs, **more):
    return row(named(figures(runs, PEOPLE, [JUDGE], **QUICK, **more), "onsets"), predictor=JUDGE)


def test_steps_are_right_exactly_or_within_some():
    runs = [run(1, 2, 2), run(2, 2, 3), run(3, 1, 4), run(4, 4, 1), run(5, 3, 3)]
    line = judged(runs)
    assert [line[f"within_{w}"].detail["k"] for w in (0, 1, 3, 5)] == [2, 3, 5, 5]
    assert line["agent"].detail["k"] == 2
    assert (line["before"].detail["k"], line["after"].detail["k"]) == (1, 2)
    assert line["distance"].value == pytest.approx(7 / 5)


def test_who_names_no_step_is_wrong_and_is_counted():
    line = judged([run(1, 1, None), run(2, 1, 0), run(3, 1, 1)])
    assert line["within_0"].value == pytest.approx(1 / 3) and line["within_0"].n == 3
    assert line["unanswered"].value == pytest.approx(2 / 3)
    assert line["distance"].n == 1


def test_a_run_the_predictor_has_not_seen_does_not_count_against_it():
    line = judged([run(1, 1, 1), run(2, 1)])
    assert (line["runs"], line["within_0"].value) == (1, 1.0)


def test_runs_whose_reference_names_no_step_are_left_out_and_counted():
    found = named(figures([run(1, 1, 1), run(2, 0, 1), run(3, None, 1)], PEOPLE, [JUDGE]), "onsets")
    assert (
        found.n == 1 and found.note == f"Left out: 2 of 3 runs, where no step is named by {PEOPLE}."
    )


def test_without_any_reference_step_there_is_a_reason():
    for found in figures([run(1, None, 1)], PEOPLE, [JUDGE]):
        assert not found.rows and found.reason == "the reference names no step"


def test_the_agent_named_by_the_publisher_goes_before_the_speaker_of_the_step():
    blamed = at_step(PEOPLE, 1, meta={"mistake_agent": "B"})
    one = Run(1, {PEOPLE: blamed}, agents=("A", "B"), n_steps=2)
    assert agent_named(one, blamed) == "B"
    assert agent_named(one, at_step(PEOPLE, 1)) == "A"
    assert agent_named(one, at_step(PEOPLE, 0)) == ""


def test_what_an_agent_is_doing_is_no_part_of_its_name():
    agents = ("Boss (thought)", "Boss (-> Surfer)", "Surfer", "Surfer")
    one = run(1, 1, 2, agents=agents)
    one.labels[PEOPLE] = at_step(PEOPLE, 1, meta={"mistake_agent": "Boss"})
    table = named(figures([one], PEOPLE, [JUDGE], **QUICK), "onsets")
    assert row(table, predictor=JUDGE)["agent"].value == 1.0
    assert row(table, predictor="last")["agent"].value == 0.0
    assert row(table, predictor=RANDOM_STEP)["agent"].value == 0.5
    assert row(table, predictor=RANDOM_AGENT)["agent"].value == 0.5


def test_a_judge_that_names_the_agent_and_no_step_has_the_agent_right():
    said_agent = at_step(JUDGE, 0, meta={"mistake_agent": "B"})
    one = run(1, 3)
    one.labels[JUDGE] = said_agent
    line = judged([one])
    assert line["agent"].value == 1.0 and line["within_0"].value == 0.0


lengths = st.integers(1, 9).flatmap(
    lambda n: st.tuples(st.integers(1, n), st.text(alphabet="ABC", min_size=n, max_size=n))
)


@settings(deadline=None)
@given(st.lists(lengths, min_size=1, max_size=6))
def test_random_guesses_are_worth_their_exact_expectation(given_runs):
    runs = [run(at, step, agents=agents) for at, (step, agents) in enumerate(given_runs)]
    truth = truth_of(runs, PEOPLE, resamples=0)
    steps, agents_ = random_step(truth), random_agent(truth)
    for within in (0, 1, 3, 5):
        by_hand = np.mean(
            [
                np.mean([abs(at - step) <= within for at in range(1, len(agents) + 1)])
                for step, agents in given_runs
            ]
        )
        assert steps[f"within_{within}"].value == pytest.approx(by_hand)
    by_agent = [agents.count(agents[step - 1]) / len(agents) for step, agents in given_runs]
    assert steps["agent"].value == pytest.approx(np.mean(by_agent))
    one_of = [1 / len(set(agents)) for _, agents in given_runs]
    assert agents_["agent"].value == pytest.approx(np.mean(one_of))
    away = [
        np.mean([abs(at - step) for at in range(1, len(agents) + 1)]) for step, agents in given_runs
    ]
    assert steps["distance"].value == pytest.approx(np.mean(away))


def test_a_guess_of_an_agent_names_no_step_and_says_so():
    table = named(figures([run(1, 1, 1), run(2, 2, 2)], PEOPLE, **QUICK), "onsets")
    line = row(table, predictor=RANDOM_AGENT)
    assert line["within_0"].value is None and "not a step" in line["within_0"].reason
    assert row(table, predictor=RANDOM_STEP)["within_0"].ci is None


def test_an_agent_that_never_acts_cannot_be_guessed():
    one = run(1, 1, 1)
    one.labels[PEOPLE] = at_step(PEOPLE, 1, meta={"mistake_agent": "Nobody"})
    table = named(figures([one], PEOPLE, [JUDGE], **QUICK), "onsets")
    assert [r["agent"].value for r in table.rows] == [0.0] * 5


def test_groups_have_their_own_lines_and_one_group_has_no_table():
    runs = [run(1, 1, 1, corpus="a"), run(2, 2, 1, corpus="b"), run(3, 1, 1, corpus="b")]
    table = named(figures(runs, PEOPLE, [JUDGE], **QUICK), "onsets-groups")
    assert row(table, group="a", predictor=JUDGE)["within_0"].value == 1.0
    assert row(table, group="b", predictor=JUDGE)["within_0"].value == 0.5
    same = figures(runs, PEOPLE, [JUDGE], groups=dict.fromkeys((1, 2, 3), "all"), **QUICK)
    assert [figure.name for figure in same] == ["onsets", "onset-offsets"]


def test_archives_are_told_by_the_names_of_runs_unless_they_are_paths():
    runs = [run(at, 1, external_id=f"archive-{at % 2}/{at}") for at in range(6)]
    table = named(figures(runs, PEOPLE, **QUICK), "onsets-groups")
    assert {r["group"] for r in table.rows} == {"archive-0", "archive-1"}
    paths = [run(at, 1, external_id=f"folder-{at}/x") for at in range(20)]
    assert [figure.name for figure in figures(paths, PEOPLE, **QUICK)] == [
        "onsets",
        "onset-offsets",
    ]


def test_what_guessing_is_worth_stands_beside_what_one_rater_says():
    runs = [run(at, 1 + at % 3) for at in range(6)]
    found = single_rater_figures(runs, PEOPLE, **QUICK)
    assert row(named(found, "onsets"), predictor="first")["within_0"].detail["k"] == 2
    silent = single_rater_figures([run(1, None)], PEOPLE, **QUICK)
    assert "onsets" not in {figure.name for figure in silent}


def test_offsets_add_up_to_the_answers():
    runs = [run(at, step, 4, agents="A" * 12) for at, step in enumerate((1, 4, 4, 12))]
    table = named(figures(runs, PEOPLE, [JUDGE], **QUICK), "onset-offsets")
    of_judge = {r["offset"]: r["runs"] for r in table.rows if r["predictor"] == JUDGE}
    assert sum(of_judge.values()) == 4
    assert (of_judge["0"], of_judge["+3"], of_judge["under -5"]) == (2, 1, 1)


@given(st.permutations(range(8)))
@settings(deadline=None, max_examples=10)
def test_the_order_of_the_runs_changes_nothing(order):
    runs = [run(at, 1 + at % 4, 1 + at % 3, question=f"q{at % 3}") for at in range(8)]
    moved = [runs[at] for at in order]
    assert figures(runs, PEOPLE, [JUDGE], **QUICK) == figures(moved, PEOPLE, [JUDGE], **QUICK)
