"""Doors: looking gives nothing, pressing gives one place, and no secret is kept in clear."""

from __future__ import annotations

import re
import threading
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.utils import timezone

from annotation import invitations, seating
from annotation.models import AuditEntry, Invitation, Seat, Study
from tests.studies import make_study

CODE = re.compile(r"\b[2-9A-HJ-NP-Z]{4}(?:-[2-9A-HJ-NP-Z]{4}){3}\b")


@pytest.fixture
def study(db) -> Study:
    return make_study(n_seats=2)


@pytest.fixture
def invite(study, researcher):
    def make(*, people=1, days=7, label="first group"):
        return invitations.create(study, label=label, days=days, people=people, actor=researcher)

    return make


def come_in(client: Client, token: str) -> tuple[Seat, str]:
    """Press the button of an invitation; the seat and the code that is shown."""
    answer = client.post(f"/join/{token}/")
    assert answer.status_code == 302, answer.content
    page = client.get(answer.url).text
    seat = Seat.objects.get(user_id=client.session["_auth_user_id"])
    return seat, CODE.search(page)[0]


def test_looking_at_a_door_gives_nothing(client, invite):
    _, token = invite()
    before = (User.objects.count(), Session.objects.count(), AuditEntry.objects.count())
    for verb in (client.get, client.head):
        answer = verb(f"/join/{token}/")
        assert answer.status_code == 200
        assert "sessionid" not in answer.cookies
        assert "no-store" in answer["Cache-Control"]
        assert answer["Referrer-Policy"] == "strict-origin"
    after = (User.objects.count(), Session.objects.count(), AuditEntry.objects.count())
    assert before == after
    assert not Seat.objects.exclude(state=Seat.State.FREE).exists()


def test_pressing_the_button_gives_a_place_under_a_clean_address(client, invite):
    invitation, token = invite()
    answer = client.post(f"/join/{token}/")
    assert answer.status_code == 302
    assert token not in answer.url
    assert answer["Referrer-Policy"] == "no-referrer"
    seat = Seat.objects.get(state=Seat.State.ACTIVE)
    assert seat.invitation == invitation
    assert not seat.user.has_usable_password()
    assert (seat.user.email, seat.user.first_name) == ("", "")
    assert str(seat.user_id) == client.session["_auth_user_id"]
    assert client.get("/").status_code == 200


def test_the_database_holds_digests_of_keys_and_codes(client, invite):
    invitation, token = invite()
    seat, code = come_in(client, token)
    assert invitation.token_hash == invitations.digest(token)
    seat.refresh_from_db()
    assert re.fullmatch(r"[0-9a-f]{64}", seat.resume_hash)
    sessions = [one.get_decoded() for one in Session.objects.all()]
    stored = f"{list(Invitation.objects.values())}{list(Seat.objects.values())}{sessions}"
    assert token not in stored
    assert code not in stored


def test_the_code_is_shown_once(client, invite):
    _, token = invite()
    seat, code = come_in(client, token)
    again = client.get(f"/join/welcome/{seat.pseudonym}/").text
    assert code not in again
    assert "Draw a new code" in again


def test_who_is_in_returns_to_their_place_also_by_a_link_that_is_full(client, invite):
    _, token = invite(people=1)
    seat, _code = come_in(client, token)
    for verb in (client.get, client.post):
        answer = verb(f"/join/{token}/")
        assert answer.status_code == 302
        assert answer.url.startswith(("/items/", f"/seats/{seat.pseudonym}/"))
    assert Seat.objects.filter(state=Seat.State.ACTIVE).count() == 1
    assert User.objects.filter(username__startswith="p-").count() == 1


@pytest.mark.parametrize(
    ("spoil", "status", "sentence"),
    [
        ({"expires_at": timezone.now() - timedelta(minutes=1)}, 410, "expired"),
        ({"revoked_at": timezone.now()}, 410, "withdrawn by the study team"),
        ({"max_people": 0}, 409, "has come in"),
    ],
)
def test_a_link_that_lets_nobody_in_says_why(client, invite, spoil, status, sentence):
    invitation, token = invite()
    Invitation.objects.filter(pk=invitation.pk).update(**spoil)
    for verb in (client.get, client.post):
        answer = verb(f"/join/{token}/")
        assert answer.status_code == status
        assert sentence in answer.text
    assert not User.objects.filter(username__startswith="p-").exists()


@pytest.mark.parametrize(
    ("state", "status", "sentence"),
    [("closed", 410, "is closed"), ("paused", 409, "is paused"), ("draft", 409, "not begun")],
)
def test_a_study_that_is_not_open_lets_nobody_in(client, invite, study, state, status, sentence):
    _, token = invite()
    Study.objects.filter(pk=study.pk).update(state=state)
    for verb in (client.get, client.post):
        answer = verb(f"/join/{token}/")
        assert (answer.status_code, sentence in answer.text) == (status, True)
    assert not Seat.objects.exclude(state=Seat.State.FREE).exists()


def test_a_link_that_never_was_is_not_there(client, db):
    for token in ("x" * 43, "%00", "é" * 10, "a" * 3000):
        assert client.get(f"/join/{token}/").status_code in (400, 404)
        assert client.post(f"/join/{token}/").status_code in (400, 404)


def test_a_study_without_a_free_seat_says_so_and_makes_no_account(client, invite):
    _, token = invite(people=9)
    for _ in range(2):
        come_in(Client(), token)
    answer = client.post(f"/join/{token}/")
    assert answer.status_code == 409
    assert "taken" in answer.text
    assert User.objects.filter(username__startswith="p-").count() == 2


def test_a_researcher_is_refused_at_every_door(client, researcher, invite, study):
    _, token = invite()
    client.force_login(researcher)
    doors = (f"/join/{token}/", f"/join/prolific/{study.slug}/", "/join/resume/")
    for door in doors:
        for verb in (client.get, client.post):
            answer = verb(door)
            assert answer.status_code == 403, door
            assert "Sign out first" in answer.text
    assert not Seat.objects.exclude(state=Seat.State.FREE).exists()


def test_an_annotator_with_an_account_keeps_it(client, annotator, invite):
    _, token = invite()
    client.force_login(annotator)
    answer = client.post(f"/join/{token}/")
    assert answer.status_code == 302
    assert "welcome" not in answer.url
    assert annotator.seats.get().resume_hash == ""


def test_the_code_opens_the_same_place_in_another_browser(client, invite):
    _, token = invite()
    seat, code = come_in(client, token)
    other = Client()
    typed = {"pseudonym": f" {seat.pseudonym.upper()} ", "code": code.lower().replace("-", " ")}
    answer = other.post("/join/resume/", typed)
    assert answer.status_code == 302
    assert other.session["_auth_user_id"] == str(seat.user_id)


def test_a_new_code_ends_the_old_one(client, invite):
    _, token = invite()
    seat, old = come_in(client, token)
    page = client.get(client.post(f"/join/welcome/{seat.pseudonym}/").url).text
    new = CODE.search(page)[0]
    opens = [invitations.resume(seat.pseudonym, code) for code in (old, new)]
    assert opens == [None, seat]


def test_wrong_codes_open_nothing_and_are_throttled(client, invite):
    _, token = invite()
    seat, code = come_in(Client(), token)
    wrong = {"pseudonym": seat.pseudonym, "code": "AAAA-AAAA-AAAA-AAAA"}
    answers = [client.post("/join/resume/", wrong) for _ in range(6)]
    assert [answer.status_code for answer in answers] == [400] * 5 + [429]
    assert answers[0].text.count("No place has this pseudonym and this code.") == 1
    assert int(answers[-1]["Retry-After"]) > 0
    right = client.post("/join/resume/", {"pseudonym": seat.pseudonym, "code": code})
    assert right.status_code == 429
    assert "_auth_user_id" not in client.session


def test_unknown_pseudonyms_and_wrong_codes_are_answered_alike(client, invite):
    _, token = invite()
    seat, code = come_in(Client(), token)
    texts = [
        client.post("/join/resume/", {"pseudonym": name, "code": typed}).text
        for name, typed in ((seat.pseudonym, "AAAA"), ("A-00000000", code))
    ]
    hidden = [re.sub(r'value="[^"]*"', "", text) for text in texts]
    assert hidden[0] == hidden[1]


def test_an_empty_form_names_what_is_missing(client, db):
    answer = client.post("/join/resume/", {})
    assert answer.status_code == 400
    assert "Enter your pseudonym" in answer.text
    assert "Enter the code you wrote down." in answer.text


def test_a_code_of_somebody_who_became_a_researcher_opens_nothing(client, invite, researcher):
    _, token = invite()
    seat, code = come_in(Client(), token)
    seat.user.groups.set(researcher.groups.all())
    answer = client.post("/join/resume/", {"pseudonym": seat.pseudonym, "code": code})
    assert answer.status_code == 400
    assert "_auth_user_id" not in client.session


def test_who_comes_back_with_the_code_gets_an_idle_seat_back(invite, study):
    _, token = invite()
    seat, code = come_in(Client(), token)
    seating.sweep(timezone.now() + timedelta(days=9))
    seat.refresh_from_db()
    assert seat.state == Seat.State.EXPIRED
    Client().post("/join/resume/", {"pseudonym": seat.pseudonym, "code": code})
    seat.refresh_from_db()
    assert seat.state == Seat.State.ACTIVE


def test_another_persons_welcome_is_not_there(client, invite, annotator):
    _, token = invite()
    seat, _code = come_in(Client(), token)
    client.force_login(annotator)
    assert client.get(f"/join/welcome/{seat.pseudonym}/").status_code == 404
    assert client.post(f"/join/welcome/{seat.pseudonym}/").status_code == 404


@pytest.mark.parametrize(
    ("field", "value"), [("days", 0), ("days", 366), ("people", 0), ("people", 1001)]
)
def test_an_invitation_out_of_bounds_is_refused_by_its_field(invite, field, value):
    with pytest.raises(invitations.InvitationRefused) as refusal:
        invite(**{field: value})
    assert refusal.value.field == field
    assert not Invitation.objects.exists()


def test_a_researcher_makes_a_link_that_is_shown_once_and_revokes_it(client, researcher, study):
    client.force_login(researcher)
    page = f"/studies/{study.slug}/invitations/"
    answer = client.post(page, {"label": "Lab", "people": 3, "days": 7})
    assert answer.status_code == 302
    shown = client.get(page)
    token = re.search(r"/join/([\w-]{43})/", shown.text)[1]
    assert "no-store" in shown["Cache-Control"]
    assert token not in client.get(page).text
    invitation = invitations.find(token)
    assert (invitation.label, invitation.max_people) == ("Lab", 3)
    come_in(Client(), token)
    assert "1 of 3" in client.get(page).text
    client.post(f"{page}{invitation.pk}/revoke/")
    assert Client().post(f"/join/{token}/").status_code == 410
    actions = AuditEntry.objects.filter(actor=researcher, action__startswith="invitation")
    assert set(actions.values_list("action", flat=True)) == {
        "invitation.created",
        "invitation.revoked",
    }


def test_a_form_that_is_wrong_makes_no_link_and_says_where(client, researcher, study):
    client.force_login(researcher)
    page = f"/studies/{study.slug}/invitations/"
    answer = client.post(page, {"label": "x" * 81, "people": 0, "days": "soon"})
    assert answer.status_code == 400
    assert answer.text.count('class="err"') == 3
    assert not Invitation.objects.exists()


def test_the_page_of_links_asks_as_many_questions_for_one_link_as_for_five(
    client, researcher, study, invite, django_assert_num_queries
):
    client.force_login(researcher)
    page = f"/studies/{study.slug}/invitations/"
    invite()
    with django_assert_num_queries(6):
        client.get(page)
    for _ in range(4):
        invite()
    with django_assert_num_queries(6):
        client.get(page)


@pytest.mark.django_db(transaction=True)
def test_of_20_browsers_at_once_a_link_for_three_lets_three_in(researcher):
    study = make_study(n_seats=6)
    _, token = invitations.create(study, label="", days=1, people=3, actor=researcher)
    codes = []
    ready = threading.Barrier(20)

    def press():
        try:
            ready.wait()
            codes.append(Client().post(f"/join/{token}/").status_code)
        finally:
            connection.close()

    threads = [threading.Thread(target=press) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(codes) == [302] * 3 + [409] * 17
    assert study.seats.filter(user__isnull=False).count() == 3
    assert User.objects.filter(username__startswith="p-").count() == 3
