"""Orders: tau-b alone and in batches, the constant row, recovery."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scoring.rankings import exact_recovery, kendall_tau_b, order_taus

numbers = st.integers(-3, 3)
rows = st.lists(numbers, min_size=4, max_size=4)
samples = st.lists(st.tuples(numbers, numbers), max_size=12)


@given(samples)
def test_tau_is_symmetric_and_either_a_number_or_a_reason(sample):
    x, y = [a for a, _ in sample], [b for _, b in sample]
    there, back = kendall_tau_b(x, y), kendall_tau_b(y, x)
    assert there.reason == back.reason
    if there.value is None:
        assert there.reason in ("fewer_than_two_pairs", "constant_input")
    else:
        assert there.value == pytest.approx(back.value)
        assert -1 <= there.value <= 1 + 1e-12


@given(st.lists(rows, min_size=1, max_size=20))
def test_a_batch_of_orders_equals_tau_b_row_by_row(units):
    for row, tau in zip(units, order_taus(units), strict=True):
        one = stats.kendalltau([4, 3, 2, 1], row).statistic
        assert tau == pytest.approx(0.0 if len(set(row)) == 1 else one)


def test_all_orders_of_four_have_mean_tau_0_and_one_is_exact():
    units = list(itertools.permutations([1.0, 2, 3, 4]))
    assert order_taus(units).mean() == pytest.approx(0.0)
    assert exact_recovery(units).value == pytest.approx(1 / 24)


def test_distances_equal_to_nine_decimals_are_tied():
    assert order_taus([[0.5, 0.5 + 1e-12, 0.5, 0.5 - 1e-12]])[0] == 0.0
    assert order_taus([[0.5 + 3e-8, 0.5 + 2e-8, 0.5 + 1e-8, 0.5]])[0] == 1.0


def test_a_distance_that_is_not_a_number_is_refused():
    with pytest.raises(ValueError, match="finite"):
        order_taus([[1.0, 2.0, float("nan"), 3.0]])


def test_recovery_of_nothing_is_undefined():
    assert exact_recovery(np.zeros((0, 4))).reason == "no_observations"
