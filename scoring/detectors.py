"""Streaming detectors of the first turn that leaves the workflow (DialFork, task 3).

Detectors are generators over a dialogue's turns: the answer on turn t is given before turn t + 1 is
read. They know conformant training dialogues only. Assistant turns are judged, user turns serve as
context.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.records import ASSISTANT
from scoring.flow_graphs import FlowGraph, assign
from scoring.ngrams import NGram
from scoring.turn_vectors import scored_turns

IT, SS = "IT", "SS"
SHARES = {IT: 5.0, SS: 95.0}


@dataclass(frozen=True, slots=True)
class WatchedTurn:
    """A turn as a detector sees it. `number` counts all turns of the dialogue from 1."""

    number: int
    node: str
    judged: bool
    confidence: float = 1.0


def watched(
    graph: FlowGraph, roles: Sequence[str], texts: Sequence[str], vectors: NDArray[Any]
) -> Iterator[WatchedTurn]:
    """The scored turns of a dialogue at their nodes; turns without a node are left out."""
    rows = np.asarray(vectors)
    for i in scored_turns(roles, texts):
        found = assign(graph, [roles[i]], rows[i : i + 1])[0]
        if found:
            yield WatchedTurn(i + 1, found.node, roles[i] == ASSISTANT, found.confidence)


@dataclass(frozen=True, slots=True)
class Reading:
    """What is measured at a turn: its probability and the rise of surprisal (None at the first)."""

    turn: WatchedTurn
    probability: float
    rise: float | None


def readings(
    model: NGram, turns: Iterable[WatchedTurn], *, node_confidence: bool = False
) -> Iterator[Reading]:
    """Probability and rise of surprisal at each turn, from that turn and earlier ones only.

    With `node_confidence` the probability is multiplied by the confidence of the node.
    """
    history: list[str] = []
    before: float | None = None
    for turn in turns:
        probability = model.probability(history, turn.node)
        if node_confidence:
            probability *= turn.confidence
        surprisal = -math.log(probability)
        yield Reading(turn, probability, None if before is None else surprisal - before)
        history.append(turn.node)
        before = surprisal


@dataclass(frozen=True, slots=True)
class Detector:
    """An alarm on a judged turn: probability below ("IT") or rise above ("SS") the threshold."""

    model: NGram
    kind: str
    threshold: float
    node_confidence: bool = False

    def watch(self, turns: Iterable[WatchedTurn]) -> Iterator[tuple[int, bool]]:
        """(turn number, alarm) of each turn, as the turns come."""
        for reading in readings(self.model, turns, node_confidence=self.node_confidence):
            yield reading.turn.number, reading.turn.judged and self._alarms(reading)

    def _alarms(self, reading: Reading) -> bool:
        if self.kind == IT:
            return reading.probability < self.threshold
        return reading.rise is not None and reading.rise > self.threshold

    def first_alarm(self, turns: Iterable[WatchedTurn]) -> int | None:
        """The number of the first turn with an alarm; None without one. Reads no further."""
        return next((number for number, alarm in self.watch(turns) if alarm), None)


def calibration_values(
    model: NGram,
    dialogues: Iterable[Iterable[WatchedTurn]],
    *,
    kind: str,
    node_confidence: bool = False,
) -> list[float]:
    """Least probability ("IT") or largest rise ("SS") at judged turns of each dialogue.

    Dialogues without such a turn are skipped.
    """
    found = []
    for turns in dialogues:
        seen = [
            reading
            for reading in readings(model, turns, node_confidence=node_confidence)
            if reading.turn.judged
        ]
        if kind == IT and seen:
            found.append(min(reading.probability for reading in seen))
        elif kind == SS and any(reading.rise is not None for reading in seen):
            found.append(max(reading.rise for reading in seen if reading.rise is not None))
    return found


def calibrate(
    model: NGram,
    dialogues: Iterable[Iterable[WatchedTurn]],
    *,
    kind: str,
    node_confidence: bool = False,
) -> Detector:
    """A detector whose threshold is the 5th percentile of least probabilities ("IT") or the 95th of
    largest rises ("SS") over conformant training dialogues, linearly interpolated.

    Raises ValueError where no training dialogue has a judged turn.
    """
    if kind not in SHARES:
        raise ValueError(f"kind is {kind!r}; it must be {IT!r} or {SS!r}")
    values = calibration_values(model, dialogues, kind=kind, node_confidence=node_confidence)
    if not values:
        raise ValueError("no training dialogue has a judged turn, so there is no threshold")
    return Detector(model, kind, float(np.percentile(values, SHARES[kind])), node_confidence)
