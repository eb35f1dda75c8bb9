"""Which detector each method of task 3 is, and what it answers on many dialogues at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmark.records import ASSISTANT
from scoring import ngram_detectors, novelty, workflow_hindsight, workflow_onset
from scoring.detection_metrics import first_turn, last_turn, random_turn
from scoring.detectors import IT, SS
from scoring.flow_graphs import FlowGraph
from scoring.ngram_detectors import NGramDetector
from scoring.onset_methods import Detector, ObservedTurn, OfflineMethod, Suspicion
from scoring.onset_summaries import ALPHAS
from scoring.workflow_steps import WorkflowKnowledge

# Equal turns must compare as equal wherever and with whatever others they were computed.
DECIMALS = 9
TRIVIAL = frozenset({"first_turn", "last_turn", "random_turn"})
WITH_WORKFLOW = frozenset({"workflow_aware", "workflow_offline"})
WITH_GRAPH = {"ngram_it": IT, "ngram_ss": SS}

Dialogue = Sequence[ObservedTurn]
Settings = Mapping[str, Any]
Fitted = Detector | OfflineMethod
Fitter = Callable[[Sequence[Dialogue], Settings, WorkflowKnowledge | None], Fitted]


def _ngram(kind: str) -> Fitter:
    def fit(train: Sequence[Dialogue], settings: Settings, _: Any) -> Fitted:
        return ngram_detectors.fit(
            train,
            kind=kind,
            order=settings["order"],
            node_confidence=settings["node_confidence"],
            calibration=settings["calibration"],
            threshold=settings["threshold"],
        )

    return fit


def _novelty(train: Sequence[Dialogue], settings: Settings, _: Any) -> Fitted:
    return novelty.fit(train, form=settings["form"])


def _remaining(train: Sequence[Dialogue], settings: Settings, _: Any) -> Fitted:
    return novelty.fit(train, remaining=True, form=novelty.LEAVE_ONE_OUT)


def _aware(train: Sequence[Dialogue], settings: Settings, known: Any) -> Fitted:
    return workflow_onset.fit(train, known, form=settings["form"])


def _offline(train: Sequence[Dialogue], settings: Settings, known: Any) -> Fitted:
    return workflow_hindsight.fit(train, known, form=settings["form"])


FITTERS: Mapping[str, Fitter] = {
    **{name: _ngram(kind) for name, kind in WITH_GRAPH.items()},
    "novelty": _novelty,
    "novelty_remaining": _remaining,
    "workflow_aware": _aware,
    "workflow_offline": _offline,
}


def fit(
    method: str,
    train: Sequence[Dialogue],
    settings: Settings,
    knowledge: WorkflowKnowledge | None = None,
) -> Fitted:
    """The method fitted on the conformant training dialogues of one workflow.

    `settings` are those of `methods.METHODS`; `knowledge` is needed by `WITH_WORKFLOW` only.
    Raises ValueError with a sentence where these dialogues cannot be learned from.
    """
    return FITTERS[method](train, settings, knowledge)


def restored(
    method: str, graph: FlowGraph, calibration: Sequence[float], settings: Settings
) -> NGramDetector:
    """An N-gram detector from its stored graph and calibration, equal to the fitted one."""
    return NGramDetector(
        graph,
        WITH_GRAPH[method],
        settings["order"],
        settings["node_confidence"],
        settings["calibration"],
        tuple(calibration),
    )


def form_of(settings: Settings) -> str:
    """How thresholds come about: "in_sample", "leave_one_out", "split" or "exact"."""
    return str(settings.get("calibration") or settings.get("form") or novelty.LEAVE_ONE_OUT)


def cuts_of(fitted: Fitted, alpha: float) -> list[tuple[float, float | None]]:
    """(alpha, threshold) over the grid and at `alpha`; None: nothing may be flagged.

    Values are compared as `suspicions` gives them, so thresholds are rounded likewise. Those of
    p-values lie just beyond alpha and stay as they are: a p equal to alpha is an alarm.
    """
    found = []
    for each in sorted({*ALPHAS, alpha}):
        cut = fitted.cut(each)
        exact = cut is None or isinstance(fitted, novelty.ExactNovelty)
        found.append((each, cut if exact else round(float(cut), DECIMALS)))
    return found


def suspicions(fitted: Fitted, dialogues: Sequence[Dialogue]) -> list[list[Suspicion]]:
    """The values of each dialogue's judged turns, to nine decimals.

    A method that reads whole dialogues has one value at most: at the turn it would name.
    """
    if hasattr(fitted, "watch_all"):
        found = fitted.watch_all(dialogues)
    else:
        onsets = _onsets(fitted, dialogues)
        found = [[] if turn is None else [Suspicion(turn, value)] for turn, value in onsets]
    return [[Suspicion(n, round(float(value), DECIMALS)) for n, value in row] for row in found]


def _onsets(method: Any, dialogues: Sequence[Dialogue]) -> Sequence[tuple[int | None, Any]]:
    if hasattr(method, "onset_all"):
        return method.onset_all(dialogues)
    return [method.onset(turns) for turns in dialogues]


def assistant_turns(turns: Dialogue) -> list[int]:
    """The numbers of the assistant turns, among all turns of the dialogue from 1."""
    return [turn.number for turn in turns if turn.role == ASSISTANT]


def trivial_answer(method: str, numbers: Sequence[int], name: str, settings: Settings) -> int:
    """What a trivial baseline answers on assistant turns `numbers` (at least one).

    "random_turn" draws by its seed and the dialogue's name, so that no order of dialogues matters.
    """
    if method == "random_turn":
        digits = int.from_bytes(name.encode("utf-8", "surrogatepass"), "little")
        found = random_turn(numbers, np.random.default_rng([settings["seed"], digits]))
    else:
        found = first_turn(numbers) if method == "first_turn" else last_turn(numbers)
    if found is None:
        raise ValueError("a dialogue without an assistant turn has no answer")
    return found
