"""Runs whose people differ: listed with what they said, never settled by a third."""

from __future__ import annotations

import pytest
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from annotation import reviewing, run_disputes
from annotation.enrolment import assign_seat
from annotation.models import Assignment
from annotation.rehearsal import simulate_study
from annotation.run_differences import PARTS, differ_on
from benchmark.label_records import TYPES, LabelRecord, PlaceRecord
from tests.run_studies import make_run_study

db = pytest.mark.django_db
NO = LabelRecord("a", False)


def yes(*types: str, step: int | None = 1, component: str = "action") -> LabelRecord:
    return LabelRecord("b", True, types, (), (PlaceRecord(step, component),))


@pytest.mark.parametrize(
    ("labels", "parts"),
    [
        ([NO, NO], ()),
        ([NO, yes("factual")], ("presence",)),
        ([yes("factual"), yes("factual")], ()),
        ([yes("factual"), yes("logical")], ("type",)),
        ([yes("factual", "logical"), yes("logical", "factual")], ()),
        ([yes("factual"), yes("factual", step=2)], ("step",)),
        ([yes("factual"), yes("factual", component="thought")], ("component",)),
        ([NO, yes("factual"), yes("logical", step=3)], ("presence", "type", "step")),
        ([yes("factual", step=None), yes("factual")], ("step",)),
    ],
)
def test_answers_differ_on_what_they_differ_on(labels, parts):
    assert differ_on(labels) == parts


@given(st.lists(st.sampled_from([NO, *(yes(t, step=s) for t in TYPES for s in (1, 2))])))
def test_the_order_of_answers_does_not_matter_and_one_never_differs_from_itself(labels):
    assert differ_on(labels) == differ_on(labels[::-1])
    assert set(differ_on(labels)) <= set(PARTS)
    assert differ_on(labels[:1] * 3) == ()


@pytest.fixture
def inside(client, researcher):
    client.force_login(researcher)
    return client


@pytest.fixture
def study(annotator, other_annotator):
    """Two people of all twelve runs; the one sees a fault in the first three, the other in none."""
    study = make_run_study(n_seats=2)
    fault = {
        "present": "yes",
        "types": ["logical"],
        "places": [{"at": "2.thought"}],
        "rationale": "That does not follow.",
    }
    for person, faults in ((annotator, 3), (other_annotator, 0)):
        seat = assign_seat(study, person)
        mine = seat.assignments.order_by("item_id").select_related(
            "seat__study", "item__trajectory", "item__judge_answer"
        )
        for place, assignment in enumerate(mine):
            reviewing.record_review(assignment, fault if place < faults else {"present": "no"})
            values = {"agreement": "disagree", "on": ["presence"], "changed": "no"}
            reviewing.record_comparison(assignment, values)
    return study


def page(client, study, query: str = "", status: int = 200) -> str:
    found = client.get(reverse("annotation:adjudication", args=[study.slug]) + query)
    assert found.status_code == status
    return found.content.decode()


@db
def test_the_page_lists_the_runs_with_what_people_and_the_judge_said(inside, study):
    html = page(inside, study)
    assert "<b>3</b> runs" in html
    assert html.count("yes: logical (2)") == 3
    for dispute in run_disputes.disputes(study):
        assert f'href="{dispute.run.get_absolute_url()}"' in html
        assert (dispute.on, dispute.changed) == (("presence",), 0)
    assert "Runs are not adjudicated" in html


@db
def test_parts_narrow_the_list_and_a_strange_one_is_refused(inside, study):
    assert "Nobody differs here" in page(inside, study, "?on=type")
    assert "<b>3</b> runs" in page(inside, study, "?on=presence&judges=people")
    page(inside, study, "?on=mood", 400)


@db
def test_a_second_attempt_is_no_blind_answer(study):
    Assignment.objects.filter(review__labels__present=True).update(post_reveal=True)
    assert run_disputes.disputes(study) == []


@db
def test_simulated_people_are_counted_only_when_asked_for(inside):
    study = make_run_study(n_simulated=4)
    simulate_study(study)
    assert "Nobody differs here" in page(inside, study)
    assert "Nobody differs here" not in page(inside, study, "?judges=all")


@db
def test_the_list_takes_as_many_queries_for_many_as_for_few(study, django_assert_num_queries):
    with django_assert_num_queries(9):
        assert len(run_disputes.disputes(study)) == 3
    rehearsed = make_run_study("autumn", judge_name="judge-b", n_simulated=4)
    simulate_study(rehearsed)
    with django_assert_num_queries(9):
        assert len(run_disputes.disputes(rehearsed, simulated=True)) > 3


@db
def test_a_run_cannot_be_adjudicated(inside, study):
    item = study.items.first()
    address = reverse("annotation:adjudicate", args=[study.slug, item.pk])
    assert inside.get(address).status_code == 404
    assert inside.post(address, {"rating": "50"}).status_code == 404
