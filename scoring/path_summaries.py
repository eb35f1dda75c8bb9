"""What a surprisal run says of dialogues and groups, from a flow graph and plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmark.records import FORK_TYPES
from scoring import flow_graphs
from scoring.estimates import Estimate
from scoring.path_scores import score_dialogue
from scoring.turn_vectors import DialogueVectors, scored_turns

STATISTIC = "path score"
NO_WORKFLOW = "the dialogue has no workflow"
NOTHING_FITTED = "the workflow has no conformant dialogue in its train half to fit a flow graph on"
NO_SCORE = "no dialogue of the group has a score"
TRAIN, TEST, OTHER = "conformant, train half", "conformant, test half", "other"
GROUPS = (TRAIN, TEST, *FORK_TYPES, OTHER)


def group_of(fork_type: str | None, conformant: bool | None, split: str) -> str:
    """The group a dialogue counts in: its fork type, or the half of the conformant ones."""
    if fork_type:
        return fork_type
    return {"train": TRAIN, "test": TEST}.get(split, OTHER) if conformant else OTHER


def scored_path(
    graph: flow_graphs.FlowGraph | None,
    numbers: Sequence[int],
    roles: Sequence[str],
    texts: Sequence[str],
    dialogue: DialogueVectors,
    *,
    has_workflow: bool,
) -> dict[str, Any]:
    """The fields of a dialogue's score: value, reason, detail, and one object per turn number.

    `numbers`, `roles` and `texts` cover all turns, `dialogue` those that are scored. A turn that is
    not scored has nulls and a reason; without a graph the dialogue has no value and no turns.
    """
    if graph is None:
        reason = NOTHING_FITTED if has_workflow else NO_WORKFLOW
        return {"value": None, "reason": reason, "detail": {}, "turns": []}
    estimate = score_dialogue(graph, dialogue.roles, dialogue.vectors)
    vectors = np.zeros((len(roles), dialogue.vectors.shape[1]), dtype=np.float32)
    vectors[scored_turns(roles, texts)] = dialogue.vectors
    rows = flow_graphs.turn_surprisal(graph, roles, vectors, texts)
    return {
        "value": estimate.value,
        "reason": estimate.reason,
        "detail": {"scored_turns": len(dialogue.roles)},
        "turns": [_turn(number, row) for number, row in zip(numbers, rows, strict=True)],
    }


def _turn(number: int, row: Mapping[str, Any]) -> dict[str, Any]:
    found = {
        "number": number,
        "node": row["node"],
        "p": row["probability"],
        "surprisal": row["surprisal"],
    }
    return found | ({"reason": row["reason"]} if row.get("reason") else {})


def mean_path_score(
    values: Sequence[float], skipped: Counter[str], *, seed: int, resamples: int
) -> Estimate:
    """The mean of a group with its 95 % percentile bootstrap interval, none below two values.

    `skipped` counts the dialogues without a score by reason.
    """
    ci = None
    if len(values) >= 2:
        rng = np.random.default_rng(seed)
        array = np.asarray(values)
        means = [float(rng.choice(array, size=len(array)).mean()) for _ in range(resamples)]
        low, high = np.percentile(means, [2.5, 97.5])
        ci = (float(low), float(high))
    detail = {
        "skipped": skipped.total(),
        "reasons": dict(sorted(skipped.items())),
        "seed": seed,
    }
    value = float(np.mean(values)) if values else None
    return Estimate(value, "" if values else NO_SCORE, len(values), ci, detail)
