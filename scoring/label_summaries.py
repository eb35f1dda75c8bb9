"""The figures of a detector of agent runs: ROC-AUC of runs and steps, the rank of the step."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmark.label_records import TYPES
from scoring.estimates import Estimate, undefined
from scoring.roc_areas import auc_estimate
from scoring.step_rankings import HIT, MRR, RankedRun, step_ranking
from scoring.trajectory_features import FAULT, UNKNOWN, SeenRun, step_truth

AUC, AUC_BY_CORPUS, AUC_BY_MODEL, AUC_BY_TYPE, STEP_AUC = (
    "auc",
    "auc_by_corpus",
    "auc_by_model",
    "auc_by_type",
    "step_auc",
)
HIT_BY_CORPUS = "hit_at_1_by_corpus"
STATISTICS = (AUC, AUC_BY_CORPUS, AUC_BY_MODEL, AUC_BY_TYPE, STEP_AUC, HIT, MRR, HIT_BY_CORPUS)
LONGEST_GROUP = 80
Figures = dict[tuple[str, str], Estimate]


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A labelled run with the value of a detector (None: undefined) and its (position, value)."""

    run: SeenRun
    value: float | None
    steps: Sequence[Sequence[float]]


def summarise(
    judged: Sequence[JudgedRun], models: Mapping[int, str], *, seed: int = 0, resamples: int = 2000
) -> Figures:
    """(statistic, group) -> figure, the main one first: "auc" of "all".

    - auc: over all runs, out of fold, pooled (Trajel, section 4.2);
    - auc_by_corpus, auc_by_model: the same within one corpus or one model, where there are several;
    - auc_by_type: runs with a type against runs without a hallucination;
    - step_auc: over the steps of runs whose label says which;
    - hit_at_1, mrr: among runs that name a step, how high the first named step ranks;
    - hit_at_1_by_corpus: the same within one corpus, where there are several.

    Intervals resample whole questions. Runs without a value are counted as `skipped`.
    """

    def area(rows: Sequence[JudgedRun]) -> Estimate:
        return _area(rows, seed=seed, resamples=resamples)

    found: Figures = {(AUC, "all"): area(judged)}
    found |= _within(AUC_BY_CORPUS, judged, lambda row: row.run.corpus, area)
    found |= _within(AUC_BY_MODEL, judged, lambda row: models.get(row.run.key) or "unknown", area)
    found |= _by_type(judged, area)
    if any(row.steps for row in judged):
        found[STEP_AUC, "all"] = _step_area(judged, seed=seed, resamples=resamples)
        found |= step_ranking(_ranked(judged), resamples=resamples, seed=seed)
        found |= _hits_by_corpus(judged, resamples=resamples, seed=seed)
    return found


def short(name: str) -> str:
    """A name as the group of a row; a long one keeps its beginning and a mark of the whole."""
    if len(name) <= LONGEST_GROUP:
        return name
    return f"{name[: LONGEST_GROUP - 9]}~{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _area(rows: Sequence[JudgedRun], **drawn: int) -> Estimate:
    told = [row for row in rows if row.value is not None]
    found = auc_estimate(
        [row.value for row in told if row.value is not None],
        [bool(row.run.present) for row in told],
        [row.run.question for row in told],
        **drawn,
    )
    detail = {**found.detail, "skipped": len(rows) - len(told)}
    return Estimate(found.value, found.reason, n=found.n, ci=found.ci, detail=detail)


def _within(
    statistic: str,
    judged: Sequence[JudgedRun],
    name_of: Callable[[JudgedRun], str],
    area: Callable[[Sequence[JudgedRun]], Estimate],
) -> Figures:
    names = sorted({name_of(row) for row in judged})
    if len(names) < 2:
        return {}
    return {
        (statistic, name): area([row for row in judged if name_of(row) == name]) for name in names
    }


def _by_type(
    judged: Sequence[JudgedRun], area: Callable[[Sequence[JudgedRun]], Estimate]
) -> Figures:
    calm = [row for row in judged if not row.run.present]
    found = {}
    for type_ in TYPES:
        rows = [row for row in judged if row.run.truth and type_ in row.run.truth.types]
        if rows:
            found[AUC_BY_TYPE, type_] = area([*rows, *calm])
    return found


def _step_area(judged: Sequence[JudgedRun], **drawn: int) -> Estimate:
    scores, positive, questions, skipped = [], [], [], 0
    for row in judged:
        truth = step_truth([row.run])
        value_of = {int(position): value for position, value in row.steps}
        for step, each in zip(row.run.steps, truth, strict=True):
            if each == UNKNOWN or step.position not in value_of:
                skipped += 1
                continue
            scores.append(value_of[step.position])
            positive.append(each == FAULT)
            questions.append(row.run.question)
    if not scores:
        return undefined("no label names a step", skipped=skipped)
    found = auc_estimate(scores, positive, questions, **drawn)
    detail = {**found.detail, "skipped": skipped}
    return Estimate(found.value, found.reason, n=found.n, ci=found.ci, detail=detail)


def _hits_by_corpus(judged: Sequence[JudgedRun], **drawn: int) -> Figures:
    corpora = sorted({row.run.corpus for row in judged})
    found: Figures = {}
    for corpus in corpora if len(corpora) > 1 else ():
        rows = _ranked([row for row in judged if row.run.corpus == corpus])
        for (statistic, ranker), estimate in step_ranking(rows, **drawn).items():
            if statistic == HIT:
                found[HIT_BY_CORPUS, f"{corpus}: {ranker}"] = estimate
    return found


def _ranked(judged: Sequence[JudgedRun]) -> list[RankedRun]:
    found = []
    for row in judged:
        places = [int(position) for position, _ in row.steps]
        first = min(row.run.named & set(places), default=None)
        if first is not None and len(places) > 1:
            values = [value for _, value in row.steps]
            found.append(RankedRun(row.run.question, values, places.index(first)))
    return found
