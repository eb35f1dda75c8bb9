"""Distances between sets: bounds, identity, seeds, undefined cases, faults not repeated."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, stats
from sklearn.cluster import MiniBatchKMeans
from threadpoolctl import threadpool_limits

from scoring.densities import common_grid, density
from scoring.set_distances import (
    cauchy_schwarz,
    cauchy_schwarz_compat,
    flow_kl,
    flow_kl_compat,
    frechet,
    gaussian,
    pair_vectors,
    prd,
    prd_curve,
    prd_distance,
)
from scoring.shared_clusters import SharedClusters, spread_start
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


def test_a_fit_made_once_gives_the_same_distance_as_its_vectors():
    a, b = cloud(1, 40), cloud(2, 4)
    assert frechet(gaussian(a), gaussian(b)) == frechet(a, b)
    assert frechet(gaussian(a), cloud(3, 1)).reason == "fewer_than_two_pairs"


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


def plain_prd(reference, candidate, *, seed, runs=10, clusters=20):
    """The form without shared starts: scikit-learn's own ten starts in every run."""
    curves, n = [], len(candidate)
    for run in range(runs):
        model = MiniBatchKMeans(clusters, n_init=10, random_state=seed + run)
        labels = model.fit_predict(np.concatenate([candidate, reference]))
        parts = (labels[n:], labels[:n])
        shares = [np.bincount(part, minlength=clusters) / len(part) for part in parts]
        curves.append(prd_curve(*shares))
    return prd_distance(*np.mean(curves, axis=0))


def test_shared_starts_stay_inside_the_spread_of_twenty_seeds_of_the_plain_form():
    near = [cloud(seed, 20, 8, shift=seed) for seed in range(4)]
    reference = np.concatenate(near)
    candidate = np.concatenate([near[0], near[1] + 0.6, near[2], cloud(9, 20, 8, shift=1.5)])
    with threadpool_limits(limits=1):
        plain = [plain_prd(reference, candidate, seed=100 * i, runs=2) for i in range(20)]
    ours = [prd(reference, candidate, seed=100 * i, runs=2).value for i in range(5)]
    assert min(plain) < max(plain)
    assert min(plain) <= np.mean(ours) <= max(plain)
    assert np.mean(ours) == pytest.approx(np.mean(plain), abs=np.ptp(plain) / 2)


def test_a_start_is_spread_out_and_knows_its_inertia():
    points = np.repeat([[0.0], [10.0], [50.0]], 4, axis=0)
    squares = ((points - points.T) ** 2).astype(np.float32)
    centres, inertia = spread_start(squares, 3, np.random.default_rng(0))
    assert sorted(points[centres, 0]) == [0, 10, 50]
    assert inertia == 0.0


def test_equal_rows_share_a_cluster_and_few_distinct_rows_are_their_own():
    shared = SharedClusters(np.array([[1.0], [2.0], [1.0], [2.0]]))
    assert shared.distinct == 2
    labels = shared.labels(np.arange(4), 20, seed=0)
    assert labels[0] == labels[2] != labels[1] == labels[3]


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


@pytest.mark.parametrize("bad", [float("nan"), float("-inf")])
def test_a_score_that_is_no_number_makes_the_distance_undefined_and_never_0(bad):
    for function in (flow_kl, flow_kl_compat, cauchy_schwarz, cauchy_schwarz_compat):
        found = function([0.2, 0.4, 0.5], [0.3, bad, 0.6])
        assert found.value is None
        assert found.reason == "a_score_is_not_finite"
        assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["value"] is None


@pytest.mark.parametrize("values", [[0.5] * 10, [0.5], [0.5, float("nan")], [None, 0.5, None]])
def test_a_set_without_spread_has_no_density_but_a_spike_with_a_note(values):
    found = density(values, common_grid(values))
    assert found.reason == "too few distinct values"
    assert set(found.rug) == {0.5}
    assert found.height == [] and found.left_out == sum(v != 0.5 for v in values)


def test_a_density_equals_scipys_and_skips_what_is_no_number():
    sample = [0.1, 0.2, 0.25, 0.6]
    grid = common_grid(sample)
    found = density([*sample, None, float("inf")], grid)
    assert found.height == pytest.approx(stats.gaussian_kde(sample)(grid))
    assert found.left_out == 2 and found.rug == sample
    assert grid[0] == pytest.approx(0.05) and grid[-1] == pytest.approx(0.65)
    assert len(common_grid([None])) == 0


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), max_size=8))
def test_a_density_never_holds_what_json_cannot(values):
    found = density(values, common_grid(values))
    assert json.dumps([found.grid, found.height, found.rug], allow_nan=False)
    assert bool(found.reason) == (found.height == [])
