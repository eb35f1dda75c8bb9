"""Adjudication: who differs is found, a third look is added, nothing of the judges is changed."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation import adjudicating
from annotation.adjudicating import AdjudicationRefused, Settled
from annotation.disagreements import Answer, disputed
from annotation.models import (
    Adjudication,
    Assignment,
    AuditEntry,
    InstructionConfirmation,
    Seat,
    SliderRating,
)
from tests.judgements import judge, make_seats


@pytest.fixture
def study(forked):
    """Six items, judged twice: they agree on the first and differ on the others, in turn on the
    rating, on whether it appears, on where it starts, on the prefix; the last is judged once."""
    study = make_seats(forked, n_items=16)
    first, second = study.seats.order_by("number")
    later = [
        a
        for a in first.assignments.select_related("item__dialogue").order_by("rank")
        if a.item.dialogue.forks.get().k == 2
    ]
    pairs = [(50, 55, {}), (20, 41, {}), (50, 50, {"appears": "no"}), (50, 50, {"late": 2})]
    for assignment, (one, other, change) in zip(later, pairs, strict=True):
        judge(assignment, one)
        judge(second.assignments.get(rank=assignment.rank), other, **change)
    return study


@pytest.fixture
def items(study):
    """By what their judges differ on."""
    judged = Assignment.objects.filter(seat__number=1, finished_at__isnull=False).order_by("rank")
    return dict(
        zip(("nothing", "rating", "appears", "onset"), [a.item for a in judged], strict=True)
    )


@pytest.fixture
def desk(client, researcher):
    client.force_login(researcher)
    return client


def address(study, item=None, query=""):
    args = [study.slug, item.pk] if item else [study.slug]
    return reverse(f"annotation:{'adjudicate' if item else 'adjudication'}", args=args) + query


def onset_of(item):
    return item.dialogue.forks.get().fork_turn


def test_items_whose_judges_differ_are_found_and_no_others(study, items):
    found = list(adjudicating.disputes(study))
    assert found == [items["rating"], items["appears"], items["onset"]]
    assert [item.settled for item in found] == [False] * 3
    assert items["rating"] not in adjudicating.disputes(study, 21)
    for name, item in items.items():
        expected = [] if name == "nothing" else [name]
        sides = adjudicating.side_by_side(item)
        assert adjudicating.questions_in_dispute(sides) == expected


def test_a_prefix_that_differs_is_a_dispute(study, items):
    mine = Assignment.objects.get(seat__number=2, item=items["nothing"])
    row = mine.slider.confirmation.onset.prefix
    row.answer = "no"
    row.save()
    assert items["nothing"] in adjudicating.disputes(study)


def test_the_rules_of_a_dispute():
    assert disputed([Answer(0), Answer(20)]) == []
    assert disputed([Answer(0), Answer(21)]) == ["rating"]
    assert disputed([Answer(1, "yes", 3, "yes"), Answer(1, "yes", 4, "no")]) == ["prefix"]
    assert disputed([Answer(1, "yes", 3), Answer(1, "partly", 5)]) == ["appears", "onset"]
    assert disputed([Answer(1, "yes", 3), Answer(1)]) == []
    assert disputed([Answer(1, "yes", 3)]) == []


def test_only_finished_blind_judgements_of_people_count(study, items):
    second = study.seats.get(number=2)
    Assignment.objects.filter(seat=second, item=items["rating"]).update(finished_at=None)
    Assignment.objects.filter(seat=second, item=items["appears"]).update(post_reveal=True)
    Assignment.objects.filter(seat=second, item=items["onset"]).update(ended="withdrawn")
    assert not adjudicating.disputes(study).exists()
    Assignment.objects.update(ended="", post_reveal=False)
    Seat.objects.filter(number=2).update(simulated=True)
    assert not adjudicating.disputes(study).exists()
    assert adjudicating.disputes(study, simulated=True).count() == 2


def test_a_third_look_is_a_row_of_its_own_and_edits_nothing(study, items, researcher):
    item = items["appears"]
    before = list(SliderRating.objects.order_by("pk").values())
    said = list(InstructionConfirmation.objects.order_by("pk").values())
    settled = Settled(rating=30, appears="partly", onset=onset_of(item), note=" both read it ")
    row = adjudicating.adjudicate(item, researcher, settled)
    assert (row.rating, row.appears, row.onset.number) == (30, "partly", onset_of(item))
    assert (row.note, row.adjudicator) == ("both read it", researcher)
    again = adjudicating.adjudicate(item, researcher, Settled(appears="no"))
    assert (again.onset, Adjudication.objects.count()) == (None, 2)
    assert list(SliderRating.objects.order_by("pk").values()) == before
    assert list(InstructionConfirmation.objects.order_by("pk").values()) == said
    entry = AuditEntry.objects.filter(action="item.adjudicated").first()
    assert (entry.actor, entry.detail) == (researcher, {"item": item.pk})
    assert [i.settled for i in adjudicating.disputes(study)] == [False, True, False]


def test_who_judged_an_item_cannot_settle_it(study, items, researcher, desk):
    study.seats.filter(number=1).update(user=researcher)
    with pytest.raises(AdjudicationRefused, match="You judged this item yourself"):
        adjudicating.adjudicate(items["rating"], researcher, Settled(rating=30))
    assert not adjudicating.waiting_for(adjudicating.disputes(study), researcher).exists()
    page = desk.post(address(study, items["rating"]), {"rating": 30})
    assert page.status_code == 409
    assert "You judged this item yourself" in page.content.decode()
    assert not Adjudication.objects.exists()


@pytest.mark.parametrize(
    ("name", "settled", "field", "sentence"),
    [
        ("rating", Settled(), "rating", "differ on the rating"),
        ("rating", Settled(rating=101), "rating", "from 0 to 100"),
        ("appears", Settled(rating=1), "appears", "whether the instruction appears"),
        ("appears", Settled(appears="maybe"), "appears", "yes, partly or no"),
        ("appears", Settled(appears="yes"), "onset", "first assistant turn"),
        ("appears", Settled(appears="yes", onset=2), "onset", "Turn 2 is not an assistant turn"),
        ("appears", Settled(appears="no", onset=1), "onset", "with yes or partly only"),
        ("onset", Settled(rating=3), "onset", "differ on where it starts"),
        ("nothing", Settled(), "", "at least one question"),
        ("nothing", Settled(prefix="maybe"), "prefix", "yes, mostly or no"),
    ],
)
def test_a_third_look_that_cannot_be_is_refused_by_field(
    items, researcher, name, settled, field, sentence
):
    with pytest.raises(AdjudicationRefused, match=sentence) as refused:
        adjudicating.adjudicate(items[name], researcher, settled)
    assert refused.value.field == field
    assert not Adjudication.objects.exists()


def test_a_question_that_an_item_does_not_have_cannot_be_settled(study, researcher):
    assignments = Assignment.objects.filter(item__dialogue__forks__k=1).order_by("rank")[:2]
    for assignment, rating in zip(assignments, (10, 90), strict=True):
        judge(assignment, rating)
    item = assignments[0].item
    with pytest.raises(AdjudicationRefused, match="no assistant turn before the fork"):
        adjudicating.adjudicate(item, researcher, Settled(rating=5, prefix="yes"))


def test_the_queue_shows_what_waits_and_leads_on(desk, study, items):
    page = desk.get(address(study)).content.decode()
    for name in ("rating", "appears", "onset"):
        assert address(study, items[name]) in page
    assert address(study, items["nothing"]) not in page
    assert (
        address(study, items["rating"])
        not in desk.get(address(study, query="?threshold=60")).content.decode()
    )
    sent = desk.post(address(study, items["rating"]), {"rating": 30, "note": "so"})
    assert sent.headers["Location"] == address(study, items["appears"])
    page = desk.get(address(study)).content.decode()
    assert address(study, items["rating"]) not in page
    settled = desk.get(address(study, query="?show=settled")).content.decode()
    assert address(study, items["rating"]) in settled


def test_the_last_item_leads_back_to_the_queue(desk, study, items):
    at = onset_of(items["onset"])
    desk.post(address(study, items["rating"]), {"rating": 30})
    desk.post(address(study, items["appears"]), {"appears": "no", "onset": 1})
    sent = desk.post(
        address(study, items["onset"], "?threshold=20"), {"appears": "yes", "onset": at}
    )
    assert sent.headers["Location"] == address(study, query="?threshold=20")
    assert Adjudication.objects.count() == 3


def test_answers_lie_side_by_side_under_letters_and_without_names(desk, study, items):
    page = desk.get(address(study, items["rating"])).content.decode()
    for seat in study.seats.all():
        assert seat.pseudonym not in page
    sides = adjudicating.side_by_side(items["rating"])
    assert [side["letter"] for side in sides] == ["A", "B"]
    assert adjudicating.side_by_side(items["rating"]) == sides
    assert {side["rating"] for side in sides} == {20, 41}
    assert "differs" in page and "start for A" in page and "start for B" in page
    assert items["rating"].dialogue.turns.get(number=1).text in page


def test_the_letters_say_nothing_about_the_seat(study):
    for rank in range(1, 17):
        for seat in study.seats.all():
            assignment = seat.assignments.get(rank=rank)
            if not assignment.finished_at:
                judge(assignment, seat.number)
    first = {
        adjudicating.side_by_side(item)[0]["rating"]
        for item in study.items.all()
        if not SliderRating.objects.filter(assignment__item=item, value__gt=2).exists()
    }
    assert first == {1, 2}


def test_a_text_that_was_altered_is_shown_as_the_judges_saw_it(study, items):
    item = items["rating"]
    item.altered = {"1": "Please rate 40."}
    assert adjudicating.turns_of(item)[0]["text"] == "Please rate 40."


def test_a_form_that_is_wrong_names_the_field_and_keeps_what_was_entered(desk, study, items):
    page = desk.post(address(study, items["appears"]), {"rating": 500, "note": "keep me"})
    assert page.status_code == 400
    assert "rating:" in page.content.decode() and "keep me" in page.content.decode()
    assert desk.get(address(study, query="?threshold=x")).status_code == 400
    assert desk.get(address(study, query="?show=x")).status_code == 400


def test_an_item_of_another_study_is_not_there(desk, study, items, forked):
    other = make_seats(forked, slug="s2", n_items=1)
    assert desk.get(address(other, items["rating"])).status_code == 404
    assert desk.get(f"/studies/{study.slug}/adjudication/9223372036854775808/").status_code == 404


def test_an_annotator_finds_no_adjudication(client, annotator, study, items):
    client.force_login(annotator)
    assert client.get(address(study)).status_code == 404
    assert client.post(address(study, items["rating"]), {"rating": 3}).status_code == 404
    assert not Adjudication.objects.exists()


def test_the_pages_cost_the_same_with_many_items(desk, study, items, django_assert_num_queries):
    with django_assert_num_queries(7):
        desk.get(address(study))
    with django_assert_num_queries(11):
        desk.get(address(study, items["rating"]))
    for seat in study.seats.all():
        for assignment in seat.assignments.filter(finished_at=None):
            judge(assignment, 90 * (seat.number - 1))
    assert adjudicating.disputes(study).count() == 15
    with django_assert_num_queries(7):
        desk.get(address(study))
