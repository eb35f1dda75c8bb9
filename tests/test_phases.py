"""The way through a study: one phase after the other, each act once, nothing out of turn."""

from __future__ import annotations

import threading

import pytest
from django.db import connection
from django.urls import reverse

from annotation import phases, questionnaires
from annotation.enrolment import assign_seat
from annotation.models import Message, Seat, Study
from tests.studies import make_study
from tests.walks import ALL, answer_all, make_walk

END = ["main", "done"]


@pytest.mark.parametrize(
    ("chosen", "way"),
    [
        ([], END),
        (["questionnaire", "consent"], ["consent", "main", "questionnaire", "done"]),
        (ALL, ["consent", "instructions", "practice", "main", "questionnaire", "done"]),
    ],
)
def test_phases_come_in_their_order_whatever_the_order_they_were_chosen_in(chosen, way):
    study = Study(phases=chosen)
    assert phases.walk(study) == way
    assert phases.first(study) == way[0]


def stored(seat: Seat) -> tuple[str, str]:
    fresh = Seat.objects.get(pk=seat.pk)
    return fresh.state, fresh.phase


def test_a_phase_is_left_once_and_only_from_within(annotator):
    seat = assign_seat(make_walk(phases=["consent", "instructions"]), annotator)
    assert not phases.advance(seat, "instructions")
    assert not phases.advance(seat, "questionnaire")
    assert stored(seat) == ("active", "consent")
    assert phases.consent(seat)
    assert Seat.objects.get(pk=seat.pk).consented_at
    assert not phases.consent(seat)
    assert not phases.decline(seat)
    assert stored(seat) == ("active", "instructions")


def test_who_does_not_agree_is_at_the_end_and_may_not_come_back_to_it(annotator):
    seat = assign_seat(make_walk(phases=["consent"]), annotator)
    assert phases.decline(seat)
    assert stored(seat) == ("declined", "consent")
    assert not phases.consent(seat)
    assert stored(seat) == ("declined", "consent")


def test_a_practice_that_fails_screens_out_and_one_that_passes_waits_to_be_read(
    annotator, other_annotator
):
    study = make_walk(n_practice=2, phases=["practice"], pass_mark=2)
    passed, failed = assign_seat(study, annotator), assign_seat(study, other_annotator)
    assert not phases.settle(passed)
    assert not phases.finish_practice(passed)
    for seat, rightly in ((passed, True), (failed, False)):
        answer_all(phases.items_of(seat, practising=True), rightly=rightly)
    assert not phases.settle(passed)
    assert phases.settle(failed)
    assert not phases.settle(failed)
    assert stored(failed) == ("screened_out", "practice")
    assert phases.finish_practice(passed)
    assert not phases.finish_practice(passed)
    assert stored(passed) == ("active", "main")
    assert phases.waiting(passed).rank == 1


def test_attention_items_are_among_the_items_and_practice_is_not(annotator):
    study = make_walk(n_practice=1, n_attention=1, phases=["practice"])
    seat = assign_seat(study, annotator)
    assert phases.waiting(seat).item.kind == "practice"
    answer_all(phases.items_of(seat, practising=True))
    assert phases.finish_practice(seat)
    kinds = []
    while item := phases.waiting(seat):
        kinds.append(item.item.kind)
        answer_all(seat.assignments.filter(pk=item.pk))
    assert sorted(kinds) == ["attention", *["main"] * 4]


def test_the_last_item_leads_to_the_questions_and_they_to_the_end(annotator):
    seat = assign_seat(make_walk(phases=["questionnaire"]), annotator)
    assert phases.next_url(seat).startswith("/items/")
    answer_all(phases.items_of(seat, practising=False))
    assert phases.next_url(seat) == reverse("annotation:seat", args=[seat.pseudonym])
    assert stored(seat) == ("active", "questionnaire")
    assert phases.advance(seat, "questionnaire")
    assert stored(seat) == ("finished", "done")
    assert Seat.objects.get(pk=seat.pk).finished_at


def test_without_phases_the_items_come_at_once_and_the_last_one_finishes_the_seat(annotator):
    seat = assign_seat(make_study(), annotator)
    assert phases.next_url(seat).startswith("/items/")
    answer_all(seat.assignments.all())
    phases.next_url(seat)
    assert stored(seat) == ("finished", "done")


def test_a_seat_that_rests_moves_nowhere(annotator):
    seat = assign_seat(make_walk(phases=["consent"]), annotator)
    Seat.objects.filter(pk=seat.pk).update(state="paused")
    seat.refresh_from_db()
    assert not phases.consent(seat)
    assert not phases.decline(seat)
    assert not phases.settle(seat)
    assert stored(seat) == ("paused", "consent")


def test_the_next_item_costs_the_same_however_many_there_are(annotator, django_assert_num_queries):
    seat = assign_seat(make_study(), annotator)
    with django_assert_num_queries(1):
        assert phases.waiting(seat)


def test_how_long_it_takes_comes_from_the_texts(annotator, django_assert_num_queries):
    seat = assign_seat(make_walk(n_practice=2, phases=["practice"]), annotator)
    with django_assert_num_queries(2):
        assert phases.minutes(seat) == 10
    from benchmark.models import Turn

    Turn.objects.filter(number=1).update(text="word " * 2400)
    assert phases.minutes(seat) == 70


def test_a_card_counts_what_its_phase_waits_for(annotator, django_assert_num_queries):
    study = make_walk(n_practice=2, n_attention=1, phases=["practice"])
    seat = assign_seat(study, annotator)
    Message.objects.create(seat=seat, text="Welcome.")
    with django_assert_num_queries(3):
        (card,) = phases.cards(annotator)
    assert (card["phase"], card["done"], card["total"], card["next_number"]) == (
        "practice",
        0,
        2,
        1,
    )
    assert [message.text for message in card["messages"]] == ["Welcome."]
    answer_all(phases.items_of(seat, practising=True))
    (card,) = phases.cards(annotator)
    assert (card["done"], card["left"], card["next_url"]) == (2, 0, None)
    assert phases.finish_practice(seat)
    (card,) = phases.cards(annotator)
    assert (card["done"], card["total"]) == (0, 5)
    assert card["next_url"] == reverse("annotation:item", args=[phases.waiting(seat).token])


def test_a_card_counts_as_the_pages_do(annotator):
    seat = assign_seat(make_walk(n_attention=1), annotator)
    items = seat.assignments.order_by("rank")
    items.filter(rank=1).update(ended="expired")
    answer_all(seat.assignments.filter(rank=2))
    (card,) = phases.cards(annotator)
    found = phases.progress(items.get(rank=2))
    assert (card["total"], card["done"]) == (found["total"], found["done"]) == (4, 1)
    assert found["number"] == 1


@pytest.mark.parametrize("state", ["paused", "closed"])
def test_a_study_that_rests_has_a_card_without_a_next_item(annotator, state):
    study = make_study()
    assign_seat(study, annotator)
    Study.objects.update(state=state)
    (card,) = phases.cards(annotator)
    assert card["next_url"] is None
    assert card["study_state"] == state
    Study.objects.update(state="draft")
    assert phases.cards(annotator) == []


@pytest.mark.django_db(transaction=True)
def test_five_who_hand_in_at_once_are_one_who_hands_in(annotator):
    seat = assign_seat(make_walk(phases=["questionnaire"]), annotator)
    Seat.objects.filter(pk=seat.pk).update(phase="questionnaire")
    seat.refresh_from_db()
    moved, ready = [], threading.Barrier(5)

    def hand_in(clarity: str) -> None:
        try:
            own = Seat.objects.select_related("study").get(pk=seat.pk)
            ready.wait(20)
            moved.append(questionnaires.hand_in(own, {"clarity": clarity, "comment": ""}))
        finally:
            connection.close()

    threads = [threading.Thread(target=hand_in, args=[clarity]) for clarity in "12345"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(moved) == [False] * 4 + [True]
    assert seat.questionnaire.count() == 1
    assert stored(seat) == ("finished", "done")


def test_who_comes_by_the_questions_again_replaces_what_they_said(annotator):
    seat = assign_seat(make_walk(phases=["questionnaire"]), annotator)
    for answers in ({"clarity": "2", "comment": "Long."}, {"clarity": "4"}):
        Seat.objects.filter(pk=seat.pk).update(phase="questionnaire", state="active")
        assert questionnaires.hand_in(seat, answers)
    assert dict(seat.questionnaire.values_list("question", "answer")) == {"clarity": "4"}
    with pytest.raises(ValueError, match="no question"):
        questionnaires.hand_in(seat, {"name": "Ann"})
