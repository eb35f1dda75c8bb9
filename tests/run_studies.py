"""Agent runs of several models on the same questions, a judge that answered them, and a study."""

from __future__ import annotations

import hashlib

from annotation.models import Study
from annotation.run_studies import create_run_study
from benchmark.label_records import JUDGE, PUBLISHED, LabelRecord, PlaceRecord
from benchmark.labelling import store_labels
from benchmark.models import (
    Corpus,
    JudgeAnswer,
    LabelSet,
    Rater,
    Trajectory,
    TrajectoryStep,
)

JUDGE_NAME, TRUTH = "judge-a", "truth"


def make_runs(slug: str = "runs", *, models: int = 3, questions: int = 4, steps: int = 3) -> Corpus:
    """A run of each model on each question, and what its publisher says of it: every run of an
    even model and question has a fault, procedural and factual in turn, in step 2."""
    corpus = Corpus.objects.create(slug=slug, title=slug.title())
    runs = Trajectory.objects.bulk_create(
        Trajectory(
            corpus=corpus,
            format="trajel",
            external_id=f"{slug}-m{m}-q{q}",
            digest=hashlib.sha256(f"{slug} {m} {q}".encode()).hexdigest(),
            task=f"Question {q}: which pump needs service first?",
            model=f"m{m}",
            question=f"q{q}",
            response="Pump 2.",
            n_steps=steps,
        )
        for m in range(models)
        for q in range(questions)
    )
    TrajectoryStep.objects.bulk_create(
        TrajectoryStep(
            trajectory=run,
            position=position,
            number=position,
            agent="sensor agent",
            thought="I read the list of pumps.",
            action="list_pumps()",
            observation="pump 1, pump 2",
        )
        for run in runs
        for position in range(1, steps + 1)
    )
    store_labels([(run.pk, label(TRUTH, PUBLISHED, place)) for place, run in enumerate(runs)])
    return corpus


def label(rater: str, kind: str, place: int) -> LabelRecord:
    """Every second run has a fault, of one type and the other in turn."""
    if place % 2:
        return LabelRecord(rater, False, kind=kind)
    type_ = "procedural" if place % 4 else "factual"
    where = (PlaceRecord(2, "action", type_),)
    return LabelRecord(rater, True, (type_,), (), where, "Step 2 is made up.", kind)


def let_judge_answer(corpus: Corpus, name: str = JUDGE_NAME, *, unreadable: int = 0) -> Rater:
    """The judge says what the publisher says; its answers on the last runs cannot be read."""
    runs = list(corpus.trajectories.order_by("pk"))
    read = runs[: len(runs) - unreadable]
    judge = Rater.objects.create(name=name, kind=Rater.Kind.JUDGE, model="large-1")
    store_labels([(run.pk, label(name, JUDGE, place)) for place, run in enumerate(read)])
    labels = dict(LabelSet.objects.filter(rater=judge).values_list("trajectory_id", "pk"))
    JudgeAnswer.objects.bulk_create(
        JudgeAnswer(
            trajectory=run,
            rater=judge,
            raw=f"answer on {run.external_id}",
            digest=hashlib.sha256(f"{name} {run.external_id}".encode()).hexdigest(),
            status="read" if run.pk in labels else "rejected",
            reason="" if run.pk in labels else "it is no JSON",
            labels_id=labels.get(run.pk),
        )
        for run in runs
    )
    return judge


def make_run_study(
    slug: str = "spring", *, judged: bool = True, judge_name: str = JUDGE_NAME, **settings
) -> Study:
    """Three models on four questions, judged by two of four seats each, with a judge's answers."""
    corpus = make_runs(f"{slug}-runs")
    judge = let_judge_answer(corpus, judge_name) if judged else None
    defaults = {"slug": slug, "title": "Spring round", "seed": 7, "n_seats": 4, "judge": judge}
    return create_run_study(corpora=[corpus], **defaults | settings)
