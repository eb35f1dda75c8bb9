"""Dialogues for measurements, drawn by seed: no stored row is ever measured."""

from __future__ import annotations

import numpy as np

from benchmark.records import ASSISTANT, USER
from scoring.dialogue_distances import DialogueVectors
from scoring.turn_vectors import Pair

STEPS = 12


def dialogue(rng: np.random.Generator, turns: int, dim: int) -> DialogueVectors:
    """A dialogue of random unit vectors (float32, as stored vectors are), the user first."""
    rows = rng.normal(size=(turns, dim)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    roles = tuple((USER, ASSISTANT)[i % 2] for i in range(turns))
    texts = tuple(f"turn {rng.integers(1 << 62)}" for _ in roles)
    return DialogueVectors(roles, texts, rows, unit=True)


def fork_pairs(sources: int, *, forks: int = 16, dim: int = 256, seed: int = 0) -> list[Pair]:
    """Sources of 8 to 24 turns, each with its forks of 8 to 32 turns."""
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(sources):
        source = dialogue(rng, int(rng.integers(8, 25)), dim)
        pairs += [(source, dialogue(rng, int(rng.integers(8, 33)), dim)) for _ in range(forks)]
    return pairs


def procedural_dialogues(
    n: int,
    *,
    turns: int = 16,
    dim: int = 64,
    noise: float = 0.12,
    seed: int = 0,
    steps_seed: int = 1,
) -> list[DialogueVectors]:
    """Dialogues that walk through steps: each step is a direction per role, turns scatter round it.

    Most turns lead to the next step, some repeat or skip one. Dialogues of one `steps_seed` share
    their steps.
    """
    around = np.random.default_rng(steps_seed).normal(size=(2, STEPS, dim))
    around /= np.linalg.norm(around, axis=2, keepdims=True)
    rng = np.random.default_rng(seed)
    found = []
    for number in range(n):
        step, rows = 0, []
        for i in range(turns):
            rows.append(around[i % 2, step] + noise * rng.normal(size=dim))
            step = int(min(STEPS - 1, step + (i % 2) * rng.choice([0, 1, 2], p=[0.1, 0.8, 0.1])))
        roles = tuple((USER, ASSISTANT)[i % 2] for i in range(turns))
        texts = tuple(f"dialogue {seed} {number} turn {i}" for i in range(turns))
        found.append(DialogueVectors(roles, texts, np.array(rows, dtype=np.float32)))
    return found
