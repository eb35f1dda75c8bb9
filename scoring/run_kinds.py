"""The kinds of run: what each reads, how it is cut into parts, and what its digest covers.

Kinds are modules with the same four functions: `parameters`, `plan`, `score`, `results`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

from benchmark.models import Corpus
from scoring import (
    comparisons,
    fork_distances,
    fork_sets,
    label_runs,
    onsets,
    turn_surprisals,
)
from scoring import corpora as reading
from scoring.corpora import Scope
from scoring.models import Run

KINDS: dict[str, ModuleType] = {
    fork_sets.KIND: fork_sets,
    fork_distances.KIND: fork_distances,
    onsets.KIND: onsets,
    turn_surprisals.KIND: turn_surprisals,
    comparisons.KIND: comparisons,
    label_runs.KIND: label_runs,
}


def scope_of(
    kind: str, corpora: Sequence[Corpus], chosen: Mapping[str, Any], known: Scope | None = None
) -> Scope:
    """What a run with the full parameters `chosen` reads.

    `known` is the scope of dialogues where it was taken before; detectors of agent runs read runs
    and their labels, so it says nothing of them.
    """
    if kind == label_runs.KIND:
        return label_runs.scope_of(corpora, chosen)
    return known or reading.scope_of(corpora)


def content_now(run: Run) -> str:
    """The digest of what `run` reads, as it is now."""
    corpora = list(Corpus.objects.filter(slug__in=run.parameters["read"]).order_by("slug"))
    if run.kind == label_runs.KIND:
        return label_runs.scope_of(corpora, run.parameters).content
    return reading.content_digest(corpora)


def changed_words(kind: str) -> str:
    """Why a run of this kind fails whose content is another than when it began."""
    read = "runs or their labels" if kind == label_runs.KIND else "dialogues"
    return f"The {read} changed while they were scored. Start again."


def planned(
    kind: str, corpora: Sequence[Corpus], chunk_dialogues: int, chosen: Mapping[str, Any]
) -> Iterable[tuple[list[int], int]]:
    """The parts of a run with the full parameters `chosen`: keys, and rows to write.

    Raises ValueError with a sentence where there is nothing to score.
    """
    if kind == label_runs.KIND:
        # Its folds hang on whose labels are predicted.
        return label_runs.plan(corpora, chosen)
    found: Iterable[tuple[list[int], int]] = KINDS[kind].plan(corpora, chunk_dialogues)
    return found
