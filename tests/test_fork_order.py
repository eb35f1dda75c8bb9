"""Tau of the forks per type: complete units, reasons for the others, intervals by source."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.fork_order import ForkDistance, taus_by_type


def unit(source, type_, values, ks=(1, 2, 3, 4)):
    return [
        ForkDistance(source, type_, k, value, "" if value is not None else "empty")
        for k, value in zip(ks, values, strict=True)
    ]


def test_falling_distances_give_one_and_rising_ones_minus_one():
    rows = unit(1, "GR", [0.4, 0.3, 0.2, 0.1]) + unit(1, "CSC", [0.1, 0.2, 0.3, 0.4])
    found = taus_by_type(rows, seed=0, resamples=50)
    assert found["GR"].value == 1.0
    assert found["CSC"].value == -1.0
    assert found["all"].value == 0.0
    assert found["GR"].ci is None


def test_units_that_are_not_whole_are_counted_by_reason():
    rows = [
        *unit(1, "GR", [0.4, 0.3, 0.2, 0.1]),
        *unit(2, "GR", [0.4, None, 0.2, 0.1]),
        *unit(3, "GR", [0.4, 0.3, 0.2], ks=(1, 2, 3)),
        *unit(4, "GR", [0.4, 0.3, 0.2, 0.1, 0.1], ks=(1, 2, 3, 4, 4)),
    ]
    found = taus_by_type(rows, seed=0, resamples=50)["GR"]
    assert (found.n, found.detail["skipped"]) == (1, 3)
    assert found.detail["reasons"] == {
        "empty": 1,
        "fewer than four forks": 1,
        "several forks at one k": 1,
    }


def test_a_type_without_a_whole_unit_is_undefined_and_out_of_the_mean():
    rows = unit(1, "GR", [4, 3, 2, 1]) + unit(1, "SSPC", [None] * 4)
    found = taus_by_type(rows, seed=0, resamples=50)
    assert found["SSPC"].value is None
    assert "all four forks" in found["SSPC"].reason
    assert (found["all"].value, found["all"].detail["types"]) == (1.0, 1)


def test_forks_that_cannot_be_ordered_count_nothing_and_are_named():
    found = taus_by_type(unit(1, "WIC", [0.2, 0.2, 0.2, 0.2]), seed=0, resamples=50)["WIC"]
    assert (found.value, found.detail["constant"]) == (0.0, 1)


def test_no_row_gives_no_group():
    assert taus_by_type([], seed=0) == {}


distances = st.lists(st.floats(0, 1), min_size=4, max_size=4)


@given(st.lists(distances, min_size=2, max_size=12), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_intervals_hold_the_bounds_of_tau_and_repeat_with_their_seed(values, seed):
    rows = [row for i, four in enumerate(values) for row in unit(i, "GR", four)]
    found = taus_by_type(rows, seed=seed, resamples=100)
    assert found == taus_by_type(rows[::-1], seed=seed, resamples=100)
    low, high = found["GR"].ci
    assert -1 <= low <= high <= 1
    assert found["all"].value == pytest.approx(found["GR"].value)
