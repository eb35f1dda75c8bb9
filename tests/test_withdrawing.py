"""Withdrawing: what is kept, what is erased everywhere, and what tells that somebody was there."""

from __future__ import annotations

import json

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import connection

from annotation import commitments, exporting, judging, seating, withdrawing
from annotation.models import (
    Assignment,
    AuditEntry,
    CrowdIdentity,
    Delivery,
    Draft,
    Export,
    Message,
    ProblemReport,
    QuestionnaireAnswer,
    Seat,
    SliderRating,
    StepTime,
    Webhook,
    Withdrawal,
)
from dialfork_site import throttle
from tests.studies import make_study

NAME, EMAIL, PERSON, WORDS = "Zebedea Quux", "zebedea@example.org", "5f3a" * 6, "my cat walked"


@pytest.fixture
def seat(annotator) -> Seat:
    """Of a person who has left traces wherever a person can."""
    annotator.username, annotator.first_name, annotator.email = "zquux", NAME, EMAIL
    annotator.save()
    seat = seating.take(make_study(n_seats=1), annotator)
    first, second, third = seat.assignments.order_by("rank")[:3]
    judging.record_slider(first, 61)
    judging.record_confirmation(first, "no")
    if judging.open_step(first) == "prefix":
        judging.record_prefix(first, "mostly")
    judging.record_skip(second, "other", f"{WORDS} over it")
    judging.record_slider(third, 62)
    Draft.objects.create(assignment=third, step="instruction", values={"note": WORDS})
    StepTime.objects.create(assignment=first, step="rate", active_ms=900)
    ProblemReport.objects.create(assignment=third, text=WORDS)
    QuestionnaireAnswer.objects.create(seat=seat, question="comment", answer=WORDS)
    Message.objects.create(seat=seat, text=f"Dear {NAME}, all is well.")
    CrowdIdentity.objects.create(study=seat.study, seat=seat, person=PERSON, session=PERSON)
    AuditEntry.objects.create(action="seat.paused", actor=annotator, seat=seat)
    LogEntry.objects.create(
        user=annotator,
        content_type=ContentType.objects.get_for_model(annotator),
        object_id=str(annotator.pk),
        object_repr="zquux",
        action_flag=CHANGE,
        change_message=EMAIL,
    )
    return seat


def everything() -> str:
    """All rows of all tables, sessions in clear."""
    found = [str(one.get_decoded()) for one in Session.objects.all()]
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            found += [f"{table} {row}" for row in cursor.fetchall()]
    return "\n".join(found)


def test_the_dump_finds_what_is_there(seat):
    dump = everything()
    for needle in (NAME, EMAIL, PERSON, WORDS, "zquux"):
        assert needle in dump


def test_after_an_erasure_no_table_holds_anything_of_the_person(client, seat, annotator):
    client.force_login(annotator)
    client.post("/accounts/login/", {"username": "zquux", "password": "wrong"})
    page = f"/seats/{seat.pseudonym}/withdraw/"
    answer = client.post(page, {"mode": "erase", "confirm": "yes"})
    assert answer.status_code == 302
    dump = everything()
    for needle in (NAME, EMAIL, PERSON, WORDS, "zquux", throttle.account_key("zquux")):
        assert needle not in dump
    annotator.refresh_from_db()
    assert not annotator.is_active
    assert not annotator.has_usable_password()
    assert "_auth_user_id" not in client.session


def test_an_erased_seat_keeps_nothing_but_that_it_withdrew(seat):
    withdrawing.withdraw(seat, "erase")
    assert not SliderRating.objects.exists()
    for model in (Draft, StepTime, ProblemReport, QuestionnaireAnswer, Message, CrowdIdentity):
        assert not model.objects.exists(), model
    assert set(seat.assignments.values_list("ended", "finished_at", "opened_at")) == {
        ("withdrawn", None, None)
    }
    assert (seat.state, seat.user, seat.resume_hash) == (Seat.State.WITHDRAWN, None, "")
    entry = AuditEntry.objects.get(action="seat.withdrawn")
    assert (entry.seat, entry.actor, entry.detail) == (seat, None, {"mode": "erase"})
    assert not AuditEntry.objects.filter(actor__isnull=False).exists()


def test_files_that_were_exported_before_go_with_the_answers(
    seat, settings, tmp_path, django_capture_on_commit_callbacks
):
    settings.VAR_DIR = tmp_path
    export = Export.objects.create(study=seat.study, format="csv", state=Export.State.DONE)
    folder = exporting.folder_of(export)
    folder.mkdir(parents=True)
    (folder / "judgements.csv").write_text(WORDS)
    with django_capture_on_commit_callbacks(execute=True):
        withdrawing.withdraw(seat, "erase")
    assert not folder.exists()
    assert not Export.objects.exists()


def test_the_chain_of_an_erased_seat_still_verifies(seat):
    before = commitments.head(seat)
    n_links = seat.commitments.count()
    assert n_links
    withdrawing.withdraw(seat, "erase")
    assert set(seat.commitments.values_list("salt", "payload")) == {("", "")}
    assert seat.commitments.count() == n_links
    assert commitments.head(seat) == before
    assert all(finding.ok for finding in commitments.verify(seat.study))


def test_kept_answers_stay_under_the_pseudonym_and_the_person_is_gone(seat, annotator):
    withdrawing.withdraw(seat, "keep")
    assert SliderRating.objects.count() == 2
    ended = dict(seat.assignments.order_by("rank").values_list("rank", "ended"))
    assert ended == {1: "", 2: "", 3: "withdrawn", 4: "withdrawn", 5: "withdrawn"}
    assert seat.assignments.filter(finished_at__isnull=False).count() == 2
    assert not Draft.objects.exists()
    assert (seat.user, CrowdIdentity.objects.count()) == (None, 0)
    annotator.refresh_from_db()
    assert not annotator.is_active
    dump = everything()
    for needle in (EMAIL, PERSON, "zquux"):
        assert needle not in dump


def test_the_first_withdrawal_stands(seat):
    again = Seat.objects.get(pk=seat.pk)
    first = withdrawing.withdraw(seat, "keep")
    assert withdrawing.withdraw(again, "erase") == first
    assert SliderRating.objects.count() == 2
    assert AuditEntry.objects.filter(action="seat.withdrawn").count() == 1


def test_a_withdrawn_item_takes_no_answer(seat):
    third = seat.assignments.get(rank=3)
    withdrawing.withdraw(seat, "keep")
    with pytest.raises(judging.ItemEnded):
        judging.record_confirmation(third, "no")


def test_an_unknown_mode_and_a_free_seat_are_refused(seat):
    with pytest.raises(withdrawing.WithdrawalRefused, match="kept or erased"):
        withdrawing.withdraw(seat, "vanish")
    free = Seat.objects.create(study=seat.study, number=9)
    with pytest.raises(withdrawing.WithdrawalRefused, match="Nobody"):
        withdrawing.withdraw(free, "erase")
    assert not Withdrawal.objects.exists()


def test_an_account_with_another_seat_stays_open(seat, annotator):
    other = seating.take(make_study("spring"), annotator)
    assert not withdrawing.closes_account(seat)
    withdrawing.withdraw(seat, "erase")
    annotator.refresh_from_db()
    assert (annotator.is_active, annotator.email) == (True, EMAIL)
    assert other.assignments.unfinished().count() == 5
    assert withdrawing.closes_account(Seat.objects.get(pk=other.pk))


def test_an_account_with_a_role_stays_open(seat, annotator, researcher):
    annotator.groups.set(researcher.groups.all())
    withdrawing.withdraw(seat, "erase")
    annotator.refresh_from_db()
    assert annotator.is_active


def test_webhooks_hear_of_it_without_a_name(seat):
    Webhook.objects.create(url="https://example.org/hook", events=["annotation.withdrawn"])
    withdrawing.withdraw(seat, "erase")
    body = json.loads(Delivery.objects.get().body)
    assert body["data"] == {"study": "winter", "seat": seat.pseudonym, "mode": "erase"}


def test_a_withdrawn_place_is_opened_again_by_a_researcher_only(seat, researcher, other_annotator):
    withdrawing.withdraw(seat, "erase")
    with pytest.raises(seating.NoSeatLeft):
        seating.take(seat.study, other_annotator)
    seating.reassign(seat, actor=researcher)
    after = seating.take(seat.study, other_annotator)
    assert after.assignments.count() == 5
    assert Assignment.objects.filter(ended="").count() == 5


def test_the_page_asks_twice_and_gives_a_receipt(client, seat, annotator):
    client.force_login(annotator)
    page = f"/seats/{seat.pseudonym}/withdraw/"
    assert client.get(page).status_code == 200
    asked = client.post(page, {"mode": "keep"})
    assert asked.status_code == 200
    assert "This cannot be taken back." in asked.text
    assert "2 finished items stay under the pseudonym" in asked.text
    assert not Withdrawal.objects.exists()
    done = client.post(page, {"mode": "keep", "confirm": "yes"}, follow=True)
    withdrawal = Withdrawal.objects.get()
    assert withdrawal.receipt in done.text
    assert seat.pseudonym in done.text
    assert client.get(f"/withdrawn/{withdrawal.receipt}/").status_code == 200


def test_no_choice_is_no_withdrawal(client, seat, annotator):
    client.force_login(annotator)
    answer = client.post(f"/seats/{seat.pseudonym}/withdraw/", {"confirm": "yes"})
    assert answer.status_code == 400
    assert "Choose whether your answers are kept or erased." in answer.text
    assert not Withdrawal.objects.exists()


def test_nobody_withdraws_somebody_else(client, seat, other_annotator, researcher):
    for user in (other_annotator, researcher):
        client.force_login(user)
        page = f"/seats/{seat.pseudonym}/withdraw/"
        assert client.post(page, {"mode": "erase", "confirm": "yes"}).status_code == 404
    assert not Withdrawal.objects.exists()


def test_who_came_from_a_platform_takes_the_code_for_a_part_along(client, seat, annotator):
    seat.study.codes = {"partial": "P4RT"}
    seat.study.save()
    client.force_login(annotator)
    page = f"/seats/{seat.pseudonym}/withdraw/"
    done = client.post(page, {"mode": "erase", "confirm": "yes"}, follow=True)
    assert "https://app.prolific.com/submissions/complete?cc=P4RT" in done.text
    address = f"/withdrawn/{Withdrawal.objects.get().receipt}/"
    assert "P4RT" in client.get(address).text
    client.cookies.clear()
    assert "P4RT" not in client.get(address).text
