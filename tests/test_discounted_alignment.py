"""Discounted alignment and soft common turns: the recursion by hand, bounds, what is proved."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scoring.discounted_alignment import (
    discounted_alignment,
    discounted_alignment_pairs,
    soft_lcs,
    soft_lcs_pairs,
    theta_of,
)
from scoring.turn_vectors import DialogueVectors
from tests.test_dialogue_distances import dialogue, dialogues, drawn, grouped

ROLES = ("user", "assistant")
thetas = st.sampled_from([-0.5, 0.0, 0.2, 0.6])
discounts = st.sampled_from([0.0, 0.5, 0.9, 1.0])
batches = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 2**32), st.integers(0, 7)), max_size=12
)


def matches_by_hand(a, b, theta):
    found = np.zeros((len(a.roles), len(b.roles)))
    for i, x in enumerate(a.vectors):
        for j, y in enumerate(b.vectors):
            if a.roles[i] == b.roles[j]:
                cosine = x @ y / np.sqrt((x @ x) * (y @ y))
                found[i, j] = min(1.0, max(0.0, (cosine - theta) / (1 - theta)))
    return found


def matched_by_hand(a, b, theta, discount):
    s = matches_by_hand(a, b, theta)
    n, m = s.shape
    h = np.zeros((n + 1, m + 1))
    for i in reversed(range(n)):
        for j in reversed(range(m)):
            through = s[i, j] + (discount + (1 - discount) * s[i, j]) * h[i + 1, j + 1]
            h[i, j] = max(through, discount * h[i + 1, j], discount * h[i, j + 1])
    return h[0, 0]


def of_one_hot(places, roles=None, dim=8):
    return dialogue(np.eye(dim)[list(places)], dim=dim, roles=roles)


@given(batches, thetas, discounts)
def test_a_batch_equals_the_recursion_written_out(batch, theta, discount):
    pairs = grouped(batch)
    found = discounted_alignment_pairs(pairs, theta=theta, discount=discount)
    for (a, b), distance in zip(pairs, found, strict=True):
        if a.roles and b.roles:
            matched = matched_by_hand(a, b, theta, discount)
            assert distance.value == pytest.approx(1 - matched / len(a.roles), abs=1e-9)
            assert distance.value == pytest.approx(
                discounted_alignment(a, b, theta=theta, discount=discount).value, abs=1e-12
            )
        else:
            assert distance.value == (1.0 if a.roles or b.roles else 0.0)


@given(batches, thetas)
def test_a_batch_of_soft_common_turns_equals_the_recursion_written_out(batch, theta):
    pairs = grouped(batch)
    for (a, b), distance in zip(pairs, soft_lcs_pairs(pairs, theta=theta), strict=True):
        if a.roles and b.roles:
            size = (len(a.roles) + len(b.roles)) / 2
            expected = 1 - matched_by_hand(a, b, theta, 1.0) / size
            assert distance.value == pytest.approx(expected, abs=1e-9)
        assert distance.value == pytest.approx(soft_lcs(a, b, theta=theta).value, abs=1e-12)


def test_float32_vectors_give_what_their_float64_copies_give():
    pairs = [(drawn(1, 20, 384, np.float32), drawn(s, 20, 384, np.float32)) for s in range(2, 12)]
    wide = [
        tuple(DialogueVectors(d.roles, d.texts, d.vectors.astype(np.float64)) for d in pair)
        for pair in pairs
    ]
    narrow = discounted_alignment_pairs(pairs, theta=0.1)
    for one, other in zip(narrow, discounted_alignment_pairs(wide, theta=0.1), strict=True):
        assert one.value == pytest.approx(other.value, abs=1e-12)


def test_equal_forks_have_equal_distances_wherever_they_stand_in_the_batch():
    source, fork = drawn(1, 14, 384, np.float32), drawn(2, 17, 384, np.float32)
    others = [drawn(s, 3 + s, 384, np.float32) for s in range(3, 20)]
    pairs = [(source, d) for d in (fork, *others, fork, *others[:5], fork)]
    values = [
        found.value
        for pair, found in zip(pairs, discounted_alignment_pairs(pairs, theta=-0.2), strict=True)
        if pair[1] is fork
    ]
    assert len(values) == 3
    assert np.ptp(values) < 1e-12


@given(dialogues, dialogues, thetas, discounts)
def test_the_distance_lies_between_0_and_1_and_is_0_to_itself(a, b, theta, discount):
    assert 0.0 <= discounted_alignment(a, b, theta=theta, discount=discount).value <= 1.0
    assert discounted_alignment(a, a, theta=theta, discount=discount).value == pytest.approx(
        0, abs=1e-12
    )
    assert 0.0 <= soft_lcs(a, b, theta=theta).value <= 1.0
    assert soft_lcs(a, a, theta=theta).value == pytest.approx(0.0, abs=1e-12)


@given(dialogues, dialogues, thetas, discounts)
def test_what_is_matched_is_the_same_in_both_directions(a, b, theta, discount):
    there = discounted_alignment(a, b, theta=theta, discount=discount).detail["matched"]
    back = discounted_alignment(b, a, theta=theta, discount=discount).detail["matched"]
    assert there == pytest.approx(back, abs=1e-9)
    assert soft_lcs(a, b, theta=theta).value == pytest.approx(
        soft_lcs(b, a, theta=theta).value, abs=1e-9
    )


@given(dialogues, dialogues, st.integers(0, 9), thetas, discounts)
def test_leaving_out_the_end_of_the_fork_never_brings_it_nearer(a, b, kept, theta, discount):
    assume(a.roles)
    short = DialogueVectors(b.roles[:kept], b.texts[:kept], b.vectors[:kept])
    whole = discounted_alignment(a, b, theta=theta, discount=discount).value
    assert discounted_alignment(a, short, theta=theta, discount=discount).value >= whole - 1e-12


@given(dialogues, dialogues, thetas, discounts)
def test_a_fork_that_goes_on_after_its_source_is_at_no_distance(a, b, theta, discount):
    longer = DialogueVectors(
        a.roles + b.roles, a.texts + b.texts, np.vstack([a.vectors, b.vectors])
    )
    found = discounted_alignment(a, longer, theta=theta, discount=discount).value
    assert found == pytest.approx(0.0 if a.roles or not b.roles else 1.0, abs=1e-12)


@given(st.integers(0, 4), st.integers(0, 3), st.sampled_from([0.5, 0.9, 1.0]))
def test_after_t_equal_turns_a_gap_discounts_the_rest(t, gap, discount):
    places = [0, 1, 2, 3, 4]
    fork = places[:t] + [7] * gap + places[t:]
    roles = ("user",) * len(fork)
    a, b = of_one_hot(places, roles[:5]), of_one_hot(fork, roles)
    matched = discounted_alignment(a, b, theta=0.2, discount=discount).detail["matched"]
    assert matched == pytest.approx(t + discount**gap * (5 - t))


def test_the_later_a_dialogue_departs_the_nearer_it_stays_but_not_without_the_discount():
    places = [0, 1, 2, 3, 4, 5]
    forks = [of_one_hot([*places[:t], 7, *places[t:]], ("user",) * 7) for t in range(6)]
    pairs = [(of_one_hot(places, ("user",) * 6), fork) for fork in forks]
    assert (np.diff([d.value for d in discounted_alignment_pairs(pairs, theta=0.2)]) < 0).all()
    assert np.ptp([d.value for d in soft_lcs_pairs(pairs, theta=0.2)]) == 0.0


def test_without_any_decay_only_the_shared_beginning_counts():
    a, b = of_one_hot([0, 1, 2, 3]), of_one_hot([0, 1, 5, 3])
    assert discounted_alignment(a, b, theta=0.2, discount=0.0).value == 0.5


def test_turns_of_two_roles_never_match():
    a, b = of_one_hot([0], ("user",)), of_one_hot([0], ("assistant",))
    assert discounted_alignment(a, b, theta=0.2).value == 1.0


@given(dialogues, dialogues, thetas, discounts)
def test_the_alignment_adds_up_to_what_is_matched(a, b, theta, discount):
    found = discounted_alignment(a, b, theta=theta, discount=discount)
    path = found.detail.get("alignment", [])
    by_hand = matches_by_hand(a, b, theta)
    total, after = 0.0, (len(a.roles), len(b.roles))
    for i, j, s in reversed(path):
        assert s == pytest.approx(by_hand[i, j], abs=1e-9) and s > 0
        assert i < after[0] and j < after[1]
        # A step through two turns that do not match at all costs one factor, as a gap does.
        gaps = [x - y - 1 for x, y in zip(after, (i, j), strict=True)]
        left = range(max(gaps), sum(gaps) + 1) if total else range(1)
        options = [s + (discount + (1 - discount) * s) * discount**gap * total for gap in left]
        total, after = max(options), (i, j)
    left = range(max(after), sum(after) + 1) if total else range(1)
    assert max(discount**gap * total for gap in left) >= found.detail["matched"] - 1e-9


def test_settings_outside_their_range_are_refused_with_a_sentence():
    a = of_one_hot([0])
    with pytest.raises(ValueError, match=r"theta is 1\.0; it must be at least -1 and below 1"):
        discounted_alignment(a, a, theta=1.0)
    with pytest.raises(ValueError, match=r"discount is 1\.5; it must lie between 0 and 1"):
        discounted_alignment(a, a, theta=0.2, discount=1.5)


# -- theta -------------------------------------------------------------------------------------


def test_theta_is_the_mean_cosine_of_one_role_across_dialogues():
    said = [drawn(seed, 8, 6) for seed in range(5)]
    means = []
    for role in (0, 1):
        rows = [d.vectors[role::2] for d in said]
        units = [x / np.linalg.norm(x, axis=1)[:, None] for x in rows]
        means.append(np.mean([(x @ y.T).mean() for x, y in itertools.permutations(units, 2)]))
    found = theta_of(said, seed=3, pairs=200_000)
    assert found.value == pytest.approx(np.mean(means), abs=0.01)
    assert found.detail["roles"] == {
        "user": pytest.approx(means[0], abs=0.01),
        "assistant": pytest.approx(means[1], abs=0.01),
    }
    assert found == theta_of(said, seed=3, pairs=200_000)
    assert found.value != theta_of(said, seed=4, pairs=200_000).value


def test_theta_compares_no_dialogue_with_itself():
    said = [of_one_hot([0, 0, 0, 0]), of_one_hot([1, 1, 1, 1])]
    assert theta_of(said).value == 0.0


def test_theta_leaves_room_for_a_match_even_where_all_turns_are_alike():
    found = theta_of([of_one_hot([0, 0]), of_one_hot([0, 0])])
    assert found.value == 0.999


def test_theta_of_fewer_than_two_dialogues_is_undefined_with_a_reason():
    for said in ([], [drawn(1, 6)], [of_one_hot([0], ("user",)), of_one_hot([0], ("assistant",))]):
        found = theta_of(said)
        assert found.value is None
        assert found.reason == "no_two_training_dialogues_with_turns_of_one_role"
