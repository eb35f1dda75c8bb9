"""Practice items teach, attention items ask; neither is ever a judgement."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation import attention_words, judging, practice
from annotation.enrolment import assign_seat
from annotation.models import Assignment, Item
from annotation.refusals import EnrolmentRefused
from annotation.study_pools import StudyPool
from annotation.titles import revealing_word
from benchmark.models import Corpus
from tests.walks import answer, answer_all, make_walk


def sources(items) -> set[int]:
    found = set()
    for item in items.select_related("dialogue"):
        fork = item.dialogue.forks.first()
        found.add(fork.source_id if fork else item.dialogue_id)
    return found


def of_kind(seat, kind: str):
    return seat.assignments.filter(item__kind=kind).select_related("item", "seat__study")


@pytest.fixture
def study(db):
    return make_walk(n_practice=3, n_attention=2, pass_mark=2)


def test_practice_and_attention_use_no_source_of_a_main_item(study):
    main = sources(study.items.filter(kind=Item.Kind.MAIN))
    others = study.items.exclude(kind=Item.Kind.MAIN)
    assert others.count() == 5
    assert len(sources(others)) == 5
    assert not sources(others) & main


def test_every_seat_has_all_of_them_and_ranks_without_gaps(study):
    for seat in study.seats.all():
        ranks = list(seat.assignments.order_by("rank").values_list("rank", flat=True))
        assert ranks == list(range(1, 4 + 2 + 3 + 1))
        last = list(of_kind(seat, "practice").values_list("rank", flat=True))
        assert sorted(last) == [7, 8, 9]


def test_the_order_of_main_items_stays(db):
    with_others = make_walk("one", n_practice=3, n_attention=2)
    without = make_walk("two", forks=Corpus.objects.get(slug="one-forks"))
    orders = [
        [
            a.item.dialogue.external_id
            for seat in study.seats.order_by("number")
            for a in seat.assignments.main().select_related("item__dialogue").order_by("rank")
        ]
        for study in (with_others, without)
    ]
    assert orders[0] == orders[1]


def test_the_same_seed_draws_the_same_practice(db):
    one = make_walk("one", n_practice=3, n_attention=2)
    forks = Corpus.objects.get(slug="one-forks")
    drawn = one, make_walk("two", n_practice=3, n_attention=2, forks=forks)
    texts = [
        [
            (item.dialogue.external_id, item.instruction, item.altered, item.expected)
            for item in study.items.exclude(kind="main").select_related("dialogue").order_by("pk")
        ]
        for study in drawn
    ]
    assert texts[0] == texts[1]


def test_too_few_sources_are_refused_in_a_sentence_and_leave_nothing_behind(db):
    with pytest.raises(EnrolmentRefused, match="Too few dialogues are left"):
        make_walk(n_practice=3, drawn={"n_seats": 3, "overlap": 0})
    assert not Item.objects.exists()


def test_adding_items_costs_the_same_for_any_number_of_them(db, django_assert_max_num_queries):
    study = make_walk(drawn={"n_seats": 1})
    pool = StudyPool(Corpus.objects.get(slug="winter-forks"))
    with django_assert_max_num_queries(12):
        practice.add_items(study, pool, n_practice=2, n_attention=2, seed=1)


def test_what_is_expected_fits_the_dialogue(study):
    kinds = set()
    for item in study.items.filter(kind="practice").select_related("dialogue"):
        fork = item.dialogue.forks.first()
        kinds.add((bool(fork), item.is_foil))
        if fork is None:
            assert item.expected == {"rating": [70, 100], "appears": ["no"]}
            assert item.is_foil
            continue
        assert item.expected["onset"][0] == fork.fork_turn
        assert item.instruction == fork.instruction
        assert f"From turn {fork.fork_turn} on" in item.feedback
    assert kinds == {(True, False), (False, True)}


def test_the_fourth_practice_item_shows_a_foil_that_is_clearly_wrong(db):
    study = make_walk(n_practice=4)
    item = study.items.filter(kind="practice", is_foil=True).exclude(dialogue__forks=None).get()
    assert item.expected["appears"] == ["no"]
    assert "onset" not in item.expected
    assert item.instruction_type != item.dialogue.forks.get().type
    assert "the answer is no, although something else is wrong" in item.feedback


def test_feedback_names_no_condition(db):
    study = make_walk(n_practice=5)
    for feedback in study.items.filter(kind="practice").values_list("feedback", flat=True):
        assert revealing_word(feedback) is None
        assert feedback


def test_right_answers_are_right_and_wrong_ones_say_what_fits(study, annotator):
    seat = assign_seat(study, annotator)
    first, second, third = of_kind(seat, "practice").order_by("rank")
    answer(first)
    answer(second, rightly=False)
    judging.record_skip(third, "other")
    right, wrong, skipped = (practice.judged(a) for a in (first, second, third))
    assert right.right
    assert all(line.right for line in right.lines)
    assert [line.question for line in right.lines] == ["rating", "appears", "onset", "prefix"]
    assert not wrong.right
    assert wrong.lines[0].fitting == "70 to 100"
    assert [line.right for line in wrong.lines] == [False, True]
    assert skipped.skipped
    assert not skipped.right
    assert skipped.text


def test_nothing_is_told_before_a_practice_item_is_finished(study, annotator):
    seat = assign_seat(study, annotator)
    item = of_kind(seat, "practice").first()
    judging.record_slider(item, 50)
    with pytest.raises(ValueError, match="once it is finished"):
        practice.judged(item)
    with pytest.raises(ValueError, match="Only practice items"):
        practice.judged(seat.assignments.main().first())


@pytest.mark.parametrize(("mark", "n_right", "passed"), [(2, 2, True), (3, 2, False), (9, 3, True)])
def test_the_pass_mark_decides(study, annotator, mark, n_right, passed):
    study.pass_mark = mark
    study.save()
    seat = assign_seat(study, annotator)
    for place, item in enumerate(of_kind(seat, "practice").order_by("rank")):
        answer(item, rightly=place < n_right)
    found = practice.result(seat)
    assert (found.n_right, found.n_items, found.passed) == (n_right, 3, passed)


def test_feedback_of_any_number_of_items_is_one_query(study, annotator, django_assert_num_queries):
    seat = assign_seat(study, annotator)
    answer_all(of_kind(seat, "practice"))
    with django_assert_num_queries(1):
        assert all(each.right for each in practice.results(seat))


def test_an_attention_item_asks_in_one_turn_for_the_rating_it_expects(study):
    for item in study.items.filter(kind="attention").select_related("dialogue"):
        ((number, text),) = item.altered.items()
        turn = item.dialogue.turns.get(number=int(number))
        assert turn.role == "assistant"
        low, high = item.expected["rating"]
        assert low == high
        assert re.search(rf"\b{low}\b", text)
        assert text.startswith(turn.text.split(".")[0].split("?")[0])
        assert item.dialogue.forks.first() is None
        assert 0.5 < turn.assistant_number / item.dialogue.n_assistant_turns <= 1


def test_attention_is_counted_over_rated_items_only(study, annotator, django_assert_num_queries):
    seat = assign_seat(study, annotator)
    assert practice.attention(seat) == (0, 0)
    first, second = of_kind(seat, "attention").order_by("rank")
    answer(first)
    assert first.finished_at
    assert practice.attention(seat) == (1, 1)
    answer(second, rightly=False)
    with django_assert_num_queries(1):
        assert practice.attention_by_seat(study) == {seat.pk: (1, 2)}


def test_they_are_no_judgements(study, annotator):
    seat = assign_seat(study, annotator)
    answer_all(of_kind(seat, "practice") | of_kind(seat, "attention"))
    judged = Assignment.objects.main().filter(seat=seat)
    assert judged.count() == 4
    assert not judged.filter(finished_at__isnull=False).exists()


@given(st.integers(1, 60), st.integers(0, 8), st.integers(0, 999))
def test_requests_lie_in_the_second_and_last_quarter(n_main, n_requests, seed):
    n_items = n_main + n_requests
    at = attention_words.places(n_items, n_requests, random.Random(seed))
    assert len(set(at)) == n_requests
    assert at == sorted(at)
    assert all(0 <= place < n_items for place in at)
    if n_items >= 8 and n_requests <= n_items // 4:
        second = [place for place in at if n_items // 4 <= place < n_items // 2]
        last = [place for place in at if place >= 3 * n_items // 4]
        assert len(second) + len(last) == n_requests
        assert 0 <= len(second) - len(last) <= 1


@given(st.text(max_size=200))
def test_the_beginning_of_a_turn_is_short_and_its_own(text):
    found = attention_words.beginning(text)
    words = [word for word in found.split() if word != "…"]
    assert len(words) <= attention_words.LONGEST_BEGINNING
    assert " ".join(text.split()).startswith(found.removesuffix(" …"))
    assert bool(found) == bool(text.split())


@given(st.integers(0, 200), st.integers(0, 999))
def test_requests_ask_for_different_low_ratings_in_plain_words(n, seed):
    drawn = attention_words.draw(random.Random(seed), n)
    assert len(drawn) == n
    asked = [rating for _, rating in drawn]
    assert set(asked) <= set(attention_words.RATINGS)
    assert len(set(asked)) == min(n, len(attention_words.RATINGS))
    for text, rating in drawn:
        assert str(rating) in text
        assert revealing_word(text) is None
