"""Prolific: ids are taken out of the address once, stick to one place, and end in one code."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from annotation import crowd
from annotation.models import CrowdIdentity, Seat, Study
from tests.studies import make_study

PID, OTHER_PID = "5f3a" * 6, "6b7c" * 6
STUDY, SESSION, OTHER_SESSION = "aa11" * 6, "bb22" * 6, "cc33" * 6
CODES = {"complete": "C1", "screened_out": "S1", "no_consent": "N1", "partial": "P1"}
CODE = re.compile(r"\b[2-9A-HJ-NP-Z]{4}(?:-[2-9A-HJ-NP-Z]{4}){3}\b")


@pytest.fixture
def study(db) -> Study:
    study = make_study(n_seats=2)
    study.codes = CODES
    study.save()
    return study


def arrive(client: Client, *, pid=PID, session=SESSION, study_id=STUDY):
    address = f"/join/prolific/winter/?PROLIFIC_PID={pid}&STUDY_ID={study_id}&SESSION_ID={session}"
    return client.get(address)


def begin(client: Client, **ids) -> Seat:
    answer = arrive(client, **ids)
    assert (answer.status_code, answer.url) == (302, "/join/prolific/winter/")
    assert client.post(answer.url).status_code == 302
    return Seat.objects.get(user_id=client.session["_auth_user_id"])


def test_ids_leave_the_address_at_once_and_are_written_in_one_row(client, study):
    answer = arrive(client)
    assert answer.status_code == 302
    assert answer.url == "/join/prolific/winter/"
    assert answer["Referrer-Policy"] == "no-referrer"
    assert "no-store" in answer["Cache-Control"]
    page = client.get(answer.url)
    assert page.status_code == 200
    identity = CrowdIdentity.objects.get()
    assert (identity.person, identity.session, identity.seat) == (PID, SESSION, None)
    sessions = [one.get_decoded() for one in Session.objects.all()]
    rows = f"{page.text}{sessions}{list(User.objects.values())}{list(Seat.objects.values())}"
    assert PID not in rows
    assert SESSION not in rows


def test_the_button_gives_one_place(client, study):
    seat = begin(client)
    assert seat.state == Seat.State.ACTIVE
    assert seat.crowd_identity.person == PID
    assert client.post("/join/prolific/winter/").status_code == 302
    assert Seat.objects.filter(state=Seat.State.ACTIVE).count() == 1


def test_the_same_person_in_two_browsers_has_one_account_and_place(client, study):
    seat = begin(client)
    other = Client()
    answer = arrive(other)
    assert answer.status_code == 302
    assert PID not in answer.url
    assert other.session["_auth_user_id"] == str(seat.user_id)
    assert arrive(client).status_code == 302
    assert CrowdIdentity.objects.count() == 1
    assert User.objects.filter(username__startswith="p-").count() == 1


def test_two_browsers_that_press_one_after_the_other_share_the_place(study):
    one, two = Client(), Client()
    for browser in (one, two):
        arrive(browser)
    for browser in (one, two):
        assert browser.post("/join/prolific/winter/").status_code == 302
    assert one.session["_auth_user_id"] == two.session["_auth_user_id"]
    assert Seat.objects.filter(state=Seat.State.ACTIVE).count() == 1


def test_another_person_in_a_running_session_is_refused(client, study):
    seat = begin(client)
    answer = arrive(client, pid=OTHER_PID)
    assert answer.status_code == 409
    assert "somebody else" in answer.text
    assert client.session["_auth_user_id"] == str(seat.user_id)
    assert CrowdIdentity.objects.count() == 1


def test_the_same_person_in_another_session_needs_their_code(client, study):
    arrive(client)
    code = CODE.search(client.get(client.post("/join/prolific/winter/").url).text)[0]
    seat = Seat.objects.get(user_id=client.session["_auth_user_id"])
    stranger = Client()
    answer = arrive(stranger, session=OTHER_SESSION)
    assert answer.status_code == 409
    assert "/join/resume/" in answer.text
    assert "_auth_user_id" not in stranger.session
    typed = {"pseudonym": seat.pseudonym, "code": code}
    assert stranger.post("/join/resume/", typed).status_code == 302
    assert stranger.session["_auth_user_id"] == str(seat.user_id)


def test_who_only_looked_may_come_in_another_session(client, study):
    arrive(client)
    assert begin(Client(), session=OTHER_SESSION).crowd_identity.session == OTHER_SESSION


def test_ids_of_who_only_looked_are_forgotten_after_a_week(client, study):
    begin(client)
    arrive(Client(), pid=OTHER_PID)
    CrowdIdentity.objects.update(recorded_at=timezone.now() - timedelta(days=8))
    arrive(Client(), pid="7d8e" * 6)
    left = set(CrowdIdentity.objects.values_list("person", flat=True))
    assert left == {PID, "7d8e" * 6}


@pytest.mark.parametrize(
    "ids",
    [
        {"pid": ""},
        {"pid": "x" * 24},
        {"pid": PID + "0"},
        {"study_id": "%00" * 8},
        {"session": "<script>"},
        {"session": "{{%25SESSION_ID%25}}"},
    ],
)
def test_ids_that_are_none_are_refused_by_name(client, study, ids):
    name = {"pid": "PROLIFIC_PID", "study_id": "STUDY_ID", "session": "SESSION_ID"}[next(iter(ids))]
    answer = arrive(client, **ids)
    assert answer.status_code == 400
    if "%00" not in "".join(ids.values()):
        assert name in answer.text
    assert not CrowdIdentity.objects.exists()


def test_the_clean_address_alone_lets_nobody_in(client, study):
    for verb in (client.get, client.post):
        answer = verb("/join/prolific/winter/")
        assert answer.status_code == 400
        assert "Open the study from its page on Prolific" in answer.text
    assert client.get("/join/prolific/none/").status_code == 404


@pytest.mark.parametrize(("state", "status"), [("closed", 410), ("paused", 409)])
def test_a_study_that_is_not_open_takes_nobody_new(client, study, state, status):
    Study.objects.filter(pk=study.pk).update(state=state)
    arrive(client)
    assert client.get("/join/prolific/winter/").status_code == status
    assert client.post("/join/prolific/winter/").status_code == status
    assert not Seat.objects.exclude(state=Seat.State.FREE).exists()


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("finished", "complete"),
        ("screened_out", "screened_out"),
        ("declined", "no_consent"),
        ("expired", "partial"),
    ],
)
def test_each_end_has_its_code_and_a_reload_shows_the_same(client, study, state, kind):
    seat = begin(client)
    assert crowd.completion(seat) is None
    Seat.objects.filter(pk=seat.pk).update(state=state)
    seat.refresh_from_db()
    first = crowd.completion(seat)
    assert first == crowd.completion(seat)
    assert (first.kind, first.code) == (kind, CODES[kind])
    assert first.url == f"https://app.prolific.com/submissions/complete?cc={CODES[kind]}"


def test_there_is_no_code_without_a_platform_or_a_code(client, study, annotator):
    seat = begin(client)
    Seat.objects.filter(pk=seat.pk).update(state=Seat.State.FINISHED)
    seat.refresh_from_db()
    Study.objects.update(codes={})
    seat.study.refresh_from_db()
    assert crowd.completion(seat) is None
    Study.objects.update(codes=CODES)
    CrowdIdentity.objects.all().delete()
    assert crowd.completion(Seat.objects.get(pk=seat.pk)) is None


def test_a_code_is_quoted_in_its_link(study):
    study.codes = {"complete": "A&B=1 2"}
    link = crowd.completion_of(study, "complete").url
    assert link.endswith("?cc=A%26B%3D1+2")


def test_a_submission_that_was_returned_frees_its_items(client, study, researcher):
    seat = begin(client)
    begin(Client(), pid=OTHER_PID)
    assert crowd.returned(seat, actor=researcher)
    assert not crowd.returned(seat, actor=researcher)
    third = begin(Client(), pid="7d8e" * 6)
    assert third.succeeds == seat
    assert third.assignments.count() == seat.assignments.count()
