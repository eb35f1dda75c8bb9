"""A drawn study of agent runs becomes rows, with the judge's answers as they stand at the draw."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from annotation.design import DesignError
from annotation.models import Item, JudgeComparison, Review, RevisedReview, Study
from annotation.refusals import EnrolmentRefused
from annotation.run_design import RunCandidate, RunPlan, draw_runs
from annotation.run_shapes import RunShape
from annotation.study_drawing import BATCH, store_seats
from annotation.study_shapes import MOST_SEATS
from annotation.titles import named_in
from benchmark.models import Corpus, JudgeAnswer, LabelSet, Rater, Trajectory

FIRST_TRIAL = 1


@dataclass(frozen=True, slots=True)
class RunPool:
    """The runs that may be judged, under names that do not depend on row ids."""

    candidates: list[RunCandidate]
    keys: dict[str, int]


def runs_in(
    corpora: Collection[Corpus], models: Collection[str] = (), questions: Collection[str] = ()
) -> QuerySet[Trajectory]:
    """The runs of `corpora` with a step at least, of these models and questions (empty: all)."""
    found = Trajectory.objects.filter(corpus__in=corpora, n_steps__gte=1)
    if models:
        found = found.filter(model__in=models)
    return found.filter(question__in=questions) if questions else found


def answers_of(judge: Rater, runs: QuerySet[Trajectory]) -> QuerySet[JudgeAnswer]:
    """The answers of `judge` on `runs` that people can be shown: read, and of the first trial."""
    return JudgeAnswer.objects.filter(
        rater=judge,
        trial=FIRST_TRIAL,
        status=JudgeAnswer.Status.READ,
        trajectory__in=runs.order_by().values("pk"),
    )


def fill(study: Study, corpora: Sequence[Corpus], shape: RunShape) -> None:
    """Draw items and seats of `study`, which has none, and store the design; in a transaction.

    Raises EnrolmentRefused where a number is out of range, there is no run to judge, the title or
    the slug names a model of the runs, or the judge of the study has answered none of them.
    """
    if problem := shape.problem():
        raise EnrolmentRefused(problem)
    pool = _pool(corpora, shape)
    _require_neutral(study, pool)
    n_seats = shape.seats_for(len(pool.candidates))
    if n_seats > MOST_SEATS:
        raise EnrolmentRefused(
            f"That takes {n_seats:,} seats; a study has at most {MOST_SEATS:,}. Give more runs to "
            "a seat, or draw fewer."
        )
    if shape.n_simulated > n_seats:
        raise EnrolmentRefused(f"Of {n_seats} seats {shape.n_simulated} cannot be simulated.")
    plan = _draw(pool, shape, n_seats, study.seed)
    study.corpora.set(corpora)
    items = _store_items(study, plan, pool)
    store_seats(study, plan.seats, items, shape.n_simulated)
    study.design = {
        **shape.as_dict(),
        "corpora": sorted(corpus.slug for corpus in corpora),
        "judge": study.judge.name if study.judge else "",
        "judges_per_run": plan.per_item,
        "left_out": len(plan.left_out),
    }
    study.save(update_fields=["design"])


def empty(study: Study) -> None:
    """Take away what a dry run answered on the runs of a draft, with its labels and raters."""
    mine = Q(assignment__seat__study=study)
    reviews = Review.objects.filter(mine)
    comparisons = JudgeComparison.objects.filter(review__in=reviews.values("pk"))
    revisions = RevisedReview.objects.filter(comparison__in=comparisons.values("pk"))
    labels = {*reviews.values_list("labels_id", flat=True)}
    labels |= {*revisions.values_list("labels_id", flat=True)}
    raters = {*LabelSet.objects.filter(pk__in=labels).values_list("rater_id", flat=True)}
    for rows in (revisions, comparisons, reviews):
        rows.delete()
    LabelSet.objects.filter(pk__in=labels).delete()
    Rater.objects.filter(pk__in=raters, label_sets=None).delete()


def _pool(corpora: Sequence[Corpus], shape: RunShape) -> RunPool:
    runs = runs_in(corpora, shape.models, shape.questions)
    rows = runs.values_list("pk", "corpus__slug", "format", "external_id", "model", "question")
    keys: dict[str, int] = {}
    candidates = []
    for pk, *name, model, question in rows:
        key = "\x1f".join(name)
        keys[key] = pk
        candidates.append(RunCandidate(key, model, question))
    if not candidates:
        names = ", ".join(sorted(corpus.slug for corpus in corpora)) or "no corpus"
        chosen = " of these models and questions" if shape.models or shape.questions else ""
        raise EnrolmentRefused(f"There are no agent runs{chosen} to judge in {names}.")
    return RunPool(candidates, keys)


def _require_neutral(study: Study, pool: RunPool) -> None:
    models = sorted({candidate.model for candidate in pool.candidates})
    for name, text in (("title", study.title), ("slug", study.slug)):
        if told := named_in(text, models):
            raise EnrolmentRefused(
                f"The {name} is shown to annotators and names the model {told!r}, whose runs they "
                "are to judge without knowing it. Choose a neutral one."
            )


def _draw(pool: RunPool, shape: RunShape, n_seats: int, seed: int) -> RunPlan:
    try:
        return draw_runs(
            pool.candidates,
            n_seats=n_seats,
            per_item=shape.per_item,
            runs_per_seat=shape.runs_per_seat,
            limit=shape.limit,
            seed=seed,
        )
    except DesignError as error:
        raise EnrolmentRefused(str(error)) from error


def _store_items(study: Study, plan: RunPlan, pool: RunPool) -> dict[str, Item]:
    """Items in shuffled order, so that their ids do not sort by model either."""
    planned = list(plan.runs)
    random.Random(f"{study.seed} items").shuffle(planned)
    answers = _frozen_answers(study, [pool.keys[key] for key in planned])
    rows = [
        Item(
            study=study,
            trajectory_id=pool.keys[key],
            judge_answer_id=answers.get(pool.keys[key]),
        )
        for key in planned
    ]
    Item.objects.bulk_create(rows, batch_size=BATCH)
    return dict(zip(planned, rows, strict=True))


def _frozen_answers(study: Study, runs: Sequence[int]) -> dict[int, int]:
    """run -> the judge's answer that people will see; empty without a judge."""
    if study.judge is None:
        return {}
    found: dict[int, int] = {}
    for start in range(0, len(runs), BATCH):
        part = Trajectory.objects.filter(pk__in=runs[start : start + BATCH])
        found |= dict(answers_of(study.judge, part).values_list("trajectory_id", "pk"))
    if not found:
        raise EnrolmentRefused(
            f"The judge {study.judge.name!r} has no answer that could be read on any of these "
            "runs. Import its answers first, choose another judge, or none."
        )
    return found
