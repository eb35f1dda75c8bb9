"""The assignment design: balance, blindness of the order, one source once."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.design import POSITIONS, TYPES, Candidate, DesignError, coverage, draw


def pool(workflows: int = 5, sources: int = 12) -> list[Candidate]:
    units = []
    for w in range(workflows):
        for s in range(sources):
            source = f"w{w}-{s:02}"
            units.append(Candidate(source, source, f"w{w}"))
            units += [
                Candidate(f"{source}.{t}.{k}", source, f"w{w}", t, k)
                for t in TYPES
                for k in POSITIONS
            ]
    return units


POOL = pool()
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
        draw(pool(workflows=1, sources=4), n_seats=1, seed=0)
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
