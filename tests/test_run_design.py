"""What a study of runs promises of its draw, over any runs and any numbers."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.design import DesignError
from annotation.run_design import RunCandidate, balanced, draw_runs, seats_needed

UNITS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 8)), min_size=1, max_size=60).map(
    lambda rows: [
        RunCandidate(f"run-{place:03}", f"m{model}", f"q{question}" if question else "")
        for place, (model, question) in enumerate(rows)
    ]
)
SEATS, PER_ITEM, SEEDS = st.integers(1, 14), st.integers(1, 4), st.integers(0, 2**32)


def grid(models: int = 6, questions: int = 42) -> list[RunCandidate]:
    return [
        RunCandidate(f"m{m}-q{q}", f"m{m}", f"q{q}")
        for m in range(models)
        for q in range(questions)
    ]


@given(UNITS, SEATS, PER_ITEM, SEEDS)
def test_every_run_goes_to_exactly_so_many_different_seats(units, n_seats, per_item, seed):
    plan = draw_runs(units, n_seats=n_seats, per_item=per_item, seed=seed)
    uses = Counter(key for seat in plan.seats for key in set(seat))
    assert uses == dict.fromkeys([unit.key for unit in units], min(per_item, n_seats))
    assert sum(map(len, plan.seats)) == sum(uses.values())  # no seat holds a run twice
    assert plan.per_item == min(per_item, n_seats)
    assert plan.left_out == ()


@given(UNITS, SEATS, PER_ITEM, SEEDS)
def test_seats_hold_equally_many_runs_give_or_take_one(units, n_seats, per_item, seed):
    plan = draw_runs(units, n_seats=n_seats, per_item=per_item, seed=seed)
    loads = [len(seat) for seat in plan.seats]
    assert max(loads) - min(loads) <= 1


@given(UNITS, SEATS, PER_ITEM, SEEDS)
def test_a_question_is_met_again_only_when_every_seat_has_met_it(units, n_seats, per_item, seed):
    plan = draw_runs(units, n_seats=n_seats, per_item=per_item, seed=seed)
    question = {unit.key: unit.question for unit in units}
    for name in {unit.question for unit in units if unit.question}:
        met = [sum(question[key] == name for key in seat) for seat in plan.seats]
        judgements = plan.per_item * sum(unit.question == name for unit in units)
        assert max(met) == -(-judgements // n_seats)
        assert max(met) - min(met) <= 1


@given(UNITS, SEATS, PER_ITEM, st.integers(1, 9), st.integers(0, 40), SEEDS)
def test_no_seat_holds_more_than_it_may_and_what_does_not_fit_is_named(
    units, n_seats, per_item, runs_per_seat, limit, seed
):
    plan = draw_runs(
        units,
        n_seats=n_seats,
        per_item=per_item,
        runs_per_seat=runs_per_seat,
        limit=limit,
        seed=seed,
    )
    assert max(map(len, plan.seats)) <= runs_per_seat
    assert {*plan.runs, *plan.left_out} == {unit.key for unit in units}
    assert not set(plan.runs) & set(plan.left_out)
    room = n_seats * runs_per_seat // plan.per_item
    assert len(plan.runs) == min(len(units), limit or len(units), room)
    uses = Counter(key for seat in plan.seats for key in seat)
    assert set(uses.values()) == {plan.per_item}


@given(UNITS, SEATS, PER_ITEM, SEEDS)
def test_the_same_seed_draws_the_same_whatever_the_order(units, n_seats, per_item, seed):
    numbers = {"n_seats": n_seats, "per_item": per_item, "seed": seed}
    assert draw_runs(units, **numbers) == draw_runs(reversed(units), **numbers)


def test_another_seed_draws_another_plan():
    assert draw_runs(grid(), n_seats=10, seed=1) != draw_runs(grid(), n_seats=10, seed=2)


def test_each_seat_meets_the_models_equally_often():
    plan = draw_runs(grid(), n_seats=12, seed=7)
    for seat in plan.seats:
        models = Counter(key.split("-")[0] for key in seat)
        assert len(seat) == 42
        assert len(models) == 6
        assert max(models.values()) - min(models.values()) <= 2


def test_people_share_runs_with_many_others_not_with_one_neighbour():
    plan = draw_runs(grid(), n_seats=12, seed=7)
    holders: dict[str, list[int]] = {}
    for number, seat in enumerate(plan.seats):
        for key in seat:
            holders.setdefault(key, []).append(number)
    partners = [
        {other for pair in holders.values() if one in pair for other in pair} for one in range(12)
    ]
    assert min(len(met) for met in partners) > 6


def test_runs_that_are_left_out_come_from_all_models_and_questions():
    plan = draw_runs(grid(), n_seats=6, runs_per_seat=42, limit=126, seed=3)
    assert len(plan.runs) == 126
    models = Counter(key.split("-")[0] for key in plan.runs)
    questions = Counter(key.split("-")[1] for key in plan.runs)
    assert set(models.values()) == {21}
    assert len(questions) == 42
    assert max(questions.values()) - min(questions.values()) <= 2
    assert len(plan.left_out) == 126


def test_a_subset_as_large_as_all_is_all():
    import random

    assert balanced(grid(2, 3), 99, random.Random(1)) == grid(2, 3)


def test_two_people_for_the_published_number_of_runs_are_ten_seats_of_45():
    assert seats_needed(225, per_item=2, runs_per_seat=45) == 10
    assert seats_needed(1, per_item=3, runs_per_seat=45) == 3


def test_the_order_of_a_seat_is_drawn_not_the_order_of_names():
    plan = draw_runs(grid(), n_seats=4, seed=5)
    assert all(list(seat) != sorted(seat) for seat in plan.seats)


@pytest.mark.parametrize(
    ("units", "numbers", "word"),
    [
        ([], {"n_seats": 2}, "no runs"),
        (grid(1, 2), {"n_seats": 0}, "at least one seat"),
        (grid(1, 2), {"n_seats": 2, "per_item": 0}, "at least one judge"),
        (grid(1, 2), {"n_seats": 2, "limit": -1}, "fewer than none"),
        ([RunCandidate("a", "m"), RunCandidate("a", "n")], {"n_seats": 2}, "same name"),
    ],
)
def test_a_draw_that_cannot_be_is_refused_with_a_reason(units, numbers, word):
    with pytest.raises(DesignError, match=word):
        draw_runs(units, seed=1, **numbers)


def test_a_large_study_is_drawn_in_seconds():
    units = grid(10, 500)
    start = time.perf_counter()
    plan = draw_runs(units, n_seats=200, per_item=3, limit=4000, seed=1)
    assert time.perf_counter() - start < 8
    assert len(plan.runs) == 4000
    for seat in plan.seats:
        models = Counter(key.split("-")[0] for key in seat)
        assert max(models.values()) - min(models.get(f"m{m}", 0) for m in range(10)) <= 3
