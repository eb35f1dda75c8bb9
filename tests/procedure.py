"""A procedure of five steps in made-up vectors, for tests of detectors that know the workflow."""

from __future__ import annotations

import itertools

import numpy as np

from scoring.onset_methods import ObservedTurn
from scoring.workflow_steps import KnownStep, WorkflowKnowledge

STEPS = ("greet", "ask_name", "ask_day", "offer", "close")
ANSWERS = ("want", "name", "day", "fine", "bye")
FOREIGN = "ask_dog"
DIM = 24
AXES = np.eye(DIM, dtype=np.float32)
PLACES = {word: place for place, word in enumerate((*STEPS, *ANSWERS, FOREIGN, "odd"))}
USUAL = ("greet", "want", "ask_name", "name", "ask_day", "day", "offer", "fine", "close")
SHORT = ("greet", "want", "ask_name", "name", "offer", "fine", "close")


def vector(word: str, rng: np.random.Generator | None = None) -> np.ndarray:
    """The axis of the word, with a little noise off the axes of all words."""
    row = AXES[PLACES[word]].copy()
    if rng is not None:
        row[len(PLACES) :] = 0.1 * rng.normal(size=DIM - len(PLACES))
    return row


def observed(words, rng=None) -> list[ObservedTurn]:
    """Turns of these steps and answers; an assistant turn says its step, a user turn its answer."""
    return [
        ObservedTurn(
            number,
            "user" if word in ANSWERS else "assistant",
            word.replace("_", " "),
            vector(word, rng),
        )
        for number, word in enumerate(words, start=1)
    ]


def labelled(words) -> tuple[str, ...]:
    return tuple(word if word in STEPS else "" for word in words)


def known(paths, *, others=()) -> WorkflowKnowledge:
    steps = tuple(KnownStep(step, step, vector(step)) for step in STEPS)
    moves = tuple(itertools.pairwise(STEPS))
    return WorkflowKnowledge(
        steps=steps,
        labels=tuple(labelled(path) for path in paths),
        moves=moves,
        start="greet",
        terminals=frozenset({"close"}),
        others=tuple(KnownStep(key, key, vector(key)) for key in others),
    )


def training(n: int = 24, seed: int = 5):
    """`n` conformant dialogues, every sixth without the question for the day, and their paths."""
    rng = np.random.default_rng(seed)
    paths = [SHORT if i % 6 == 0 else USUAL for i in range(n)]
    return [observed(path, rng) for path in paths], paths
