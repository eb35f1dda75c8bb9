"""Task 1 of DialFork as a run: the forks of a workflow, type and k as one set, and tau over k.

The conformant set of a workflow are all conformant sources of its forks in the run's corpora.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmark.models import Corpus, Fork, Workflow
from scoring import methods
from scoring.corpora import dialogue_vectors, encoder_of, turns_of
from scoring.models import Calibration, DialogueScore, FlowGraph, Run, RunResult, SetDistance
from scoring.set_measures import Key, MeasuredSets, Member, measure
from scoring.set_orders import SetRow, Summary, summaries
from scoring.set_resampling import RESAMPLES as SOURCE_RESAMPLES

KIND = "task1"
RESAMPLES = 2000


def parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """The full parameters of a run: method, its settings, encoder where it needs one, seed.

    Raises ValueError with a sentence for a method or setting that does not exist.
    """
    chosen = methods.chosen(KIND, {"method": "fbd", **given}, shared={"bootstrap_seed": 0})
    return chosen | {
        "bootstrap_resamples": RESAMPLES,
        "source_resamples": SOURCE_RESAMPLES,
    }


def plan(corpora: Sequence[Corpus], chunk_dialogues: int) -> Iterator[tuple[list[int], int]]:
    """One part per workflow: its id, and the number of sets of forks (types times k).

    Raises ValueError when no fork goes back to a conformant dialogue of a workflow.
    """
    sets = (
        _forks([corpus.pk for corpus in corpora])
        .order_by("source__workflow_id", "type", "k")
        .values_list("source__workflow_id", "type", "k")
        .distinct()
    )
    sizes: dict[int, int] = defaultdict(int)
    for workflow, _, _ in sets:
        sizes[workflow] += 1
    if not sizes:
        slugs = ", ".join(corpus.slug for corpus in corpora)
        raise ValueError(
            f"There is no fork of a conformant dialogue with a workflow in {slugs}. "
            "Task 1 compares sets of forks with the conformant dialogues of their workflow."
        )
    return (([workflow], size) for workflow, size in sizes.items())


def score(run: Run, keys: Sequence[int]) -> list[SetDistance | DialogueScore]:
    """The distances of the sets of the workflows `keys`.

    Methods that give every dialogue a value (likelihood, count) also yield it as a score of the
    dialogue. FlowKL's graph is stored with the run, and so is the tau of each type where the
    sources are resampled.
    """
    rows: list[SetDistance | DialogueScore] = []
    for workflow in keys:
        rows += _scored(run, Workflow.objects.get(pk=workflow))
    return rows


def results(run: Run) -> list[RunResult]:
    """tau, exact recovery, pairs in order and the combined p: per type and "all", then the same
    per workflow."""
    distances = SetDistance.objects.filter(run=run).order_by("workflow_id", "type", "k")
    rows = [
        SetRow(*row) for row in distances.values_list("workflow_id", "type", "k", "value", "reason")
    ]
    names = _names(run)
    resampled = Calibration.objects.filter(run=run).values_list("workflow_id", "detail")
    found = summaries(
        rows,
        names,
        seed=run.parameters["bootstrap_seed"],
        resamples=run.parameters["bootstrap_resamples"],
        taus={workflow: detail["resampled_taus"] for workflow, detail in resampled},
    )
    return [_result(run, each) for each in found]


def _names(run: Run) -> dict[int, str]:
    """Names of the run's workflows; with the corpus where two corpora share one."""
    found = list(
        Workflow.objects.filter(set_distances__run=run)
        .distinct()
        .values_list("pk", "name", "corpus__slug")
    )
    times = Counter(name for _, name, _ in found)
    return {pk: name if times[name] == 1 else f"{name} ({slug})" for pk, name, slug in found}


def _forks(corpus_ids: Sequence[int]) -> Any:
    """Forks with one injection, of conformant sources."""
    return Fork.objects.filter(
        dialogue__corpus_id__in=corpus_ids,
        source__conformant=True,
        source__workflow__isnull=False,
    ).single()


def _scored(run: Run, workflow: Workflow) -> list[SetDistance | DialogueScore]:
    corpora = Corpus.objects.filter(slug__in=run.parameters["corpora"])
    forks = list(
        _forks([corpus.pk for corpus in corpora])
        .filter(source__workflow=workflow)
        .order_by("source_id", "dialogue_id")
        .values_list("source_id", "type", "k", "dialogue_id")
    )
    sources = sorted({source for source, *_ in forks})
    turns = turns_of(sorted({*sources, *(fork for *_, fork in forks)}))
    vectors = dialogue_vectors(encoder_of(run.parameters), turns)
    sets: dict[Key, list[Member]] = defaultdict(list)
    ids: dict[Key, list[int]] = defaultdict(list)
    for source, type_, k, fork in forks:
        sets[type_, k].append(Member(source, vectors[fork]))
        ids[type_, k].append(fork)
    measured = measure(
        run.parameters["method"],
        run.parameters["settings"],
        workflow.name,
        [Member(source, vectors[source]) for source in sources],
        sets,
        seed=run.parameters["bootstrap_seed"],
    )
    _keep(run, workflow, measured)
    return [*_distances(run, workflow, measured), *_values(run, sources, ids, measured)]


def _keep(run: Run, workflow: Workflow, measured: MeasuredSets) -> None:
    """Store graph and resampled taus; who scores the workflow again finds the same."""
    if measured.graph is not None:
        FlowGraph.objects.bulk_create(
            [FlowGraph(run=run, workflow=workflow, graph=measured.graph.to_dict())],
            ignore_conflicts=True,
        )
    if measured.taus:
        Calibration.objects.bulk_create(
            [
                Calibration(
                    run=run, workflow=workflow, detail={"resampled_taus": dict(measured.taus)}
                )
            ],
            ignore_conflicts=True,
        )


def _distances(run: Run, workflow: Workflow, measured: MeasuredSets) -> Iterator[SetDistance]:
    for (type_, k), distance in measured.distances.items():
        yield SetDistance(
            run=run,
            workflow=workflow,
            type=type_,
            k=k,
            value=distance.value,
            reason=distance.reason,
            detail=dict(distance.detail),
        )


def _values(
    run: Run, sources: Sequence[int], ids: Mapping[Key, Sequence[int]], measured: MeasuredSets
) -> Iterator[DialogueScore]:
    """The value of each dialogue, where the method has one."""
    parts = [(sources, measured.reference)] if measured.reference else []
    parts += [(ids[key], values) for key, values in measured.candidates.items()]
    for members, values in parts:
        for pk, value in zip(members, values, strict=True):
            yield DialogueScore(
                run=run,
                dialogue_id=pk,
                value=value.value,
                reason=value.reason,
                detail={"scored_turns": value.n},
            )


def _result(run: Run, summary: Summary) -> RunResult:
    return RunResult(
        run=run,
        statistic=summary.statistic,
        group=summary.group,
        workflow=summary.workflow,
        **summary.estimate.as_row(),
    )
