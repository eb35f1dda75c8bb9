"""Per-turn surprisal under the flow graph of a workflow, as a run over dialogues and their forks.

The graph of a workflow is fitted once per run, on the conformant train half only, and stored with
the run; a score never looks at another dialogue.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from benchmark.models import Corpus, Dialogue
from scoring import encoders, flow_graphs
from scoring.corpora import (
    dialogue_vectors,
    encoder_of,
    fitting_turns,
    turns_of,
    with_sources,
)
from scoring.encoders import Encoder
from scoring.models import DialogueScore, FlowGraph, Run, RunResult
from scoring.path_summaries import GROUPS, STATISTIC, group_of, mean_path_score, scored_path

KIND = "surprisal"
RESAMPLES = 2000


def parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """The full parameters of a run: encoder, threshold of the clusters, seed of the intervals.

    Raises ValueError with a sentence for a setting that does not exist.
    """
    for name in given:
        if name not in ("encoder", "threshold", "bootstrap_seed"):
            raise ValueError(f"surprisal has no setting {name!r}")
    threshold = given.get("threshold", flow_graphs.THRESHOLD)
    if not 0 < threshold <= 2:
        raise ValueError(f"threshold is {threshold}; it must lie above 0 and up to 2")
    name = given.get("encoder") or encoders.DEFAULT
    encoders.check(name)
    return {
        "method": "surprisal",
        "encoder": name,
        "threshold": threshold,
        "bootstrap_seed": given.get("bootstrap_seed", 0),
        "bootstrap_resamples": RESAMPLES,
    }


def plan(corpora: Sequence[Corpus], chunk_dialogues: int) -> Iterator[tuple[list[int], int]]:
    """Parts of dialogue ids, one workflow each, over the corpora and their forks' sources.

    Dialogues without a turn are left out. Raises ValueError when nothing is left.
    """
    rows = list(
        Dialogue.objects.filter(corpus__in=with_sources(corpora))
        .scorable()
        .order_by("workflow_id", "pk")
        .values_list("workflow_id", "pk")
    )
    if not rows:
        slugs = ", ".join(corpus.slug for corpus in corpora)
        raise ValueError(f"There is no dialogue with a turn in {slugs}.")
    return _parts(rows, chunk_dialogues)


def score(run: Run, keys: Sequence[int]) -> list[DialogueScore]:
    """Node, probability and surprisal per turn; the value is the geometric mean of the moves."""
    encoder = encoder_of(run.parameters)
    turns = turns_of(keys)
    vectors = dialogue_vectors(encoder, turns)
    members: dict[int | None, list[int]] = defaultdict(list)
    for pk, workflow in Dialogue.objects.filter(pk__in=keys).values_list("pk", "workflow_id"):
        members[workflow].append(pk)
    scores = []
    for workflow, ids in members.items():
        graph = None if workflow is None else graph_of(run, workflow, encoder)
        for pk in sorted(ids):
            said = turns[pk]
            fields = scored_path(
                graph,
                said.numbers,
                said.roles,
                said.texts,
                vectors[pk],
                has_workflow=workflow is not None,
            )
            scores.append(DialogueScore(run=run, dialogue_id=pk, **fields))
    return scores


def graph_of(run: Run, workflow_id: int, encoder: Encoder) -> flow_graphs.FlowGraph | None:
    """The stored flow graph of a workflow, fitted by the first part of the run that needs it.

    None when no conformant dialogue of the train half exists. Two workers fitting at once fit the
    same graph, and it is stored once.
    """
    stored = FlowGraph.objects.filter(run=run, workflow_id=workflow_id)
    row = stored.first()
    if row is None:
        dialogues = list(dialogue_vectors(encoder, fitting_turns(workflow_id)).values())
        if not dialogues:
            return None
        fitted = flow_graphs.fit(dialogues, threshold=run.parameters["threshold"])
        FlowGraph.objects.bulk_create(
            [FlowGraph(run=run, workflow_id=workflow_id, graph=fitted.to_dict())],
            ignore_conflicts=True,
        )
        row = stored.get()
    return flow_graphs.FlowGraph.from_dict(row.graph)


def results(run: Run) -> list[RunResult]:
    """The mean path score of conformant dialogues (per half), of each fork type, and of others."""
    values: dict[str, list[float]] = defaultdict(list)
    skipped: dict[str, Counter[str]] = defaultdict(Counter)
    rows = DialogueScore.objects.filter(run=run).order_by("dialogue_id")
    seen: set[int] = set()
    for pk, type_, conformant, split, value, reason in rows.values_list(
        "dialogue_id",
        "dialogue__forks__type",
        "dialogue__conformant",
        "dialogue__split",
        "value",
        "reason",
    ).iterator(chunk_size=5000):
        if pk in seen:
            continue
        seen.add(pk)
        group = group_of(type_, conformant, split)
        if value is None:
            skipped[group][reason] += 1
        else:
            values[group].append(value)
    drawn = {
        "seed": run.parameters["bootstrap_seed"],
        "resamples": run.parameters["bootstrap_resamples"],
    }
    present = [group for group in GROUPS if group in values or group in skipped]
    return [
        RunResult(
            run=run,
            statistic=STATISTIC,
            group=group,
            **mean_path_score(values[group], skipped[group], **drawn).as_row(),
        )
        for group in present
    ]


def _parts(
    rows: Sequence[tuple[int | None, int]], dialogues: int
) -> Iterator[tuple[list[int], int]]:
    for _, group in groupby(rows, key=lambda row: row[0]):
        ids = [pk for _, pk in group]
        for start in range(0, len(ids), dialogues):
            part = ids[start : start + dialogues]
            yield part, len(part)
