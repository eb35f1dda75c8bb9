"""Intervals and tests against published libraries, enumeration and their stated limits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scoring.significance import (
    bootstrap_ci,
    cluster_bootstrap_ci,
    fisher_combined,
    holm,
    kendall_p,
    paired_bootstrap_ci,
    paired_t,
    permutation_p_tau,
    resampled,
    wilcoxon_signed_rank,
)

SIDES = ("greater", "less", "two-sided")


@given(st.lists(st.integers(-4, 4), max_size=9), st.sampled_from(SIDES))
def test_the_exact_signed_rank_p_equals_counting_all_sign_flips(rows, side):
    found = wilcoxon_signed_rank(rows, alternative=side, method="exact")
    kept = [value for value in rows if value]
    if not kept:
        assert found.value is None and found.reason
        return
    ranks = stats.rankdata(np.abs(kept))
    flips = itertools.product([0, 1], repeat=len(kept))
    sums = np.array([np.dot(flip, ranks) for flip in flips])
    upper = (sums >= found.detail["statistic"]).mean()
    lower = (sums <= found.detail["statistic"]).mean()
    expected = {"greater": upper, "less": lower, "two-sided": min(1, 2 * min(upper, lower))}
    assert found.value == pytest.approx(expected[side])


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("correction", [True, False])
def test_the_asymptotic_signed_rank_p_equals_scipy(side, correction):
    rows = np.round(np.random.default_rng(1).normal(0.2, 1, 80), 1)
    found = wilcoxon_signed_rank(rows, alternative=side, method="asymptotic", correction=correction)
    peer = stats.wilcoxon(
        rows, alternative=side, method="asymptotic", correction=correction, zero_method="wilcox"
    )
    assert found.value == pytest.approx(peer.pvalue, abs=1e-12)


def test_many_differences_are_counted_exactly_up_to_fifty():
    rows = list(range(1, 51))
    assert wilcoxon_signed_rank(rows).value == pytest.approx(2.0**-50)
    assert "z" in wilcoxon_signed_rank([*rows, 51]).detail


def test_differences_that_rounding_parts_are_ties():
    assert wilcoxon_signed_rank([0.1 + 0.2, -0.3, 0.3]).detail["statistic"] == 4.0


@pytest.mark.parametrize("side", SIDES)
def test_the_paired_t_equals_scipy(side):
    x, y = np.random.default_rng(2).normal(size=(2, 12))
    peer = stats.ttest_rel(x, y, alternative=side)
    found = paired_t(x, y, alternative=side)
    assert found.value == pytest.approx(peer.pvalue)
    assert found.detail["statistic"] == pytest.approx(peer.statistic)


def test_undefined_tests_say_why():
    assert paired_t([1], [2]).reason == "fewer_than_two_observations"
    assert paired_t([1, 2], [0, 1]).reason == "zero_variance_of_differences"
    assert paired_t([0.1, 0.4], [0.3, 0.6]).reason == "zero_variance_of_differences"
    assert kendall_p([1], [1]).reason == "fewer_than_two_pairs"
    assert kendall_p([1, 1], [1, 2]).reason == "constant_input"
    assert permutation_p_tau([1], [1]).reason == "fewer_than_two_pairs"
    assert permutation_p_tau([1, 1], [1, 2]).reason == "constant_input"
    assert fisher_combined([None]).reason == "no_p_values"
    assert wilcoxon_signed_rank([]).reason == "no_observations"


def test_unequal_lengths_and_unknown_words_are_refused():
    with pytest.raises(ValueError, match="not pairs"):
        paired_t([1, 2], [1])
    with pytest.raises(ValueError, match="alternative is 'up'"):
        wilcoxon_signed_rank([1], alternative="up")
    with pytest.raises(ValueError, match="give a number of draws"):
        permutation_p_tau(range(9), range(9))
    with pytest.raises(ValueError, match="statistic is 'mode'"):
        bootstrap_ci([1, 2], statistic="mode")
    with pytest.raises(ValueError, match="between 0 and 1"):
        fisher_combined([1.5])


def test_sampled_orders_never_give_a_p_of_zero():
    found = permutation_p_tau(range(12), range(12), draws=200, seed=1)
    assert found.value == pytest.approx(1 / 201)
    assert found == permutation_p_tau(range(12), range(12), draws=200, seed=1)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=5), st.sampled_from(SIDES))
def test_the_permutation_p_counts_the_order_seen(y, side):
    found = permutation_p_tau(range(len(y)), y, alternative=side)
    if found.value is not None:
        assert 0 < found.value <= 1


@given(st.lists(st.none() | st.floats(0, 1), max_size=8))
def test_holm_is_monotone_at_least_p_and_keeps_the_undefined(p_values):
    adjusted = holm(p_values)
    pairs = [(p, q) for p, q in zip(p_values, adjusted, strict=True) if p is not None]
    assert all(q is None for p, q in zip(p_values, adjusted, strict=True) if p is None)
    assert all(p <= q <= 1 for p, q in pairs)
    ordered = [q for _, q in sorted(pairs)]
    assert ordered == sorted(ordered)


def test_bootstrap_agrees_with_scipy_and_repeats_by_seed():
    rows = np.random.default_rng(4).exponential(size=60).tolist()
    found = bootstrap_ci(rows, seed=7)
    peer = stats.bootstrap((rows,), np.mean, method="percentile", rng=np.random.default_rng(1))
    assert found.ci == pytest.approx(
        (peer.confidence_interval.low, peer.confidence_interval.high), abs=0.02
    )
    assert found == bootstrap_ci(rows, seed=7)
    assert found != bootstrap_ci(rows, seed=8)


def test_one_value_has_no_interval_and_says_so():
    found = bootstrap_ci([50])
    assert (found.value, found.ci, found.reason) == (50.0, None, "fewer_than_two_observations")
    assert bootstrap_ci([]).reason == "no_observations"
    assert cluster_bootstrap_ci({"a": [1, 2]}).reason == "fewer_than_two_clusters"
    assert cluster_bootstrap_ci({"a": []}).reason == "no_observations"


def test_clusters_are_resampled_whole():
    tight = cluster_bootstrap_ci({str(i): [0, 100] for i in range(20)})
    wide = cluster_bootstrap_ci({str(i): [100 * (i % 2)] * 2 for i in range(20)})
    assert tight.value == wide.value == 50
    assert tight.ci == (50, 50)
    assert wide.ci[0] < 35 and wide.ci[1] > 65
    assert wide.n == 40 and wide.detail == {"clusters": 20}


def test_the_paired_interval_is_that_of_the_differences():
    a, b = [3, 4, 8, 2], [1, 2, 3, 3]
    assert paired_bootstrap_ci(a, b, seed=2) == bootstrap_ci([2, 2, 5, -1], seed=2)


def test_a_statistic_mostly_undefined_has_no_interval():
    ci, missing = resampled(5, lambda drawn: None, resamples=10)
    assert (ci, missing) == (None, 10)
    ci, missing = resampled(5, lambda drawn: float(drawn.mean()), resamples=50)
    assert ci[0] < 2 < ci[1] and missing == 0
