"""The first turn off a known workflow: novelty, standing still and leaping ahead, taken together.

Three signals for an assistant turn, each larger for a more suspicious turn:

    novelty  L of `novelty`; with other workflows known also how much nearer the turn is to one of
             their steps than to what was said here,
    still    .5 (v + once more + too late + repeats) + .3 L,
    leap     .5 (v + too early) + .3 L - .4 r,

with v the log-ratio of the most probable next step's probability to this one's, the rules of
`admissible_steps`, `repeats` 1 for a turn that says nearly what was said before, and r the turns
that usually remain. Each is put on the scale of its largest values in training dialogues (median 0,
90th percentile 1); the largest counts. Streaming reads turns 1 to t only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.records import ASSISTANT
from scoring import conformal
from scoring.admissible_steps import CAP, NextSteps, Situation, StepCounts, step_of
from scoring.novelty import own_strangeness, strangeness
from scoring.novelty_bag import Encounter, TurnBag, nearest, unit
from scoring.novelty_words import Floats
from scoring.onset_methods import ObservedTurn, Suspicion
from scoring.workflow_steps import (
    StepReader,
    WorkflowKnowledge,
    kept_labels,
    likeness,
    unit_rows,
)

LEAVE_ONE_OUT, SPLIT = "leave_one_out", "split"
FORMS = (LEAVE_ONE_OUT, SPLIT)
RULES, NOVELTY, REMAINING = 0.5, 0.3, 0.4
# Novelty alone finds most of what strays: the other signals must exceed their scale by this.
MARGIN = 0.2
SAME_AGAIN = 0.95
FOREIGN_SCALE = 0.15
ODDS = 0.02
MOST_KNOWN = 4096
Dialogue = Sequence[ObservedTurn]


class Signals(NamedTuple):
    novelty: float
    still: float
    leap: float


def fit(
    train: Sequence[Dialogue],
    knowledge: WorkflowKnowledge,
    *,
    form: str = LEAVE_ONE_OUT,
    seed: int = 0,
) -> WorkflowDetector:
    """The streaming detector that knows these conformant dialogues and this workflow.

    "leave_one_out": thresholds from training dialogues that are each left out once; the share of
    false alarms is measured, not promised. "split": half of the dialogues, drawn by `seed`, are
    kept for the thresholds and nothing else, which gives the conformal promise. Raises ValueError
    for another form, labels that do not match, or when there is no assistant turn or no label.
    """
    if form not in FORMS:
        raise ValueError(f"form is {form!r}; it must be one of {', '.join(FORMS)}")
    if len(train) != len(knowledge.labels):
        raise ValueError("labels must have one row per training dialogue")
    if form == LEAVE_ONE_OUT:
        return WorkflowDetector(train, knowledge, knowledge.labels)
    order = np.random.default_rng(seed).permutation(len(train))
    kept, fitted = order[: len(train) // 2], order[len(train) // 2 :]
    labels = [knowledge.labels[i] for i in fitted]
    found = WorkflowDetector([train[i] for i in fitted], knowledge, labels)
    found.calibrate([train[i] for i in kept])
    return found


class WorkflowDetector:
    """A streaming detector; see the module. Made by `fit`.

    `training_values` holds the suspicion of each judged turn of each training dialogue that was
    fitted, with the dialogue left out; `calibration` the largest of each calibrating dialogue.
    """

    form = LEAVE_ONE_OUT

    def __init__(
        self,
        train: Sequence[Dialogue],
        knowledge: WorkflowKnowledge,
        labels: Sequence[Sequence[str]],
    ) -> None:
        kept = kept_labels(train, labels)
        self.bag = bag = TurnBag(train)
        self.reader = StepReader(bag, knowledge, [label for row in kept for label in row])
        self._foreign = unit_rows([step.vector for step in knowledge.foreign()])
        steps = len(self.reader.keys)
        paths = np.split(self.reader.codes, bag.starts[1:])
        each = [StepCounts.of(path.tolist(), steps) for path in paths]
        self.counts = StepCounts.total(each)
        signals = self._fit([self.counts - own for own in each])
        largest = np.maximum.reduceat(signals, bag.starts, axis=0)
        self._middle = np.median(largest, axis=0)
        spread = np.quantile(largest, 0.9, axis=0) - self._middle
        self._spread = np.where(spread > conformal.SLACK, spread, 1.0)
        values = np.array([self.value(Signals(*row)) for row in signals])
        self.training_values = [part.tolist() for part in np.split(values, bag.starts[1:])]
        self.calibration: list[float] = [max(part) for part in self.training_values]
        self.calibrating_values = self.training_values

    def calibrate(self, dialogues: Sequence[Dialogue]) -> None:
        """Take the thresholds from these dialogues, of which nothing else is known."""
        self.form = SPLIT
        seen = [[value for _, value in each] for each in self.watch_all(dialogues)]
        self.calibrating_values = [values for values in seen if values]
        self.calibration = [max(values) for values in self.calibrating_values]

    def watch(self, turns: Iterable[ObservedTurn]) -> Iterator[Suspicion]:
        """The suspicion of each assistant turn, as the turns come."""
        walk = _Walk(self, {})
        for found in self.bag.read(walk.listen(turns)):
            yield Suspicion(found.number, self.value(walk.judge(found)))

    def watch_all(self, dialogues: Sequence[Dialogue]) -> list[list[Suspicion]]:
        """What `watch` gives for each dialogue."""
        found = []
        known: dict[tuple[str, bytes], Floats] = {}
        for turns, encounters in zip(dialogues, self.bag.read_all(dialogues), strict=True):
            if len(known) > MOST_KNOWN:
                known.clear()
            walk = _Walk(self, known)
            heard = walk.listen(turns)
            row = []
            for encounter in encounters:
                while walk.number != encounter.number:
                    next(heard)
                row.append(Suspicion(encounter.number, self.value(walk.judge(encounter))))
            found.append(row)
        return found

    def cut(self, alpha: float) -> float | None:
        """The value above which a turn is an alarm; None where there are too few dialogues."""
        return conformal.cut(self.calibration, alpha)

    def promise(self, alpha: float) -> str:
        """What a user may rely on at this level, as one sentence."""
        return conformal.promise(len(self.calibration), alpha, exact=self.form == SPLIT)

    def value(self, signals: Signals) -> float:
        """The suspicion of a turn, to nine decimals so that equal turns tie."""
        novelty, still, leap = (np.array(signals) - self._middle) / self._spread
        return round(float(max(novelty, still - MARGIN, leap - MARGIN)), 9)

    def signals(
        self,
        counts: StepCounts,
        situation: Situation,
        posterior: Floats,
        expected: Floats,
        turn: tuple[float, float, bool],
    ) -> Signals:
        """The three signals; `turn` holds novelty, remaining turns and whether the turn repeats."""
        novelty, remaining, repeats = turn
        surprise = math.log((expected.max() + ODDS) / (float(posterior @ expected) + ODDS))
        again = late = early = 0.0
        step = step_of(posterior)
        if step is not None:
            again = min(max(counts.once_more(step, situation.times), 0.0), CAP)
            late = min(max(counts.too_late(step, situation.times), 0.0), CAP)
            early = min(max(counts.too_early(step, situation.times), 0.0), CAP)
        still = RULES * (surprise + again + late + repeats) + NOVELTY * novelty
        leap = RULES * (surprise + early) + NOVELTY * novelty - REMAINING * remaining
        return Signals(novelty, still, leap)

    def novelty(self, strange: float, says: Floats, vector: NDArray[Any]) -> float:
        """L, with a further term for steps of other workflows where they are known."""
        if len(self._foreign):
            here = 1.0 - float(nearest(says).mean())
            there = float(likeness(self._foreign, vector).max())
            strange += (max(0.0, there - here) / FOREIGN_SCALE) ** 4
        return math.log(strange)

    def _fit(self, counts: Sequence[StepCounts]) -> Floats:
        """Signals of each turn of the bag, shape (B, 3), with its own dialogue left out."""
        bag = self.bag
        asked = bag.asks.square()[bag.ask_of[:, None], bag.ask_of]
        told = list(self._told())
        situations = [situation for situation, _, _, _ in told]
        self.next_steps = NextSteps(asked, situations, self.reader.targets, bag.owner)
        expected = self.next_steps.left_out()
        alone = bag.alone(one_more=False)
        strange = strangeness(
            alone.replies.mean(axis=1), alone.transitions.mean(axis=1), alone.rarity
        )
        rows = []
        for place, (situation, posterior, says, repeats) in enumerate(told):
            novelty = self.novelty(float(strange[place]), says, bag.says.rows[bag.say_of[place]])
            turn = (novelty, float(alone.remaining[place]), repeats)
            own = counts[bag.owner[place]]
            rows.append(self.signals(own, situation, posterior, expected[place], turn))
        return np.array(rows)

    def _told(self) -> Iterator[tuple[Situation, Floats, Floats, bool]]:
        """Situation, posterior, distances and repetition of each turn of the bag, the distances to
        its own dialogue being infinite."""
        bag = self.bag
        says = bag.says.square()
        for place, (text, owner) in enumerate(zip(bag.say_of, bag.owner, strict=True)):
            if place == bag.starts[owner]:
                situation = Situation.opening(len(self.reader.keys))
            row = says[text, bag.say_of]
            earlier = row[bag.starts[owner] : place]
            repeats = bool(len(earlier)) and 1.0 - float(earlier.min()) > SAME_AGAIN
            row[bag.owner == owner] = np.inf
            posterior = self.reader.posterior(row, bag.says.rows[text])
            yield situation, posterior, row, repeats
            situation = situation.after(posterior)


class _Walk:
    """A dialogue as it is watched: what was said last, and where it stands.

    `known` keeps what depends on one text alone, by role and vector, for dialogues that share it.
    """

    def __init__(self, detector: WorkflowDetector, known: dict[tuple[str, bytes], Floats]) -> None:
        self._of = detector
        self._known = known
        self._situation = Situation.opening(len(detector.reader.keys))
        self._said: list[Floats] = []
        self._asked = detector.bag.asks.missing
        self._turn: ObservedTurn | None = None

    @property
    def number(self) -> int | None:
        """The number of the turn heard last."""
        return None if self._turn is None else self._turn.number

    def listen(self, turns: Iterable[ObservedTurn]) -> Iterator[ObservedTurn]:
        """Pass the turns on, noting what `judge` needs of them."""
        for turn in turns:
            self._turn = turn
            if turn.role != ASSISTANT:
                self._asked = self._kept(turn, self._asked_of)
            yield turn

    def judge(self, found: Encounter) -> Signals:
        """The signals of the assistant turn heard last, which is then part of the dialogue."""
        of, vector = self._of, self._turn.vector
        posterior = self._kept(self._turn, lambda v: of.reader.posterior(found.says, v))
        expected = of.next_steps.predict(self._asked[of.bag.ask_of], self._situation)
        turn = (
            of.novelty(own_strangeness(found), found.says, vector),
            of.bag.remaining_after(found.says),
            self._repeats(vector),
        )
        signals = of.signals(of.counts, self._situation, posterior, expected, turn)
        self._situation = self._situation.after(posterior)
        self._asked = of.bag.asks.missing
        return signals

    def _kept(self, turn: ObservedTurn, make: Callable[[NDArray[Any]], Floats]) -> Floats:
        vector = np.asarray(turn.vector)
        key = (turn.role, vector.tobytes())
        if key not in self._known:
            self._known[key] = make(vector)
        return self._known[key]

    def _asked_of(self, vector: NDArray[Any]) -> Floats:
        return self._of.bag.asks.distances(unit(vector[None]))[0]

    def _repeats(self, vector: NDArray[Any]) -> bool:
        repeats = False
        if self._said:
            repeats = float(likeness(np.array(self._said), vector).max()) > SAME_AGAIN
        self._said.append(unit(np.asarray(vector)[None])[0])
        return repeats
