"""Starting runs from a page or the API: what can be asked for, and whether a run is new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.models import Corpus
from scoring import runs, tasks
from scoring.corpora import Scope
from scoring.encoders import EncoderUnavailable
from scoring.finetuned_detectors import weights_of
from scoring.methods import METHODS, MOST_SEED, TASKS, THRESHOLD, Method, Setting
from scoring.models import Run
from scoring.trajectory_methods import KIND as LABELS
from scoring.trajectory_methods import LABEL_METHODS, TUNED

SURPRISAL = Method(
    "surprisal",
    "Surprisal",
    "How improbable each turn is under the flow graph of its workflow.",
    settings=(THRESHOLD,),
)
OFFERED: Mapping[str, Mapping[str, Method]] = {
    **METHODS,
    "surprisal": {"surprisal": SURPRISAL},
    LABELS: LABEL_METHODS,
}
KIND_LABELS: Mapping[str, str] = {
    **{kind: f"Task {kind[-1]}: {label.lower()}" for kind, label in TASKS.items()},
    "surprisal": "Every turn: surprisal",
    LABELS: "Agent runs: detectors of hallucinations",
    "comparison": "Comparison of runs",
}
BOOTSTRAP_SEED = Setting("bootstrap_seed", 0, "Seed of the intervals", low=0, high=MOST_SEED)
LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Wanted:
    """A run somebody asks for. `parameters` is flat: method, encoder, settings, bootstrap_seed."""

    kind: str
    corpora: Sequence[Corpus]
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Started:
    """A run, and whether it was made now: the same parameters give the run there was."""

    run: Run
    new: bool


def runnable(kind: str, judge: str = "") -> list[Method]:
    """The methods of a kind that can run here, in the order of the registry.

    Of the detectors of agent runs, those whose weights are on this machine; without a judge, those
    that need none.
    """
    return [method for method in OFFERED[kind].values() if kind != LABELS or _can(method, judge)]


def _can(method: Method, judge: str) -> bool:
    if method.name == "judge_label":
        return bool(judge)
    if method.name not in TUNED:
        return True
    try:
        weights_of(method.name)
    except EncoderUnavailable:
        return False
    return True


def start(wanted: Wanted, by: Any, scope: Scope | None = None) -> Started:
    """Start the run or find the one there is, and tell the workers. Raises as `runs.start`."""
    if wanted.kind == "surprisal":
        for setting in (*SURPRISAL.settings, BOOTSTRAP_SEED):
            setting.checked(wanted.parameters.get(setting.name, setting.default))
    newest = Run.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    run = runs.start(wanted.kind, wanted.corpora, wanted.parameters, by, scope=scope)
    tasks.hand_over(run)
    return Started(run, new=run.pk > newest and run.started_by == by)


def storable(value: Any, depth: int = 4) -> bool:
    """Whether a JSON value can be looked up in the database: no NUL, no half of a surrogate pair,
    no number beyond 64 bits, not nested deeper than `depth`."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool) or value is None:
        return True
    if isinstance(value, int):
        return abs(value) <= LARGEST
    if isinstance(value, Mapping):
        return depth > 0 and all(
            _text(name) and storable(each, depth - 1) for name, each in value.items()
        )
    if isinstance(value, list):
        return depth > 0 and all(storable(each, depth - 1) for each in value)
    return isinstance(value, float)


def _text(value: str) -> bool:
    return "\x00" not in value and not any("\ud800" <= letter <= "\udfff" for letter in value)
