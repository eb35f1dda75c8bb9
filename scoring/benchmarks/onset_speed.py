"""Detectors of the first off-track turn: one turn or dialogue at a time, and a whole corpus.

No published package has these detectors, so that their bars are times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmark.records import ASSISTANT
from scoring import ngram_detectors, novelty
from scoring.benchmarks.measuring import Limit, Measured, seconds
from scoring.benchmarks.synthetic import procedural_dialogues
from scoring.onset_methods import Detector, ObservedTurn

# Eight assistant turns a dialogue: about 900 known replies, as in the largest workflows of STAR.
TRAIN, TURNS = 110, 16
CORPUS, WORKERS = 36_278, 2
ALONE = "no peer is published"
Dialogues = Sequence[Sequence[ObservedTurn]]


def measure() -> dict[str, Measured]:
    """The measured cases of this area, by name."""
    train, others, many = (observed(n, seed=i) for i, n in enumerate((TRAIN, 40, 400), 1))
    long = observed(400, seed=4, turns=20)
    ngram = ngram_detectors.fit(train, kind="IT", order=6, calibration="in_sample")
    exact = novelty.fit(train)
    remaining = novelty.fit(train, remaining=True, form="leave_one_out")
    return {
        "novelty_turn": per_turn(exact, many, 0.5e-3, batched=True),
        "novelty_turn_live": per_turn(exact, others, 0.5e-3),
        "novelty_remaining_turn": per_turn(remaining, many, 0.2e-3, batched=True),
        "novelty_remaining_turn_live": per_turn(remaining, others, 0.2e-3),
        "novelty_corpus": corpus(exact, many, 240.0 * WORKERS),
        "novelty_remaining_corpus": corpus(remaining, many, 120.0 * WORKERS),
        "ngram_dialogue": per_dialogue(ngram, long[:40], 1e-3),
        "ngram_corpus": corpus(ngram, long, 3.0),
    }


def observed(dialogues: int, *, seed: int, turns: int = TURNS, dim: int = 384) -> Dialogues:
    """Dialogues of a procedure as detectors read them, with words of their step."""
    made = procedural_dialogues(dialogues, turns=turns, dim=dim, noise=0.03, seed=seed)
    return [
        [
            ObservedTurn(number, role, f"{text} of step {number // 2} and word {number % 7}", row)
            for number, (role, text, row) in enumerate(
                zip(d.roles, d.texts, d.vectors, strict=True), start=1
            )
        ]
        for d in made
    ]


def per_turn(
    detector: Detector, dialogues: Dialogues, most: float, *, batched: bool = False
) -> Measured:
    """Per assistant turn: live, as a dialogue runs turn by turn, or many dialogues in one call."""

    def live() -> Any:
        return [list(detector.watch(turns)) for turns in dialogues]

    judged = sum(turn.role == ASSISTANT for turns in dialogues for turn in turns)
    (ours,) = seconds(lambda: detector.watch_all(dialogues) if batched else live(), repeats=3)
    limit = Limit(ours / judged, most, "system turn")
    return Measured(judged / ours, None, 1.0, "turns/s", note=ALONE, limit=limit)


def per_dialogue(detector: Detector, dialogues: Dialogues, most: float) -> Measured:
    """One dialogue at a time, in one piece."""
    (ours,) = seconds(lambda: [detector.watch_all([turns]) for turns in dialogues], repeats=3)
    return _rate(ours, len(dialogues), Limit(ours / len(dialogues), most, "dialogue"))


def corpus(detector: Detector, dialogues: Dialogues, most: float) -> Measured:
    """All dialogues in one call; the limit is for the 36,278 of a full corpus."""
    work: Callable[[], Any] = lambda: detector.watch_all(dialogues)  # noqa: E731
    (ours,) = seconds(work, repeats=2)
    limit = Limit(ours * CORPUS / len(dialogues), most, f"{CORPUS:,} dialogues")
    return _rate(ours, len(dialogues), limit)


def _rate(took: float, dialogues: int, limit: Limit) -> Measured:
    return Measured(dialogues / took, None, 1.0, "dialogues/s", note=ALONE, limit=limit)
