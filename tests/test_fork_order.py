"""Tau of the forks per type: complete units, reasons for the others, intervals by source."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from scoring.fork_order import (
    ForkDistance,
    sixteen_tau,
    taus_by_type,
    taus_by_workflow,
    units_by_type,
)


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


def test_exact_orders_and_constant_rows_are_told_as_shares():
    rows = (
        unit(1, "GR", [0.4, 0.3, 0.2, 0.1])
        + unit(2, "GR", [0.4, 0.3, 0.1, 0.2])
        + unit(3, "GR", [0.2] * 4)
        + unit(4, "GR", [0.4, 0.3, 0.2, 0.2])
    )
    found = taus_by_type(rows, seed=0, resamples=50)
    assert found["GR"].detail["exact_recovery"] == 0.25
    assert found["GR"].detail["constant_share"] == 0.25
    assert found["all"].detail["exact_recovery"] == 0.25
    assert found["all"].detail["sixteen"]["value"] is None


@given(st.integers(0, 99))
@settings(max_examples=20)
def test_all_sixteen_forks_in_one_order_have_the_tau_b_of_the_library(seed):
    values = np.random.default_rng(seed).integers(0, 9, (3, 4, 4)) / 9
    rows = [
        row
        for source, by_type in enumerate(values)
        for name, four in zip(("WIC", "SSPC", "GR", "CSC"), by_type, strict=True)
        for row in unit(source, name, four.tolist())
    ]
    expected = [
        stats.kendalltau(np.tile([4, 3, 2, 1], 4), by_type.ravel()).statistic for by_type in values
    ]
    found = sixteen_tau(units_by_type(rows))
    assert found == {"value": pytest.approx(np.mean(expected)), "reason": "", "n": 3}


def test_a_workflow_is_summed_up_as_if_it_were_alone():
    first = unit(1, "GR", [4, 3, 2, 1]) + unit(2, "GR", [4, 3, 1, 2])
    second, lost = unit(3, "GR", [1, 2, 3, 4]), unit(4, "GR", [1, 2, 3, 4])
    names = {1: "a", 2: "a", 3: "b"}
    found = taus_by_workflow(first + second + lost, names, seed=0, resamples=50)
    assert found == {
        "a": taus_by_type(first, seed=0, resamples=50),
        "b": taus_by_type(second, seed=0, resamples=50),
    }


# Rows of DialFork, table 3: taus per type and their average, as printed.
PRINTED = {
    "turn": ((0.025, 0.251, 0.226, 0.002), 0.126),
    "word": ((0.220, 0.242, 0.390, 0.040), 0.223),
    "prefix": ((0.688, 0.668, 0.712, 0.662), 0.682),
    "LaBSE, Mean": ((0.816, 0.745, 0.895, 0.579), 0.759),
    "LaBSE, Full": ((0.755, 0.705, 0.813, 0.428), 0.675),
}


@pytest.mark.parametrize("name", PRINTED)
def test_rows_with_the_printed_taus_have_the_printed_average(name):
    taus, average = PRINTED[name]
    rows = []
    for type_, tau in zip(("WIC", "SSPC", "GR", "CSC"), taus, strict=True):
        ordered = round(1000 * tau)
        for source in range(1000):
            rows += unit(source, type_, [4, 3, 2, 1] if source < ordered else [1, 1, 1, 1])
    found = taus_by_type(rows, seed=0, resamples=2)
    assert [found[t].value for t in ("WIC", "SSPC", "GR", "CSC")] == pytest.approx(taus)
    assert found["all"].value == pytest.approx(average, abs=0.00051)
    assert found["all"].n == 4000
