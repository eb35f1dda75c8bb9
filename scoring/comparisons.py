"""Runs compared with one another as a run: a reference against others, on the same units.

Tasks 1 and 2 compare taus (`paired_comparisons`), task 3 the Score (`paired_scores`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmark.models import Corpus, Dialogue, Workflow
from scoring import methods, onsets
from scoring.fork_order import ForkDistance, taus_of_units
from scoring.models import DialogueScore, Run, RunResult, SetDistance
from scoring.paired_comparisons import RESAMPLES, Unit, compared_taus
from scoring.paired_scores import compare_scores

KIND = "comparison"
MOST_BASELINES = 100
GIVEN = frozenset({"task", "reference", "baselines", "bootstrap_seed"})


def parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """The full parameters of a comparison: runs by number, and their digests.

    `task` is a kind of run, `reference` and each of `baselines` the number or digest of a run of
    that task which is done, all over the same dialogues. Raises ValueError with a sentence.
    """
    for name in given:
        if name not in GIVEN:
            raise ValueError(f"a comparison has no setting {name!r}; it has {_words(GIVEN)}")
    task = given.get("task")
    if task not in methods.METHODS:
        raise ValueError(f"task is {task!r}; it must be one of {', '.join(methods.METHODS)}")
    seed = methods.Setting("bootstrap_seed", 0, "Seed", low=0, high=methods.MOST_SEED)
    asked = given.get("baselines")
    if not isinstance(asked, (list, tuple)):
        raise ValueError(f"baselines is {asked!r}; it must be a list of runs")
    reference = _run(given.get("reference"), task, "reference")
    others = {run.pk: run for run in (_run(each, task, "baselines") for each in asked)}
    others.pop(reference.pk, None)
    if not 1 <= len(others) <= MOST_BASELINES:
        raise ValueError(
            f"a comparison needs 1 to {MOST_BASELINES} other runs beside the reference, "
            f"not {len(others)}"
        )
    _check_same_dialogues(reference, others.values())
    ordered = [others[pk] for pk in sorted(others)]
    return {
        "method": KIND,
        "task": task,
        "reference": reference.pk,
        "baselines": [run.pk for run in ordered],
        "digests": {str(run.pk): run.digest for run in (reference, *ordered)},
        "compared": {name: reference.parameters[name] for name in ("corpora", "content")},
        "bootstrap_seed": seed.checked(given.get("bootstrap_seed", 0)),
        "bootstrap_resamples": RESAMPLES,
    }


def plan(corpora: Sequence[Corpus], chunk_dialogues: int) -> Iterator[tuple[list[int], int]]:
    """One part: the resamples are drawn once for all runs compared."""
    yield [corpus.pk for corpus in corpora], 1


def score(run: Run, keys: Sequence[int]) -> list[DialogueScore]:
    """No rows of its own: everything is in the summary. Refuses what was scored on other dialogues.

    Raises ValueError with a sentence.
    """
    compared = run.parameters["compared"]
    if sorted(run.parameters["corpora"]) != sorted(compared["corpora"]):
        raise ValueError(
            f"The runs are over {', '.join(compared['corpora'])}, the comparison was started over "
            f"{', '.join(run.parameters['corpora'])}."
        )
    if run.parameters["content"] != compared["content"]:
        raise ValueError(
            "The dialogues changed since the runs were scored. Score them again, then compare."
        )
    return []


def results(run: Run) -> list[RunResult]:
    """One row of statistic "difference" per fork type and other run, group "<type>|<run>".

    Of task 1 also one of statistic "pair" per pair of runs, group "<type>|<run>|<run>", with both
    sides of the tests and Holm's correction over all pairs.
    """
    chosen = run.parameters
    numbers = [chosen["reference"], *chosen["baselines"]]
    runs = Run.objects.in_bulk(numbers)
    drawn = {"seed": chosen["bootstrap_seed"], "resamples": chosen["bootstrap_resamples"]}
    if chosen["task"] == onsets.KIND:
        answers = {number: onsets.answer_rows(runs[number]) for number in numbers}
        found = [row.result() for row in compare_scores(answers, numbers[0], **drawn)]
    else:
        of_task = set_units if chosen["task"] == "task1" else fork_units
        units = {number: of_task(runs[number]) for number in numbers}
        found = compared_taus(chosen["task"], units, numbers[0], **drawn)
    return [
        RunResult(run=run, statistic=statistic, group=group, **fields)
        for statistic, group, fields in found
    ]


def fork_units(run: Run) -> dict[Unit, float]:
    """The tau of every source and fork type of a task 2 run that has all four distances."""
    rows = (
        DialogueScore.objects.filter(run=run, dialogue__forks__ordinal=1)
        .order_by("dialogue_id")
        .values_list(
            "dialogue__forks__source_id",
            "dialogue__forks__type",
            "dialogue__forks__k",
            "value",
            "reason",
        )
    )
    forks = [ForkDistance(*row) for row in rows.iterator(chunk_size=5000)]
    sources = Dialogue.objects.filter(
        forked_into__dialogue__corpus__slug__in=run.parameters["corpora"]
    ).distinct()
    names = {
        pk: "/".join(name)
        for pk, *name in sources.values_list("pk", "corpus__slug", "format", "external_id")
    }
    return _units(forks, names)


def set_units(run: Run) -> dict[Unit, float]:
    """The tau of every workflow and fork type of a task 1 run that has all four distances."""
    rows = SetDistance.objects.filter(run=run).order_by("pk")
    forks = [
        ForkDistance(*row)
        for row in rows.values_list("workflow_id", "type", "k", "value", "reason")
    ]
    flows = Workflow.objects.filter(pk__in={row.source for row in forks})
    names = {pk: "/".join(name) for pk, *name in flows.values_list("pk", "corpus__slug", "name")}
    return _units(forks, names)


def _units(forks: Sequence[ForkDistance], names: Mapping[int, str]) -> dict[Unit, float]:
    taus = taus_of_units(forks)
    return {(names[source], type_): tau for (source, type_), tau in taus.items()}


def _run(named: Any, task: str, field: str) -> Run:
    if isinstance(named, bool) or not isinstance(named, (int, str)):
        raise ValueError(f"{field} holds {named!r}; it must be the number or digest of a run")
    by = {"digest": named} if isinstance(named, str) and len(named) == 64 else {"pk": named}
    try:
        run = Run.objects.filter(**by).first()
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{field} holds {named!r}, which is no run") from error
    if run is None:
        raise ValueError(f"{field} holds {named!r}, which is no run")
    if run.kind != task:
        raise ValueError(f"run {run.pk} is of kind {run.kind}, not of {task}")
    if run.state != Run.State.DONE:
        raise ValueError(f"run {run.pk} is {run.get_state_display().lower()}; it must be done")
    return run


def _check_same_dialogues(reference: Run, others: Any) -> None:
    for run in others:
        for name in ("corpora", "content", "version"):
            if run.parameters.get(name) != reference.parameters.get(name):
                what = {"corpora": "corpora", "content": "dialogues"}.get(name, "scoring version")
                raise ValueError(
                    f"run {run.pk} and run {reference.pk} have other {what}; only runs over the "
                    "same dialogues can be compared"
                )


def _words(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))
