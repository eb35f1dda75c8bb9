"""Answers are asked in order, written once, and settled by the database."""

from __future__ import annotations

import threading

import pytest
from django.db import IntegrityError, connection, transaction

from annotation import judging
from annotation.enrolment import assign_seat
from annotation.models import (
    InstructionConfirmation,
    OnsetMark,
    PrefixJudgement,
    Skip,
    SliderRating,
)
from tests.studies import assistant_turns, item_at, make_study


@pytest.fixture
def seat(annotator):
    return assign_seat(make_study(), annotator)


@pytest.fixture
def late(seat):
    """A fork that has assistant turns before it."""
    return item_at(seat, k=3)


@pytest.fixture
def early(seat):
    """A fork at the first assistant turn."""
    return item_at(seat, k=1)


def test_the_first_rating_stands(late):
    judging.record_slider(late, 80)
    with pytest.raises(judging.AnsweredBefore, match="80 of 100"):
        judging.record_slider(late, 20)
    assert SliderRating.objects.get().value == 80


def test_the_same_rating_again_changes_nothing(late):
    first = judging.record_slider(late, 80)
    assert judging.record_slider(late, 80).pk == first.pk
    assert SliderRating.objects.count() == 1


@pytest.mark.parametrize("value", [-1, 101])
def test_a_rating_out_of_range_is_refused(late, value):
    with pytest.raises(judging.AnswerRefused) as refused:
        judging.record_slider(late, value)
    assert refused.value.field == "rating"
    assert not SliderRating.objects.exists()


def test_no_confirmation_without_a_rating(late):
    with pytest.raises(judging.StepLocked):
        judging.record_confirmation(late, "no")
    assert not InstructionConfirmation.objects.exists()


def test_a_no_writes_an_onset_without_a_turn(late):
    judging.record_slider(late, 80)
    judging.record_confirmation(late, "no", onset=assistant_turns(late.item.dialogue)[0])
    assert OnsetMark.objects.get().turn is None


@pytest.mark.parametrize("answer", ["yes", "partly"])
def test_yes_and_partly_need_an_onset(late, answer):
    judging.record_slider(late, 80)
    with pytest.raises(judging.AnswerRefused) as refused:
        judging.record_confirmation(late, answer)
    assert refused.value.field == "onset"
    assert not InstructionConfirmation.objects.exists()


@pytest.mark.parametrize("number", [2, 400])
def test_the_onset_is_an_assistant_turn_of_this_dialogue(late, number):
    judging.record_slider(late, 80)
    with pytest.raises(judging.AnswerRefused, match=f"Turn {number} is not an assistant turn"):
        judging.record_confirmation(late, "yes", onset=number)


def test_an_unknown_answer_is_refused(late):
    judging.record_slider(late, 80)
    with pytest.raises(judging.AnswerRefused, match="yes, partly or no"):
        judging.record_confirmation(late, "maybe")


def test_another_confirmation_is_refused_and_the_same_is_not(late):
    turn = assistant_turns(late.item.dialogue)[2]
    judging.record_slider(late, 80)
    first = judging.record_confirmation(late, "yes", onset=turn)
    assert judging.record_confirmation(late, "yes", onset=turn).pk == first.pk
    with pytest.raises(judging.AnsweredBefore, match=f"yes, from turn {turn}"):
        judging.record_confirmation(late, "no")
    with pytest.raises(judging.AnsweredBefore):
        judging.record_confirmation(late, "yes", onset=turn + 2)


def test_a_late_fork_has_three_steps(late):
    assert judging.open_step(late) == "rate"
    judging.record_slider(late, 80)
    assert judging.open_step(late) == "instruction"
    judging.record_confirmation(late, "no")
    assert judging.open_step(late) == "prefix"
    judging.record_prefix(late, "mostly")
    late.refresh_from_db()
    assert judging.open_step(late) is None
    assert late.finished_at is not None


def test_an_early_fork_and_a_whole_conversation_have_two_steps(early, seat):
    for assignment in (early, item_at(seat)):
        judging.record_slider(assignment, 80)
        judging.record_confirmation(assignment, "no")
        assignment.refresh_from_db()
        assert assignment.finished_at is not None
        assert judging.open_step(assignment) is None
        with pytest.raises(judging.StepLocked):
            judging.record_prefix(assignment, "yes")
    assert not PrefixJudgement.objects.exists()


def test_no_prefix_judgement_before_the_confirmation(late):
    judging.record_slider(late, 80)
    with pytest.raises(judging.StepLocked):
        judging.record_prefix(late, "yes")


def test_the_first_prefix_judgement_stands(late):
    judging.record_slider(late, 80)
    judging.record_confirmation(late, "no")
    judging.record_prefix(late, "yes")
    judging.record_prefix(late, "yes")
    with pytest.raises(judging.AnsweredBefore, match="yes"):
        judging.record_prefix(late, "no")
    assert PrefixJudgement.objects.get().answer == "yes"


def test_a_skipped_item_takes_no_answers(late):
    judging.record_skip(late, "cut_off", "ends in the middle")
    late.refresh_from_db()
    assert late.finished_at is not None
    assert judging.open_step(late) is None
    with pytest.raises(judging.StepLocked):
        judging.record_slider(late, 80)
    with pytest.raises(judging.AnsweredBefore):
        judging.record_skip(late, "other")
    assert Skip.objects.get().note == "ends in the middle"


def test_a_finished_item_cannot_be_skipped(early):
    judging.record_slider(early, 80)
    judging.record_confirmation(early, "no")
    with pytest.raises(judging.AnsweredBefore):
        judging.record_skip(early, "other")
    assert not Skip.objects.exists()


def test_the_database_itself_refuses_an_answer_without_the_one_before(late):
    with pytest.raises(IntegrityError), transaction.atomic():
        InstructionConfirmation.objects.create(slider_id=4711, answer="no")
        connection.check_constraints()


def test_an_answer_costs_three_queries_for_its_link(late, django_assert_num_queries):
    """Two savepoints; locks on seat and item; the answer; the last link and the new one. The first
    look at step 2 asks for the rating and writes a link, every later one asks once."""
    late = type(late).objects.select_related("item__dialogue", "seat__study").get(pk=late.pk)
    with django_assert_num_queries(7):
        judging.record_slider(late, 80)
    with django_assert_num_queries(9):
        judging.reveal(late)
    with django_assert_num_queries(1):
        judging.reveal(late)


@pytest.mark.django_db(transaction=True)
def test_five_identical_submits_at_once_store_one_answer(annotator):
    late = item_at(assign_seat(make_study(), annotator), k=3)
    outcomes: list[int] = []

    def submit():
        try:
            outcomes.append(judging.record_slider(late, 64).pk)
        finally:
            connection.close()

    threads = [threading.Thread(target=submit) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert SliderRating.objects.count() == 1
    assert outcomes == [SliderRating.objects.get().pk] * 5
