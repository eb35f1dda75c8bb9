"""How far a person is: the same on the item, at home, for researchers and in the table itself."""

from __future__ import annotations

import random

import pytest

from annotation import judging, people, phases, reopening, seating, withdrawing
from annotation.enrolment import assign_seat
from annotation.models import Assignment, Seat
from tests.studies import make_study


def finish(assignment: Assignment) -> None:
    judging.record_slider(assignment, 40)
    judging.record_confirmation(assignment, "no")
    if judging.open_step(assignment) == "prefix":
        judging.record_prefix(assignment, "yes")


def events(seat: Seat, rng: random.Random, researcher):
    """Random acts on the items of a seat; each is yielded after it was done."""
    for _ in range(8):
        mine = list(seat.assignments.select_related("item__dialogue", "seat__study"))
        waiting = [one for one in mine if judging.open_step(one)]
        act = rng.choice(["open", "begin", "finish", "skip", "reopen"])
        if act == "reopen":
            done = [one for one in mine if one.finished_at and one.attempt == 1]
            taken = {one.item_id for one in mine if one.attempt > 1}
            done = [one for one in done if one.item_id not in taken]
            if done:
                reopening.reopen(rng.choice(done), researcher)
        elif waiting:
            one = rng.choice(waiting)
            judging.open_item(one)
            if act == "begin" and judging.open_step(one) == "rate":
                judging.record_slider(one, 50)
            elif act == "finish" and judging.open_step(one) == "rate":
                finish(one)
            elif act == "skip":
                judging.record_skip(one, "other")
        yield act


def recount(seat: Seat) -> tuple[int, int]:
    """Done and total, by looking at every row."""
    rows = Assignment.objects.filter(seat=seat).values_list("finished_at", "ended", "attempt")
    counted = [finished for finished, ended, n in rows if n == 1 and (finished or not ended)]
    return sum(finished is not None for finished in counted), len(counted)


def shown(seat: Seat) -> set[tuple[int, int]]:
    """Done and total as the item's bar, the page of the study and the start page tell them."""
    one = seat.assignments.select_related("item", "seat").order_by("rank").first()
    bar, page = phases.progress(one), phases.tally(seat, practising=False)
    found = {(bar["done"], bar["total"]), (page["done"], page["total"])}
    if seat.user_id:
        card = next(c for c in phases.cards(seat.user) if c["pseudonym"] == seat.pseudonym)
        found.add((card["done"], card["total"]))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_every_page_counts_the_same_after_every_event(annotator, researcher, seed):
    seat = assign_seat(make_study(), annotator)
    for act in events(seat, random.Random(seed), researcher):
        assert shown(seat) == {recount(seat)}, act
        row = next(row for row in people.rows(seat.study) if row.pk == seat.pk)
        assert (row.done, row.total) == recount(seat), act


@pytest.mark.parametrize("how", ["expire", "withdraw"])
def test_what_was_taken_away_unfinished_counts_no_more(annotator, researcher, how):
    seat = assign_seat(make_study(), annotator)
    first = seat.assignments.select_related("item__dialogue", "seat__study").first()
    finish(first)
    if how == "expire":
        seating.expire(seat, actor=researcher)
    else:
        withdrawing.withdraw(seat, "keep")
    seat.refresh_from_db()
    assert recount(seat) == (1, 1)
    assert shown(seat) == {(1, 1)}
