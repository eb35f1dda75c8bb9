"""N-gram detectors of the first off-track turn, over whole corpora and turn by turn.

Nodes and counts come from conformant training dialogues. An assistant turn is suspicious when the
move to its node is improbable (IT), or when surprisal rises at it (SS); with node confidence the
probability is multiplied by how clearly the turn belongs to its node (DialFork, task 3).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.records import ASSISTANT
from scoring import conformal, flow_graphs
from scoring.coded_ngrams import CodedNGram, Codes, fit_coded, places_of
from scoring.detectors import IT, SS, WatchedTurn, readings
from scoring.flow_graphs import TEMPERATURE, THRESHOLD, FlowGraph
from scoring.left_out_nodes import left_out
from scoring.ngrams import NGram, fit_ngram
from scoring.onset_methods import ObservedTurn, Suspicion
from scoring.turn_vectors import DialogueVectors, Floats, one_thread

IN_SAMPLE, LEAVE_ONE_OUT = "in_sample", "leave_one_out"
ORDERS = (2, 3, 6, 10)
# Sums in another order differ in the last places; what is equal by rights must compare as equal.
DECIMALS = 9
BLOCK = 512
Dialogue = Sequence[ObservedTurn]


@dataclass(frozen=True, eq=False)
class NGramDetector:
    """A fitted detector. Values are -ln p ("IT") or the rise of -ln p ("SS"), to nine decimals.

    A turn whose role has no node in the graph is passed over, and with "SS" the first turn of a
    dialogue has no rise. `calibration` holds the largest value of each training dialogue that has
    one. `form` says how it came about: "in_sample" (thresholds are percentiles, interpolated, as in
    DialFork) or "leave_one_out" (thresholds by conformal rank).
    """

    graph: FlowGraph
    kind: str
    order: int = 6
    node_confidence: bool = False
    form: str = LEAVE_ONE_OUT
    calibration: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in (IT, SS):
            raise ValueError(f"kind is {self.kind!r}; it must be {IT!r} or {SS!r}")
        if self.form not in (IN_SAMPLE, LEAVE_ONE_OUT):
            raise ValueError(
                f"calibration is {self.form!r}; it must be {IN_SAMPLE!r} or {LEAVE_ONE_OUT!r}"
            )

    def cut(self, alpha: float) -> float | None:
        """The value above which a turn is an alarm; None with too few training dialogues.

        In sample, alpha = .05 in DialFork: the percentile 100 alpha of the least probabilities, or
        100(1 - alpha) of the largest rises. Left out: the ceil((n + 1)(1 - alpha))-th smallest.
        """
        if self.form == LEAVE_ONE_OUT or not self.calibration:
            return conformal.cut(self.calibration, alpha)
        if self.kind == SS:
            return float(np.percentile(self.calibration, 100 * (1 - alpha)))
        # Interpolated between probabilities, as published, not between their logarithms.
        least = np.percentile(np.exp(-np.array(self.calibration)), 100 * alpha)
        return float(_rounded(-np.log(least)))

    def watch(self, turns: Iterable[ObservedTurn]) -> Iterator[Suspicion]:
        """The value of each judged turn, before the next turn is read."""
        seen = readings(self._model, self._placed(turns), node_confidence=self.node_confidence)
        for reading in seen:
            value = -math.log(reading.probability) if self.kind == IT else reading.rise
            if reading.turn.judged and value is not None:
                yield Suspicion(reading.turn.number, float(_rounded(np.float64(value))))

    def watch_all(self, dialogues: Sequence[Dialogue]) -> list[list[Suspicion]]:
        """As `watch` for each dialogue, in a few array operations for all.

        Each distinct text is placed once: a text must have one vector.
        """
        turns = [turn for dialogue in dialogues for turn in dialogue]
        if not turns:
            return [[] for _ in dialogues]
        distinct: dict[tuple[str, str], int] = {}
        index = np.array([distinct.setdefault(turn[1:3], len(distinct)) for turn in turns])
        _, firsts = np.unique(index, return_index=True)
        role = np.array([role for role, _ in distinct])
        with one_thread():
            codes, confidence = self.nodes_of(role, [turns[i].vector for i in firsts.tolist()])
        owners = np.repeat(np.arange(len(dialogues)), [len(dialogue) for dialogue in dialogues])
        placed = np.flatnonzero(codes[index] >= 0)
        index, owners = index[placed], owners[placed]
        lengths = np.bincount(owners, minlength=len(dialogues))
        values = self.values(codes[index], confidence[index], lengths)
        judged = np.flatnonzero((role == ASSISTANT)[index] & ~np.isnan(values))
        numbers = np.array([turn.number for turn in turns])[placed[judged]]
        pairs = zip(numbers.tolist(), values[judged].tolist(), strict=True)
        rows = list(map(Suspicion._make, pairs))
        ends = np.cumsum(np.bincount(owners[judged], minlength=len(dialogues))).tolist()
        return [rows[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def nodes_of(
        self, roles: NDArray[np.str_], vectors: Sequence[NDArray[Any]]
    ) -> tuple[Codes, Floats]:
        """Node code (-1: the role has none) and confidence of turns with these vectors."""
        codes = np.full(len(roles), -1, dtype=np.int64)
        confidence = np.ones(len(roles))
        for role, (nodes, directions) in self._nodes_of_role.items():
            # Fresh memory costs more than the products in it, so it is used again and again.
            held = np.empty((BLOCK, directions.shape[1]))
            places = np.flatnonzero(roles == role)
            for start in range(0, len(places), BLOCK):
                block = places[start : start + BLOCK]
                rows = held[: len(block)]
                np.concatenate([vectors[i] for i in block.tolist()], out=rows.reshape(-1))
                best, confidence[block] = _nearest(rows, directions, clear=self.node_confidence)
                codes[block] = nodes[best]
        return codes, confidence

    def values(self, codes: Codes, confidence: Floats, lengths: Sequence[int] | Codes) -> Floats:
        """The value of every turn (user turns too), of dialogues laid end to end; shape (n,).

        NaN where there is no rise. `lengths` are the turns of each dialogue.
        """
        return _values(self._coded, self.kind, self.node_confidence, codes, confidence, lengths)

    def _placed(self, turns: Iterable[ObservedTurn]) -> Iterator[WatchedTurn]:
        for turn in turns:
            vector = np.asarray(turn.vector, dtype=np.float64)[None]
            node = flow_graphs.assign(self.graph, [turn.role], vector)[0]
            if node:
                judged = turn.role == ASSISTANT
                yield WatchedTurn(turn.number, node.node, judged, node.confidence)

    @cached_property
    def _model(self) -> NGram:
        return fit_ngram(self.graph.paths, order=self.order, nodes=len(self.graph.nodes))

    @cached_property
    def _coded(self) -> CodedNGram:
        code = self._code
        paths = [np.array([code[node] for node in path], np.int64) for path in self.graph.paths]
        return fit_coded(paths, order=self.order, nodes=len(code))

    @cached_property
    def _code(self) -> dict[str, int]:
        return {node.name: i for i, node in enumerate(self.graph.nodes)}

    @cached_property
    def _nodes_of_role(self) -> dict[str, tuple[Codes, Floats]]:
        """Codes and unit vectors of the nodes of each role."""
        found = {}
        for role in self.graph.vectors:
            codes = np.array([self._code[node.name] for node in self.graph.of_role(role)])
            rows = self.graph.vectors[role]
            lengths = np.sqrt(np.vecdot(rows, rows))
            found[role] = (codes, rows / np.where(lengths > 0, lengths, 1.0)[:, None])
        return found


def fit(
    train: Sequence[Dialogue],
    *,
    kind: str,
    order: int = 6,
    node_confidence: bool = False,
    calibration: str = LEAVE_ONE_OUT,
    threshold: float = THRESHOLD,
) -> NGramDetector:
    """The detector of conformant training dialogues (their scored turns only).

    With "leave_one_out" each training dialogue is scored by nodes, counts and confidence made
    without it. Nothing to fit on, or no judged turn, gives a detector that never alarms. Raises
    ValueError for an unknown `kind` or `calibration`, an order below 1, or a threshold outside
    (0, 2].
    """
    dialogues = [
        DialogueVectors(
            tuple(turn.role for turn in turns),
            tuple(turn.text for turn in turns),
            np.stack([turn.vector for turn in turns]) if turns else np.zeros((0, 1)),
        )
        for turns in train
    ]
    graph = flow_graphs.fit(dialogues, threshold=threshold)
    detector = NGramDetector(graph, kind, order, node_confidence, calibration)
    if calibration == IN_SAMPLE:
        seen = detector.watch_all(train)
        largest = [max(value for _, value in row) for row in seen if row]
    else:
        largest = left_out_values(dialogues, detector, threshold=threshold)
    return replace(detector, calibration=tuple(largest))


def left_out_values(
    dialogues: Sequence[DialogueVectors], like: NGramDetector, *, threshold: float = THRESHOLD
) -> list[float]:
    """The largest value of each dialogue under a detector `like` this one, made of the others.

    Dialogues without a judged turn are skipped, as they can never alarm.
    """
    found = []
    for one in left_out(dialogues, threshold=threshold):
        model = fit_coded(one.paths, order=like.order, nodes=one.nodes)
        confidence = one.confidence
        lengths = [len(one.codes)]
        values = _values(model, like.kind, like.node_confidence, one.codes, confidence, lengths)
        judged = values[one.judged & ~np.isnan(values)]
        if len(judged):
            found.append(float(judged.max()))
    return found


def _nearest(rows: Floats, directions: Floats, *, clear: bool) -> tuple[Codes, Floats]:
    """The nearest of unit `directions` for each row, and, if `clear`, how clearly (else 1)."""
    likeness = rows @ directions.T
    best = likeness.argmax(axis=1)
    if not clear:
        return best, np.ones(len(rows))
    # The nearest node does not depend on a row's own length, the confidence does.
    lengths = np.sqrt(np.vecdot(rows, rows))
    likeness /= np.where(lengths > 0, lengths, 1.0)[:, None]
    above = likeness - np.take_along_axis(likeness, best[:, None], axis=1)
    return best, 1.0 / np.exp(above / TEMPERATURE).sum(axis=1)


def _values(
    model: CodedNGram,
    kind: str,
    node_confidence: bool,
    codes: Codes,
    confidence: Floats,
    lengths: Sequence[int] | Codes,
) -> Floats:
    places = places_of(lengths)
    probability = model.probabilities(codes, places)
    if node_confidence:
        probability = probability * confidence
    surprisal = -np.log(probability)
    if kind == IT:
        return _rounded(surprisal)
    rises = np.full(len(surprisal), np.nan)
    rises[1:] = np.diff(surprisal)
    rises[places == 0] = np.nan
    return _rounded(rises)


def _rounded(values: Floats) -> Floats:
    # Adding zero turns -0.0 into 0.0.
    return np.round(values, DECIMALS) + 0.0
