"""Many at once: the same submit five times, a stale one, and a busy database."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from annotation import judging
from annotation.enrolment import assign_seat
from annotation.models import (
    Assignment,
    Draft,
    InstructionConfirmation,
    OnsetMark,
    PrefixJudgement,
    SliderRating,
    StepTime,
)
from tests.small import make_corpus
from tests.studies import assistant_turns, item_at, make_study

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def late(annotator) -> Assignment:
    return item_at(assign_seat(make_study(), annotator), k=3)


def at_once(tasks: Iterable[Callable[[], object]]) -> list[object]:
    """What each task returned; all of them start together."""
    found: list[object] = []
    tasks = list(tasks)
    gate = threading.Barrier(len(tasks))

    def run(task: Callable[[], object]) -> None:
        try:
            gate.wait()
            found.append(task())
        except Exception as error:
            found.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=[task]) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def signed_in(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_five_equal_submits_at_once_store_one_answer_and_get_equal_replies(annotator, late):
    turn = assistant_turns(late.item.dialogue)[2]
    clients = [signed_in(annotator) for _ in range(5)]
    answers = {
        "rate": {"rating": 64},
        "instruction": {"appears": "yes", "onset": turn},
        "prefix": {"prefix": "mostly"},
    }
    for step, data in answers.items():
        url = reverse(f"annotation:{step}", args=[late.token])

        def submit(client: Client, url: str = url, data: dict = data) -> tuple[int, str]:
            answer = client.post(url, data)
            return answer.status_code, answer.headers.get("Location", "")

        replies = at_once([lambda client=client: submit(client) for client in clients])
        assert len(set(replies)) == 1, replies
        assert replies[0][0] == 302
    for table in (SliderRating, InstructionConfirmation, OnsetMark, PrefixJudgement):
        assert table.objects.count() == 1
    assert StepTime.objects.count() == 3


def test_a_submit_to_an_item_left_behind_changes_nothing(annotator, late):
    client = signed_in(annotator)
    judging.record_slider(late, 80)
    judging.record_confirmation(late, "no")
    judging.record_prefix(late, "yes")
    before = list(Assignment.objects.order_by("pk").values())
    for step, data in (
        ("rate", {"rating": 20}),
        ("instruction", {"appears": "yes", "onset": assistant_turns(late.item.dialogue)[0]}),
        ("prefix", {"prefix": "no"}),
    ):
        answer = client.post(reverse(f"annotation:{step}", args=[late.token]), data)
        assert answer.status_code == 409
        assert "first answer stands" in answer.content.decode()
    assert SliderRating.objects.get().value == 80
    assert OnsetMark.objects.get().turn is None
    assert PrefixJudgement.objects.get().answer == "yes"
    assert list(Assignment.objects.order_by("pk").values()) == before


def test_saving_drafts_loses_nothing_while_something_large_is_written(
    django_user_model, annotator, late
):
    """Six people change their slider ten times each while corpora are written."""
    study = late.seat.study
    others = [django_user_model.objects.create_user(f"person{n}") for n in range(2)]
    seats = [late.seat, *(assign_seat(study, user) for user in others)]
    items = [item for seat in seats for item in seat.assignments.order_by("rank")[:2]]

    def save_ten(item: Assignment) -> list[int]:
        client = signed_in(item.seat.user)
        url = reverse("annotation:draft", args=[item.token, "rate"])
        return [
            client.put(
                url,
                {"values": {"rating": value}, "revision": value},
                content_type="application/json",
            ).status_code
            for value in range(10)
        ]

    def write() -> list[int]:
        for n in range(4):
            make_corpus(f"large-{n}", n=30)
        return [200]

    saving = [lambda item=item: save_ten(item) for item in items]
    replies = at_once([*saving, write])
    assert all(reply == [200] * len(reply) for reply in replies), replies
    assert list(Draft.objects.values_list("values", "revision")) == [({"rating": 9}, 10)] * 6
