"""How far a study is has one definition, and every page, CSV and recount agrees with it."""

from __future__ import annotations

import random
import re

import pytest
from django.db import connection
from django.urls import reverse

from annotation import judging, phases, seating, study_counts
from annotation.models import Assignment, Seat, Study
from annotation.rehearsal import simulate_study
from annotation.reopening import reopen
from annotation.reports import fork_study
from annotation.study_counts import Counters
from annotation.withdrawing import withdraw
from tests.studies import make_study

RECOUNT = """
    SELECT COUNT(*),
           SUM(CASE WHEN a.finished_at IS NOT NULL THEN 1 ELSE 0 END),
           SUM(CASE WHEN a.finished_at IS NULL AND a.opened_at IS NOT NULL THEN 1 ELSE 0 END)
    FROM annotation_assignment a
    JOIN annotation_seat s ON s.id = a.seat_id
    JOIN annotation_item i ON i.id = a.item_id
    WHERE s.study_id = %s AND s.simulated = %s AND i.kind = 'main' AND a.attempt = 1
      AND (a.ended = '' OR a.finished_at IS NOT NULL)
"""


EVENTS = ["take", "take", "open", "open", "rate", "skip", "expire", "reopen", "withdraw"]
EVENTS += ["finish"] * 5


def recount(study: Study, simulated: bool) -> Counters:
    with connection.cursor() as cursor:
        cursor.execute(RECOUNT, [study.pk, simulated])
        return Counters(*(n or 0 for n in cursor.fetchone()))


def facts(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def finish(assignment: Assignment) -> None:
    turn = assignment.item.dialogue.turns.filter(role="assistant").first()
    judging.record_slider(assignment, 50)
    judging.record_confirmation(assignment, "yes", turn.number)
    if not Assignment.objects.get(pk=assignment.pk).finished_at:
        judging.record_prefix(assignment, "yes")


def act(rng: random.Random, study: Study, users: list, researcher) -> None:
    """One random event of a study's life."""
    taken = list(study.seats.filter(user__isnull=False, state=Seat.State.ACTIVE))
    kind = rng.choice(EVENTS)
    if kind == "take" or not taken:
        try:
            seating.take(study, rng.choice(users))
        except seating.EnrolmentRefused:
            return
        return
    seat = rng.choice(taken)
    left = list(seat.assignments.unfinished().select_related("item__dialogue", "seat__study"))
    done = list(
        seat.assignments.filter(finished_at__isnull=False, attempt=1, skip=None).select_related(
            "item__dialogue", "seat__study"
        )
    )
    if kind == "expire":
        seating.expire(seat)
    elif kind == "withdraw":
        withdraw(seat, rng.choice(["keep", "erase"]))
    elif kind == "reopen" and done:
        try:
            reopen(rng.choice(done), researcher)
        except ValueError:
            return
    elif left and kind in ("open", "finish", "skip", "rate"):
        assignment = rng.choice([a for a in left if a.attempt == 1] or left)
        given = judging.answers(assignment)
        if given.slider or kind == "open":
            judging.open_item(assignment)
        elif kind == "rate":
            judging.record_slider(assignment, 10)
        elif kind == "skip":
            judging.record_skip(assignment, "other")
        else:
            finish(assignment)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_page_counts_alike_after_any_events(client, researcher, django_user_model, seed):
    people_there = [django_user_model.objects.create_user(f"p{n}") for n in range(6)]
    study = make_study(n_seats=4, n_simulated=1)
    simulate_study(study)
    client.force_login(researcher)
    rng = random.Random(seed)
    for step in range(32):
        act(rng, study, people_there, researcher)
        counts = study_counts.by_study([study])
        people, simulated = counts[study.pk, False], counts[study.pk, True]
        assert people == recount(study, False)
        assert simulated == recount(study, True) == Counters(5, 5, 0)
        assert people.assigned == people.completed + people.needed
        by_seat = study_counts.by_seat(study.seats.filter(simulated=False))
        assert sum(c.assigned for c in by_seat.values()) == people.assigned
        assert sum(c.completed for c in by_seat.values()) == people.completed
        mine = Assignment.objects.filter(seat__study=study, seat__simulated=False)
        assert study_counts.counters(mine) == people
        for assignment in mine.filter(ended="", attempt=1, seat__user__isnull=False)[:2]:
            bar = phases.progress(assignment)
            own = by_seat[assignment.seat_id]
            assert (bar["done"], bar["total"]) == (own.completed, own.assigned)
        if step % 8 == 7:
            told = {n: g["counts"] for n, g in fork_study(study)["groups"].items()}
            assert told["people"]["assigned"] == people.assigned
            assert told["people"]["finished"] == people.completed
            assert told["simulated"]["finished"] == simulated.completed
            listed = facts(client.get(reverse("annotation:studies")).content.decode())
            planned = facts(
                client.get(reverse("annotation:plan", args=["winter"])).content.decode()
            )
            row = f"{people.completed} of {people.assigned} {people.in_progress} {people.needed}"
            assert row in listed
            start = facts(client.get(reverse("home")).content.decode())
            assert f"Open {people.completed} of {people.assigned}" in start
            assert f"items finished {people.completed} of {people.assigned}" in planned
            assert f"in progress {people.in_progress} needed {people.needed}" in planned


def test_a_seat_passed_on_counts_once(annotator, other_annotator):
    study = make_study(n_seats=1)
    first = seating.take(study, annotator)
    finish(first.assignments.select_related("item__dialogue", "seat__study").get(rank=1))
    seating.expire(first)
    assert study_counts.by_study([study])[study.pk, False] == Counters(1, 1, 0)
    seating.take(study, other_annotator)
    assert study_counts.by_study([study])[study.pk, False] == Counters(5, 1, 0)
    places = study_counts.places([study])[study.pk]
    assert (places.seats, places.taken, places.finished) == (1, 1, 0)


def test_practice_attention_and_second_attempts_are_no_judgements(annotator, researcher):
    study = make_study(n_seats=1, forks_per_seat=2)
    seat = seating.take(study, annotator)
    some = seat.assignments.select_related("item__dialogue", "seat__study").order_by("rank")
    finish(some[0])
    reopen(some[0], researcher)
    study.items.filter(assignments=some[1]).update(kind="attention")
    assert study_counts.by_study([study])[study.pk, False] == Counters(2, 1, 0)


def test_the_list_reads_no_conversations_and_takes_constant_queries(
    client, researcher, django_assert_num_queries
):
    client.force_login(researcher)
    make_study("one")
    client.get(reverse("annotation:studies"))
    with django_assert_num_queries(6) as few:
        client.get(reverse("annotation:studies"))
    for n in range(4):
        make_study(f"more-{n}")
    with django_assert_num_queries(len(few.captured_queries)) as many:
        page = client.get(reverse("annotation:studies"))
    sent = " ".join(query["sql"] for query in many.captured_queries)
    assert "benchmark_turn" not in sent and "instruction" not in sent
    html = page.content.decode()
    assert "From now on" not in html and "Hello, this is the" not in html
    assert len(html) < 60_000
