"""Figures of task 1 from distances of sets: shares, combined p, intervals, what is left out."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.set_distances import flow_kl, flow_kl_rows
from scoring.set_measures import count_differences
from scoring.set_orders import NO_UNIT, NOT_RESAMPLED, SetRow, summaries
from scoring.set_resampling import Values, mean_interval, resampled_taus

NAMES = {1: "alpha", 2: "beta"}


def rows(unit, workflow=1, type_="GR"):
    return [SetRow(workflow, type_, k, value) for k, value in enumerate(unit, start=1)]


def figures(given_rows, **more):
    found = summaries(given_rows, NAMES, seed=0, resamples=200, **more)
    return {(each.statistic, each.group, each.workflow): each.estimate for each in found}


def test_a_falling_unit_is_in_order_and_a_rising_one_is_not():
    found = figures([*rows([4, 3, 2, 1]), *rows([1, 2, 3, 4], workflow=2)])
    assert found["tau", "GR", ""].value == 0.0
    assert found["tau", "GR", "alpha"].value == 1.0
    assert found["tau", "GR", "beta"].value == -1.0
    assert found["exact_recovery", "GR", ""].value == 0.5
    assert found["order_share", "GR", ""].value == 0.5
    assert found["fisher_p", "GR", "alpha"].value == pytest.approx(1 / 24)
    assert found["fisher_p", "GR", "beta"].value == pytest.approx(1.0)
    assert found["tau", "GR", ""].ci == (-1.0, 1.0)
    assert found["tau", "GR", "alpha"].ci is None


def test_all_is_the_plain_mean_of_the_types_and_combines_all_units():
    given_rows = [*rows([4, 3, 2, 1]), *rows([4, 3, 2, 1], 2), *rows([3, 4, 2, 1], type_="WIC")]
    found = figures(given_rows)
    assert found["tau", "all", ""].value == pytest.approx((1 + 2 / 3) / 2)
    assert found["exact_recovery", "all", ""].value == 0.5
    assert found["order_share", "all", ""].value == pytest.approx((1 + 5 / 6) / 2)
    statistic = -2 * (2 * math.log(1 / 24) + math.log(4 / 24))
    assert found["fisher_p", "all", ""].detail["statistic"] == pytest.approx(statistic)
    assert found["fisher_p", "all", ""].n == 3


def test_a_constant_unit_earns_nothing_and_has_p_1():
    found = figures(rows([2, 2, 2 + 1e-12, 2]))
    assert found["tau", "GR", ""].value == 0.0
    assert found["tau", "GR", ""].detail["constant"] == 1
    assert found["order_share", "GR", ""].value == 0.0
    assert found["fisher_p", "GR", ""].value == 1.0


def test_a_unit_with_an_undefined_set_is_left_out_and_counted_with_its_reason():
    lost = [*rows([4, 3, 2, 1])[:3], SetRow(1, "GR", 4, None, "no_pairs")]
    found = figures([*lost, *rows([4, 3, 2, 1], 2)])
    assert found["tau", "GR", ""].n == 1
    assert found["tau", "GR", ""].detail["reasons"] == {"no_pairs": 1}
    assert found["exact_recovery", "GR", ""].detail["skipped"] == 1
    assert found["fisher_p", "all", ""].detail["skipped"] == 1
    alone = figures(lost)
    for statistic in ("tau", "exact_recovery", "order_share", "fisher_p"):
        assert alone[statistic, "all", ""].value is None
        assert alone[statistic, "GR", ""].reason == NO_UNIT


def test_no_rows_have_no_figures():
    assert summaries([], {}, seed=0) == []


@given(st.lists(st.permutations([1.0, 2.0, 3.0, 4.0]), min_size=1, max_size=6))
def test_shares_lie_between_0_and_1_and_follow_tau(units):
    given_rows = [row for i, unit in enumerate(units) for row in rows(unit, workflow=i)]
    found = {
        (each.statistic, each.group): each.estimate
        for each in summaries(given_rows, {}, seed=0, resamples=20)
    }
    tau, share = found["tau", "GR"].value, found["order_share", "GR"].value
    assert share == pytest.approx((1 + tau) / 2), "without ties"
    assert 0 <= found["exact_recovery", "GR"].value <= share
    assert 0 < found["fisher_p", "GR"].value <= 1


# -- resampled sources -------------------------------------------------------------------------


def test_the_interval_over_sources_is_that_of_the_resampled_means():
    taus = {1: {"GR": [1.0, 0.0, None]}, 2: {"GR": [0.0, 0.0, 1.0]}}
    found = figures([*rows([4, 3, 2, 1]), *rows([4, 3, 2, 1], 2)], taus=taus)
    assert found["tau", "GR", ""].detail["source_ci"] == pytest.approx([0.025, 0.975], abs=0.03)
    assert found["tau", "GR", "alpha"].detail["source_ci"] == pytest.approx([0.025, 0.975])
    without = figures(rows([4, 3, 2, 1]))
    assert without["tau", "GR", ""].detail["source_ci"] is None
    assert without["tau", "GR", ""].detail["source_ci_reason"] == NOT_RESAMPLED


def values(shift, n=12, missing=()):
    rng = np.random.default_rng(1)
    base = rng.normal(0.6, 0.05, n)
    return Values(
        {i: float(v) for i, v in enumerate(base)},
        {
            ("GR", k): [
                (i, None if i in missing else float(v - shift * (5 - k) + 0.01 * rng.normal()))
                for i, v in enumerate(base)
            ]
            for k in (1, 2, 3, 4)
        },
    )


def test_clear_orders_survive_resampling_and_noise_does_not():
    clear = resampled_taus(flow_kl_rows, values(0.2), name="flow", seed=0)["GR"]
    assert len(clear) == 200 and np.mean(clear) > 0.9
    noise = resampled_taus(flow_kl_rows, values(0.0), name="flow", seed=0)["GR"]
    low, high = mean_interval([noise])
    assert high - low > 0.5


def test_draws_hang_on_name_and_seed_only():
    first = resampled_taus(count_differences, values(0.001), name="flow", seed=0)
    assert first == resampled_taus(count_differences, values(0.001), name="flow", seed=0)
    assert first != resampled_taus(count_differences, values(0.001), name="other", seed=0)
    assert first != resampled_taus(count_differences, values(0.001), name="flow", seed=1)


def test_what_cannot_be_resampled_is_left_out():
    one = Values({1: 0.5}, {("GR", k): [(1, 0.4)] for k in (1, 2, 3, 4)})
    assert resampled_taus(count_differences, one, name="flow", seed=0) == {}
    several = values(0.1)
    several.candidates["GR", 2].append((0, 0.3))
    assert resampled_taus(count_differences, several, name="flow", seed=0) == {}
    few = resampled_taus(count_differences, values(0.1, n=3, missing=(1, 2)), name="flow", seed=0)[
        "GR"
    ]
    assert None in few and any(tau is not None for tau in few)
    assert mean_interval([]) is None
    assert mean_interval([[None, None]]) is None


@settings(max_examples=25)
@given(st.integers(0, 99), st.integers(1, 6), st.integers(1, 6))
def test_rows_of_divergences_are_those_of_each_row_without_its_missing_scores(seed, n, m):
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(size=(5, n)), rng.uniform(size=(5, m))
    x[rng.uniform(size=x.shape) < 0.3] = np.nan
    y[rng.uniform(size=y.shape) < 0.3] = np.nan
    x[0], y[0] = 0.5, 0.5
    for a, b, found in zip(x, y, flow_kl_rows(x, y), strict=True):
        alone = flow_kl(a[~np.isnan(a)], b[~np.isnan(b)]).value
        assert np.isnan(found) if alone is None else found == pytest.approx(alone, abs=1e-12)


def test_the_order_of_types_and_statistics_is_fixed():
    mixed = [row for type_ in ("CSC", "WIC") for row in rows([4, 3, 2, 1], type_=type_)]
    found = summaries(mixed, NAMES, seed=0, resamples=10)
    first = list(itertools.takewhile(lambda each: each.workflow == "", found))
    assert [each.group for each in first[:3]] == ["WIC", "CSC", "all"]
    assert [key for key, _ in itertools.groupby(first, lambda each: each.statistic)] == [
        "tau",
        "exact_recovery",
        "order_share",
        "fisher_p",
    ]
