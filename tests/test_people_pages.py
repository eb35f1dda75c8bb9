"""Researchers see seats and not people, do what a study needs, and everything is written down."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from annotation import commitments, judging, pay, people, reopening, webhook_sending
from annotation.announcing import announce
from annotation.enrolment import assign_seat
from annotation.models import (
    Assignment,
    AuditEntry,
    CrowdIdentity,
    Message,
    ProblemReport,
    Seat,
    SliderRating,
    StepTime,
    Study,
    Webhook,
)
from annotation.reports import PEOPLE, fork_study
from dialfork_site import housekeeping
from dialfork_site.celery import app
from tests.studies import item_at, make_study

PERSON_ID = "5f3c9a0b1d2e4f5a6b7c8d9e"


@pytest.fixture
def seat(annotator):
    seat = assign_seat(make_study(), annotator)
    Study.objects.update(rate_per_hour=Decimal("12.00"), currency="GBP")
    return Seat.objects.select_related("study").get(pk=seat.pk)


@pytest.fixture
def staff(client, researcher):
    client.force_login(researcher)
    return client


def address(name, *more) -> str:
    return reverse(f"annotation:{name}", args=["winter", *more])


def body(response) -> str:
    return response.content.decode()


def did(action) -> AuditEntry:
    return AuditEntry.objects.filter(action=action).latest("pk")


def finish(assignment) -> Assignment:
    judging.record_slider(assignment, 80)
    judging.record_confirmation(assignment, "no")
    if judging.open_step(assignment) == "prefix":
        judging.record_prefix(assignment, "yes")
    assignment.refresh_from_db()
    return assignment


def every_page(seat) -> list[str]:
    return [
        address("people"),
        address("pay"),
        address("person", seat.pseudonym),
        address("problems"),
        address("audit"),
    ]


def test_no_page_names_a_person(staff, seat, annotator):
    annotator.email = "ann@example.org"
    annotator.save()
    CrowdIdentity.objects.create(study=seat.study, seat=seat, person=PERSON_ID)
    item = finish(item_at(seat, k=1))
    ProblemReport.objects.create(assignment=item, text="The page ends early.")
    AuditEntry.objects.create(action="seat.left", actor=annotator, seat=seat, study=seat.study)
    earlier = seat.study.seats.filter(user=None).first()
    AuditEntry.objects.create(action="seat.left", actor=annotator, seat=earlier, study=seat.study)
    for path in every_page(seat):
        page = staff.get(path)
        assert page.status_code == 200, path
        text = body(page)
        assert seat.pseudonym in text
        assert "ann@example" not in text
        assert PERSON_ID not in text
        assert ">ann<" not in text
        assert "rosa" in text or path == address("pay")
        assert "no-store" in page.headers["Cache-Control"]


def test_annotators_find_none_of_these_pages(client, annotator, seat):
    client.force_login(annotator)
    for path in every_page(seat):
        assert client.get(path).status_code == 404
    for path in (
        address("identities"),
        address("person-act", seat.pseudonym, "pause"),
        address("reopen", seat.pseudonym, 1),
        address("resolve", 1),
    ):
        assert client.post(path).status_code == 404
    seat.refresh_from_db()
    assert seat.state == "active"
    assert not AuditEntry.objects.filter(action="seat.paused").exists()


def test_ids_of_the_platform_are_shown_on_request_only_and_the_request_is_kept(
    staff, researcher, seat
):
    CrowdIdentity.objects.create(study=seat.study, seat=seat, person=PERSON_ID)
    assert staff.get(address("identities")).status_code == 405
    assert PERSON_ID in body(staff.post(address("identities")))
    entry = did("identities.shown")
    assert (entry.actor, entry.detail) == (researcher, {"people": 1})
    assert PERSON_ID not in body(staff.get(address("people")))


@pytest.mark.parametrize(
    ("before", "name", "after", "action"),
    [
        ("active", "pause", "paused", "seat.paused"),
        ("paused", "resume", "active", "seat.resumed"),
        ("active", "close", "expired", "seat.expired"),
        ("paused", "returned", "expired", "seat.expired"),
        ("expired", "revive", "active", "seat.revived"),
    ],
)
def test_an_act_changes_the_seat_and_is_written_down(
    staff, researcher, seat, before, name, after, action
):
    Seat.objects.filter(pk=seat.pk).update(state=before)
    response = staff.post(address("person-act", seat.pseudonym, name))
    assert response.url == address("person", seat.pseudonym)
    seat.refresh_from_db()
    assert seat.state == after
    assert did(action).actor == researcher
    page = body(staff.get(address("people")))
    assert seat.get_state_display() in page


def test_an_act_that_does_not_fit_is_refused_and_changes_nothing(staff, seat):
    page = staff.post(address("person-act", seat.pseudonym, "resume"))
    assert page.status_code == 409
    assert f"{seat.pseudonym} is active" in body(page)
    assert staff.post(address("person-act", seat.pseudonym, "promote")).status_code == 404
    assert staff.get(address("person-act", seat.pseudonym, "pause")).status_code == 405
    seat.refresh_from_db()
    assert seat.state == "active"


def test_doing_it_twice_is_said_and_does_nothing(staff, seat):
    path = address("person-act", seat.pseudonym, "close")
    assert staff.post(path).status_code == 302
    assert staff.post(path).status_code == 409
    assert AuditEntry.objects.filter(action="seat.expired").count() == 1


def test_what_was_left_unfinished_can_be_passed_on_once(staff, seat):
    finish(item_at(seat, k=1))
    staff.post(address("person-act", seat.pseudonym, "close"))
    path = address("person-act", seat.pseudonym, "reassign")
    assert staff.post(path).status_code == 302
    successor = Seat.objects.get(succeeds=seat)
    assert (successor.state, successor.assignments.count()) == ("free", 4)
    assert staff.post(path).status_code == 409
    page = body(staff.get(address("person", seat.pseudonym)))
    assert successor.pseudonym in page
    assert "Give it back" in page


def test_a_seat_is_given_more_time(staff, seat):
    was = seat.expires_at
    staff.post(address("person-act", seat.pseudonym, "extend"), {"hours": "24"})
    seat.refresh_from_db()
    assert seat.expires_at == was + timedelta(hours=24)
    assert did("seat.extended").detail == {"hours": 24}


@pytest.mark.parametrize("hours", ["", "0", "-3", "2161", "many", "1e3", "²"])
def test_hours_that_are_none_are_refused_naming_the_field(staff, seat, hours):
    page = staff.post(address("person-act", seat.pseudonym, "extend"), {"hours": hours})
    assert page.status_code == 400
    assert "whole number of hours from 1 to 2160" in body(page)
    assert 'id="err-hours"' in body(page)


def test_a_message_waits_for_the_person_and_is_not_in_the_log(staff, researcher, seat):
    staff.post(address("person-act", seat.pseudonym, "message"), {"text": " Take your time. "})
    sent = Message.objects.get()
    assert (sent.text, sent.seat, sent.author) == ("Take your time.", seat, researcher)
    assert "Take your time." not in str(did("message.sent").detail)
    assert "Take your time." in body(staff.get(address("person", seat.pseudonym)))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("  ", "from 1 to 1000"),
        ("x" * 1001, "from 1 to 1000"),
        ("Some of these are foils.", "tells of the design"),
    ],
)
def test_a_message_that_cannot_be_sent_keeps_its_words(staff, seat, text, sentence):
    page = staff.post(address("person-act", seat.pseudonym, "message"), {"text": text})
    assert page.status_code == 400
    assert sentence in body(page)
    assert text.strip() in body(page)
    assert not Message.objects.exists()


def test_a_reopened_item_is_a_new_attempt_that_is_not_blind(client, staff, seat, annotator):
    """The first answers stay, and every question about blind judgements leaves the second out."""
    late = finish(item_at(seat, k=3))
    response = staff.post(address("reopen", seat.pseudonym, late.rank))
    assert response.status_code == 302
    again = seat.assignments.get(attempt=2)
    assert (again.post_reveal, again.item_id, again.finished_at) == (True, late.item_id, None)
    assert did("assignment.reopened").detail == {"item": late.rank, "attempt": 2}
    finish(again)
    assert SliderRating.objects.get(assignment=late).value == 80
    done = Assignment.objects.main().filter(finished_at__isnull=False)
    assert list(done.blind()) == [late]
    assert "not blind" in body(staff.get(address("person", seat.pseudonym)))


def test_after_the_reveal_a_marked_attempt_is_the_only_way_back(client, staff, seat, annotator):
    """Back and another rating: refused. Reopened by a researcher: counted in nothing blind."""
    late = item_at(seat, k=3)
    person = Client()
    person.force_login(annotator)

    def at(assignment, step):
        return reverse(f"annotation:{step}", args=[assignment.token])

    def answer(assignment, rating):
        person.post(at(assignment, "rate"), {"rating": rating})
        assert person.get(at(assignment, "instruction")).status_code == 200
        return person.post(at(assignment, "instruction"), {"appears": "no"})

    answer(late, 80)
    assert person.post(at(late, "rate"), {"rating": 20}).status_code == 409
    person.post(at(late, "prefix"), {"prefix": "yes"})
    before = fork_study(seat.study)["groups"][PEOPLE]
    assert staff.post(address("reopen", seat.pseudonym, late.rank)).status_code == 302
    again = seat.assignments.get(attempt=2)
    assert answer(again, 20).status_code == 302
    person.post(at(again, "prefix"), {"prefix": "no"})
    again.refresh_from_db()
    assert again.finished_at is not None
    assert SliderRating.objects.get(assignment=late).value == 80
    assert SliderRating.objects.get(assignment=again).value == 20
    assert fork_study(seat.study)["groups"][PEOPLE]["statistics"] == before["statistics"]
    assert all(one.ok for one in commitments.verify(seat.study))


def test_an_item_that_is_open_or_only_practice_is_not_reopened(staff, seat):
    late = item_at(seat, k=3)
    page = staff.post(address("reopen", seat.pseudonym, late.rank))
    assert page.status_code == 409
    assert "The item is open" in body(page)
    late.item.kind = "practice"
    late.item.save()
    finish(late)
    assert staff.post(address("reopen", seat.pseudonym, late.rank)).status_code == 409
    assert staff.post(address("reopen", seat.pseudonym, 99)).status_code == 404
    assert seat.assignments.filter(attempt=2).count() == 0


def test_a_finished_seat_goes_on_with_a_reopened_item_and_never_passes_it_on(seat):
    for assignment in seat.assignments.select_related("item__dialogue", "seat__study"):
        finish(assignment)
    done = seat.assignments.first()
    Seat.objects.filter(pk=seat.pk).update(state="finished", phase="done")
    reopening.reopen(done, None)
    seat.refresh_from_db()
    assert (seat.state, seat.phase) == ("active", "main")
    assert not seat.assignments.main().filter(attempt=1, finished_at=None).exists()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"study": "paused"}, judging.NotNow),
        ({"study": "closed"}, judging.NotNow),
        ({"seat": "paused"}, judging.NotNow),
        ({"seat": "withdrawn"}, judging.ItemEnded),
        ({"seat": "expired"}, judging.ItemEnded),
        ({"seat": "screened_out"}, judging.ItemEnded),
    ],
)
def test_a_pause_between_page_and_answer_takes_no_answer(seat, change, error):
    late = item_at(seat, k=3)
    if "study" in change:
        Study.objects.update(state=change["study"])
    else:
        Seat.objects.filter(pk=seat.pk).update(state=change["seat"])
    with pytest.raises(error) as raised:
        judging.record_slider(late, 50)
    assert type(raised.value) is error
    with pytest.raises(error):
        judging.record_skip(late, "other")
    assert not SliderRating.objects.exists()


def test_a_reported_problem_is_resolved_once_by_somebody(staff, researcher, seat):
    late = item_at(seat, k=3)
    report = ProblemReport.objects.create(assignment=late, text="<b>Cut</b> off")
    page = body(staff.get(address("problems")))
    assert "&lt;b&gt;Cut" in page
    path = address("resolve", report.pk)
    for _ in range(2):
        assert staff.post(path).url == address("problems")
    report.refresh_from_db()
    assert report.resolved_by == researcher
    assert AuditEntry.objects.filter(action="problem.resolved").count() == 1
    assert "No open problem" in body(staff.get(address("problems")))
    assert staff.post(address("resolve", 4711)).status_code == 404


def test_the_audit_log_is_paged_without_gaps(staff, seat):
    AuditEntry.objects.all().delete()
    for n in range(55):
        AuditEntry.objects.create(action=f"test.{n}", study=seat.study, detail={"n": n})
    first = body(staff.get(address("audit")))
    assert "test.54" in first
    assert "test.5<" in first
    assert "test.4<" not in first
    last = AuditEntry.objects.get(action="test.5").pk
    second = body(staff.get(address("audit"), {"before": last}))
    assert all(f"test.{n}<" in second for n in range(5))
    assert "test.5<" not in second
    assert staff.get(address("audit"), {"before": "x"}).status_code == 400


def time(assignment, minutes, step="rate"):
    StepTime.objects.create(assignment=assignment, step=step, active_ms=minutes * 60_000)


def test_pay_is_active_time_at_the_promised_rate(staff, seat):
    late, early = item_at(seat, k=3), item_at(seat, k=1)
    time(late, 20)
    time(late, 5, "instruction")
    time(early, 5)
    finish(early)
    table = list(csv.DictReader(io.StringIO(body(staff.get(address("pay"))))))
    (row,) = table
    assert row["annotator"] == seat.pseudonym
    assert (row["active_seconds"], row["amount"], row["currency"]) == ("1800", "6.00", "GBP")
    assert (row["items_finished"], row["items_of"]) == ("1", "5")
    assert row["taken_at"].endswith("Z")
    page = body(staff.get(address("people")))
    assert "30 min" in page
    assert "6.00" in page


def test_a_reward_below_the_promised_rate_is_named(staff, seat):
    time(item_at(seat, k=3), 30)
    Seat.objects.filter(pk=seat.pk).update(state="finished")
    low = body(staff.get(address("people"), {"minutes": "20"}))
    assert "8.00 GBP an hour" in low
    assert "less than was promised" in low
    high = body(staff.get(address("people"), {"minutes": "30"}))
    assert "12.00 GBP an hour" in high
    assert "less than was promised" not in high
    for wrong in ("0", "many", "1441"):
        assert staff.get(address("people"), {"minutes": wrong}).status_code == 400


def test_the_median_is_over_finished_seats_with_time(seat):
    rows = people.rows(seat.study)
    assert pay.fairness(seat.study, rows, 30).hourly is None
    assert pay.fairness(seat.study, rows).median_seconds is None


def test_without_a_rate_nothing_is_owed(staff, seat):
    Study.objects.update(rate_per_hour=None)
    assert "promises no rate" in body(staff.get(address("people")))
    assert "amount" in body(staff.get(address("pay")))


def test_the_pages_cost_the_same_for_any_number_of_people(
    staff, researcher, seat, other_annotator, django_assert_num_queries
):
    def cost(path, n):
        with django_assert_num_queries(n):
            staff.get(path)

    AuditEntry.objects.create(action="a.made", actor=researcher, study=seat.study)
    staff.get(address("people"))
    counts = {"people": 7, "problems": 6, "audit": 6}
    for name, n in counts.items():
        cost(address(name), n)
    other = assign_seat(Study.objects.get(), other_annotator)
    for k in (1, 2, 3):
        item = finish(item_at(other, k=k))
        time(item, 3)
        ProblemReport.objects.create(assignment=item, text=f"At {k}")
        AuditEntry.objects.create(action="b.made", actor=researcher, study=seat.study, seat=other)
    for name, n in counts.items():
        cost(address(name), n)
    cost(address("person", other.pseudonym), 9)


def test_simulated_seats_are_no_people(staff, db):
    study = make_study("summer", n_simulated=1)
    simulated = study.seats.get(simulated=True)
    page = body(staff.get(reverse("annotation:people", args=["summer"])))
    assert simulated.pseudonym not in page
    path = reverse("annotation:person", args=["summer", simulated.pseudonym])
    assert staff.get(path).status_code == 404


def test_a_seat_of_another_study_is_not_found(staff, seat):
    make_study("summer")
    path = reverse("annotation:person", args=["summer", seat.pseudonym])
    assert staff.get(path).status_code == 404


def test_housekeeping_takes_back_seats_that_were_left_and_sends_what_is_due(seat, monkeypatch):
    sent = []
    task = housekeeping.site_tasks.send_webhooks
    assert task.name in app.tasks
    monkeypatch.setattr(task, "apply_async", lambda **options: sent.append(options))
    past = timezone.now() - timedelta(hours=1)
    Seat.objects.filter(pk=seat.pk).update(expires_at=past)
    keeper = housekeeping.Housekeeper("test")
    for _ in range(2):
        keeper._sweep()
    seat.refresh_from_db()
    assert seat.state == "expired"
    assert AuditEntry.objects.filter(action="seat.expired").count() == 1
    assert sent == []
    Webhook.objects.create(url="https://example.org/", events=["study.launched"])
    announce("study.launched", {})
    keeper._sweep()
    assert len(sent) == 1


def test_a_queue_that_does_not_answer_does_not_end_housekeeping(db, monkeypatch, caplog):
    def away(**options):
        raise BrokerError("connection refused")

    Webhook.objects.create(url="https://example.org/", events=["study.launched"])
    announce("study.launched", {})
    monkeypatch.setattr(housekeeping.site_tasks.send_webhooks, "apply_async", away)
    keeper = housekeeping.Housekeeper("test")
    monkeypatch.setattr(housekeeping, "close_old_connections", lambda: None)
    assert keeper._try(keeper._sweep) is False
    assert "the queue did not answer" in caplog.text
    assert webhook_sending.due().count() == 1


def test_the_audit_log_says_nested_details_in_words(staff, seat):
    detail = {"filter": {"judges": "all", "questionnaire": False}, "items": [2, 3]}
    AuditEntry.objects.create(action="export.requested", study=seat.study, detail=detail)
    said = body(staff.get(address("audit")))
    assert "filter judges all, questionnaire no, items 2, 3" in said
    assert "False" not in said
