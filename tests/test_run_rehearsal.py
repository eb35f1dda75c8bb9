"""A dry run of a study of runs: complete, repeatable, marked as simulated, no person's seat."""

from __future__ import annotations

import json

import pytest
from django.core.management import call_command
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from annotation import launching, reviewing
from annotation.imagined_reviewers import Reviewer, RunCase, Skill, differences
from annotation.models import JudgeComparison, Review, RevisedReview, Study
from annotation.rehearsal import simulate_study
from benchmark.label_records import (
    COMPONENTS,
    FLAGS,
    JUDGE,
    PUBLISHED,
    TYPES,
    LabelRecord,
    PlaceRecord,
)
from benchmark.labelling import labelled_runs, records_of
from benchmark.models import LabelSet, Rater, Trajectory
from tests.run_studies import make_run_study

db = pytest.mark.django_db
PERFECT = Skill(sensitivity=1, specificity=1, type_kept=1, type_added=0, place_kept=1, changed=0)
PLACES = ((1, "thought"), (1, "action"), (2, "action"), (None, "response"))
TRUTH = LabelRecord(
    "truth", True, ("procedural",), (), (PlaceRecord(2, "action", "procedural"),), "Why.", PUBLISHED
)


def test_who_sees_everything_says_what_is_true():
    said = Reviewer("A-1", "1 1", PERFECT).answer(RunCase("run", PLACES, TRUTH))
    assert (said.review.present, said.review.types) == (True, ("procedural",))
    assert [(p.step, p.component) for p in said.review.places] == [(2, "action")]
    assert said.compared is None


def test_who_agrees_with_the_judge_differs_on_nothing():
    case = RunCase("run", PLACES, TRUTH, TRUTH)
    assert Reviewer("A-1", "1 1", PERFECT).answer(case).compared.agreement == "agree"


def test_a_changed_mind_takes_the_answer_of_the_judge_and_is_not_blind():
    judge = LabelRecord("judge", False, kind=JUDGE)
    said = Reviewer("A-1", "1 1", Skill(sensitivity=1, changed=1)).answer(
        RunCase("run", PLACES, TRUTH, judge)
    )
    assert (said.compared.agreement, said.compared.on) == ("disagree", ("presence",))
    assert (said.revised.present, said.revised.post_reveal) == (False, True)
    assert said.revised.stage == "revision"


def test_two_answers_differ_on_presence_or_on_parts():
    other = LabelRecord(
        "b", True, ("procedural", "scope"), FLAGS[:1], (PlaceRecord(1, "action"),), "", JUDGE
    )
    assert differences(TRUTH, LabelRecord("b", False)) == ("presence",)
    assert differences(TRUTH, other) == ("type", "step")
    assert differences(TRUTH, TRUTH) == ()


@given(
    st.integers(0, 2**32),
    st.booleans(),
    st.lists(st.sampled_from(TYPES), unique=True),
    st.lists(st.tuples(st.integers(1, 5), st.sampled_from(COMPONENTS)), unique=True, max_size=6),
)
def test_whatever_is_true_the_answer_is_one_a_person_could_give(seed, present, types, places):
    truth = LabelRecord("t", present, types if present else ()) if types else None
    judge = LabelRecord("j", present, types if present else (), kind=JUDGE)
    case = RunCase(f"run {seed}", places, truth, judge)
    said = Reviewer("A-1", f"{seed} 1", Skill()).answer(case)
    for label in filter(None, (said.review, said.revised)):
        assert label.present == bool(label.types)
        assert ("scope" in label.types) == bool(label.flags)
        assert {(p.step, p.component) for p in label.places} <= set(places)
        if label.present and places:
            assert label.places
            assert len(label.rationale) >= 10
    assert said == Reviewer("A-1", f"{seed} 1", Skill()).answer(case)


def test_a_skill_out_of_range_is_refused():
    with pytest.raises(ValueError, match="sensitivity is 2"):
        Skill(sensitivity=2)


@db
def test_every_run_of_the_simulated_seats_is_answered_and_no_other():
    study = make_run_study(n_simulated=3)
    assert simulate_study(study) == 18
    assert Review.objects.count() == JudgeComparison.objects.count() == 18
    assert not Review.objects.filter(assignment__seat__simulated=False).exists()
    seats = study.seats.order_by("number")
    assert [seat.state for seat in seats] == ["free", *["finished"] * 3]
    assert not seats[3].assignments.filter(finished_at=None).exists()
    changed = JudgeComparison.objects.filter(changed=True).count()
    assert RevisedReview.objects.count() == changed > 0
    assert simulate_study(study) == 0
    assert Review.objects.count() == 18


@db
def test_what_they_say_is_stored_as_people_say_it_and_marked():
    study = make_run_study(n_simulated=4)
    simulate_study(study)
    review = Review.objects.filter(labels__present=True).first()
    rater = review.labels.rater
    assert (rater.kind, rater.simulated) == (Rater.Kind.PERSON, True)
    assert rater.name == review.assignment.seat.pseudonym
    record = records_of([review.labels])[review.labels_id]
    assert (record.stage, record.post_reveal, bool(record.places)) == ("review", False, True)
    with pytest.raises(reviewing.AnsweredBefore):
        reviewing.record_review(review.assignment, {"present": "no"})
    runs = labelled_runs(Trajectory.objects.all())
    assert {name for run in runs for name in run.labels} == {"truth", "judge-a"}


@db
def test_the_same_seed_gives_the_same_answers_and_another_others():
    study = make_run_study(n_simulated=4, state=Study.State.DRAFT)
    corpora, shape = launching.corpora_of(study), launching.shape_in(study)
    said = []
    for seed in (1, 1, 2):
        simulate_study(study, seed=seed)
        rows = Review.objects.order_by("assignment__seat__number", "assignment__rank")
        said.append(list(rows.values_list("assignment__item__trajectory_id", "labels__present")))
        study = launching.redraw(study, corpora=corpora, shape=shape)
    assert said[0] == said[1] != said[2]


@db
def test_planted_skill_shows_in_what_is_found():
    study = make_run_study(n_simulated=4)
    simulate_study(study)
    rows = Review.objects.values_list(
        "assignment__item__trajectory__external_id", "labels__present"
    )
    truth = {
        name: labels["truth"].present
        for name, labels in (
            (r.external_id, r.labels) for r in labelled_runs(Trajectory.objects.all())
        )
    }
    right = sum(truth[name] == present for name, present in rows)
    assert right / len(rows) > 0.7


@db
def test_an_item_that_was_begun_is_gone_on_with():
    study = make_run_study(n_simulated=4)
    assignment = (
        study.seats.first()
        .assignments.select_related("seat__study", "item__trajectory", "item__judge_answer")
        .first()
    )
    reviewing.record_review(assignment, {"present": "no"})
    assert simulate_study(study) == 24
    assignment.refresh_from_db()
    assert assignment.finished_at
    assert assignment.review.comparison.agreement == "disagree"


@db
def test_drawing_a_rehearsed_draft_again_leaves_nothing_of_the_rehearsal():
    study = make_run_study(n_simulated=4, state=Study.State.DRAFT)
    simulate_study(study)
    launching.redraw(study, corpora=launching.corpora_of(study), shape=launching.shape_in(study))
    assert not Review.objects.exists()
    assert not LabelSet.objects.exclude(stage="").exists()
    assert not Rater.objects.filter(simulated=True).exists()
    assert LabelSet.objects.filter(rater__name="judge-a").count() == 12


@db
def test_a_rehearsal_takes_as_many_queries_for_many_seats_as_for_few(django_assert_num_queries):
    few = make_run_study("few", n_simulated=2)
    many = make_run_study("many", judge_name="judge-b", n_simulated=4)
    for study in (few, many):
        with django_assert_num_queries(41):
            simulate_study(study)
        assert RevisedReview.objects.filter(comparison__answer__rater=study.judge).exists()


@db
def test_the_button_and_the_command_rehearse(client, researcher):
    make_run_study(n_simulated=2)
    client.force_login(researcher)
    page = client.post(reverse("annotation:rehearse", args=["spring"]), follow=True)
    assert "12 items were answered on simulated seats" in page.content.decode()


@db
def test_the_command_says_what_it_did(capsys):
    make_run_study(n_simulated=2)
    call_command("simulate_study", "spring", "--json")
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told == {"study": "spring", "simulated_seats": 2, "answered": 12}
