"""The steps of an agent run: in order, once each, stored beside what judges say."""

from __future__ import annotations

import pytest
from django.db import IntegrityError

from annotation import commitments, judging, reviewing, withdrawing
from annotation.answering import AnsweredBefore, AnswerRefused, ItemEnded, NotNow, StepLocked
from annotation.models import (
    Assignment,
    Commitment,
    Item,
    JudgeComparison,
    Review,
    RevisedReview,
    Skip,
)
from annotation.review_answers import flat, parsed, places_of, there
from benchmark.label_records import PlaceRecord
from benchmark.labelling import labelled_runs, records_of
from benchmark.models import LabelPlace, LabelSet, Rater, Trajectory
from tests.run_rows import NO, first_item, make_run_study, yes

DISAGREE = {"agreement": "disagree", "on": ["type", "step"], "note": "", "changed": "no"}


@pytest.fixture
def study(annotator):
    return make_run_study(user=annotator)


@pytest.fixture
def item(study) -> Assignment:
    return first_item(study)


def test_a_review_is_stored_beside_the_judge_under_the_pseudonym(item):
    review = reviewing.record_review(item, yes())
    record = records_of([review.labels])[review.labels_id]
    assert (record.rater, record.kind, record.stage) == (item.seat.pseudonym, "person", "review")
    assert (record.trial, record.post_reveal, record.present) == (1, False, True)
    assert record.types == ("factual", "referential")
    assert record.places == (
        PlaceRecord(2, "thought", "referential", "root", 1),
        PlaceRecord(None, "response", "", "propagated"),
    )
    run = labelled_runs(Trajectory.objects.filter(pk=item.item.trajectory_id))[0]
    assert set(run.labels) == {"umpire-prompt-4", item.seat.pseudonym}


def test_the_steps_come_in_order_and_each_once(item):
    assert judging.open_step(item) == "review"
    with pytest.raises(StepLocked):
        reviewing.record_comparison(item, DISAGREE)
    with pytest.raises(StepLocked):
        reviewing.reveal(item)
    reviewing.record_review(item, yes())
    assert judging.open_step(item) == "compare"
    with pytest.raises(StepLocked):
        reviewing.record_revision(item, NO)
    reviewing.record_comparison(item, DISAGREE | {"changed": "yes"})
    assert judging.open_step(item) == "revise"
    assert item.finished_at is None
    revision = reviewing.record_revision(item, NO)
    assert judging.open_step(item) is None
    assert item.finished_at is not None
    assert (revision.labels.stage, revision.labels.post_reveal) == ("revision", True)
    assert Review.objects.get().labels.present


@pytest.mark.parametrize(
    ("judged", "change", "steps"),
    [(False, "no", ["review"]), (True, "no", ["review", "compare"])],
)
def test_an_item_ends_with_its_last_step(annotator, judged, change, steps):
    item = first_item(make_run_study(user=annotator, judged=judged))
    walked = []
    while step := judging.open_step(item):
        walked.append(step)
        if step == "review":
            reviewing.record_review(item, NO)
        else:
            reviewing.record_comparison(item, DISAGREE | {"changed": change})
    assert walked == steps
    assert Assignment.objects.get(pk=item.pk).finished_at


def test_an_attention_item_and_an_unread_judge_have_no_comparison(item):
    item.item.kind = Item.Kind.ATTENTION
    assert not reviewing.has_comparison(item)
    item.item.kind = Item.Kind.MAIN
    item.item.judge_answer.labels_id = None
    assert not reviewing.has_comparison(item)


def test_a_second_submit_changes_nothing(item):
    one = reviewing.record_review(item, yes())
    turned = yes(types=["referential", "factual"], places=yes()["places"][::-1])
    assert reviewing.record_review(item, turned) == one
    first = reviewing.record_comparison(item, DISAGREE | {"changed": "yes"})
    assert reviewing.record_comparison(item, DISAGREE | {"changed": True}) == first
    last = reviewing.record_revision(item, NO)
    assert reviewing.record_revision(item, NO) == last
    assert (Review.objects.count(), JudgeComparison.objects.count()) == (1, 1)
    assert LabelSet.objects.filter(rater__kind="person").count() == 2
    assert Commitment.objects.count() == 4


def test_another_answer_is_refused_and_the_first_is_told(item):
    reviewing.record_review(item, yes())
    for other in (NO, yes(rationale="Something else is wrong here."), yes(types=["referential"])):
        with pytest.raises(AnsweredBefore) as told:
            reviewing.record_review(item, other)
        assert told.value.stored == "yes: factual, referential"
    reviewing.record_comparison(item, DISAGREE)
    with pytest.raises(AnsweredBefore) as told:
        reviewing.record_comparison(item, DISAGREE | {"on": ["type"]})
    assert told.value.stored == "disagree"


WRONG = {
    "present": ({"present": ""}, {"present": "maybe"}, {"present": None}),
    "types": ({"types": []}, {"types": ["comic"]}),
    "flags": (
        {"types": ["scope"], "places": [{"at": "final"}]},
        {"types": ["scope"], "flags": ["dance"]},
    ),
    "places": (
        {"places": []},
        {"places": [{"at": "4.thought"}]},
        {"places": [{"at": "3.thought"}]},
        {"places": [{"at": "2.mood"}]},
        {"places": [{"at": 2}]},
        {"places": [{"at": "2.thought", "types": ["scope"]}]},
        {"places": [{"at": "2.thought", "cause": "luck"}]},
        {"places": [{"at": "2.thought", "evidence": 2}]},
        {"places": [{"at": "final", "evidence": 4}]},
        {"places": [{"at": "2.thought", "evidence": "one"}]},
        {"places": [{"at": "2.thought"}] * 61},
    ),
    "rationale": (
        {"rationale": ""},
        {"rationale": "  too few "},
        {"rationale": "w" * 4001},
        {"rationale": "no text \x00 here"},
    ),
}


@pytest.mark.parametrize(
    ("field", "change"), [(field, change) for field, some in WRONG.items() for change in some]
)
def test_what_a_review_must_have_is_asked_for_by_field(item, field, change):
    with pytest.raises(AnswerRefused) as refused:
        reviewing.record_review(item, yes(**change))
    assert refused.value.field == field
    assert not LabelSet.objects.filter(rater__kind="person").exists()
    assert not Commitment.objects.exists()


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("agreement", {"agreement": "so so"}),
        ("on", {"on": []}),
        ("on", {"on": ["weather"]}),
        ("note", {"note": "w" * 1001}),
        ("changed", {"changed": ""}),
    ],
)
def test_what_a_comparison_must_have_is_asked_for_by_field(item, field, change):
    reviewing.record_review(item, yes())
    with pytest.raises(AnswerRefused) as refused:
        reviewing.record_comparison(item, DISAGREE | change)
    assert refused.value.field == field
    assert not JudgeComparison.objects.exists()


def test_no_needs_no_reason_and_leaves_out_what_belongs_to_yes(item):
    review = reviewing.record_review(item, yes(present="no", rationale="", flags=["role_breach"]))
    assert (review.labels.types, review.labels.flags) == ([], [])
    assert not LabelPlace.objects.filter(labels=review.labels).exists()


def test_flags_belong_to_scope_and_evidence_to_what_is_referred_to(item):
    places = [{"at": "1.action", "types": ["scope"], "evidence": None}, {"at": "final"}]
    review = reviewing.record_review(
        item, yes(types=["scope", "logical"], flags=["target_change"], places=places)
    )
    assert review.labels.flags == ["target_change"]
    other = first_item(item.seat.study, rank=2)
    places = [{"at": "2.thought", "evidence": 1}]
    plain = reviewing.record_review(
        other, yes(types=["logical"], flags=["target_change"], places=places)
    )
    assert plain.labels.flags == []
    assert plain.labels.places.get().evidence is None


def test_a_place_that_shows_all_types_is_stored_once(item):
    places = [{"at": "2.thought", "types": ["factual", "referential"]}]
    review = reviewing.record_review(item, yes(places=places))
    assert [place.type for place in review.labels.places.all()] == [""]


def test_only_parts_that_the_run_has_can_be_marked(item):
    run = item.item.trajectory
    assert there(run) == {
        *("1.thought", "1.action", "1.observation", "2.thought", "2.action"),
        *("3.action", "3.observation", "3.response", "final"),
    }
    run.response = ""
    assert "final" not in there(run)
    assert [parsed(at) for at in ("12.action", "final", "0.action", "1.", 7, None)] == [
        (12, "action"),
        (None, "response"),
        *[None] * 4,
    ]


def test_a_form_and_a_label_say_the_same(item):
    review = reviewing.record_review(item, yes())
    record = records_of([review.labels])[review.labels_id]
    form = flat(record.to_json() | {"places": record.places})
    again = form | {"places": places_of(form)}
    assert reviewing.record_review(item, again) == review


def test_a_skipped_item_and_a_seat_given_up_take_no_review(item):
    judging.record_skip(item, "other")
    assert judging.open_step(item) is None
    with pytest.raises(StepLocked):
        reviewing.record_review(item, NO)
    other = first_item(item.seat.study, rank=2)
    other.seat.study.state = "paused"
    other.seat.study.save()
    with pytest.raises(NotNow):
        reviewing.record_review(other, NO)
    other.seat.state = "expired"
    other.seat.save()
    with pytest.raises(ItemEnded):
        reviewing.record_review(other, NO)
    assert not Review.objects.exists()


def test_a_review_can_be_skipped_from_and_stays(item):
    reviewing.record_review(item, yes())
    judging.record_skip(item, "other")
    assert judging.open_step(item) is None
    assert judging.answers(item).skip == Skip.objects.get()
    assert Review.objects.get().labels.present


def test_a_reopened_item_is_a_further_trial_that_is_not_blind(item):
    reviewing.record_review(item, yes())
    again = Assignment.objects.create(
        item=item.item, seat=item.seat, rank=9, attempt=2, post_reveal=True
    )
    review = reviewing.record_review(again, NO)
    assert (review.labels.trial, review.labels.post_reveal) == (2, True)
    run = labelled_runs(Trajectory.objects.filter(pk=item.item.trajectory_id))[0]
    assert run.labels[item.seat.pseudonym].present


def test_a_simulated_seat_keeps_no_chain_and_is_marked(db):
    item = first_item(make_run_study(simulated=True))
    reviewing.record_review(item, yes())
    reviewing.reveal(item)
    reviewing.record_comparison(item, DISAGREE)
    assert Rater.objects.get(name=item.seat.pseudonym).simulated
    assert not Commitment.objects.exists()


def test_the_keys_themselves_refuse_a_second_answer(item):
    review = reviewing.record_review(item, yes())
    with pytest.raises(IntegrityError):
        Review.objects.create(assignment=item, labels=review.labels)


def test_the_chain_proves_that_the_review_was_there_before_the_judge_was_seen(item):
    reviewing.record_review(item, yes())
    assert commitments.kinds_of(item) == ["reviewed"]
    reviewing.reveal(item)
    reviewing.reveal(item)
    reviewing.record_comparison(item, DISAGREE | {"changed": "yes"})
    reviewing.record_revision(item, NO)
    assert commitments.kinds_of(item) == ["reviewed", "revealed", "compared", "revised"]
    assert [(one.ok, one.links) for one in commitments.verify(item.seat.study)] == [(True, 4)]


def change_type(item):
    LabelSet.objects.filter(review__assignment=item).update(logical=True)


def change_place(item):
    LabelPlace.objects.filter(labels__review__assignment=item, cause="root").update(cause="")


def change_words(item):
    LabelSet.objects.filter(review__assignment=item).update(rationale="Nothing is wrong.")


def change_comparison(item):
    JudgeComparison.objects.update(agreement="partly")


def change_run(item):
    Trajectory.objects.filter(pk=item.item.trajectory_id).update(digest="f" * 64)


def change_judge(item):
    answer = item.item.judge_answer
    type(answer).objects.filter(pk=answer.pk).update(digest="e" * 64)


def take_away_revision(item):
    RevisedReview.objects.all().delete()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (change_type, "reviewed is stored as"),
        (change_place, "reviewed is stored as"),
        (change_words, "reviewed is stored as"),
        (change_comparison, "compared is stored as"),
        (change_run, "is not what it was"),
        (change_judge, "is not what it was"),
        (take_away_revision, "which is gone"),
    ],
)
def test_whatever_is_changed_afterwards_shows_in_the_chain(item, change, sentence):
    reviewing.record_review(item, yes())
    reviewing.record_comparison(item, DISAGREE | {"changed": "yes"})
    reviewing.record_revision(item, NO)
    change(item)
    finding = commitments.verify(item.seat.study)[0]
    assert not finding.ok
    assert sentence in finding.sentence


@pytest.mark.parametrize("n_items", [2, 4])
def test_verifying_takes_as_many_queries_whatever_the_size(
    annotator, n_items, django_assert_num_queries
):
    study = make_run_study(user=annotator, n_items=n_items)
    for rank in range(1, n_items + 1):
        item = first_item(study, rank)
        reviewing.record_review(item, yes())
        reviewing.record_comparison(item, DISAGREE)
    with django_assert_num_queries(6):
        assert all(one.ok for one in commitments.verify(study))


def test_erasing_leaves_no_label_and_no_name_among_the_raters(item):
    reviewing.record_review(item, yes(rationale="my cat walked over it"))
    reviewing.record_comparison(item, DISAGREE | {"note": "my cat again", "changed": "yes"})
    reviewing.record_revision(item, NO)
    seat, study = item.seat, item.seat.study
    withdrawing.withdraw(seat, "erase")
    assert not Review.objects.exists()
    assert not LabelSet.objects.filter(rater__kind="person").exists()
    assert not Rater.objects.filter(name=seat.pseudonym).exists()
    assert LabelSet.objects.filter(rater__kind="judge").count() == 2
    assert all(one.ok for one in commitments.verify(study))


def test_keeping_leaves_the_answers_under_the_pseudonym(item):
    reviewing.record_review(item, yes())
    withdrawing.withdraw(item.seat, "keep")
    assert LabelSet.objects.get(rater__name=item.seat.pseudonym).present
    assert all(one.ok for one in commitments.verify(item.seat.study))


def test_answering_takes_as_many_queries_whatever_the_run(item, django_assert_max_num_queries):
    with django_assert_max_num_queries(26):
        reviewing.record_review(item, yes())


def test_a_conversation_has_no_review_and_a_run_no_rating(item, late):
    with pytest.raises(StepLocked):
        judging.record_slider(item, 50)
    with pytest.raises(StepLocked):
        reviewing.record_review(late, NO)
    with pytest.raises(StepLocked):
        reviewing.record_review(late, yes())
