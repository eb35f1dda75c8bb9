"""Detectors that know the workflow: no look-ahead, what they find, and what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring import workflow_hindsight
from scoring.onset_methods import first_alarm
from scoring.workflow_hindsight import turning
from scoring.workflow_onset import LEAVE_ONE_OUT, SPLIT, fit
from tests.procedure import ANSWERS, FOREIGN, PLACES, STEPS, USUAL, known, observed, training

TRAIN, PATHS = training()
KNOWN = known(PATHS)
STREAM = fit(TRAIN, KNOWN)
OFFLINE = workflow_hindsight.fit(TRAIN, KNOWN)
words = st.lists(st.sampled_from(sorted(PLACES)), max_size=9)
few = settings(max_examples=25)
# What stands in for the turns of a usual dialogue from the seventh on, where "offer" is due.
STRAYS = {
    "repeats": ("ask_name", "name", "ask_name", "name"),
    "stalls": ("ask_day", "day", "ask_day", "day"),
    "closes early": ("close", "fine", "close", "bye"),
    "says something else": ("odd", "fine", "odd"),
}


def strayed(rest, before=6):
    return observed([*USUAL[:before], *rest])


@few
@given(words, words, words)
def test_suspicion_depends_on_no_later_turn(path, one_end, other_end):
    here = list(STREAM.watch(observed([*path, *one_end])))
    there = list(STREAM.watch(observed([*path, *other_end])))
    common = [found for found in here if found.number <= len(path)]
    assert common == [found for found in there if found.number <= len(path)]


@few
@given(words)
def test_a_stream_has_read_no_further_than_its_answer(path):
    read = []

    def source():
        for turn in observed(path):
            read.append(turn.number)
            yield turn

    for found in STREAM.watch(source()):
        assert read[-1] == found.number


@settings(max_examples=10)
@given(st.lists(words, max_size=5))
def test_watching_all_is_watching_each(paths):
    dialogues = [observed(path) for path in paths]
    assert STREAM.watch_all(dialogues) == [list(STREAM.watch(turns)) for turns in dialogues]
    assert OFFLINE.onset_all(dialogues) == [OFFLINE.onset(turns) for turns in dialogues]


@few
@given(words)
def test_only_assistant_turns_are_judged_and_every_one_of_them(path):
    judged = [number for number, _ in STREAM.watch(observed(path))]
    assert judged == [i for i, word in enumerate(path, start=1) if word not in ANSWERS]


def test_a_usual_dialogue_is_not_flagged():
    cut = STREAM.cut(0.1)
    assert first_alarm(STREAM.watch(observed(USUAL)), cut) is None
    turn, strength = OFFLINE.onset(observed(USUAL))
    assert turn is not None and strength <= OFFLINE.cut(0.1)


@pytest.mark.parametrize("kind", STRAYS)
def test_a_stray_is_found_at_its_first_turn(kind):
    turns = strayed(STRAYS[kind])
    assert first_alarm(STREAM.watch(turns), STREAM.cut(0.1)) == 7
    turn, strength = OFFLINE.onset(turns)
    assert turn == 7 and strength > OFFLINE.cut(0.1)


def test_leaving_out_what_always_comes_before_is_found():
    turns = observed(["greet", "want", "offer", "fine", "close"])
    assert first_alarm(STREAM.watch(turns), STREAM.cut(0.1)) == 3


def test_leaving_out_what_is_sometimes_left_out_is_not():
    turns = observed(["greet", "want", "ask_name", "name", "offer", "fine", "close"])
    assert first_alarm(STREAM.watch(turns), STREAM.cut(0.1)) is None


def test_a_step_of_another_workflow_is_more_suspicious_where_that_is_known():
    near = 0.6 * np.eye(24, dtype=np.float32)[PLACES["ask_day"]]
    near[PLACES[FOREIGN]] = 0.8
    turns = observed(USUAL[:5])
    turns[-1] = turns[-1]._replace(vector=near)
    other = fit(TRAIN, known(PATHS, others=(FOREIGN,)))
    assert next(v for n, v in other.watch(turns) if n == 5) > next(
        v for n, v in STREAM.watch(turns) if n == 5
    )


def test_steps_shared_with_another_workflow_are_not_foreign():
    assert known(PATHS, others=("close",)).foreign() == ()


def test_the_split_form_fits_on_one_half_and_calibrates_on_the_other():
    found = fit(TRAIN, KNOWN, form=SPLIT, seed=3)
    assert found.bag.dialogues == 12 and len(found.calibration) == 12
    assert found.calibration == fit(TRAIN, KNOWN, form=SPLIT, seed=3).calibration
    assert found.promise(0.1).startswith("At most 10 %")
    assert "no promise" in STREAM.promise(0.1)
    assert len(STREAM.calibration) == 24


def test_too_few_dialogues_never_alarm():
    found = fit(TRAIN[:8], known(PATHS[:8]))
    assert found.cut(0.1) is None and "too few" in found.promise(0.1)
    assert first_alarm(found.watch(strayed(STRAYS["repeats"])), found.cut(0.1)) is None


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_training_dialogues_give_finite_values(n):
    found = fit(TRAIN[:n], known(PATHS[:n]))
    values = [value for _, value in found.watch(observed(USUAL))]
    assert len(values) == 5 and np.isfinite(values).all() and np.isfinite(found.calibration).all()


def test_split_thresholds_keep_their_promise_on_exchangeable_dialogues():
    alpha, flagged, watched = 0.2, 0, 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        paths = [
            [word for word in USUAL if word not in ("ask_day", "day") or rng.random() < 0.8]
            for _ in range(48)
        ]
        dialogues = [observed(path, rng) for path in paths]
        found = fit(dialogues[:28], known(paths[:28]), form=SPLIT, seed=seed)
        cut = found.cut(alpha)
        flagged += sum(first_alarm(row, cut) is not None for row in found.watch_all(dialogues[28:]))
        watched += 20
    spread = np.sqrt(alpha * (1 - alpha) * (1 / watched + 1 / (5 * 14)))
    assert flagged / watched <= alpha + 3 * spread


def test_the_order_of_training_dialogues_changes_nothing():
    turned = fit(TRAIN[::-1], known(PATHS[::-1]))
    turns = strayed(STRAYS["repeats"])
    here = [value for _, value in STREAM.watch(turns)]
    assert [value for _, value in turned.watch(turns)] == pytest.approx(here, abs=1e-6)
    assert sorted(turned.calibration) == pytest.approx(sorted(STREAM.calibration), abs=1e-6)


def test_labels_of_test_dialogues_are_not_to_be_given():
    with pytest.raises(ValueError, match="one row per training dialogue"):
        fit(TRAIN[:5], KNOWN)
    with pytest.raises(ValueError, match="one entry per observed turn"):
        fit(TRAIN, known([path[1:] for path in PATHS]))


def test_without_any_label_or_any_assistant_turn_there_is_a_sentence():
    with pytest.raises(ValueError, match="no training turn carries a step label"):
        fit([observed(["odd", "want"])], known([["want", "want"]]))
    with pytest.raises(ValueError, match="no training turn carries a step label"):
        fit([observed(["want"])], known([["want"]]))


def test_unknown_forms_are_refused():
    with pytest.raises(ValueError, match="form is 'exact'"):
        fit(TRAIN, KNOWN, form="exact")


def test_a_dialogue_without_a_judged_turn_has_no_onset():
    assert OFFLINE.onset(observed(["want", "name"])) == (None, None)
    assert OFFLINE.onset([]) == (None, None)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=12))
def test_the_turning_point_has_the_largest_sum_of_what_follows(values):
    place, total = turning(values)
    parts = [min(1.0, max(-1.0, value - workflow_hindsight.LEVEL)) for value in values]
    sums = [sum(parts[start:]) for start in range(len(parts))]
    assert total == pytest.approx(max(sums), abs=1e-8)
    assert sums[place] == pytest.approx(max(sums), abs=1e-8)


def test_the_form_is_named():
    assert STREAM.form == LEAVE_ONE_OUT and set(STEPS) == set(STREAM.reader.keys)
