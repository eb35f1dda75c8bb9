"""Which step a turn takes: by labelled turns, by templates, or none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.novelty_bag import TurnBag
from scoring.workflow_steps import KnownStep, StepReader, WorkflowKnowledge, kept_labels, likeness
from tests.procedure import DIM, STEPS, known, labelled, observed, training, vector

TRAIN, PATHS = training(6)
BAG = TurnBag(TRAIN)
LABELS = [label for row in kept_labels(TRAIN, [labelled(path) for path in PATHS]) for label in row]
READER = StepReader(BAG, known(PATHS), LABELS)


def posterior(row, reader=READER):
    row = np.asarray(row, dtype=np.float32)
    return reader.posterior(1.0 - likeness(BAG.says.rows, row)[BAG.say_of], row)


@settings(max_examples=25)
@given(st.lists(st.floats(-1, 1, width=32), min_size=DIM, max_size=DIM).filter(any))
def test_a_posterior_is_a_distribution(row):
    found = posterior(row)
    assert found.shape == (len(STEPS) + 1,) and found.sum() == pytest.approx(1)
    assert np.all(found >= 0)


@pytest.mark.parametrize("step", STEPS)
def test_a_turn_like_labelled_ones_takes_their_step(step):
    found = posterior(vector(step, np.random.default_rng(9)))
    assert READER.keys[found.argmax()] == step and found.max() > 0.9


def test_a_turn_unlike_all_takes_no_step():
    found = posterior(vector("odd"))
    assert found.argmax() == len(STEPS) and found[-1] > 0.9


def test_a_template_speaks_for_a_step_that_no_training_turn_takes():
    steps = (*known(PATHS).steps, KnownStep("ask_dog", "dog", vector("ask_dog")))
    reader = StepReader(BAG, WorkflowKnowledge(steps, labels=()), LABELS)
    found = posterior(vector("ask_dog"), reader)
    assert reader.keys[found.argmax()] == "ask_dog"


def test_labels_outside_the_workflow_are_steps_too_and_states_are_none():
    steps = (KnownStep("query", "Query", vector("odd"), said=False),)
    reader = StepReader(BAG, WorkflowKnowledge(steps, labels=()), LABELS)
    assert reader.keys == tuple(sorted(STEPS))


def test_a_training_turn_left_out_does_not_speak_for_its_label():
    says = np.full(len(BAG.say_of), np.inf)
    found = READER.posterior(says, vector("odd"))
    assert found[-1] > 0.9


def test_dialogues_without_an_assistant_turn_have_no_labels_to_keep():
    train = [observed(["want"]), observed(["greet", "want"])]
    assert kept_labels(train, [[""], ["greet", ""]]) == [["greet"]]
