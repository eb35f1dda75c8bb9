"""N-gram detectors: batch and stream agree, nothing looks ahead, thresholds leave each one out."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring import conformal, detectors, flow_graphs
from scoring.coded_ngrams import fit_coded, places_of
from scoring.detectors import IT, SS
from scoring.ngram_detectors import IN_SAMPLE, LEAVE_ONE_OUT, NGramDetector, fit
from scoring.ngrams import fit_ngram
from scoring.onset_methods import ObservedTurn, first_alarm
from scoring.turn_vectors import DialogueVectors

AXES = np.eye(7)
NOISE = np.random.default_rng(5).normal(scale=0.1, size=(14, 7))
# Seven things to say, and each of them said in another way; no two distances tie.
WORDS = {
    f"word {i}": AXES[i % 7] + 0.3 * (i // 7) * AXES[(i + 2) % 7] + NOISE[i] for i in range(14)
}
USUAL = [("user", 0), ("assistant", 1), ("user", 2), ("assistant", 3)]
said = st.tuples(st.sampled_from(["user", "assistant"]), st.integers(0, len(WORDS) - 1))
dialogues = st.lists(said, max_size=9)
corpora = st.lists(dialogues, max_size=7)
kinds = st.sampled_from([IT, SS])
orders = st.sampled_from([1, 2, 3, 6, 10])


def observed(turns):
    found = []
    for i, (role, word) in enumerate(turns):
        text = f"word {word}"
        found.append(ObservedTurn(2 * i + 1, role, text, WORDS[text].astype(np.float32)))
    return found


def fitted(train, **settings):
    return fit([observed(turns) for turns in train], **settings)


paths = st.lists(st.lists(st.integers(0, 4), max_size=8), max_size=6)


@given(orders, paths, paths)
def test_the_coded_model_gives_the_same_probabilities_to_the_last_bit(order, training, watched):
    plain = fit_ngram([list(map(str, path)) for path in training], order=order, nodes=5)
    coded = fit_coded(training, order=order, nodes=5)
    flat = np.array([node for path in watched for node in path], dtype=np.int64)
    found = coded.probabilities(flat, places_of([len(path) for path in watched]))
    assert found.tolist() == [p for path in watched for p in plain.stream(map(str, path))]


def test_codes_outside_the_nodes_and_orders_below_one_are_refused():
    with pytest.raises(ValueError, match="a node outside 0 to 2"):
        fit_coded([[0, 3]], order=2, nodes=3)
    with pytest.raises(ValueError, match="order is 0"):
        fit_coded([[0]], order=0, nodes=3)


@settings(max_examples=30)
@given(corpora, corpora, kinds, orders, st.booleans())
def test_all_dialogues_together_give_what_each_gives_turn_by_turn(train, new, kind, order, nc):
    detector = fitted(train, kind=kind, order=order, node_confidence=nc, calibration=IN_SAMPLE)
    together = detector.watch_all([observed(turns) for turns in new])
    for turns, found in zip(new, together, strict=True):
        alone = list(detector.watch(observed(turns)))
        assert [number for number, _ in alone] == [number for number, _ in found]
        expected = pytest.approx([value for _, value in found], abs=1e-8)
        assert [value for _, value in alone] == expected


@settings(max_examples=30)
@given(corpora, dialogues, dialogues, dialogues, kinds, orders, st.booleans())
def test_no_answer_depends_on_a_later_turn(train, start, one_end, other_end, kind, order, nc):
    detector = fitted(train, kind=kind, order=order, node_confidence=nc, calibration=IN_SAMPLE)
    here, there, alone = detector.watch_all(
        [observed([*start, *one_end]), observed([*start, *other_end]), observed(start)]
    )
    assert here[: len(alone)] == there[: len(alone)]
    assert [number for number, _ in here[: len(alone)]] == [number for number, _ in alone]
    assert [v for _, v in here[: len(alone)]] == pytest.approx([v for _, v in alone], abs=1e-8)


@settings(max_examples=25)
@given(dialogues, kinds, st.booleans())
def test_a_stream_has_read_no_further_than_its_answer(turns, kind, nc):
    detector = fitted([USUAL, USUAL], kind=kind, node_confidence=nc, calibration=IN_SAMPLE)
    read = []

    def source():
        for turn in observed(turns):
            read.append(turn.number)
            yield turn

    for number, _ in detector.watch(source()):
        assert read[-1] == number


@settings(max_examples=25)
@given(dialogues, kinds)
def test_only_assistant_turns_are_judged(turns, kind):
    [found] = fitted([USUAL], kind=kind, calibration=IN_SAMPLE).watch_all([observed(turns)])
    assert all(turns[(number - 1) // 2][0] == "assistant" for number, _ in found)


@settings(max_examples=20)
@given(st.lists(dialogues, min_size=1, max_size=4), kinds, orders, st.booleans())
def test_each_training_dialogue_is_measured_by_a_model_made_without_it(train, kind, order, nc):
    found = fitted(train, kind=kind, order=order, node_confidence=nc, calibration=LEAVE_ONE_OUT)
    expected = []
    for i, turns in enumerate(train):
        others = fitted(
            train[:i] + train[i + 1 :],
            kind=kind,
            order=order,
            node_confidence=nc,
            calibration=IN_SAMPLE,
        )
        values = [value for _, value in others.watch(observed(turns))]
        expected += [max(values)] if values else []
    assert list(found.calibration) == pytest.approx(expected, abs=1e-8)


@settings(max_examples=25)
@given(st.lists(dialogues, min_size=1, max_size=6), kinds, st.booleans())
def test_in_sample_thresholds_are_those_of_the_plain_detector(train, kind, nc):
    axes = np.stack(list(WORDS.values())).astype(np.float32)
    parts = [
        DialogueVectors(
            tuple(role for role, _ in turns),
            tuple(f"word {word}" for _, word in turns),
            axes[[word for _, word in turns]] if turns else np.zeros((0, 7)),
        )
        for turns in train
    ]
    graph = flow_graphs.fit(parts)
    model = fit_ngram(graph.paths, order=3, nodes=len(graph.nodes))
    seen = [list(detectors.watched(graph, d.roles, d.texts, d.vectors)) for d in parts]
    values = detectors.calibration_values(model, seen, kind=kind, node_confidence=nc)
    found = fitted(train, kind=kind, order=3, node_confidence=nc, calibration=IN_SAMPLE)
    expected = [-math.log(value) if kind == IT else value for value in values]
    assert list(found.calibration) == pytest.approx(expected, abs=1e-8)
    if values:
        plain = detectors.calibrate(model, seen, kind=kind, node_confidence=nc).threshold
        cut = -math.log(plain) if kind == IT else plain
        assert found.cut(0.05) == pytest.approx(cut, abs=1e-8)


def test_left_out_thresholds_are_conformal_and_need_enough_dialogues():
    detector = fitted([USUAL] * 9, kind=IT)
    assert detector.cut(0.05) is None
    assert (
        detector.cut(0.1) == conformal.cut(detector.calibration, 0.1) == max(detector.calibration)
    )
    skipping = observed([("user", 0), ("assistant", 3)])
    assert first_alarm(detector.watch(skipping), detector.cut(0.1)) == 3
    assert first_alarm(detector.watch(observed(USUAL)), detector.cut(0.1)) is None


def test_nothing_to_fit_on_never_alarms():
    for form in (IN_SAMPLE, LEAVE_ONE_OUT):
        detector = fitted([], kind=SS, calibration=form)
        assert detector.cut(0.1) is None
        assert detector.watch_all([observed(USUAL)]) == [[]]
        assert fitted([[("user", 0)]], kind=IT, calibration=form).cut(0.5) is None


def test_a_role_without_a_node_is_passed_over():
    detector = fitted([[("user", 0), ("user", 1)]], kind=IT, calibration=IN_SAMPLE)
    assert list(detector.watch(observed(USUAL))) == []


def test_unknown_kinds_and_calibrations_are_refused():
    detector = fitted([USUAL], kind=IT)
    with pytest.raises(ValueError, match="kind is 'XX'; it must be 'IT' or 'SS'"):
        replace(detector, kind="XX")
    with pytest.raises(ValueError, match="calibration is 'guess'"):
        NGramDetector(detector.graph, IT, form="guess")
