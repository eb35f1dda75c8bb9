"""Conformal thresholds: ranks, the promise kept on exchangeable values, too few dialogues."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.conformal import (
    TOO_FEW,
    cut,
    expectation,
    fewest,
    p_cut,
    p_value,
    promise,
    rank,
)

values = st.lists(st.floats(-5, 5), max_size=40)
percents = st.integers(1, 99)


@given(st.integers(0, 500), percents)
def test_the_rank_is_that_of_exact_fractions(n, percent):
    exact = (n + 1) * (1 - Fraction(percent, 100))
    assert rank(n, percent / 100) == -((-exact.numerator) // exact.denominator)


@given(st.integers(0, 500), percents)
def test_below_the_fewest_dialogues_nothing_is_flagged_and_from_there_on_something_may_be(
    n, percent
):
    alpha = percent / 100
    enough = n >= Fraction(100, percent) - 1
    assert (n >= fewest(alpha)) is enough
    assert (rank(n, alpha) <= n) is enough
    assert (p_cut(n, alpha) is not None) is enough
    assert (expectation(n, alpha) > 0) is enough


def test_the_usual_levels_need_nine_and_nineteen_dialogues():
    assert [fewest(alpha) for alpha in (0.05, 0.1, 0.2)] == [19, 9, 4]
    assert cut(range(8), 0.1) is None and cut(range(9), 0.1) == 8.0
    assert cut([], 0.5) is None


@given(values, st.floats(-6, 6), percents)
def test_a_value_is_above_the_cut_exactly_where_its_p_is_at_most_alpha(calibration, value, percent):
    alpha = percent / 100
    rows, value = np.round(calibration, 3).tolist(), round(value, 3)
    threshold, p = cut(rows, alpha), p_value(rows, value)
    above = threshold is not None and value > threshold
    least = p_cut(len(rows), alpha)
    assert above is (Fraction(p).limit_denominator(1000) <= Fraction(percent, 100))
    assert above is (least is not None and -p > least)


@given(values, st.floats(-5, 5), st.floats(0, 3))
def test_p_lies_in_0_to_1_and_falls_with_the_value(calibration, value, more):
    p = p_value(calibration, value)
    assert 1 / (len(calibration) + 1) <= p <= 1
    assert p_value(calibration, value + more) <= p


def test_equal_values_tie_whatever_the_last_places_say():
    assert p_value([1.0, 1.0], 1.0 + 1e-12) == 1.0
    assert p_value([1.0, 1.0], 1.0 + 1e-6) == pytest.approx(1 / 3)


@pytest.mark.parametrize("n", [9, 19, 30, 57])
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2])
def test_the_share_of_false_alarms_is_the_expectation_on_exchangeable_values(n, alpha):
    rng = np.random.default_rng(n)
    draws = 4000
    rows = rng.normal(size=(draws, n + 1))
    flagged = sum(
        threshold is not None and row[0] > threshold
        for row in rows
        for threshold in [cut(row[1:].tolist(), alpha)]
    )
    expected = expectation(n, alpha)
    noise = 4 * np.sqrt(max(expected * (1 - expected), 1e-9) / draws)
    assert expected <= alpha + 1e-12
    assert abs(flagged / draws - expected) <= noise


def test_the_promise_says_what_holds():
    assert promise(8, 0.1).startswith(TOO_FEW)
    assert "At most 10 %" in promise(9, 0.1)
    assert "no promise" in promise(100, 0.1, exact=False)
    assert promise(8, 0.1, exact=False).startswith(TOO_FEW)


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 1.5])
def test_levels_outside_0_to_1_are_refused(alpha):
    for function in (lambda: rank(5, alpha), lambda: fewest(alpha), lambda: promise(5, alpha)):
        with pytest.raises(ValueError, match="alpha is"):
            function()
    with pytest.raises(ValueError, match="n is -1"):
        expectation(-1, 0.1)
