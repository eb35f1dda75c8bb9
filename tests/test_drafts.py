"""Drafts: kept on the server, one per step, never an answer, never over somebody else's change."""

from __future__ import annotations

import json
import threading

import pytest
from django.conf import settings
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from annotation.enrolment import assign_seat
from annotation.models import Draft, InstructionConfirmation, OnsetMark, Seat, SliderRating, Study
from tests.studies import assistant_turns, item_at, make_study


def put(client, assignment, step="rate", *, revision=0, raw=None, **values):
    url = reverse("annotation:draft", args=[assignment.token, step])
    body = json.dumps({"values": values, "revision": revision}) if raw is None else raw
    return client.put(url, body, content_type="application/json")


def at(assignment, step="rate"):
    return reverse(f"annotation:{step}", args=[assignment.token])


def test_a_draft_is_kept_and_stands_on_the_page_again(visitor, late):
    answer = put(visitor, late, rating="37")
    assert answer.status_code == 200
    assert answer.json()["revision"] == 1
    assert Draft.objects.get().values == {"rating": 37}
    html = visitor.get(at(late)).content.decode()
    assert 'value="37"' in html
    assert 'data-revision="1"' in html
    assert not SliderRating.objects.exists()


def test_a_draft_of_zero_is_a_value(visitor, late):
    put(visitor, late, rating="0")
    assert 'value="0"' in visitor.get(at(late)).content.decode()


def test_the_last_of_three_changes_is_what_is_kept_and_sent(visitor, late):
    """Yes, then partly, then no: one draft, and one answer without an onset."""
    visitor.post(at(late), {"rating": 40})
    turn = assistant_turns(late.item.dialogue)[1]
    for revision, answer in enumerate(("yes", "partly", "no")):
        put(visitor, late, "instruction", revision=revision, appears=answer, onset=turn)
    assert Draft.objects.get().values["appears"] == "no"
    visitor.post(at(late, "instruction"), {"appears": "no", "onset": turn})
    assert InstructionConfirmation.objects.get().answer == "no"
    assert OnsetMark.objects.get().turn is None
    assert not Draft.objects.exists()


def test_a_stale_revision_is_refused_with_what_is_stored(visitor, late):
    put(visitor, late, rating=37)
    put(visitor, late, revision=1, rating=62)
    answer = put(visitor, late, revision=1, rating=11)
    assert answer.status_code == 409
    assert answer.json()["reason"] == "stale"
    assert (answer.json()["values"], answer.json()["revision"]) == ({"rating": 62}, 2)
    assert Draft.objects.get().values == {"rating": 62}


def test_a_draft_that_is_sent_again_changes_nothing(visitor, late):
    first = put(visitor, late, rating=37).json()
    second = put(visitor, late, rating=37)
    assert (second.status_code, second.json()["revision"]) == (200, first["revision"])
    assert Draft.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_drafts_sent_at_once_one_is_kept_and_the_others_are_told(client, annotator):
    late = item_at(assign_seat(make_study(), annotator), k=3)
    client.force_login(annotator)
    cookies = client.cookies
    statuses: list[int] = []

    def send(value: int) -> None:
        try:
            mine = type(client)()
            mine.cookies = cookies
            statuses.append(put(mine, late, rating=value).status_code)
        finally:
            connection.close()

    threads = [threading.Thread(target=send, args=[value]) for value in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200, 409, 409, 409, 409]
    assert Draft.objects.get().revision == 1


def test_a_step_that_is_not_open_has_no_draft(visitor, seat, late):
    assert put(visitor, late, "instruction", appears="no").status_code == 404
    assert put(visitor, late, "prefix", prefix="no").status_code == 404
    assert put(visitor, late, "nonsense").status_code == 404
    early = item_at(seat, k=1)
    visitor.post(at(early), {"rating": 40})
    visitor.post(at(early, "instruction"), {"appears": "no"})
    assert put(visitor, early, "prefix", prefix="no").status_code == 404
    assert not Draft.objects.exists()


def test_an_answered_step_takes_no_draft(visitor, late):
    put(visitor, late, rating=40)
    visitor.post(at(late), {"rating": 40})
    answer = put(visitor, late, revision=1, rating=20)
    assert (answer.status_code, answer.json()["reason"]) == (409, "answered")
    assert SliderRating.objects.get().value == 40
    assert not Draft.objects.exists()


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        ("{", 400),
        ("[1]", 400),
        ("[" * 1500, 400),
        ("\xff", 400),
        (b"\xff\xfe", 400),
        ('{"values": 3}', 400),
        ('{"values": {}, "revision": -1}', 400),
        ('{"values": {}, "revision": 1e400}', 400),
        ('{"values": {}, "revision": true}', 400),
        ('{"values": {}, "revision": 99999999999999999999}', 400),
        ('{"values": {}, "active_ms": "9"}', 400),
        ('{"values": {"rating": 101}}', 400),
        ('{"values": {"rating": 50.5}}', 400),
        ('{"values": {"rating": true}}', 400),
        ('{"values": {"rating": "\\u0663"}}', 400),
        ('{"values": {"rating": [1]}}', 400),
        ('{"values": {"appears": "yes"}}', 400),
        ('{"values": {"note": "my diary"}}', 400),
        ('{"values": {"rating": "' + "9" * 3000 + '"}}', 413),
    ],
)
def test_what_is_no_draft_of_the_step_is_refused_in_words(visitor, late, raw, status):
    answer = put(visitor, late, raw=raw)
    assert answer.status_code == status
    assert answer.json()["detail"]
    assert not Draft.objects.exists()


def test_an_onset_of_a_draft_is_an_assistant_turn(visitor, late):
    visitor.post(at(late), {"rating": 40})
    answer = put(visitor, late, "instruction", onset=2)
    assert (answer.status_code, answer.json()["field"]) == (400, "onset")
    assert put(visitor, late, "instruction", appears="maybe").json()["field"] == "appears"


def test_somebody_signed_out_is_told_so_in_json(client, late):
    answer = put(client, late, rating=37)
    assert answer.status_code == 401
    assert answer.json()["detail"] == "sign in again"
    assert answer.json()["url"].startswith(reverse("login"))
    assert not Draft.objects.exists()


def test_a_session_that_ends_while_the_page_is_open_costs_nothing(client, annotator, late):
    client.force_login(annotator)
    client.get(at(late))
    client.session.delete()
    assert put(client, late, rating=37).status_code == 401
    client.force_login(annotator)
    assert put(client, late, rating=37).status_code == 200
    client.post(at(late), {"rating": 37})
    assert SliderRating.objects.get().value == 37


def test_a_form_from_before_a_new_sign_in_is_refused_with_a_way_back(annotator, late):
    from django.test import Client

    strict = Client(enforce_csrf_checks=True)
    strict.force_login(annotator)
    html = strict.get(at(late)).content.decode()
    old = html.split('csrfmiddlewaretoken" value="', 1)[1].split('"', 1)[0]
    put_url = reverse("annotation:draft", args=[late.token, "rate"])
    body = '{"values": {"rating": 37}}'

    def send(token: str):
        headers = {"X-CSRFToken": token}
        return strict.put(put_url, body, content_type="application/json", headers=headers)

    assert send(old).status_code == 200
    strict.cookies[settings.CSRF_COOKIE_NAME] = "b" * 32
    refused = strict.post(at(late), {"rating": 37, "csrfmiddlewaretoken": old})
    assert refused.status_code == 403
    assert f'href="{at(late)}"' in refused.content.decode()
    assert not SliderRating.objects.exists()
    assert send(old).status_code == 403
    assert send("b" * 32).status_code == 200
    assert 'value="37"' in strict.get(at(late)).content.decode()


def test_the_items_of_others_have_no_drafts(client, other_annotator, researcher, late):
    for user in (other_annotator, researcher):
        client.force_login(user)
        assert put(client, late, rating=3).status_code == 404
    assert not Draft.objects.exists()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"state": Seat.State.PAUSED}, "resting"),
        ({"state": Seat.State.EXPIRED}, "passed_on"),
        ({"state": Seat.State.WITHDRAWN}, "withdrawn"),
        ({"state": Seat.State.SCREENED_OUT}, "over"),
        ({"phase": Seat.Phase.PRACTICE}, "elsewhere"),
        ({"phase": Seat.Phase.CONSENT}, "elsewhere"),
    ],
)
def test_a_seat_that_is_not_at_work_is_told_why_and_keeps_its_draft(
    visitor, seat, late, change, reason
):
    put(visitor, late, rating=37)
    Seat.objects.filter(pk=seat.pk).update(**change)
    answer = put(visitor, late, revision=1, rating=62)
    assert (answer.status_code, answer.json()["reason"]) == (409, reason)
    for response in (visitor.get(at(late)), visitor.post(at(late), {"rating": 62})):
        assert response.status_code == 409
        assert answer.json()["detail"] in response.content.decode()
    assert Draft.objects.get().values == {"rating": 37}
    assert not SliderRating.objects.exists()


@pytest.mark.parametrize(
    ("state", "reason"), [(Study.State.PAUSED, "paused"), (Study.State.CLOSED, "closed")]
)
def test_a_study_that_is_not_open_takes_neither_draft_nor_answer(visitor, late, state, reason):
    Study.objects.update(state=state)
    answer = put(visitor, late, rating=62)
    assert (answer.status_code, answer.json()["reason"]) == (409, reason)
    assert answer.json()["detail"] in visitor.get(at(late)).content.decode()


def test_an_item_given_to_somebody_else_says_so_and_the_draft_stays(visitor, late):
    put(visitor, late, rating=37)
    late.ended, late.ended_at = "expired", timezone.now()
    late.save()
    response = visitor.post(at(late), {"rating": 37})
    assert response.status_code == 409
    assert "given to somebody else" in response.content.decode()
    assert put(visitor, late, revision=1, rating=3).json()["reason"] == "passed_on"
    assert Draft.objects.get().values == {"rating": 37}
    assert not SliderRating.objects.exists()


def test_other_verbs_are_refused(visitor, late):
    url = reverse("annotation:draft", args=[late.token, "rate"])
    assert visitor.get(url).status_code == visitor.post(url).status_code == 405


def test_no_draft_is_cached(visitor, late):
    assert "no-store" in put(visitor, late, rating=1).headers["Cache-Control"]


def test_a_draft_costs_the_same_whatever_the_study_holds(
    visitor, late, django_assert_max_num_queries
):
    visitor.get(at(late))
    put(visitor, late, rating=1)
    with django_assert_max_num_queries(6):
        assert put(visitor, late, revision=1, rating=2).status_code == 200
