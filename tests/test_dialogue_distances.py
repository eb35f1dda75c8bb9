"""Distances between two dialogues: bounds, symmetry, empty sides, batches equal to single pairs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from scoring.dialogue_distances import (
    METHODS,
    DialogueVectors,
    cosine_distance,
    dtw_pairs,
    dtw_path_pairs,
    flow_dtw,
    flow_score,
    flow_score_pairs,
    mean_pairs,
    random_pairs,
    scored_turns,
    shared_prefix_pairs,
    turn_difference_pairs,
    word_difference_pairs,
)

ROLES = ("user", "assistant")


def dialogue(vectors, *, roles=None, texts=None, dim=4):
    rows = np.asarray(vectors, dtype=np.float64).reshape(-1, dim)
    names = roles or tuple(ROLES[i % 2] for i in range(len(rows)))
    return DialogueVectors(names, texts or tuple(f"turn {i}" for i in range(len(rows))), rows)


def drawn(seed, turns, dim=4, dtype=np.float64):
    rows = np.random.default_rng(seed).normal(size=(turns, dim)).astype(dtype)
    return DialogueVectors(
        tuple(ROLES[i % 2] for i in range(turns)), tuple(f"{seed} {i}" for i in range(turns)), rows
    )


dialogues = st.builds(drawn, st.integers(0, 2**32), st.integers(0, 9))
batches = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2**32), st.integers(0, 9)))


def grouped(batch):
    sources = [drawn(i, 3 + i) for i in range(2)] + [drawn(9, 0)]
    return [(sources[which], drawn(seed, turns)) for which, seed, turns in batch]


@given(dialogues, dialogues, st.sampled_from(["greedy", "assignment"]), st.booleans())
def test_flow_score_is_symmetric_and_between_0_and_1(a, b, matching, same_role):
    there = flow_score(a, b, matching=matching, same_role=same_role)
    back = flow_score(b, a, matching=matching, same_role=same_role)
    assert 0.0 <= there.value <= 1.0
    assert there.value == pytest.approx(back.value, abs=1e-9)
    assert there.reason == ""


@given(st.integers(0, 1000), st.integers(1, 9))
def test_a_dialogue_is_at_no_distance_from_itself(seed, turns):
    same = drawn(seed, turns, dtype=np.float32)
    for name in ("flow_score", "flow_dtw", "shared_prefix", "turn_difference", "word_difference"):
        assert METHODS[name]([(same, same)])[0].value == 0.0, name
    assert mean_pairs([(same, same)])[0].value == pytest.approx(0.0, abs=1e-6)


def by_hand(a, b, same_role):
    cosines = 1 - cdist(b.vectors, a.vectors, "cosine")
    if same_role:
        mask = np.array(b.roles)[:, None] == np.array(a.roles)[None, :]
        cosines = np.where(mask, cosines, -2)
    best = [np.where(cosines.max(axis=i) == -2, 0, cosines.max(axis=i)).mean() for i in (1, 0)]
    p, r = best
    return 1 - 2 * p * r / (p + r) if p > 0 and r > 0 else 1.0


@given(batches, st.booleans())
def test_a_batch_of_flow_scores_equals_a_loop_over_pairs(batch, same_role):
    pairs = grouped(batch)
    for pair, found in zip(pairs, flow_score_pairs(pairs, same_role=same_role), strict=True):
        if len(pair[0].roles) and len(pair[1].roles):
            assert found.value == pytest.approx(by_hand(*pair, same_role), abs=1e-6)
        else:
            assert found.value == (1.0 if len(pair[0].roles) or len(pair[1].roles) else 0.0)


def test_float32_batches_equal_the_float64_loop_to_1e_6():
    source = drawn(1, 14, 256, np.float32)
    pairs = [(source, drawn(seed, 5 + seed, 256, np.float32)) for seed in range(2, 18)]
    for (a, b), found in zip(pairs, flow_score_pairs(pairs), strict=True):
        assert found.value == pytest.approx(by_hand(a, b, False), abs=1e-6)


def warped_by_hand(a, b):
    costs = cdist(a.vectors, b.vectors, "cosine")
    total = np.full((len(costs) + 1, costs.shape[1] + 1), np.inf)
    total[0, 0] = 0
    for i, row in enumerate(costs):
        for j, cost in enumerate(row):
            total[i + 1, j + 1] = cost + min(total[i, j], total[i, j + 1], total[i + 1, j])
    return total[-1, -1]


@given(batches)
def test_a_batch_of_warpings_equals_a_loop_over_pairs(batch):
    pairs = grouped(batch)
    for (a, b), found in zip(pairs, dtw_pairs(pairs), strict=True):
        if len(a.roles) and len(b.roles):
            assert found.value >= 0
            assert found.detail["raw"] == pytest.approx(warped_by_hand(a, b), abs=1e-9)
            assert found.value == pytest.approx(flow_dtw(a, b).value, abs=1e-12)
        else:
            assert (found.value is None) == bool(found.reason)


@given(st.integers(0, 999), st.integers(1, 8), st.integers(1, 8))
def test_the_warping_path_costs_what_it_says(seed, n, m):
    a, b = drawn(seed, n), drawn(seed + 1, m)
    found = flow_dtw(a, b)
    path = found.detail["path"]
    assert path[0] == (0, 0) and path[-1] == (n - 1, m - 1)
    steps = {(x - u, y - v) for (u, v), (x, y) in itertools.pairwise(path)}
    assert steps <= {(0, 1), (1, 0), (1, 1)}
    cost = sum(cosine_distance(a.vectors[i], b.vectors[j]) for i, j in path)
    assert cost == pytest.approx(found.detail["raw"], abs=1e-9)


def test_flow_score_does_not_see_the_order_but_warping_does():
    a = drawn(3, 6)
    turned = DialogueVectors(a.roles, a.texts[::-1], a.vectors[::-1])
    assert flow_score(a, turned).value == 0.0
    assert flow_dtw(a, turned).value > 0.1


def test_a_turn_without_a_partner_of_its_role_counts_0():
    a = dialogue([[1, 0, 0, 0]], roles=("user",))
    b = dialogue([[1, 0, 0, 0]], roles=("assistant",))
    assert flow_score(a, b).value == 0.0
    assert flow_score(a, b, same_role=True).value == 1.0


def test_one_to_one_matching_leaves_the_surplus_turn_unmatched():
    a = dialogue([[1, 0, 0, 0]])
    b = dialogue([[1, 0, 0, 0], [1, 0, 0, 0]])
    assert flow_score(a, b).value == 0.0
    found = flow_score(a, b, matching="assignment")
    assert found.detail == {
        "precision": 0.5,
        "recall": 1.0,
        "f": pytest.approx(2 / 3),
        "source": [(0, 1.0)],
        "fork": [(0, 1.0), None],
    }


@given(dialogues, dialogues, st.sampled_from(["greedy", "assignment"]), st.booleans())
def test_the_matching_adds_up_to_precision_and_recall(a, b, matching, same_role):
    detail = flow_score(a, b, matching=matching, same_role=same_role).detail
    if not (a.roles and b.roles):
        assert detail["source"] + detail["fork"] == [None] * (len(a.roles) + len(b.roles))
        return
    for side, other, of, name in (("source", b, a, "recall"), ("fork", a, b, "precision")):
        assert len(detail[side]) == len(of.roles)
        total = 0.0
        for own, partner in enumerate(detail[side]):
            if partner is None:
                continue
            total += partner[1]
            assert not same_role or of.roles[own] == other.roles[partner[0]]
            exact = 1 - cosine_distance(of.vectors[own], other.vectors[partner[0]])
            assert partner[1] == pytest.approx(exact, abs=2e-6)
        assert total / len(of.roles) == pytest.approx(detail[name], abs=1e-9)
    if matching == "assignment":
        for i, partner in enumerate(detail["source"]):
            assert partner is None or detail["fork"][partner[0]][0] == i


@given(batches)
def test_a_batch_of_paths_equals_the_paths_of_single_pairs(batch):
    pairs = grouped(batch)
    for (a, b), found in zip(pairs, dtw_path_pairs(pairs), strict=True):
        single = flow_dtw(a, b)
        assert found.reason == single.reason
        assert found.detail.get("path") == single.detail.get("path")
        assert found.value == pytest.approx(single.value, abs=1e-12)


def test_an_unknown_matching_is_refused_by_name():
    with pytest.raises(ValueError, match="'greedy' or 'assignment'"):
        flow_score_pairs([], matching="best")


def test_a_zero_vector_is_far_from_everything_and_never_nan():
    a, b = dialogue([[0, 0, 0, 0]]), dialogue([[1, 0, 0, 0]])
    for name in ("flow_score", "mean"):
        assert METHODS[name]([(a, b)])[0].value == 1.0, name
    assert flow_dtw(a, b).value == 0.5


def test_the_warping_of_one_empty_dialogue_is_undefined_with_a_reason():
    a, b = dialogue([]), dialogue([[1, 0, 0, 0]])
    assert flow_dtw(a, b).reason == "one_dialogue_is_empty"
    assert flow_dtw(a, a).value == 0.0


def test_only_user_and_assistant_turns_that_say_something_are_scored():
    roles = ["system", "user", "assistant", "action", "assistant", "observation"]
    texts = ["x", " hi ", "  ", "call", "yes", "result"]
    assert scored_turns(roles, texts) == [1, 4]
    kept = DialogueVectors.scored(roles, texts, np.arange(12).reshape(6, 2))
    assert kept.texts == ("hi", "yes")
    assert kept.vectors.tolist() == [[2, 3], [8, 9]]
    assert DialogueVectors.scored([], [], np.zeros((0, 5))).vectors.shape == (0, 5)


def test_the_shared_prefix_ends_at_the_first_turn_that_differs_in_role_or_text():
    a = dialogue(np.ones((4, 4)), texts=("a", "b", "c", "d"))
    b = dialogue(np.ones((5, 4)), texts=("a ", "b", "x", "d", "e"))
    c = dialogue(np.ones((2, 4)), roles=("assistant", "user"), texts=("a", "b"))
    assert [d.value for d in shared_prefix_pairs([(a, b), (a, c)])] == [1 - 2 / 5, 1.0]


def test_turn_and_word_differences_count_what_is_scored():
    a = dialogue(np.ones((2, 4)), texts=("one two", "three"))
    b = dialogue(np.ones((1, 4)), texts=("one",))
    assert turn_difference_pairs([(a, b)])[0].value == 1.0
    assert word_difference_pairs([(a, b)])[0].value == 2.0


def test_the_whole_text_method_needs_its_vector_and_says_so():
    a = dialogue([[1, 0, 0, 0]])
    assert METHODS["full"]([(a, a)])[0].reason == "no_vector_of_the_whole_dialogue"
    whole = DialogueVectors(a.roles, a.texts, a.vectors, np.array([1.0, 0]))
    other = DialogueVectors(a.roles, a.texts, a.vectors, np.array([0, 2.0]))
    assert METHODS["full"]([(whole, other)])[0].value == 1.0


@settings(max_examples=20)
@given(st.integers(0, 99), st.integers(0, 99))
def test_a_random_distance_depends_on_seed_and_pair_only(seed, other):
    a, b = drawn(1, 3), drawn(2, 3)
    alone = random_pairs([(a, b)], seed=seed)[0].value
    assert 0 <= alone < 1
    assert random_pairs([(b, a), (a, b)], seed=seed)[1].value == alone
    assert (random_pairs([(a, b)], seed=other)[0].value == alone) == (seed == other)
