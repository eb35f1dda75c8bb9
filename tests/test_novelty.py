"""Novelty detectors: signals by hand, no look-ahead, batch as stream, p never rises, promise."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring import conformal, novelty
from scoring.novelty_bag import TurnBag, nearest
from scoring.novelty_words import content_words, word_weights
from scoring.onset_methods import ObservedTurn, first_alarm

TEXTS = (
    "Good morning, which room would you like?",
    "A double room, please.",
    "For which night?",
    "Tomorrow night.",
    "The double room is free tomorrow.",
    "Thank you, goodbye.",
    "Our parcels leave the depot at noon.",
    "Yes.",
)
VECTORS = np.random.default_rng(3).normal(size=(len(TEXTS), 5)).astype(np.float32)
FORMS = (
    {"form": novelty.EXACT},
    {"form": novelty.LEAVE_ONE_OUT},
    {"form": novelty.LEAVE_ONE_OUT, "remaining": True},
)
said = st.lists(
    st.tuples(st.sampled_from(["user", "assistant"]), st.integers(0, len(TEXTS) - 1)), max_size=7
)
training = st.lists(said, min_size=1, max_size=6).filter(
    lambda rows: any(role == "assistant" for row in rows for role, _ in row)
)
forms = st.sampled_from(FORMS)
few = settings(max_examples=20)


def observed(rows):
    return [
        ObservedTurn(number, role, TEXTS[i], VECTORS[i])
        for number, (role, i) in enumerate(rows, start=1)
    ]


def fitted(rows, form):
    return novelty.fit([observed(row) for row in rows], **form)


USUAL = [("assistant", 0), ("user", 1), ("assistant", 2), ("user", 3), ("assistant", 4)]


def test_content_words_are_distinct_and_leave_function_words_out():
    assert content_words("The room, the ROOM \u2014 it's Zo\u00eb\u2019s a b 12 room2!") == (
        "room",
        "it's",
        "zo\u00eb's",
    )
    assert content_words("Yes.") == ()


def test_a_word_weighs_from_1_in_no_dialogue_to_0_in_all_whatever_their_number():
    for n in (1, 2, 10, 200):
        weights = word_weights(n)
        assert (weights[0], weights[-1], len(weights)) == (1.0, pytest.approx(0), n + 1)
        assert np.all(np.diff(weights) < 0)
    assert word_weights(0).tolist() == [1.0]


def test_the_signals_of_a_turn_are_those_of_the_definition():
    def cos(i, j):
        a, b = VECTORS[i].astype(float), VECTORS[j].astype(float)
        return 1 - a @ b / math.sqrt((a @ a) * (b @ b))

    other = [("user", 1), ("assistant", 2), ("assistant", 5)]
    bag = TurnBag([observed(USUAL), observed(other), observed([("user", 1)])])
    watched = observed([("assistant", 0), ("user", 3), ("assistant", 6)])
    _, found = bag.read(watched)
    # The bag: 0 after nothing, 2 after (1, 0), 4 after (3, 2); 2 after (1, -), 5 after (-, 2).
    replies = [max(cos(6, i), ask) for i, ask in ((0, 1), (2, cos(3, 1)), (4, 0), (2, cos(3, 1)))]
    replies.append(max(cos(6, 5), 1))
    moves = [max(cos(6, i), p) for i, p in ((0, 1), (2, 0), (4, cos(0, 2)), (2, 1), (5, cos(0, 2)))]
    assert bag.dialogues == 2
    assert found.replies == pytest.approx(replies, abs=1e-6)
    assert found.transitions == pytest.approx(moves, abs=1e-6)
    # "our parcels leave the depot at noon": four content words, none of them known.
    assert found.rarity == pytest.approx(1.0)
    f1, f2 = np.mean(sorted(replies)[:3]), np.mean(sorted(moves)[:3])
    value = math.log(0.05 + (f1 / 0.75) ** 4 + (f2 / 0.7) ** 4 + (1 / 0.6) ** 4)
    loose = novelty.Novelty(bag)
    assert list(loose.watch(watched))[1].value == pytest.approx(value, abs=1e-5)
    remaining = novelty.Novelty(bag, remaining=True)
    # All five turns of the bag are among the five nearest; 2, 1, 0 and 1, 0 turns follow them.
    assert list(remaining.watch(watched))[1].value == pytest.approx(value - 0.2 * 0.8, abs=1e-5)


def test_turns_that_tie_for_the_last_place_count_in_equal_parts():
    rows = [[("assistant", 0)] * length for length in (1, 2, 3, 4)]
    bag = TurnBag([observed(row) for row in rows])
    assert bag.remaining_after(np.zeros(10)) == pytest.approx((0 + 1 + 3 + 6) / 10)
    far = np.array([0.0, *[1.0] * 9])
    assert bag.remaining_after(far) == pytest.approx(4 / 5 * 10 / 9)


def test_a_word_already_said_by_anyone_in_the_dialogue_is_not_new():
    bag = TurnBag([observed(USUAL)])
    first, second = bag.read(observed([("user", 6), ("assistant", 6), ("assistant", 5)]))
    assert first.rarity == 0.0 and second.rarity == 1.0
    assert set(second.heard) == {"thank", "goodbye"}


@given(st.lists(st.floats(0, 2), max_size=6), st.floats(0, 2))
def test_one_more_turn_in_the_bag_never_moves_the_nearest_away(distances, more):
    before, after = nearest(np.array(distances)), nearest(np.array([*distances, more]))
    assert np.all(after <= before)
    joined = before[:, None].copy()
    novelty.join(joined, np.array([more]))
    assert joined[:, 0].tolist() == after.tolist()


@few
@given(training, said, forms)
def test_the_batch_gives_what_the_stream_gives(rows, watched, form):
    detector = fitted(rows, form)
    dialogues = [observed(watched), *(observed(row) for row in rows)]
    assert detector.watch_all(dialogues) == [list(detector.watch(turns)) for turns in dialogues]


@few
@given(training, said, said, said, forms)
def test_an_answer_depends_on_no_later_turn(rows, start, one_end, other_end, form):
    detector = fitted(rows, form)
    here, there = (list(detector.watch(observed([*start, *end]))) for end in (one_end, other_end))
    known = sum(role == "assistant" for role, _ in start)
    assert here[:known] == there[:known] == list(detector.watch(observed(start)))


@few
@given(training, said, forms)
def test_a_detector_has_read_no_further_than_its_answer(rows, watched, form):
    read = []

    def source():
        for turn in observed(watched):
            read.append(turn.number)
            yield turn

    for number, _ in fitted(rows, form).watch(source()):
        assert read[-1] == number


@few
@given(training, said)
def test_p_never_rises_as_a_dialogue_goes_on(rows, watched):
    detector = fitted(rows, FORMS[0])
    values = [value for _, value in detector.watch(observed(watched))]
    assert values == sorted(values)
    assert all(-1 <= value <= -1 / (detector.bag.dialogues + 1) for value in values)


@few
@given(training, said, forms, st.randoms(use_true_random=False))
def test_the_order_of_the_training_dialogues_does_not_matter(rows, watched, form, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    one, other = fitted(rows, form), fitted(shuffled, form)
    assert sorted(one.calibration) == pytest.approx(sorted(other.calibration))
    for here, there in zip(
        one.watch(observed(watched)), other.watch(observed(watched)), strict=True
    ):
        assert here.value == pytest.approx(there.value)


@few
@given(training, said)
def test_the_last_p_is_that_of_measuring_all_dialogues_alike(rows, watched):
    """The incremental form against its definition: each of the n + 1 beside the n others."""
    judged = [row for row in rows if any(role == "assistant" for role, _ in row)]
    while watched and watched[-1][0] == "user":
        watched = watched[:-1]
    if not watched:
        return
    everyone = [*judged, watched]
    largest = []
    for i, row in enumerate(everyone):
        others = novelty.TurnBag([observed(other) for j, other in enumerate(everyone) if j != i])
        largest.append(max(novelty.own_strangeness(e) for e in others.read(observed(row))))
    p = conformal.p_value(largest[:-1], largest[-1])
    last = list(fitted(rows, FORMS[0]).watch(observed(watched)))[-1]
    assert last.value == pytest.approx(-p)


@few
@given(training, said)
def test_calibration_leaves_each_dialogue_out_once(rows, watched):
    judged = [row for row in [*rows, USUAL] if any(role == "assistant" for role, _ in row)]
    detector = fitted(judged, FORMS[1])
    for i, row in enumerate(judged if len(judged) > 1 else []):
        without = fitted([other for j, other in enumerate(judged) if j != i], FORMS[1])
        largest = max(value for _, value in without.watch(observed(row)))
        assert detector.calibration[i] == pytest.approx(largest)


@pytest.mark.parametrize("form", FORMS)
def test_a_dialogue_like_all_training_ones_is_never_flagged_and_a_strange_reply_is(form):
    detector = fitted([USUAL] * 12, form)
    strange = [*USUAL[:2], ("assistant", 6), *USUAL[3:]]
    cut = detector.cut(0.1)
    assert first_alarm(detector.watch(observed(USUAL)), cut) is None
    assert first_alarm(detector.watch(observed(strange)), cut) == 3


@pytest.mark.parametrize("form", FORMS)
def test_too_few_dialogues_give_no_cut_and_no_promise(form):
    few, enough = fitted([USUAL] * 8, form), fitted([USUAL] * 9, form)
    assert few.cut(0.1) is None and enough.cut(0.1) is not None
    assert few.promise(0.1).startswith(conformal.TOO_FEW)
    assert ("At most 10 %" in enough.promise(0.1)) is (form["form"] == novelty.EXACT)


def test_dialogues_without_an_assistant_turn_count_nowhere():
    silent = [("user", 6), ("user", 1)]
    for form in FORMS:
        with_silent, without = fitted([USUAL, silent, USUAL], form), fitted([USUAL, USUAL], form)
        assert with_silent.calibration == without.calibration
        assert list(with_silent.watch(observed(silent))) == []
        with pytest.raises(ValueError, match="no training dialogue has a judged turn"):
            fitted([silent], form)


def test_unknown_forms_are_refused():
    with pytest.raises(ValueError, match="form is 'split'; it must be one of exact"):
        novelty.fit([observed(USUAL)], form="split")
    with pytest.raises(ValueError, match="form is 'exact'; it must be one of leave_one_out"):
        novelty.fit([observed(USUAL)], form="exact", remaining=True)


def random_dialogues(rng, n):
    """Exchangeable dialogues: a usual course in which single turns are drawn from noise."""
    course = rng.normal(size=(8, 6)) * 0.2 + np.arange(8)[:, None] % 3
    words = [f"word{chr(97 + i)}" for i in range(26)]
    for _ in range(n):
        length = int(rng.integers(2, 9))
        yield [
            ObservedTurn(
                i + 1,
                ("user", "assistant")[i % 2],
                " ".join(rng.choice(words, 3)),
                course[i] + rng.normal(size=6) * rng.exponential(0.5),
            )
            for i in range(length)
        ]


@settings(max_examples=2)
@given(st.integers(0, 10**6))
def test_exchangeable_dialogues_are_flagged_at_most_as_often_as_promised(seed):
    rng = np.random.default_rng(seed)
    n, rounds, watched = 19, 15, 6
    least = np.zeros((rounds, watched))
    for i in range(rounds):
        dialogues = list(random_dialogues(rng, n + watched))
        detector = novelty.fit(dialogues[:n])
        found = detector.watch_all(dialogues[n:])
        least[i] = [max(value for _, value in each) for each in found]
    for alpha in (0.05, 0.1, 0.2):
        share = np.mean(least > conformal.p_cut(n, alpha))
        # Dialogues of a round share their training half, hence the generous noise.
        noise = 4 * math.sqrt(alpha * (1 - alpha) * (1 / rounds + 1 / (rounds * watched)))
        assert share <= conformal.expectation(n, alpha) + noise


def test_copies_of_a_dialogue_tie():
    """A copy of the strangest training dialogue is as strange as it: p is 2 / (n + 1)."""
    strange = [*USUAL, ("assistant", 6)]
    rows = [*itertools.repeat(USUAL, 11), strange]
    last = list(fitted(rows, FORMS[0]).watch(observed(strange)))[-1]
    assert last.value == pytest.approx(-2 / 13)
