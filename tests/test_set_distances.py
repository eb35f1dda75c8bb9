"""Distances between sets: bounds, identity, seeds, undefined cases, faults not repeated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg

from scoring.set_distances import (
    cauchy_schwarz,
    cauchy_schwarz_compat,
    flow_kl,
    flow_kl_compat,
    frechet,
    pair_vectors,
    prd,
)
from scoring.turn_vectors import DialogueVectors


def cloud(seed, n=30, d=5, shift=0.0):
    return np.random.default_rng(seed).normal(shift, 1, (n, d))


@given(st.integers(0, 99), st.integers(2, 12), st.integers(2, 12))
def test_frechet_is_symmetric_never_negative_and_0_for_equal_sets(seed, n, m):
    a, b = cloud(seed, n), cloud(seed + 1, m, shift=0.5)
    assert frechet(a, b).value == pytest.approx(frechet(b, a).value, abs=1e-9)
    assert frechet(a, b).value >= 0
    assert frechet(a, a).value == pytest.approx(0, abs=1e-9)


def test_frechet_equals_the_matrix_root_for_full_rank():
    a, b = cloud(1, 60), cloud(2, 80, shift=1)
    s, t = np.cov(a.T), np.cov(b.T)
    shift = a.mean(axis=0) - b.mean(axis=0)
    value = shift @ shift + np.trace(s + t - 2 * linalg.sqrtm(s @ t).real)
    assert frechet(a, b).value == pytest.approx(value)


def test_one_pair_has_no_covariance_and_says_so():
    assert frechet(cloud(1, 1), cloud(2)).reason == "fewer_than_two_pairs"
    assert prd(np.zeros((0, 3)), cloud(2, d=3)).reason == "no_pairs"


def test_pairs_of_turns_are_joined_in_order():
    d = DialogueVectors(("user", "assistant", "user"), ("a", "b", "c"), np.arange(6).reshape(3, 2))
    assert pair_vectors([d]).tolist() == [[0, 1, 2, 3], [2, 3, 4, 5]]
    assert pair_vectors([d], pairs="to_assistant").tolist() == [[0, 1, 2, 3]]
    single = DialogueVectors(("user",), ("a",), np.ones((1, 2)))
    assert pair_vectors([single]).shape == (0, 4)
    with pytest.raises(ValueError, match="pairs is 'some'"):
        pair_vectors([d], pairs="some")


def test_prd_is_0_for_equal_sets_1_for_apart_ones_and_repeats_by_seed():
    near, far = cloud(1), cloud(2, shift=50)
    assert prd(near, near, runs=1).value == pytest.approx(0, abs=1e-9)
    assert prd(near, far, runs=1).value == 1.0
    other = cloud(3, 40, shift=0.3)
    assert prd(near, other, seed=5, runs=2) == prd(near, other, seed=5, runs=2)
    assert prd(near, other, runs=2).detail["drawn"] == 30


def test_fewer_vectors_than_clusters_are_no_error():
    assert 0 <= prd(cloud(1, 3), cloud(2, 4), runs=1).value <= 1


scores = st.lists(st.floats(0.01, 1), min_size=1, max_size=12)


@settings(max_examples=50)
@given(scores, scores)
def test_flow_kl_is_a_number_never_negative(x, y):
    assert flow_kl(x, y).value >= 0
    assert flow_kl(x, x).value == pytest.approx(0, abs=1e-9)


def test_flow_kl_keeps_the_order_of_distant_sets_where_the_compat_form_levels_off():
    reference = np.random.default_rng(1).normal(0.8, 0.01, 40)
    values = [flow_kl(reference, reference - away).value for away in (0.1, 0.3, 0.6)]
    assert values == sorted(values) and values[0] > 0
    flat = [flow_kl_compat(reference, reference - away).value for away in (0.1, 0.3, 0.6)]
    assert max(flat) < 32


def test_equal_scores_are_at_no_distance_and_no_scores_undefined():
    assert flow_kl([0.5, 0.5], [0.5]).value == 0.0
    assert flow_kl([], [0.5]).reason == "no_observations"
    for function in (flow_kl_compat, cauchy_schwarz, cauchy_schwarz_compat):
        assert function([0.5], [0.5, 0.6]).reason == "fewer_than_two_observations"
        assert function([0.5, 0.5], [0.5, 0.6]).reason == "a_set_without_spread"


@given(
    st.lists(st.floats(0, 1), min_size=3, max_size=9, unique=True),
    st.lists(st.floats(0, 1), min_size=3, max_size=9, unique=True),
)
def test_cauchy_schwarz_is_symmetric(x, y):
    there, back = cauchy_schwarz(x, y), cauchy_schwarz(y, x)
    assert there.reason == back.reason
    if there.value is not None:
        assert there.value == pytest.approx(back.value, abs=1e-9)
        assert there.value >= 0
