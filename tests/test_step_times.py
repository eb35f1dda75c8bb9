"""Time on a step, by the server's clock: seen and used, never doubled, never more than passed."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from annotation import phases, step_times
from annotation.enrolment import assign_seat
from annotation.models import StepTime
from tests.studies import item_at, make_study


class Clock:
    """The server's clock, moved by hand."""

    def __init__(self) -> None:
        self.at = self.start = timezone.now()

    def __call__(self):
        return self.at

    def go(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


@pytest.fixture
def clock(monkeypatch) -> Clock:
    moved = Clock()
    monkeypatch.setattr(step_times, "now", moved)
    return moved


@pytest.fixture
def late(annotator):
    return item_at(assign_seat(make_study(), annotator), k=3)


@pytest.fixture
def visitor(client, annotator):
    client.force_login(annotator)
    return client


def beat(client, assignment, ms, step="rate"):
    url = reverse("annotation:time", args=[assignment.token, step])
    return client.post(url, {"active_ms": ms}, content_type="application/json")


def test_active_time_leaves_out_the_ten_minutes_in_which_the_page_was_hidden(visitor, late, clock):
    page = reverse("annotation:rate", args=[late.token])
    visitor.get(page)
    clock.go(15)
    beat(visitor, late, 15000)
    clock.go(5)
    beat(visitor, late, 5000)  # the page is hidden now
    clock.go(600)
    clock.go(15)
    beat(visitor, late, 15000)
    visitor.post(page, {"rating": 40})
    time = StepTime.objects.get()
    assert time.active_ms == 35000
    assert time.submitted_at - time.opened_at == timedelta(seconds=635)


def test_no_more_is_counted_than_passed_on_the_server(visitor, late, clock):
    visitor.get(reverse("annotation:rate", args=[late.token]))
    clock.go(10)
    assert beat(visitor, late, 3_600_000).json() == {"counted_ms": 10000}
    assert beat(visitor, late, 3_600_000).json() == {"counted_ms": 0}
    assert StepTime.objects.get().active_ms == 10000


def test_two_tabs_do_not_count_a_second_twice(visitor, late, clock):
    visitor.get(reverse("annotation:rate", args=[late.token]))
    for _ in range(4):
        clock.go(15)
        beat(visitor, late, 15000)
        beat(visitor, late, 15000)
    assert StepTime.objects.get().active_ms == 60000


def test_one_tab_after_the_other_counts_both(visitor, late, clock):
    visitor.get(reverse("annotation:rate", args=[late.token]))
    for _ in range(2):
        clock.go(20)
        beat(visitor, late, 20000)
    assert StepTime.objects.get().active_ms == 40000


def test_a_beat_after_the_answer_counts_up_to_the_answer(visitor, late, clock):
    page = reverse("annotation:rate", args=[late.token])
    visitor.get(page)
    clock.go(8)
    visitor.post(page, {"rating": 40})
    clock.go(100)
    assert beat(visitor, late, 100000).json() == {"counted_ms": 8000}
    assert beat(visitor, late, 100000).json() == {"counted_ms": 0}


def test_the_first_opening_input_and_answer_stand(visitor, late, clock):
    page = reverse("annotation:rate", args=[late.token])
    draft = reverse("annotation:draft", args=[late.token, "rate"])
    visitor.get(page)
    for seconds, value in ((5, 30), (5, 40)):
        clock.go(seconds)
        body = {"values": {"rating": value}, "revision": 0 if value == 30 else 1}
        body |= {"active_ms": 4000}
        assert visitor.put(draft, body, content_type="application/json").status_code == 200
        visitor.get(page)
    for _ in range(2):
        clock.go(5)
        visitor.post(page, {"rating": 40})
    time = StepTime.objects.get()
    since = [time.opened_at, time.first_input_at, time.submitted_at]
    assert [(at - clock.start).seconds for at in since] == [0, 5, 15]
    assert time.active_ms == 8000


def test_a_clock_that_goes_backwards_makes_no_time_negative(visitor, late, clock):
    visitor.get(reverse("annotation:rate", args=[late.token]))
    clock.go(-86400)
    assert beat(visitor, late, 5000).json() == {"counted_ms": 0}
    assert StepTime.objects.get().active_ms == 0


def test_an_answer_without_its_page_has_a_time_of_no_length(visitor, late, clock):
    visitor.post(reverse("annotation:rate", args=[late.token]), {"rating": 40})
    time = StepTime.objects.get()
    assert time.opened_at == time.submitted_at == clock.at
    assert time.active_ms == 0


@pytest.mark.parametrize("ms", [-1, 1.5, "15", None, True, 10**12])
def test_what_is_no_number_of_milliseconds_is_refused(visitor, late, ms):
    answer = beat(visitor, late, ms)
    assert (answer.status_code, answer.json()["field"]) == (400, "active_ms")
    assert not StepTime.objects.exists()


def test_time_is_for_steps_of_ones_own_that_were_reached(client, visitor, other_annotator, late):
    assert beat(visitor, late, 5, "instruction").status_code == 404
    assert beat(visitor, late, 5, "nonsense").status_code == 404
    client.force_login(other_annotator)
    assert beat(client, late, 5).status_code == 404
    client.logout()
    assert beat(client, late, 5).status_code == 401
    assert not StepTime.objects.exists()


def test_while_a_seat_is_paused_no_time_passes(visitor, late, clock):
    visitor.get(reverse("annotation:rate", args=[late.token]))
    late.seat.state = "paused"
    late.seat.save()
    clock.go(60)
    assert beat(visitor, late, 60000).status_code == 409
    assert StepTime.objects.get().active_ms == 0


def test_the_next_item_is_found_by_index_not_by_reading_all(late, django_assert_num_queries):
    with django_assert_num_queries(1):
        assert phases.waiting(late.seat) is not None
    left = (
        phases.items_of(late.seat, practising=False)
        .filter(finished_at__isnull=True, ended="")
        .order_by("rank")
    )
    if connection.vendor == "sqlite":
        plan = left[:1].explain()
        assert re.search(r"SEARCH annotation_assignment USING INDEX \S+ \(seat_id=\?", plan)
        assert "SCAN annotation" not in plan
