"""Which step may come next: counts by hand, leaving a dialogue out, likely steps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.admissible_steps import MOST_TIMES, NextSteps, Situation, StepCounts, step_of

A, B, C = 0, 1, 2
PATHS = ([A, B, C], [A, B, C], [A, B, A, C], [B, C], [A, 3, C])
EACH = [StepCounts.of(path, 3) for path in PATHS]
COUNTS = StepCounts.total(EACH)
paths = st.lists(st.lists(st.integers(0, 3), max_size=6), min_size=2, max_size=6)


def times(*done):
    return np.bincount(done, minlength=3).astype(float)


def test_counts_are_over_dialogues():
    assert COUNTS.dialogues == 5
    assert COUNTS.having.tolist() == [4, 4, 5]
    assert COUNTS.at_least[2].tolist() == [1, 0, 0]
    assert COUNTS.preceded[A, B] == 3 and COUNTS.preceded[B, A] == 0
    assert COUNTS.followed[B, A] == 1 and COUNTS.followed[C].tolist() == [0, 0, 0]


@given(paths)
def test_a_dialogue_left_out_is_as_if_never_counted(rows):
    each = [StepCounts.of(row, 3) for row in rows]
    left = StepCounts.total(each) - each[0]
    alone = StepCounts.total(each[1:])
    assert left.dialogues == alone.dialogues
    for name in ("having", "at_least", "preceded", "followed"):
        assert np.array_equal(getattr(left, name), getattr(alone, name))


def test_taking_a_step_once_more_weighs_by_how_rarely_it_is():
    assert COUNTS.once_more(A, times()) == 0
    assert COUNTS.once_more(A, times(A)) == pytest.approx(math.log((4 + 2) / (1 + 1)))
    assert COUNTS.once_more(B, times(A, B)) == pytest.approx(math.log((4 + 2) / (0 + 1)))
    assert math.isfinite(COUNTS.once_more(A, times(*[A] * (MOST_TIMES + 5))))


def test_a_step_after_one_that_it_never_follows_is_late():
    assert COUNTS.too_late(C, times(A, B)) == 0
    assert COUNTS.too_late(A, times(A, B, C)) == pytest.approx(math.log((5 * 4 / 5 + 1) / (0 + 1)))
    assert COUNTS.too_late(A, times()) == 0


def test_a_step_before_one_that_comes_before_it_is_early():
    assert COUNTS.too_early(C, times(A, B)) == 0
    assert COUNTS.too_early(C, times(A)) == pytest.approx(math.log((5 + 2) / (5 - 4 + 1)))
    assert COUNTS.too_early(C, times(A, C)) == 0


def test_an_unsure_turn_takes_no_step():
    assert step_of(np.array([0.6, 0.3, 0.05, 0.05])) == 0
    assert step_of(np.array([0.4, 0.4, 0.1, 0.1])) is None
    assert step_of(np.array([0.1, 0.1, 0.1, 0.7])) is None


def test_a_situation_remembers_two_turns_and_counts_steps():
    opening = Situation.opening(3)
    assert opening.before[-1] == opening.second[-1] == 1
    first, second = np.array([0.9, 0.1, 0, 0]), np.array([0, 0, 0.1, 0.9])
    later = opening.after(first).after(second)
    assert later.before[:4].tolist() == second.tolist()
    assert later.second[:4].tolist() == first.tolist()
    assert later.times.tolist() == [1, 0, 0] and opening.times.tolist() == [0, 0, 0]


def bag(paths, seed=0):
    """Situations, targets, owners, and distances between the user turns, of given paths."""
    rng = np.random.default_rng(seed)
    situations, targets, owner = [], [], []
    for dialogue, path in enumerate(paths):
        situation = Situation.opening(3)
        for step in path:
            situations.append(situation)
            targets.append(np.eye(4)[step])
            owner.append(dialogue)
            situation = situation.after(np.eye(4)[step])
    asked = rng.uniform(0, 1, (len(owner), len(owner)))
    asked = np.minimum(asked, asked.T)
    np.fill_diagonal(asked, 0)
    return asked, situations, np.array(targets), np.array(owner)


@settings(max_examples=15)
@given(paths.filter(lambda rows: sum(bool(row) for row in rows) > 1))
def test_leaving_a_dialogue_out_equals_fitting_without_it(rows):
    rows = [row for row in rows if row]
    asked, situations, targets, owner = bag(rows)
    left = NextSteps(asked, situations, targets, owner).left_out()
    other = np.flatnonzero(owner != 0)
    without = NextSteps(
        asked[np.ix_(other, other)],
        [situations[i] for i in other],
        targets[other],
        owner[other] - 1,
    )
    for place in np.flatnonzero(owner == 0):
        again = without.predict(asked[place, other], situations[place])
        assert again == pytest.approx(left[place], abs=1e-8)


def test_the_step_that_followed_in_like_situations_is_the_most_probable():
    asked, situations, targets, owner = bag([[A, B, C]] * 6)
    model = NextSteps(asked, situations, targets, owner)
    for place, step in enumerate((A, B, C)):
        found = model.predict(asked[place], situations[place])
        assert found.argmax() == step and found.sum() == pytest.approx(1)
        assert model.left_out()[place].argmax() == step
