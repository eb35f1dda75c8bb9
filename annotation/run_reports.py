"""Labels and reviews of agent runs, loaded for their reports in constant queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, QuerySet

from annotation.judgement_rows import PEOPLE, SIMULATED
from annotation.models import Assignment, Item, ProblemReport, StepTime, Study
from annotation.review_rows import PARTS, ReviewRow
from benchmark.label_records import PERSON, LabelRecord
from benchmark.labelling import LabelledRun, labelled_runs, records_of
from benchmark.models import Corpus, JudgeAnswer, LabelSet, Trajectory, TrajectoryStep

GROUPS = (PEOPLE, SIMULATED)
_COMPARISON = "review__comparison"
PATHS = {
    "person": "seat__pseudonym",
    "simulated": "seat__simulated",
    "run": "item__trajectory_id",
    "external_id": "item__trajectory__external_id",
    "corpus": "item__trajectory__corpus__slug",
    "model": "item__trajectory__model",
    "question": "item__trajectory__question",
    "n_steps": "item__trajectory__n_steps",
    "judge": "item__judge_answer__labels",
    "label": "review__labels",
    "revised": f"{_COMPARISON}__revision__labels",
    "agreement": f"{_COMPARISON}__agreement",
    "changed": f"{_COMPARISON}__changed",
    "skipped": "skip__reason",
    **{f"on_{part}": f"{_COMPARISON}__on_{part}" for part in PARTS},
}
OWN = ("pk", "rank", "item_id", "attempt", "post_reveal", "ended", "opened_at", "finished_at")
LABELS = ("label", "judge", "revised")
TASK = "meta__task_number"


# -- a corpus ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CorpusLabels:
    """The runs of a corpus with all blind labels, and how many answers of each judge could not be
    read."""

    runs: Sequence[LabelledRun]
    unread: Mapping[str, int]


def corpus_labels(corpus: Corpus, *, model: str = "", question: str = "") -> CorpusLabels:
    """Runs with labels; six queries. `model` and `question` keep the runs with exactly these.

    Of people the first, blind answers to main items are kept: no practice, nothing that expired or
    was withdrawn, nothing that was opened again.
    """
    runs = Trajectory.objects.filter(corpus=corpus)
    if model:
        runs = runs.filter(model=model)
    if question:
        runs = runs.filter(question=question)
    unread = JudgeAnswer.objects.filter(
        trajectory__in=runs.values("pk"), status=JudgeAnswer.Status.REJECTED
    )
    counted = unread.order_by().values_list("rater__name").annotate(n=Count("pk"))
    return CorpusLabels(labelled_runs(runs), dict(counted))


def filters_of(corpus: Corpus) -> dict[str, list[str]]:
    """The models and the questions of the runs of a corpus, by name; two queries."""
    runs = Trajectory.objects.filter(corpus=corpus)
    return {
        name: list(
            runs.exclude(**{name: ""}).order_by(name).values_list(name, flat=True).distinct()
        )
        for name in ("model", "question")
    }


def people_of(runs: Sequence[Any]) -> list[str]:
    """The names of the people who labelled any of the runs, in order."""
    found = {name for run in runs for name, label in run.labels.items() if label.kind == PERSON}
    return sorted(found)


# -- a study -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StudyReviews:
    """Every main assignment of a study of runs; agents and task numbers of the steps by key of the
    run. Runs whose steps have no task number are not in `tasks`."""

    rows: Sequence[ReviewRow]
    agents: Mapping[int, tuple[str, ...]]
    tasks: Mapping[int, tuple[int | None, ...]]

    def of(self, group: str) -> list[ReviewRow]:
        """The rows of people, or of simulated seats."""
        return [row for row in self.rows if row.group == group]


def study_reviews(study: Study) -> StudyReviews:
    """Assignments with their answers, by seat and rank; seven queries, no text of a step read."""
    assignments = Assignment.objects.main().filter(seat__study=study)
    runs = Item.objects.filter(study=study, kind=Item.Kind.MAIN).values("trajectory")
    agents: dict[int, list[str]] = defaultdict(list)
    numbers: dict[int, list[Any]] = defaultdict(list)
    steps = TrajectoryStep.objects.filter(trajectory__in=runs).order_by("trajectory", "position")
    for run, agent, task in steps.values_list("trajectory_id", "agent", TASK):
        agents[run].append(agent)
        numbers[run].append(task)
    ordered = assignments.order_by("seat__number", "rank", "attempt")
    names = {run: tuple(held) for run, held in agents.items()}
    return StudyReviews(read(ordered), names, _known_tasks(numbers))


def task_numbers(corpus: Corpus) -> dict[int, tuple[int | None, ...]]:
    """The task number of every step, by key of the run; runs without one are left out. One query.

    Only whole numbers from 1 are numbers of tasks; anything else in the data is none.
    """
    steps = TrajectoryStep.objects.filter(trajectory__corpus=corpus)
    numbers: dict[int, list[Any]] = defaultdict(list)
    ordered = steps.order_by("trajectory", "position")
    for run, task in ordered.values_list("trajectory_id", TASK):
        numbers[run].append(task)
    return _known_tasks(numbers)


def _known_tasks(numbers: Mapping[int, Sequence[Any]]) -> dict[int, tuple[int | None, ...]]:
    found = {
        run: tuple(n if type(n) is int and n > 0 else None for n in held)
        for run, held in numbers.items()
    }
    return {run: held for run, held in found.items() if any(held)}


def read(assignments: QuerySet[Assignment]) -> list[ReviewRow]:
    """The assignments as rows, in the order of the queryset; six queries."""
    found = list(assignments.values(*OWN, **{name: F(path) for name, path in PATHS.items()}))
    keys = {row[name] for row in found for name in LABELS} - {None}
    labels = records_of(LabelSet.objects.filter(pk__in=keys))
    mine = {"assignment__in": [row["pk"] for row in found]}
    times: dict[int, dict[str, float]] = defaultdict(dict)
    measured = StepTime.objects.filter(**mine).order_by()
    for key, step, active in measured.values_list("assignment_id", "step", "active_ms"):
        times[key][step] = active / 1000
    reported = ProblemReport.objects.filter(**mine).order_by().values_list("assignment_id")
    problems = dict(reported.annotate(n=Count("pk")))
    return [_row(row, labels, times[row["pk"]], problems.get(row["pk"], 0)) for row in found]


def _row(
    values: Mapping[str, Any],
    labels: Mapping[int, LabelRecord],
    seconds: Mapping[str, float],
    problems: int,
) -> ReviewRow:
    same = ("person", "run", "external_id", "corpus", "model", "question", "n_steps")
    own = ("rank", "attempt", "post_reveal", "opened_at", "finished_at", "agreement", "changed")
    differs = [part for part in PARTS if values[f"on_{part}"]]
    return ReviewRow(
        key=values["pk"],
        group=SIMULATED if values["simulated"] else PEOPLE,
        item=values["item_id"],
        status=_status(values),
        differs_on=differs if values["agreement"] is not None else None,
        skip=values["skipped"] or "",
        problems=problems,
        seconds=seconds,
        **{name: labels.get(values[name]) for name in LABELS},
        **{name: values[name] for name in (*same, *own)},
    )


def _status(values: Mapping[str, Any]) -> str:
    if values["ended"]:
        return str(values["ended"])
    if values["skipped"]:
        return "skipped"
    if values["finished_at"]:
        return "finished"
    return "in progress" if values["opened_at"] or values["label"] else "waiting"
