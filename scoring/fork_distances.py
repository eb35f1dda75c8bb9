"""Task 2 of DialFork as a run: the distance of every fork from its source, and tau per type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.db.models import Count

from benchmark.models import Corpus, Fork
from scoring import encoders
from scoring.corpora import dialogue_vectors, encoder_of, turns_of
from scoring.dialogue_distances import METHODS
from scoring.fork_order import ForkDistance, taus_by_type
from scoring.models import DialogueScore, Run, RunResult

KIND = "task2"
WITHOUT_ENCODER = frozenset({"shared_prefix", "turn_difference", "word_difference", "random"})
SETTINGS: dict[str, dict[str, Any]] = {
    "flow_score": {"matching": "greedy", "same_role": False},
    "random": {"seed": 0},
}
RESAMPLES = 2000


def parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """The full parameters of a run: method, its settings, encoder where it needs one, seed.

    Raises ValueError with a sentence for a method or setting that does not exist.
    """
    method = given.get("method", "flow_score")
    if method not in METHODS:
        raise ValueError(f"method is {method!r}; it must be one of {', '.join(sorted(METHODS))}")
    settings = dict(SETTINGS.get(method, {}))
    known = {"method", "encoder", "bootstrap_seed", *settings}
    for name in given:
        if name not in known:
            raise ValueError(f"method {method} has no setting {name!r}")
    chosen: dict[str, Any] = {
        "method": method,
        "settings": {name: given.get(name, default) for name, default in settings.items()},
        "bootstrap_seed": given.get("bootstrap_seed", 0),
        "bootstrap_resamples": RESAMPLES,
    }
    if method not in WITHOUT_ENCODER:
        chosen["encoder"] = given.get("encoder") or encoders.DEFAULT
        encoders.check(chosen["encoder"])
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
    forks = list(
        _forks(_corpus_ids(run))
        .filter(source_id__in=keys)
        .order_by("source_id", "dialogue_id")
        .values_list("source_id", "dialogue_id")
    )
    method = run.parameters["method"]
    vectors = dialogue_vectors(
        encoder_of(run.parameters),
        turns_of(sorted({pk for pair in forks for pk in pair})),
        full=method == "full",
    )
    pairs = [(vectors[source], vectors[fork]) for source, fork in forks]
    distances = METHODS[method](pairs, **run.parameters["settings"])
    return [
        DialogueScore(
            run=run,
            dialogue_id=fork,
            value=distance.value,
            reason=distance.reason,
            detail=dict(distance.detail),
        )
        for (_, fork), distance in zip(forks, distances, strict=True)
    ]


def results(run: Run) -> list[RunResult]:
    """Kendall's tau per fork type, and the mean of the types as "all"."""
    scored = DialogueScore.objects.filter(run=run, dialogue__forks__ordinal=1).values_list(
        "dialogue__forks__source_id",
        "dialogue__forks__type",
        "dialogue__forks__k",
        "value",
        "reason",
    )
    found = taus_by_type(
        [ForkDistance(*row) for row in scored.order_by("dialogue_id")],
        seed=run.parameters["bootstrap_seed"],
        resamples=run.parameters["bootstrap_resamples"],
    )
    return [
        RunResult(
            run=run,
            statistic="tau",
            group=group,
            value=estimate.value,
            reason=estimate.reason,
            n=estimate.n,
            skipped=estimate.detail["skipped"],
            ci_low=estimate.ci[0] if estimate.ci else None,
            ci_high=estimate.ci[1] if estimate.ci else None,
            detail={key: value for key, value in estimate.detail.items() if key != "skipped"},
        )
        for group, estimate in found.items()
    ]


def _forks(corpus_ids: Sequence[int]) -> Any:
    """One row per forked dialogue with exactly one injection: with more, k orders nothing."""
    several = Fork.objects.filter(ordinal=2).values("dialogue_id")
    return Fork.objects.filter(dialogue__corpus_id__in=corpus_ids, ordinal=1).exclude(
        dialogue_id__in=several
    )


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
