"""Studies of agent runs: what there is to draw them from, and drawing one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from annotation import run_drawing
from annotation.launching import FIELDS, begin
from annotation.models import Study
from annotation.refusals import EnrolmentRefused
from annotation.run_shapes import RunShape
from benchmark.models import Corpus, JudgeAnswer, Rater, Trajectory


@transaction.atomic
def create_run_study(
    *,
    slug: str,
    title: str,
    corpora: Sequence[Corpus],
    seed: int,
    n_seats: int = 0,
    per_item: int = 2,
    runs_per_seat: int = 0,
    n_simulated: int = 0,
    judge: Rater | None = None,
    models: Iterable[str] = (),
    questions: Iterable[str] = (),
    limit: int = 0,
    phases: Sequence[str] = (),
    state: str = Study.State.OPEN,
    created_by: Any = None,
    **study_fields: Any,
) -> Study:
    """Draw a study over the agent runs of `corpora`, each judged by `per_item` different seats.

    Give `n_seats`, `runs_per_seat`, or both: then whole runs are left out where there is no room.
    With a `judge`, people see its answer after their own. Runs, seats and what the judge says are
    as they are now; `study_fields` are any of FIELDS. See `create_study` for the rest.

    Raises
    ------
    EnrolmentRefused
        if the slug is taken, a word gives the design away, a value is not allowed, there are no
        runs, or the judge is none or has answered none of them.
    """
    if unknown := set(study_fields) - {*FIELDS, "protocol_version", "version_of"}:
        raise TypeError(f"a study has no field {sorted(unknown)[0]!r} to set")
    shape = RunShape(
        n_seats=n_seats,
        n_simulated=n_simulated,
        per_item=per_item,
        runs_per_seat=runs_per_seat,
        limit=limit,
        models=tuple(sorted(models)),
        questions=tuple(sorted(questions)),
    )
    study = Study(
        slug=slug,
        title=title,
        kind=Study.Kind.RUNS,
        judge=judge,
        seed=seed,
        phases=list(phases),
        created_by=created_by,
        **study_fields,
    )
    return begin(study, corpora, shape, state=state)


def corpora_with_runs() -> QuerySet[Corpus]:
    """The corpora that hold agent runs, by slug."""
    runs = Trajectory.objects.filter(corpus=OuterRef("pk"), n_steps__gte=1).order_by()
    return Corpus.objects.filter(Exists(runs)).order_by("slug")


def judges() -> QuerySet[Rater]:
    """The judges with an answer that could be read, by name."""
    read = JudgeAnswer.objects.filter(rater=OuterRef("pk"), status=JudgeAnswer.Status.READ)
    return Rater.objects.filter(Exists(read.order_by()), kind=Rater.Kind.JUDGE).order_by("name")


def judge_named(name: str) -> Rater:
    """The judge of this name; EnrolmentRefused, with the names there are, where it is none."""
    judge = Rater.objects.filter(name=name, kind=Rater.Kind.JUDGE).first()
    if judge is None:
        names = ", ".join(map(repr, judges().values_list("name", flat=True)[:10]))
        known = f"Judges with answers: {names}." if names else "No judge has answered anything yet."
        raise EnrolmentRefused(f"There is no judge {name!r}. {known}")
    return judge


def models_in(corpora: Iterable[Corpus]) -> list[str]:
    """The models whose runs are in `corpora`, by name; runs without one are not counted."""
    runs = run_drawing.runs_in(list(corpora)).exclude(model="")
    return list(runs.order_by("model").values_list("model", flat=True).distinct())
