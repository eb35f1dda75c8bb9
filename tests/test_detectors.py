"""Streaming detectors: no look-ahead, proper distributions, thresholds, figures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.detection_metrics import (
    detection,
    detection_score,
    first_turn,
    last_turn,
    random_turn,
)
from scoring.detectors import (
    IT,
    SS,
    Detector,
    WatchedTurn,
    calibrate,
    calibration_values,
    readings,
    watched,
)
from scoring.flow_graphs import END, fit
from scoring.ngrams import fit_ngram
from scoring.turn_vectors import DialogueVectors

USUAL = ["u0", "s0", "u1", "s1"]
NAMES = ["u0", "u1", "s0", "s1", "s2"]
TRAINING = [USUAL, USUAL, ["u0", "s0", "s0", "u1", "s1"]]
paths = st.lists(st.sampled_from(NAMES), max_size=12)
orders = st.integers(1, 6)


def turns(path, confidence=1.0):
    return [WatchedTurn(i + 1, node, node[0] == "s", confidence) for i, node in enumerate(path)]


def detector(kind, order=3, node_confidence=False):
    model = fit_ngram(TRAINING, order=order, nodes=len(NAMES))
    training = [turns(path) for path in TRAINING]
    return calibrate(model, training, kind=kind, node_confidence=node_confidence)


@given(orders, st.lists(paths, min_size=1, max_size=6), paths)
def test_the_next_node_probabilities_sum_to_one(order, training, history):
    model = fit_ngram(training, order=order, nodes=len(NAMES))
    ends = [*NAMES, END]
    assert sum(model.probability(history, node) for node in ends) == pytest.approx(1.0)
    assert sum(model.add_one(history, node) for node in ends) == pytest.approx(1.0)
    assert all(model.probability(history, node) > 0 for node in ends)


@given(orders, paths, paths)
def test_only_the_last_nodes_matter(order, early, late):
    model = fit_ngram(TRAINING, order=order, nodes=len(NAMES))
    history = [*early, *["u0"] * (order - 1)]
    other = [*late, *["u0"] * (order - 1)]
    assert model.probability(history, "s0") == model.probability(other, "s0")


def test_a_stream_gives_each_node_its_probability_before_the_next_is_read():
    model = fit_ngram(TRAINING, order=2, nodes=len(NAMES))
    read = []

    def source():
        for node in USUAL:
            read.append(node)
            yield node

    stream = model.stream(source())
    first = next(stream)
    assert read == ["u0"]
    assert [first, *stream] == [model.probability(USUAL[:i], node) for i, node in enumerate(USUAL)]


@given(st.sampled_from([IT, SS]), orders, paths, paths, paths, st.booleans())
def test_an_alarm_depends_on_no_later_turn(kind, order, path, one_end, other_end, confidence):
    found = detector(kind, order, confidence)
    here = list(found.watch(turns([*path, *one_end], 0.9)))[: len(path)]
    there = list(found.watch(turns([*path, *other_end], 0.9)))[: len(path)]
    assert here == there


@given(st.sampled_from([IT, SS]), paths)
def test_a_detector_has_read_no_further_than_its_answer(kind, path):
    read = []

    def source():
        for turn in turns(path):
            read.append(turn.number)
            yield turn

    for number, _ in detector(kind).watch(source()):
        assert read[-1] == number


@given(st.sampled_from([IT, SS]), paths)
def test_only_assistant_turns_are_flagged(kind, path):
    for number, alarm in detector(kind).watch(turns(path)):
        assert not alarm or path[number - 1][0] == "s"


def test_a_skipped_step_is_flagged_where_it_happens():
    for kind in (IT, SS):
        assert detector(kind).first_alarm(turns(["u0", "s0", "u1", "s2"])) == 4
        assert detector(kind).first_alarm(turns(USUAL)) is None


def test_dialogues_without_a_judged_turn_are_skipped_in_calibration_and_never_flagged():
    model = fit_ngram(TRAINING, order=2, nodes=len(NAMES))
    silent = turns(["u0", "u1"])
    for kind in (IT, SS):
        assert calibration_values(model, [silent], kind=kind) == []
        assert detector(kind).first_alarm(silent) is None
        with pytest.raises(ValueError, match="no training dialogue has a judged turn"):
            calibrate(model, [silent], kind=kind)


def test_a_dialogue_of_one_assistant_turn_has_a_probability_but_no_rise():
    model = fit_ngram(TRAINING, order=2, nodes=len(NAMES))
    assert len(calibration_values(model, [turns(["s0"])], kind=IT)) == 1
    assert calibration_values(model, [turns(["s0"])], kind=SS) == []
    assert next(readings(model, turns(["s0"]))).rise is None


def test_confidence_multiplies_the_probability():
    model = fit_ngram(TRAINING, order=2, nodes=len(NAMES))
    plain = next(readings(model, turns(["u0"], 0.5))).probability
    assert next(readings(model, turns(["u0"], 0.5), node_confidence=True)).probability == plain / 2


def test_thresholds_are_interpolated_percentiles():
    model = fit_ngram(TRAINING, order=3, nodes=len(NAMES))
    values = calibration_values(model, [turns(path) for path in TRAINING], kind=IT)
    assert detector(IT).threshold == pytest.approx(np.percentile(values, 5))


def test_unknown_kinds_and_orders_are_refused():
    model = fit_ngram(TRAINING, order=2, nodes=5)
    with pytest.raises(ValueError, match="kind is 'XX'"):
        calibrate(model, [turns(USUAL)], kind="XX")
    with pytest.raises(ValueError, match="order is 0"):
        fit_ngram(TRAINING, order=0, nodes=5)


def test_turns_are_numbered_over_all_turns_and_blank_ones_left_out():
    axes = np.eye(4)
    graph = fit([DialogueVectors(("user", "assistant"), ("a", "b"), axes[:2])])
    roles = ["system", "user", "assistant", "assistant"]
    seen = list(watched(graph, roles, ["x", "a", " ", "b"], axes[[3, 0, 2, 1]]))
    assert [(turn.number, turn.node, turn.judged) for turn in seen] == [
        (2, "u0", False),
        (4, "s0", True),
    ]


def test_a_detector_of_a_fork_finds_the_turn_number_over_all_turns():
    model = fit_ngram(TRAINING, order=2, nodes=5)
    found = Detector(model, IT, 0.2).first_alarm([WatchedTurn(7, "s2", True)])
    assert found == 7


def test_errors_are_over_flagged_dialogues_and_types_weigh_alike():
    found = detection(
        [("WIC", 2, 4), ("WIC", 4, None), ("GR", 2, 2), ("GR", 6, 2), ("CSC", 3, None)],
        [(10, None), (10, 5)],
    )
    assert found.error_by_type == {"CSC": None, "GR": 2.0, "WIC": 2.0}
    assert (found.fork_error, found.fork_coverage) == (2.0, 60.0)
    assert (found.conformant_error, found.false_alarms) == (6.0, 50.0)
    assert (found.forks, found.conformant) == (5, 2)


def test_nothing_to_judge_gives_no_figure():
    found = detection([], [])
    assert found.fork_error is None and found.fork_coverage is None
    assert found.conformant_error is None and found.false_alarms is None


def score(**changes):
    given = {
        "fork_error": 2.0,
        "fork_coverage": 90.0,
        "conformant_error": 6.0,
        "false_alarms": 10.0,
        "most_fork_error": 12.0,
        "most_conformant_error": 14.0,
    }
    return detection_score(**(given | changes))


def test_the_score_lies_between_0_and_100_and_rewards_each_part():
    assert 0 < score() < 100
    assert score(fork_error=0, conformant_error=0, fork_coverage=100, false_alarms=0) == (
        pytest.approx(100)
    )
    for better in ({"fork_error": 1}, {"fork_coverage": 95}, {"false_alarms": 5}):
        assert score(**better) > score()


def test_no_false_alarm_has_no_error_and_no_flag_earns_almost_nothing():
    assert score(conformant_error=None, false_alarms=0) > score(false_alarms=0)
    assert score(fork_error=None, fork_coverage=0) == pytest.approx(
        100 * 1e-12**0.5 * math.exp(0.35 * math.log(1 - 6 / 14) + 0.15 * math.log(0.9))
    )


def test_trivial_baselines_flag_assistant_turns_only():
    assert (first_turn([2, 4, 6]), last_turn([2, 4, 6])) == (2, 6)
    rng = np.random.default_rng(1)
    assert {random_turn([2, 4, 6], rng) for _ in range(40)} == {2, 4, 6}
    assert first_turn([]) is None and last_turn([]) is None and random_turn([], rng) is None
