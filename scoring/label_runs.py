"""Detectors of hallucinations in agent runs as a scoring run: one part is one fold of questions.

Each fold is scored by a detector trained on the labelled runs of all other questions, so that every
score is of a run whose question the detector never saw. Runs without a label are scored too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from benchmark.models import Corpus, Rater
from scoring import finetuned_detectors, label_summaries, methods, seen_runs, trajectory_detectors
from scoring.corpora import encoder_of
from scoring.embeddings import vectors_for
from scoring.encoders import EncoderUnavailable
from scoring.exported_agent_runs import FoldedRun
from scoring.models import Run, RunResult, TrajectoryScore
from scoring.question_folds import folds_of
from scoring.trajectory_features import SeenRun
from scoring.trajectory_methods import JUDGED, KIND, LABEL_METHODS, TUNED

RESAMPLES = 2000
LONGEST_NAME = 120


def parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """The full parameters of a run: method, settings, encoder, whose labels are the truth, judge.

    `truth` is the name of a rater or "majority of people"; `judge` the name of another rater, for
    methods that read one. Raises ValueError with a sentence for what does not exist, and
    EncoderUnavailable where a transformer's weights are not on this machine.
    """
    flat = {name: value for name, value in given.items() if name not in ("truth", "judge")}
    method = methods.named(LABEL_METHODS, flat.get("method", "step_classifier"))
    chosen = methods.chosen_of(method, flat, shared={"bootstrap_seed": 0})
    chosen["truth"] = _rater("truth", given.get("truth", ""))
    judge = given.get("judge") or ""
    if method.name not in JUDGED:
        if judge:
            raise ValueError(f"method {method.name} reads no judge; leave judge out")
    elif judge or method.name == "judge_label":
        chosen["judge"] = _rater("judge", judge)
        if chosen["judge"] == chosen["truth"]:
            raise ValueError("judge is the rater of the truth too; it would predict itself")
    if method.name in TUNED:
        chosen["weights"] = finetuned_detectors.weights_of(method.name)
    return {**chosen, "bootstrap_resamples": RESAMPLES}


def _rater(field: str, name: Any) -> str:
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME:
        raise ValueError(f"{field} is {name!r:.80}; it must be the name of a rater")
    if field == "truth" and name == seen_runs.PEOPLE:
        return name
    if not Rater.objects.filter(name=name).exists():
        raise ValueError(f"{field} is {name!r}; there is no rater of that name")
    return name


def scope_of(corpora: Sequence[Corpus], chosen: Mapping[str, Any]) -> Any:
    """What a run with these parameters reads: runs, their labels and signals."""
    return seen_runs.scope_of(corpora, chosen)


def plan(corpora: Sequence[Corpus], chosen: Mapping[str, Any]) -> Iterator[tuple[list[int], int]]:
    """One part per fold: the runs of its questions, labelled or not.

    Raises ValueError where no run has a label by the rater of the truth, or all are of one
    question.
    """
    runs = _runs(corpora, chosen)
    slugs = ", ".join(corpus.slug for corpus in corpora)
    if not any(run.truth for run in runs):
        raise ValueError(f"No run in {slugs} has a label by {chosen['truth']}.")
    settings = chosen["settings"]
    fold = folds_of(
        [run.question for run in runs],
        [bool(run.present) for run in runs],
        folds=settings["folds"],
        seed=settings["seed"],
    )
    for each in range(int(fold.max()) + 1):
        keys = [run.key for run, own in zip(runs, fold, strict=True) if own == each]
        yield keys, len(keys)


def score(run: Run, keys: Sequence[int]) -> list[TrajectoryScore]:
    """The scores of one fold, by a detector trained on the labelled runs of other questions."""
    chosen = run.parameters
    runs = _runs(corpora_of(run), chosen)
    tested = np.isin([each.key for each in runs], list(keys))
    method, settings = chosen["method"], chosen["settings"]
    if method in TUNED:
        here = finetuned_detectors.weights_of(method)
        if here != chosen["weights"]:
            raise EncoderUnavailable(
                f"The run was started with {chosen['weights']}, but this worker has {here}."
            )
        scores = finetuned_detectors.out_of_fold(method, settings, runs, tested)
    else:
        encoder = encoder_of(chosen)
        scores = trajectory_detectors.out_of_fold(
            method,
            settings,
            runs,
            tested,
            lambda texts: (
                np.zeros((len(texts), 0)) if encoder is None else vectors_for(encoder, texts)
            ),
        )
    return [
        TrajectoryScore(
            run=run,
            trajectory_id=each.key,
            value=each.value,
            reason=each.reason,
            steps=[list(step) for step in each.steps],
            detail=dict(each.detail),
        )
        for each in scores
    ]


def results(run: Run) -> list[RunResult]:
    """Every figure of `label_summaries.summarise`, one row each."""
    held = {
        pk: (value, steps)
        for pk, value, steps in run.trajectory_scores.values_list("trajectory_id", "value", "steps")
    }
    judged = [
        label_summaries.JudgedRun(each, *held[each.key])
        for each in _runs(corpora_of(run), run.parameters)
        if each.key in held and each.truth is not None
    ]
    models = dict(seen_runs.runs_of(corpora_of(run)).values_list("pk", "model"))
    found = label_summaries.summarise(
        judged,
        {each.run.key: models.get(each.run.key, "") for each in judged},
        seed=run.parameters["bootstrap_seed"],
        resamples=run.parameters["bootstrap_resamples"],
    )
    return [
        RunResult(
            run=run, statistic=statistic, group=label_summaries.short(group), **estimate.as_row()
        )
        for (statistic, group), estimate in found.items()
    ]


def texts_read(corpora: Sequence[Corpus], chosen: Mapping[str, Any]) -> set[str]:
    """The distinct texts that a run with these parameters encodes; blank ones are none."""
    read: set[str] = set()

    def noted(texts: Sequence[str]) -> np.ndarray:
        read.update(stripped for text in texts if (stripped := text.strip()))
        return np.zeros((len(texts), 1), dtype=np.float32)

    table = trajectory_detectors.TABLES.get(chosen["method"])
    if table and "encoder" in chosen:
        table(_runs(corpora, chosen), chosen["settings"], noted)
    return read


def folded_runs(run: Run) -> list[FoldedRun]:
    """The agent runs of a done run as its detector saw them, with the fold that scored each."""
    fold = {pk: chunk.ordinal for chunk in run.chunks.all() for pk in chunk.keys}
    corpora = corpora_of(run)
    models = dict(seen_runs.runs_of(corpora).values_list("pk", "model"))
    return [
        FoldedRun(each, models[each.key], fold[each.key])
        for each in _runs(corpora, run.parameters)
        if each.key in fold
    ]


def corpora_of(run: Run) -> list[Corpus]:
    return list(Corpus.objects.filter(slug__in=run.parameters["corpora"]).order_by("slug"))


def _runs(corpora: Sequence[Corpus], chosen: Mapping[str, Any]) -> list[SeenRun]:
    return seen_runs.seen_runs(corpora, truth=chosen["truth"], judge=chosen.get("judge", ""))


__all__ = ["KIND", "parameters", "plan", "results", "scope_of", "score"]
