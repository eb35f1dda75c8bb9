"""The assignment design: balance, blindness of the order, one source once."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.design import POSITIONS, TYPES, DesignError, coverage, draw
from tests.layouts import candidates

POOL = candidates()
BY_KEY = {unit.key: unit for unit in POOL}


def units_of(seat):
    return [BY_KEY[item.key] for item in seat]


@given(seed=st.integers(0, 2**63 - 1), n_seats=st.integers(1, 6))
@settings(max_examples=25, deadline=None)
def test_every_person_meets_every_type_at_every_position_once(seed, n_seats):
    for seat in draw(POOL, n_seats=n_seats, seed=seed).seats:
        cells = Counter((u.type, u.k) for u in units_of(seat) if u.type)
        assert cells == Counter({(t, k): 1 for t in TYPES for k in POSITIONS})
        assert sum(not u.type for u in units_of(seat)) == 2


@given(seed=st.integers(0, 2**63 - 1))
@settings(max_examples=25, deadline=None)
def test_no_person_meets_a_source_twice(seed):
    for seat in draw(POOL, n_seats=4, seed=seed).seats:
        sources = [u.source for u in units_of(seat)]
        assert len(sources) == len(set(sources))


@given(seed=st.integers(0, 2**63 - 1))
@settings(max_examples=25, deadline=None)
def test_within_a_workflow_a_person_meets_all_four_positions(seed):
    for seat in draw(POOL, n_seats=3, seed=seed, conformant_per_seat=0).seats:
        by_workflow = Counter((u.workflow, u.k) for u in units_of(seat))
        for workflow in {u.workflow for u in units_of(seat)}:
            assert {by_workflow[workflow, k] for k in POSITIONS} == {1}


@given(seed=st.integers(0, 2**63 - 1))
@settings(max_examples=25, deadline=None)
def test_foils_are_half_of_the_forks_and_all_of_the_conformant(seed):
    plan = draw(POOL, n_seats=10, seed=seed, overlap=0)
    for seat in plan.seats:
        foils = sum(item.is_foil for item in seat if BY_KEY[item.key].type)
        assert foils == 8
        assert all(item.is_foil for item in seat if not BY_KEY[item.key].type)
    per_type = Counter()
    for type_, _, n, foils in coverage(plan, POOL):
        per_type[type_] += 2 * foils - n
    assert all(abs(per_type[t]) <= 8 for t in TYPES)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.3])
def test_the_asked_share_of_judgements_is_shared(share):
    plan = draw(POOL, n_seats=10, seed=4, overlap=share)
    uses = Counter(item for seat in plan.seats for item in seat)
    extra = sum(n - 1 for n in uses.values())
    assert abs(extra / sum(uses.values()) - share) < 0.02
    assert max(uses.values()) <= 2
    assert plan.n_shared == extra


def test_the_same_seed_draws_the_same_plan_from_any_order_of_candidates():
    shuffled = sorted(POOL, key=lambda unit: unit.key[::-1])
    assert draw(POOL, n_seats=5, seed=9) == draw(shuffled, n_seats=5, seed=9)
    assert draw(POOL, n_seats=5, seed=9) != draw(POOL, n_seats=5, seed=10)


def test_the_order_of_items_says_nothing_about_the_condition():
    """Over many seats every condition has the same mean place, within sampling error."""
    places: dict[str, list[int]] = {}
    for seed in range(60):
        for seat in draw(POOL, n_seats=1, seed=seed).seats:
            for place, unit in enumerate(units_of(seat)):
                places.setdefault(unit.type, []).append(place)
    for type_, seen in places.items():
        assert abs(sum(seen) / len(seen) - 8.5) < 1.6, type_


def test_too_few_sources_are_refused_with_what_is_missing():
    with pytest.raises(DesignError, match=r"Seat 1 finds no fork of type \w+ at k = \d"):
        draw(candidates(workflows=1, sources=4), n_seats=1, seed=0)
    forks_only = [unit for unit in POOL if unit.type]
    with pytest.raises(DesignError, match="no conformant dialogue"):
        draw(forks_only, n_seats=1, seed=0)


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"n_seats": 0}, "at least one seat"),
        ({"n_seats": 1, "overlap": 1.5}, "between 0 and 1"),
        ({"n_seats": 1, "forks_per_seat": 0, "conformant_per_seat": 0}, "at least one item"),
    ],
)
def test_numbers_out_of_range_are_refused(wrong, word):
    with pytest.raises(DesignError, match=word):
        draw(POOL, seed=0, **wrong)


@given(
    types=st.sets(st.sampled_from(TYPES), min_size=1),
    positions=st.sets(st.sampled_from(POSITIONS), min_size=1),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=25, deadline=None)
def test_chosen_types_and_positions_are_balanced_as_well(types, positions, seed):
    """Over types x positions forks each cell comes once, and a block has every position."""
    n_cells = len(types) * len(positions)
    plan = draw(
        POOL,
        n_seats=2,
        seed=seed,
        forks_per_seat=n_cells,
        types=sorted(types),
        positions=sorted(positions),
    )
    for seat in plan.seats:
        cells = Counter((u.type, u.k) for u in units_of(seat) if u.type)
        assert cells == Counter({(t, k): 1 for t in types for k in positions})
        by_workflow = Counter(u.workflow for u in units_of(seat) if u.type)
        assert all(n % len(positions) == 0 for n in by_workflow.values())


@given(share=st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 0.75, 1.0]), seed=st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_the_asked_share_of_a_persons_forks_shows_a_foil(share, seed):
    plan = draw(POOL, n_seats=6, seed=seed, foil_share=share, overlap=0)
    for seat in plan.seats:
        foils = sum(item.is_foil for item in seat if BY_KEY[item.key].type)
        assert abs(foils - 16 * share) <= 1
        assert all(item.is_foil for item in seat if not BY_KEY[item.key].type)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=10, deadline=None)
def test_workflows_are_used_equally_often(seed):
    plan = draw(POOL, n_seats=10, seed=seed, conformant_per_seat=0)
    uses = Counter(u.workflow for seat in plan.seats for u in units_of(seat))
    assert max(uses.values()) - min(uses.values()) <= 4


@given(n_seats=st.integers(2, 12), overlap=st.sampled_from([0.0, 0.15, 0.3]), seed=st.integers())
@settings(max_examples=25, deadline=None)
def test_nobody_judges_an_item_or_a_source_twice_whatever_the_overlap(n_seats, overlap, seed):
    for seat in draw(POOL, n_seats=n_seats, seed=abs(seed), overlap=overlap).seats:
        assert len(set(seat)) == len(seat)
        sources = [u.source for u in units_of(seat)]
        assert len(sources) == len(set(sources))


def test_a_hundred_seats_over_thirty_thousand_forks_are_drawn_in_seconds():
    many = candidates(workflows=24, sources=89)
    assert sum(bool(unit.type) for unit in many) > 34_000
    begin = time.perf_counter()
    plan = draw(many, n_seats=100, seed=1)
    assert time.perf_counter() - begin < 4
    assert sum(map(len, plan.seats)) == 1800


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"foil_share": -0.1}, "share of foils is -0.1"),
        ({"types": ("WIC", "X")}, "types must be some of WIC, SSPC, GR, CSC"),
        ({"types": ()}, "types must be"),
        ({"positions": (5,)}, "positions must be some of 1, 2, 3 and 4"),
    ],
)
def test_unknown_conditions_are_refused(wrong, word):
    with pytest.raises(DesignError, match=word):
        draw(POOL, n_seats=1, seed=0, **wrong)
