"""A problem of an item is reported in words; a message of the team is shown until it is read."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.models import Message, ProblemReport, SliderRating
from annotation.problems import MOST_PER_ITEM
from tests.studies import item_at


def at(assignment, step: str) -> str:
    return reverse(f"annotation:{step}", args=[assignment.token])


def test_a_report_is_stored_once_and_the_item_stays_open(visitor, late):
    for _ in range(2):
        answer = visitor.post(at(late, "problem"), {"text": " Ends too soon. ", "turn": "4"})
        assert (answer.status_code, answer.url) == (302, at(late, "item"))
    report = ProblemReport.objects.get()
    assert (report.text, report.turn.number) == ("Ends too soon.", 4)
    assert visitor.get(at(late, "item")).url == at(late, "rate")
    assert "Reported." in visitor.get(at(late, "rate")).content.decode()


def test_a_turn_is_optional_and_a_finished_item_can_be_reported(visitor, seat):
    early = item_at(seat, k=1)
    visitor.post(at(early, "rate"), {"rating": 40})
    visitor.post(at(early, "instruction"), {"appears": "no"})
    assert visitor.get(at(early, "problem")).status_code == 200
    visitor.post(at(early, "problem"), {"text": "A strange text."})
    assert ProblemReport.objects.get().turn is None


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"text": "  "}, "text"),
        ({"text": "x" * 1001}, "text"),
        ({"text": "a\x00b"}, "text"),
        ({"text": "x", "turn": "400"}, "turn"),
        ({"text": "x", "turn": "third"}, "turn"),
        ({"text": "x", "turn": "9" * 30}, "turn"),
    ],
)
def test_a_report_that_is_none_is_refused_naming_the_field(visitor, late, data, field):
    answer = visitor.post(at(late, "problem"), data)
    assert answer.status_code == 400
    assert f'id="err-{field}"' in answer.content.decode()
    assert not ProblemReport.objects.exists()


def test_a_system_turn_is_no_turn_to_report(visitor, late):
    late.item.dialogue.turns.create(number=400, role="system", text="Sell carpets.")
    assert visitor.post(at(late, "problem"), {"text": "x", "turn": "400"}).status_code == 400


def test_reports_of_one_item_have_an_end(visitor, late):
    for n in range(MOST_PER_ITEM):
        visitor.post(at(late, "problem"), {"text": f"Problem {n}"})
    answer = visitor.post(at(late, "problem"), {"text": "One more"})
    assert answer.status_code == 429
    assert "already" in answer.content.decode()
    assert ProblemReport.objects.count() == MOST_PER_ITEM


def test_others_cannot_report(client, other_annotator, late):
    client.force_login(other_annotator)
    assert client.post(at(late, "problem"), {"text": "x"}).status_code == 404
    assert not ProblemReport.objects.exists()


def test_a_message_of_the_team_is_shown_until_it_is_read(visitor, seat, late):
    message = Message.objects.create(seat=seat, text="Please take your time.\n<b>Thanks</b>")
    html = visitor.get(at(late, "rate")).content.decode()
    assert "Please take your time.<br>&lt;b&gt;Thanks" in html
    read = reverse("annotation:message-read", args=[message.pk])
    for _ in range(2):
        answer = visitor.post(read, {"back": at(late, "rate")})
        assert (answer.status_code, answer.url) == (302, at(late, "rate"))
    assert "take your time" not in visitor.get(at(late, "rate")).content.decode()
    assert Message.objects.get().read_at is not None


@pytest.mark.parametrize("back", ["", "//evil.test/", "https://evil.test/", "javascript:x", "a"])
def test_a_read_message_leads_nowhere_else(visitor, seat, back):
    message = Message.objects.create(seat=seat, text="x")
    read = reverse("annotation:message-read", args=[message.pk])
    assert visitor.post(read, {"back": back}).url == reverse("home")


def test_messages_of_others_are_not_there(client, other_annotator, seat):
    message = Message.objects.create(seat=seat, text="x")
    client.force_login(other_annotator)
    for pk in (message.pk, 10**30):
        assert client.post(reverse("annotation:message-read", args=[pk])).status_code == 404
    assert Message.objects.get().read_at is None


def test_somebody_signed_in_again_is_sent_back_to_their_tab(visitor, db):
    html = visitor.get(reverse("annotation:signed-in")).content.decode()
    assert "go back to the one with your item" in html


def test_altered_texts_stand_in_place_of_the_dialogues_own(visitor, late):
    own = late.item.dialogue.turns.get(number=3).text
    late.item.altered = {"3": "Something else is said here."}
    late.item.kind = "attention"
    late.item.save()
    html = visitor.get(at(late, "rate")).content.decode()
    assert "Something else is said here." in html
    assert own not in html


def test_an_attention_item_ends_with_its_rating(visitor, seat, late):
    late.item.kind = "attention"
    late.item.save()
    answer = visitor.post(at(late, "rate"), {"rating": 12})
    assert answer.url != at(late, "instruction")
    assert visitor.get(at(late, "instruction")).status_code == 404
    assert visitor.post(at(late, "instruction"), {"appears": "no"}).status_code == 404
    late.refresh_from_db()
    assert late.finished_at is not None


def test_a_practice_item_tells_what_fits_when_it_is_done_and_not_before(visitor, seat, late):
    late.item.kind, late.item.expected = "practice", {"rating": [60, 80], "appears": ["no"]}
    late.item.feedback = "The assistant asked for the name twice."
    late.item.save()
    seat.phase = "practice"
    seat.save()
    for step, data in (("rate", {"rating": 10}), ("instruction", {"appears": "no"})):
        html = visitor.get(at(late, step)).content.decode()
        assert "Practice item 1 of 1" in html
        assert "twice" not in html
        assert "60 to 80" not in html
        visitor.post(at(late, step), data)
    done = visitor.post(at(late, "prefix"), {"prefix": "yes"})
    assert done.url == at(late, "item")
    html = visitor.get(done.url).content.decode()
    assert "twice" in html
    assert "you said 10; what fits is 60 to 80" in html


def test_an_item_is_there_in_its_own_phase_only(visitor, seat, late):
    late.item.kind = "practice"
    late.item.save()
    assert visitor.get(at(late, "rate")).status_code == 409
    assert visitor.post(at(late, "rate"), {"rating": 1}).status_code == 409
    assert not SliderRating.objects.exists()


def test_a_reopened_item_says_that_it_is_asked_once_more(visitor, seat):
    early = item_at(seat, k=1)
    early.post_reveal = True
    early.save()
    assert "once more" in visitor.get(at(early, "rate")).content.decode()
