"""Reading agent runs for detectors: what they say, the label to predict, the judge beside it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from django.db.models import Count, QuerySet

from benchmark.label_records import (
    COMPONENTS,
    JUDGE,
    PERSON,
    SIGNALS,
    TYPES,
    LabelRecord,
    PlaceRecord,
)
from benchmark.labelling import LabelledRun, counted_labels, labelled_runs
from benchmark.models import Corpus, Trajectory, TrajectorySignal, TrajectoryStep
from scoring.corpora import Scope
from scoring.question_folds import question_groups
from scoring.trajectory_features import SeenRun, SeenStep, joined

# A truth that is no single rater: what most people say of a run, where more than half agree.
PEOPLE = "majority of people"


def runs_of(corpora: Sequence[Corpus]) -> QuerySet[Trajectory]:
    return Trajectory.objects.filter(corpus__in=corpora)


def truths(corpora: Sequence[Corpus]) -> list[tuple[str, int]]:
    """What can be predicted: raters with blind labels of runs in `corpora`, and how many each has.

    The majority of people is first, where two of them have labels; then who has most labels, and
    of equals those who are no judge: what a judge says is the weaker truth.
    """
    sets = counted_labels(runs_of(corpora))
    by_rater = sets.order_by().values_list("rater__name", "rater__kind").annotate(n=Count("pk"))
    rows = list(by_rater)
    counts = {name: n for name, _, n in rows}
    if sum(kind == PERSON for _, kind, _ in rows) > 1:
        judged = sets.filter(rater__kind=PERSON).order_by().values("trajectory").distinct()
        counts[PEOPLE] = judged.count()
    judges = {name for name, kind, _ in rows if kind == JUDGE}
    order = {name: (name != PEOPLE, -n, name in judges, name) for name, n in counts.items()}
    return [(name, counts[name]) for name in sorted(counts, key=order.__getitem__)]


def seen_runs(
    corpora: Sequence[Corpus], *, truth: str, judge: str = "", with_steps: bool = True
) -> list[SeenRun]:
    """Every run of `corpora`, in the order of corpus, format and external id; seven queries.

    `truth` and `judge` are names of raters, `truth` also PEOPLE. Signals by the rater of the truth
    are left out: one answer that speaks of both would predict itself.
    """
    wanted = [] if truth == PEOPLE else [name for name in (truth, judge) if name]
    held = runs_of(corpora)
    labelled = {run.pk: run for run in labelled_runs(held, wanted)}
    fields = ("pk", "corpus__slug", "format", "external_id", "question", "task", "response")
    rows = sorted(held.order_by().values_list(*fields), key=lambda row: row[1:4])
    groups = question_groups([(row[1], f"{row[2]}/{row[3]}", row[4], row[5]) for row in rows])
    steps = _steps(held) if with_steps else {}
    signals = _signals(held, {truth} | _models(labelled.values(), truth))
    return [
        SeenRun(
            key=pk,
            corpus=slug,
            question=group,
            task=task,
            response=response,
            steps=steps.get(pk, ()),
            truth=_truth(labelled[pk], truth),
            judge=labelled[pk].labels.get(judge) if judge else None,
            signals=signals.get(pk),
        )
        for (pk, slug, _, _, _, task, response), group in zip(rows, groups, strict=True)
    ]


def scope_of(corpora: Sequence[Corpus], parameters: Mapping[str, str]) -> Scope:
    """What a detector over `corpora` reads, and the digest of everything that can change a score.

    By outside names: the same runs with the same labels have the same digest elsewhere.
    """
    raters = {"truth": parameters["truth"], "judge": parameters.get("judge", "")}
    # What steps say is in the digest of their run.
    found = seen_runs(corpora, **raters, with_steps=False)
    rows = runs_of(corpora).values_list("pk", "format", "external_id", "digest")
    names = {pk: row for pk, *row in rows}
    digest = hashlib.sha256()
    for run in found:
        labels = [label.to_json() if label else None for label in (run.truth, run.judge)]
        content = [run.corpus, *names[run.key], run.question, labels, run.signals]
        line = json.dumps(content, sort_keys=True, default=str)
        digest.update(line.encode("utf-8", "surrogatepass"))
    return Scope(tuple(sorted(corpus.slug for corpus in corpora)), digest.hexdigest())


def majority(labels: Sequence[LabelRecord]) -> LabelRecord | None:
    """What more than half of `labels` say; None where they are none or tied.

    A type or place counts where at least half of those who say yes name it.
    """
    yes = [label for label in labels if label.present]
    if not labels or 2 * len(yes) == len(labels):
        return None
    if 2 * len(yes) < len(labels):
        return LabelRecord(PEOPLE, False, kind=PERSON)
    types = [name for name in TYPES if 2 * sum(name in each.types for each in yes) >= len(yes)]
    named = Counter(place for each in yes for place in {(p.step, p.component) for p in each.places})
    steps = Counter(step for each in yes for step in {p.step for p in each.places})
    kept = [place for place, n in named.items() if 2 * n >= len(yes)]
    kept += [
        (step, "")
        for step, n in steps.items()
        if 2 * n >= len(yes) and step not in {place[0] for place in kept}
    ]
    order = ("", *COMPONENTS)
    kept.sort(key=lambda place: (place[0] is None, place[0] or 0, order.index(place[1])))
    places = tuple(PlaceRecord(*place) for place in kept)
    return LabelRecord(PEOPLE, True, types=types, places=places, kind=PERSON)


def _truth(run: LabelledRun, truth: str) -> LabelRecord | None:
    if truth != PEOPLE:
        return run.labels.get(truth)
    return majority([each for each in run.labels.values() if each.kind == PERSON])


def _models(runs: object, truth: str) -> set[str]:
    """The models behind the rater of the truth: signals may be stored under their names."""
    return {
        run.labels[truth].model
        for run in runs  # type: ignore[attr-defined]
        if truth in run.labels and run.labels[truth].model
    }


def _steps(runs: QuerySet[Trajectory]) -> dict[int, list[SeenStep]]:
    found: dict[int, list[SeenStep]] = defaultdict(list)
    rows = TrajectoryStep.objects.filter(trajectory__in=runs.order_by().values("pk"))
    fields = ("trajectory_id", "position", "agent", "thought", "action", "observation", "response")
    ordered = rows.order_by("trajectory_id", "position").values_list(*fields)
    for pk, position, agent, *said in ordered.iterator(chunk_size=5000):
        whole, claimed = joined(*said), joined(*said[:2])
        found[pk].append(SeenStep(position, agent, whole, claimed if claimed != whole else ""))
    return found


def _signals(runs: QuerySet[Trajectory], unseen: set[str]) -> dict[int, dict[str, bool | None]]:
    """The five signals of each run; where several sources differ, it is not decided."""
    rows = TrajectorySignal.objects.filter(
        trajectory__in=runs.order_by().values("pk"), name__in=SIGNALS
    ).exclude(source__in=unseen)
    found: dict[int, dict[str, bool | None]] = defaultdict(dict)
    for pk, name, value in rows.order_by("pk").values_list("trajectory_id", "name", "value"):
        known = found[pk].setdefault(name, value)
        if known != value:
            found[pk][name] = None
    return found
