"""What is known of a workflow, and which of its steps an assistant turn takes.

A turn belongs to a step as far as it is near the training turns with that label and the template of
the step; near turns without a label, or far from all, it belongs to none. Only labels of training
dialogues are read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.records import ASSISTANT
from scoring.novelty_bag import TurnBag, unit
from scoring.novelty_words import Floats
from scoring.onset_methods import ObservedTurn

Codes = NDArray[np.intp]
TEMPERATURE = 0.05
# A turn no nearer than this cosine to anything labelled rather belongs to no step.
LIKENESS = 0.6


@dataclass(frozen=True, slots=True, eq=False)
class KnownStep:
    """A step of a workflow. `vector` is that of its text, shape (d,); None where it has none.

    `said` is False for states, which are reached without a turn of their own.
    """

    key: str
    text: str = ""
    vector: NDArray[Any] | None = None
    said: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class WorkflowKnowledge:
    """What a detector may know of the workflow beside its conformant training dialogues.

    `labels` holds for each training dialogue one label per observed turn ("" where there is none),
    in the order in which the dialogues are given. `moves` are (from, to) keys, `start` a key or "".
    `others` are said steps of the corpus's other workflows, empty where they are not to be known.
    """

    steps: tuple[KnownStep, ...]
    labels: tuple[tuple[str, ...], ...]
    moves: tuple[tuple[str, str], ...] = ()
    start: str = ""
    terminals: frozenset[str] = frozenset()
    others: tuple[KnownStep, ...] = ()

    def foreign(self) -> tuple[KnownStep, ...]:
        """Steps of other workflows that this one shares neither by key or label nor by text."""
        keys = {step.key for step in self.steps}
        keys.update(label for labels in self.labels for label in labels)
        texts = {step.text for step in self.steps}
        return tuple(
            step
            for step in self.others
            if step.vector is not None and step.key not in keys and step.text not in texts
        )


def kept_labels(
    train: Sequence[Sequence[ObservedTurn]], labels: Sequence[Sequence[str]]
) -> list[list[str]]:
    """The labels of the assistant turns of each dialogue that has one: those of a `TurnBag`.

    Raises ValueError when labels and turns do not match in number, or when there is no label.
    """
    if [len(turns) for turns in train] != [len(row) for row in labels]:
        raise ValueError("labels must have one entry per observed turn of each training dialogue")
    said = [
        [label for turn, label in zip(turns, row, strict=True) if turn.role == ASSISTANT]
        for turns, row in zip(train, labels, strict=True)
    ]
    if not any(label for row in said for label in row):
        raise ValueError("no training turn carries a step label, so the steps are not known")
    return [row for row in said if row]


class StepReader:
    """Which step a turn takes: a posterior over C steps and, last, none of them.

    `keys` are the C steps: those of the workflow that are said, then other labels of training
    turns. `codes`, shape (B,), is the step of each turn of the bag, C where it has no label.
    """

    def __init__(self, bag: TurnBag, knowledge: WorkflowKnowledge, labels: Sequence[str]) -> None:
        said = [step for step in knowledge.steps if step.said]
        names = [step.key for step in said] + sorted({label for label in labels if label})
        self.keys = tuple(dict.fromkeys(names))
        places = {key: place for place, key in enumerate(self.keys)}
        size = len(self.keys)
        self.codes: Codes = np.array([places.get(label, size) for label in labels], dtype=np.intp)
        self.targets: Floats = np.eye(size + 1)[self.codes]
        shown = [step for step in said if step.vector is not None]
        self._templates = unit_rows([step.vector for step in shown])
        self._of_template = np.eye(size + 1)[[places[step.key] for step in shown]]
        self._none = np.zeros(size + 1)
        self._none[-1] = math.exp((LIKENESS - 1) / TEMPERATURE)

    def posterior(self, says: Floats, vector: NDArray[Any]) -> Floats:
        """Shape (C + 1,), from the distances to the turns of the bag, shape (B,), and the vector.

        A distance of infinity leaves a turn of the bag out.
        """
        weights = np.exp(-says / TEMPERATURE) @ self.targets + self._none
        if len(self._templates):
            far = np.round(1.0 - likeness(self._templates, vector), 9)
            weights += np.exp(-far / TEMPERATURE) @ self._of_template
        return weights / weights.sum()


def unit_rows(vectors: Sequence[NDArray[Any]]) -> Floats:
    """Vectors as unit rows in double precision, shape (n, d); shape (0, 0) without any."""
    return unit(np.array(vectors)) if len(vectors) else np.zeros((0, 0))


def likeness(rows: Floats, vector: NDArray[Any]) -> Floats:
    """Cosines of unit rows, shape (n, d), with a vector, shape (n,), to nine decimals."""
    return np.round(rows @ unit(np.asarray(vector)[None])[0], 9)
