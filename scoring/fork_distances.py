"""Task 2 of DialFork as a run: the distance of every fork from its source, and tau per type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from django.db.models import Count

from benchmark.models import Corpus, Fork
from scoring import methods
from scoring.corpora import dialogue_vectors, encoder_of, fitting_turns, turns_of, whole_text
from scoring.dialogue_distances import METHODS, WITH_THETA
from scoring.discounted_alignment import THETA_PAIRS, theta_of
from scoring.embeddings import cut_share
from scoring.encoders import Encoder
from scoring.estimates import Estimate
from scoring.fork_order import ALL, ForkDistance, taus_by_type, taus_by_workflow
from scoring.models import Calibration, DialogueScore, Run, RunResult
from scoring.turn_vectors import DialogueVectors, Distance

KIND = "task2"
RESAMPLES = 2000
THETA_SEED = 0
DIALOGUES_AT_ONCE = 1000
NO_THETA = "no workflow of the run has two conformant training dialogues to measure theta on"


def parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """The full parameters of a run: method, its settings, encoder where it needs one, seed.

    Raises ValueError with a sentence for a method or setting that does not exist.
    """
    chosen = methods.chosen(KIND, {"method": "flow_score", **given}, shared={"bootstrap_seed": 0})
    chosen["bootstrap_resamples"] = RESAMPLES
    if chosen["method"] in WITH_THETA:
        chosen["theta"] = {"pairs": THETA_PAIRS, "seed": THETA_SEED}
    return chosen


def plan(corpora: Sequence[Corpus], chunk_dialogues: int) -> Iterator[tuple[list[int], int]]:
    """Parts of source ids with all their forks in `corpora`; size is the number of forks.

    Raises ValueError when there is no fork.
    """
    counts = (
        _forks([corpus.pk for corpus in corpora])
        .values_list("source_id")
        .annotate(n=Count("dialogue_id"))
        .order_by("source__workflow_id", "source_id")
    )
    rows = list(counts)
    if not rows:
        slugs = ", ".join(corpus.slug for corpus in corpora)
        raise ValueError(f"There is no fork in {slugs}. Task 2 compares forks with their sources.")
    return _parts(rows, chunk_dialogues)


def score(run: Run, keys: Sequence[int]) -> list[DialogueScore]:
    """The distances of the forks of the sources `keys`."""
    rows = (
        _forks(_corpus_ids(run))
        .filter(source_id__in=keys)
        .order_by("source_id", "dialogue_id")
        .values_list("source__workflow_id", "source_id", "dialogue_id")
    )
    forks: dict[int | None, list[tuple[int, int]]] = defaultdict(list)
    for workflow, source, fork in rows:
        forks[workflow].append((source, fork))
    encoder = encoder_of(run.parameters)
    ids = {pk for members in forks.values() for pair in members for pk in pair}
    full = run.parameters["method"] == "full"
    vectors = dialogue_vectors(encoder, turns_of(sorted(ids)), full=full)
    return [
        DialogueScore(
            run=run,
            dialogue_id=fork,
            value=distance.value,
            reason=distance.reason,
            detail=dict(distance.detail),
        )
        for workflow, members in forks.items()
        for (_, fork), distance in zip(
            members, _distances(run, workflow, encoder, members, vectors), strict=True
        )
    ]


def results(run: Run) -> list[RunResult]:
    """Kendall's tau per fork type, and the mean of the types as "all"; then per workflow.

    Of the method `full` the row of "all" says how many dialogues the encoder cut.
    """
    scored = DialogueScore.objects.filter(run=run, dialogue__forks__ordinal=1).values_list(
        "dialogue__forks__source__workflow__name",
        "dialogue__forks__source_id",
        "dialogue__forks__type",
        "dialogue__forks__k",
        "value",
        "reason",
    )
    workflow_of: dict[int, str] = {}
    rows = []
    for workflow, source, *row in scored.order_by("dialogue_id").iterator(chunk_size=5000):
        if workflow:
            workflow_of[source] = workflow
        rows.append(ForkDistance(source, *row))
    drawn = {
        "seed": run.parameters["bootstrap_seed"],
        "resamples": run.parameters["bootstrap_resamples"],
    }
    found = [_result(run, *item) for item in taus_by_type(rows, **drawn).items()]
    if run.parameters["method"] == "full":
        next(row for row in found if row.group == ALL).detail["cut"] = _cut(run)
    for name, estimates in taus_by_workflow(rows, workflow_of, **drawn).items():
        found += [_result(run, *item, workflow=name) for item in estimates.items()]
    return found


def _result(run: Run, group: str, estimate: Estimate, workflow: str = "") -> RunResult:
    row = estimate.as_row()
    return RunResult(run=run, statistic="tau", group=group, workflow=workflow, **row)


# -- theta -------------------------------------------------------------------------------------


def _distances(
    run: Run,
    workflow: int | None,
    encoder: Encoder | None,
    forks: Sequence[tuple[int, int]],
    vectors: Mapping[int, DialogueVectors],
) -> list[Distance]:
    method = METHODS[run.parameters["method"]]
    settings = dict(run.parameters["settings"])
    pairs = [(vectors[source], vectors[fork]) for source, fork in forks]
    if "theta" not in run.parameters:
        return method(pairs, **settings)
    theta, own = theta_for(run, workflow, encoder)
    if theta is None:
        return [Distance(None, NO_THETA)] * len(pairs)
    noted = {"theta": theta} if own else {"theta": theta, "theta_from": "other workflows"}
    return [
        distance._replace(detail={**distance.detail, **noted})
        for distance in method(pairs, theta=theta, **settings)
    ]


def theta_for(run: Run, workflow: int | None, encoder: Encoder | None) -> tuple[float | None, bool]:
    """The theta of a workflow in a run, and whether it was measured on the workflow itself.

    A workflow without two conformant training dialogues takes the mean of the run's other
    workflows: what turns of one task have in common is a matter of the encoder first. None where
    no workflow has any.
    """
    if workflow is not None and (own := _measured(run, workflow, encoder)) is not None:
        return own, True
    others = (
        _forks(_corpus_ids(run))
        .filter(source__workflow__isnull=False)
        .values_list("source__workflow_id", flat=True)
        .distinct()
        .order_by("source__workflow_id")
    )
    known = [_measured(run, other, encoder) for other in others]
    values = [theta for theta in known if theta is not None]
    return (float(np.mean(values)) if values else None), False


def _measured(run: Run, workflow: int, encoder: Encoder | None) -> float | None:
    """The stored theta of a workflow, measured by the first part of the run that needs it."""
    stored = Calibration.objects.filter(run=run, workflow_id=workflow)
    row = stored.first()
    if row is None:
        training = list(dialogue_vectors(encoder, fitting_turns(workflow)).values())
        found = theta_of(training, **run.parameters["theta"])
        detail = {"theta": found.value, "reason": found.reason, **found.detail}
        Calibration.objects.bulk_create(
            [Calibration(run=run, workflow_id=workflow, detail=detail)], ignore_conflicts=True
        )
        row = stored.get()
    return row.detail["theta"]


# -- what the run is about ---------------------------------------------------------------------


def _cut(run: Run) -> dict[str, Any]:
    """How many of the run's dialogues, sources and forks, the encoder cuts."""
    encoder = encoder_of(run.parameters)
    forks = _forks(_corpus_ids(run))
    ids = sorted({pk for pair in forks.values_list("source_id", "dialogue_id") for pk in pair})
    found: dict[str, Any] = {"share": None, "cut": 0, "n": 0, "limit": "", "reason": ""}
    for start in range(0, len(ids), DIALOGUES_AT_ONCE):
        turns = turns_of(ids[start : start + DIALOGUES_AT_ONCE])
        part = cut_share(encoder, [whole_text(said) for said in turns.values()])
        found["limit"], found["reason"] = part.limit, part.reason
        found["cut"] += part.cut
        found["n"] += part.n
        if part.reason:
            return found | {"cut": None, "n": len(ids)}
    return found | {"share": found["cut"] / found["n"] if found["n"] else None}


def _forks(corpus_ids: Sequence[int]) -> Any:
    return Fork.objects.filter(dialogue__corpus_id__in=corpus_ids).single()


def _corpus_ids(run: Run) -> list[int]:
    return list(
        Corpus.objects.filter(slug__in=run.parameters["corpora"]).values_list("pk", flat=True)
    )


def _parts(rows: list[tuple[int, int]], dialogues: int) -> Iterator[tuple[list[int], int]]:
    keys: list[int] = []
    size = 0
    for source, forks in rows:
        if keys and len(keys) + size + forks + 1 > dialogues:
            yield keys, size
            keys, size = [], 0
        keys.append(source)
        size += forks
    yield keys, size
