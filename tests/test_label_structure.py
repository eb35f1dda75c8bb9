"""Where raters see hallucinations: places, agents, steps made into runs, cascades, evidence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.agreement import wilson
from annotation.label_marks import marks_of, spots, step_flags
from annotation.label_pairs import labels_of
from annotation.label_structure import AGGREGATORS, aggregated
from annotation.label_tables import figures, single_rater_figures
from benchmark.label_records import (
    ACTION,
    FACTUAL,
    LOGICAL,
    OBSERVATION,
    PROPAGATED,
    REFERENTIAL,
    RESPONSE,
    ROOT,
    SCOPE,
    THOUGHT,
    LabelRecord,
    PlaceRecord,
)
from tests.labelled import JUDGE, PEOPLE, Run, named, row, said

QUICK = {"resamples": 60}
Place = PlaceRecord


def marked(pk, places, types=(FACTUAL,), rater=PEOPLE, **more):
    """A run with one label."""
    return Run(pk, {rater: said(rater, types, places)}, **{"question": f"q{pk}"} | more)


def clean(pk, rater=PEOPLE, **more):
    return Run(pk, {rater: said(rater, None)}, **{"question": f"q{pk}"} | more)


def tables(runs, **more):
    return single_rater_figures(runs, PEOPLE, **QUICK, **more)


# -- places --------------------------------------------------------------------------------------


def test_a_place_named_for_two_types_is_one_place_of_two_types():
    places = [Place(1, ACTION, FACTUAL), Place(1, ACTION, SCOPE), Place(2, THOUGHT, SCOPE)]
    found = tables([marked(1, places, [FACTUAL, SCOPE])])
    assert {r["component"]: r["places"] for r in named(found, "components").rows} == {
        THOUGHT: 1,
        ACTION: 1,
        OBSERVATION: 0,
        RESPONSE: 0,
    }
    types = named(found, "type-components")
    assert row(types, type=FACTUAL, component=ACTION)["places"] == 1
    assert row(types, type=SCOPE, component=ACTION)["places"] == 1
    assert row(types, type=SCOPE, component=THOUGHT)["places"] == 1


def test_a_place_without_a_type_stands_for_all_types_of_its_run_and_it_is_said():
    found = named(tables([marked(1, [Place(1, ACTION)], [FACTUAL, LOGICAL])]), "type-components")
    assert found.n == 2 and "1 of 1 places count more than once" in found.note
    assert row(found, type=LOGICAL, component=ACTION)["places"] == 1


def test_a_share_of_none_has_the_interval_of_its_questions():
    runs = [marked(at, [Place(1, ACTION), Place(2, ACTION)]) for at in range(6)]
    table = named(tables(runs), "components")
    none, every = row(table, component=THOUGHT)["share"], row(table, component=ACTION)["share"]
    assert (none.value, none.n, none.ci) == (0.0, 12, wilson(0, 6).ci)
    assert (every.value, every.ci) == (1.0, wilson(6, 6).ci)
    alone = row(named(tables(runs[:1]), "components"), component=THOUGHT)["share"]
    assert alone.ci is None and "one question" in alone.reason


def test_a_part_that_is_not_named_is_counted_as_left_out():
    found = named(tables([marked(1, [Place(1), Place(2, ACTION)])]), "components")
    assert found.n == 1 and found.note == (
        "n counts places. Left out: 1 of 2 places, which name no part."
    )


def test_steps_are_counted_among_the_runs_that_have_them():
    runs = [
        marked(1, [Place(1, ACTION)], n_steps=2, agents=("A", "B")),
        marked(2, [Place(3, ACTION)], n_steps=3, agents=("A", "B", "A")),
        clean(3, n_steps=1, agents=("A",)),
    ]
    steps = named(tables(runs), "steps")
    assert [(r["step"], r["steps"], r["named"]) for r in steps.rows] == [
        ("1", 3, 1),
        ("2", 2, 0),
        ("3", 1, 1),
    ]
    assert row(steps, step="2")["share"].value == 0.0


def test_a_run_whose_fault_has_no_place_is_left_out_of_steps_and_counted():
    runs = [marked(1, [Place(1)]), marked(2, []), clean(3)]
    steps = named(tables(runs), "steps")
    assert row(steps, step="1")["steps"] == 2
    assert steps.note == (
        "n counts steps. Left out: 1 of 2 runs, with a hallucination and no place."
    )


def test_a_part_of_an_unnamed_step_is_a_part_and_no_place():
    label = {JUDGE: said(JUDGE, [FACTUAL], [Place(None, ACTION)])}
    runs = [
        marked(1, [Place(None, ACTION)]),
        Run(2, {PEOPLE: said(PEOPLE, [FACTUAL], [Place(None, ACTION)])} | label),
        marked(3, [Place(1)]),
    ]
    found = tables(runs)
    assert row(named(found, "components"), component=ACTION)["places"] == 2
    assert "Left out: 2 of 3 runs" in named(found, "steps").note
    places = named(figures(runs, PEOPLE, JUDGE, **QUICK), "places")
    assert not places.rows and "say where" in places.reason


def test_the_final_response_is_a_place_after_the_steps():
    runs = [marked(1, [Place(None, RESPONSE)]), clean(2)]
    steps = named(tables(runs), "steps")
    last = steps.rows[-1]
    assert (last["step"], last["steps"], last["named"]) == ("final response", 2, 1)
    assert sum(r["named"] for r in steps.rows[:-1]) == 0


def test_late_steps_are_taken_together_by_tens():
    run = marked(1, [Place(27)], n_steps=34, agents=("A",) * 34)
    rows = named(tables([run]), "steps").rows
    assert [r["step"] for r in rows[-3:]] == ["20", "21 to 30", "31 to 34"]
    assert [(r["steps"], r["named"]) for r in rows[-2:]] == [(10, 1), (4, 0)]


def test_fifths_hold_every_step_once():
    runs = [marked(pk, [Place(pk)], n_steps=pk, agents=("A",) * pk) for pk in range(1, 13)]
    rows = named(tables(runs), "run-fifths").rows
    assert sum(r["steps"] for r in rows) == sum(range(1, 13))
    assert sum(r["named"] for r in rows) == 12
    assert rows[-1]["named"] == 8, "of runs shorter than five steps the last is no last fifth"


def test_types_have_their_parts_of_a_run():
    places = [Place(1, ACTION), Place(2, THOUGHT), Place(10), Place(None, RESPONSE)]
    run = marked(1, places, [LOGICAL], n_steps=10, agents=("A",) * 10)
    table = named(tables([run, marked(2, [Place(5)], n_steps=5, agents=("A",) * 5)]), "type-fifths")
    logical = [r["places"] for r in table.rows if r["type"] == LOGICAL]
    assert logical == [2, 0, 0, 0, 1, 1]
    assert row(table, type=FACTUAL, part="last fifth")["share"].value == 1.0


def test_a_place_beyond_the_run_is_refused_by_name():
    with pytest.raises(ValueError, match="people: a place at step 9 of long, which has 4 steps"):
        tables([marked(1, [Place(9)], external_id="long")])


def test_tasks_that_do_not_fit_the_steps_are_refused_by_name():
    with pytest.raises(ValueError, match="has 4 steps and 3 task numbers"):
        tables([marked(1, [Place(1)])], tasks={1: [1, 1, 2]})


def test_places_of_no_task_are_counted():
    runs = [marked(1, [Place(1, ACTION), Place(None, RESPONSE), Place(4, ACTION)])]
    table = named(tables(runs, tasks={1: [1, 1, 2, None]}), "tasks")
    assert [(r["task"], r["steps"], r["places"]) for r in table.rows] == [("1", 2, 1), ("2", 1, 0)]
    assert table.note.endswith("Left out: 2 of 3 places, which fall in no task.")
    assert named(tables(runs, tasks={}), "tasks").reason == ("no step carries the number of a task")


places_of_four = st.lists(
    st.builds(Place, st.integers(1, 4), st.sampled_from(["", ACTION, THOUGHT])), max_size=5
)


@given(st.lists(places_of_four, min_size=1, max_size=8))
def test_flags_of_steps_are_those_a_loop_finds(all_places):
    runs = [marked(at, places) for at, places in enumerate(all_places)]
    marks = marks_of(runs, labels_of(PEOPLE, [run.labels[PEOPLE] for run in runs]))
    run, position, flags = step_flags(runs, marks)
    by_hand = [
        (at, step, any(p.step == step for p in places))
        for at, places in enumerate(all_places)
        for step in range(1, 5)
    ]
    assert list(zip(run, position, flags, strict=True)) == by_hand
    assert len(spots(marks)[0]) == len(
        {(at, p.step, p.component) for at, places in enumerate(all_places) for p in places}
    )


# -- agents --------------------------------------------------------------------------------------


def test_agents_are_counted_by_their_steps_and_by_their_part_of_all_named_steps():
    agents = ("IoT", "IoT", "TSFM")
    runs = [
        marked(1, [Place(1, THOUGHT), Place(1, ACTION), Place(3)], n_steps=3, agents=agents),
        clean(2, n_steps=3, agents=("IoT", "IoT", "")),
    ]
    table = named(tables(runs), "agents")
    iot, tsfm = row(table, agent="IoT"), row(table, agent="TSFM")
    assert (iot["runs"], iot["steps"], iot["named"]) == (2, 4, 1)
    assert (tsfm["steps"], tsfm["named"], tsfm["share"].value) == (1, 1, 1.0)
    assert iot["part"].value == tsfm["part"].value == 0.5
    assert row(table, agent="(no name)")["share"].value == 0.0
    assert [r["agent"] for r in table.rows] == ["IoT", "TSFM", "(no name)"]
    types = named(tables(runs), "agent-types")
    assert row(types, agent="IoT", type=FACTUAL)["steps"] == 1


# -- from steps to runs --------------------------------------------------------------------------


def test_each_aggregator_does_what_its_name_says():
    scores, run = np.array([0.0, 0.6, 0.0, 0.7, 0.8, 0.1]), np.array([0, 0, 0, 1, 1, 1])
    found = {name: aggregated(name, scores, run, 3).tolist() for name in AGGREGATORS}
    assert found == {"any": [1, 1, 0], "majority": [0, 1, 0], "max": [0.6, 0.8, 0]}


def test_an_unknown_aggregator_and_a_score_above_one_are_refused():
    with pytest.raises(ValueError, match="it must be one of any, majority, max"):
        aggregated("mean of means", np.zeros(1), np.zeros(1, dtype=int), 1)
    with pytest.raises(ValueError, match="between 0 and 1"):
        aggregated("max", np.array([2.0]), np.zeros(1, dtype=int), 1)


scored = st.lists(st.lists(st.floats(0, 1), max_size=6), min_size=1, max_size=8)


@given(scored)
def test_aggregators_are_ordered_and_any_is_the_highest_at_one_half(steps):
    scores = np.array([s for each in steps for s in each])
    run = np.repeat(np.arange(len(steps)), [len(each) for each in steps])
    found = {name: aggregated(name, scores, run, len(steps)) for name in AGGREGATORS}
    assert (found["majority"] <= found["any"]).all()
    assert ((found["max"] >= 0.5) == (found["any"] == 1)).all()
    for at, each in enumerate(steps):
        assert found["max"][at] == max(each, default=0)
        assert found["majority"][at] == (sum(s >= 0.5 for s in each) > len(each) / 2)


def test_a_fault_of_the_final_response_only_is_missed_by_the_steps():
    runs = [
        marked(1, [Place(1), Place(2), Place(3)]),
        marked(2, [Place(1)]),
        marked(3, [Place(None, RESPONSE)]),
        marked(4, []),
        clean(5),
    ]
    table = named(tables(runs), "aggregators")
    assert table.n == 4 and "Left out: 1 of 5 runs" in table.note
    any_, most = row(table, aggregator="any"), row(table, aggregator="majority")
    assert [any_[key] for key in ("tp", "fn", "fp", "tn")] == [2, 1, 0, 1]
    assert [most[key] for key in ("tp", "fn", "fp", "tn")] == [1, 2, 0, 1]
    assert any_["agreement"].value == 0.75


def test_steps_of_a_judge_are_held_against_what_people_say_of_the_run():
    runs = [
        Run(1, {PEOPLE: said(PEOPLE, None), JUDGE: said(JUDGE, [FACTUAL], [Place(2)])}),
        Run(2, {PEOPLE: said(PEOPLE, [FACTUAL]), JUDGE: said(JUDGE, [FACTUAL], [Place(1)])}),
        Run(3, {PEOPLE: said(PEOPLE, [FACTUAL]), JUDGE: said(JUDGE, None)}),
    ]
    table = named(figures(runs, PEOPLE, JUDGE, **QUICK), "steps-to-runs")
    line = row(table, aggregator="any")
    assert [line[key] for key in ("tp", "fn", "fp", "tn")] == [1, 1, 1, 0]


# -- cascades ------------------------------------------------------------------------------------


def cascade(pk, root, *propagated, **more):
    places = [Place(root, ACTION, cause=ROOT)] if root else []
    places += [Place(step, ACTION, cause=PROPAGATED) for step in propagated]
    return marked(pk, places, n_steps=9, agents=("A",) * 9, **more)


def test_a_cascade_runs_from_the_first_root_to_the_last_step_it_reaches():
    runs = [cascade(1, 2, 3, 7), cascade(2, 4), cascade(3, 1, 2), marked(4, [Place(1)])]
    found = tables(runs)
    table = named(found, "cascades")
    rooted, led, mean, most, orphans = table.rows
    assert (rooted["count"], rooted["share"].value) == (3, 0.75)
    assert (led["count"], led["share"].n) == (2, 3)
    assert mean["steps"].value == 3.0 and most["steps"].value == 5.0
    assert orphans["count"] == 0
    lengths = {r["steps"]: r["runs"] for r in named(found, "cascade-lengths").rows}
    assert lengths == {"0": 1, "1": 1, "2": 0, "3": 0, "4": 0, "5": 1}


def test_what_follows_without_a_root_before_it_is_counted_apart():
    table = named(tables([cascade(1, 5, 3, 8), cascade(2, None, 4)]), "cascades")
    assert table.rows[-1]["count"] == 2
    assert table.rows[2]["steps"].value == 3.0


def test_labels_that_say_nothing_of_causes_have_no_cascades_and_say_so():
    found = tables([marked(1, [Place(1, ACTION)])])
    assert named(found, "cascades").reason == "no place says whether the fault begins there"
    assert named(found, "cascade-lengths").reason == "no place is marked as the root"


# -- evidence ------------------------------------------------------------------------------------


def test_evidence_is_counted_among_referential_claims_with_its_distance():
    places = [
        Place(4, THOUGHT, REFERENTIAL, evidence=1),
        Place(3, ACTION, REFERENTIAL, evidence=2),
        Place(2, ACTION, REFERENTIAL),
        Place(2, THOUGHT, FACTUAL),
    ]
    table = named(tables([marked(1, places, [REFERENTIAL, FACTUAL]), clean(2)]), "evidence")
    with_it, before, away = table.rows
    assert table.n == 3
    assert (with_it["count"], with_it["share"].value) == (2, pytest.approx(2 / 3))
    assert (before["count"], before["share"].n) == (1, 2)
    assert away["steps"].value == 2.0


def test_two_raters_agree_on_the_evidence_where_both_name_it():
    def label(rater, *claims):
        places = [Place(step, ACTION, REFERENTIAL, evidence=held) for step, held in claims]
        return LabelRecord(rater, True, types=[REFERENTIAL], places=places)

    runs = [
        Run(1, {PEOPLE: label(PEOPLE, (3, 1)), JUDGE: label(JUDGE, (3, 1))}),
        Run(2, {PEOPLE: label(PEOPLE, (3, 1)), JUDGE: label(JUDGE, (3, 2))}),
        Run(3, {PEOPLE: label(PEOPLE, (4, 1)), JUDGE: label(JUDGE, (4, None))}),
        Run(4, {PEOPLE: label(PEOPLE, (4, 1)), JUDGE: label(JUDGE, (2, 1))}),
    ]
    table = named(figures(runs, PEOPLE, JUDGE, **QUICK), "evidence-agreement")
    assert table.n == 3
    assert [(r["count"], r["share"].n) for r in table.rows] == [(2, 3), (1, 2)]


# -- do two raters mean the same place? ----------------------------------------------------------


def two(pk, one, other, types=((FACTUAL,), (FACTUAL,))):
    labels = {PEOPLE: said(PEOPLE, types[0], one), JUDGE: said(JUDGE, types[1], other)}
    return Run(pk, labels, question=f"q{pk}")


def test_places_match_by_step_by_part_and_by_type():
    runs = [
        two(1, [Place(1, ACTION)], [Place(1, THOUGHT)]),
        two(2, [Place(2, ACTION), Place(3, ACTION)], [Place(3, ACTION)]),
        two(3, [Place(1, ACTION)], [Place(1, ACTION)], ((FACTUAL,), (SCOPE,))),
        Run(4, {PEOPLE: said(PEOPLE, None), JUDGE: said(JUDGE, [FACTUAL], [Place(1, ACTION)])}),
        two(5, [], [Place(1)]),
    ]
    table = named(figures(runs, PEOPLE, JUDGE, **QUICK), "places")
    found = {r["match"]: (r["one"], r["other"], r["shared"]) for r in table.rows}
    assert found == {
        "step": (4, 4, 3),
        "step and part": (4, 4, 2),
        "step and type": (4, 4, 2),
        "step, part and type": (4, 4, 1),
    }
    line = row(table, match="step")
    assert (line["precision"].value, line["recall"].value, line["f1"].value) == (0.75,) * 3
    assert (line["runs"].value, line["runs"].n) == (1.0, 3)
    assert table.n == 4 and "Left out: 1 of 5 runs" in table.note


def test_a_rater_that_names_no_part_has_no_agreement_on_parts():
    table = named(figures([two(1, [Place(1)], [Place(1, ACTION)])], PEOPLE, JUDGE), "places")
    line = row(table, match="step and part")
    assert line["f1"].value is None and line["f1"].reason == "none is named by people"
    assert row(table, match="step")["f1"].value == 1.0


def test_places_are_compared_the_same_way_round():
    one = [[Place(1, ACTION)], [Place(2), Place(3)], [Place(4, THOUGHT)]]
    other = [[Place(1, ACTION), Place(2)], [Place(3)], [Place(1)]]
    runs = [two(at, a, b) for at, (a, b) in enumerate(zip(one, other, strict=True))]
    there, back = (
        row(named(figures(runs, *names, **QUICK), "places"), match="step")
        for names in ((PEOPLE, JUDGE), (JUDGE, PEOPLE))
    )
    assert there["f1"] == back["f1"]
    assert there["precision"] == back["recall"] and there["runs"] == back["runs"]


def test_first_steps_are_compared_where_both_name_one():
    runs = [
        two(1, [Place(1), Place(4)], [Place(1)]),
        two(2, [Place(3)], [Place(1), Place(4)]),
        two(3, [Place(1)], [Place(4)]),
        two(4, [Place(1)], []),
    ]
    table = named(figures(runs, PEOPLE, JUDGE, **QUICK), "first-steps")
    same, one, three, later, earlier, away = table.rows
    counts = [r["share"].detail["k"] for r in (same, one, three, later, earlier)]
    assert counts == [1, 1, 3, 1, 1] and table.n == 3
    assert away["steps"].value == pytest.approx(5 / 3)
