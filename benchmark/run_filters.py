"""Which runs of a corpus are asked for: by what they are, what they hold and what is said of them.

The list of runs and the API narrow by the same words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from benchmark.label_records import COMPONENTS, RATER_KINDS
from benchmark.models import Corpus, LabelPlace, LabelSet, Trajectory, TrajectorySignal
from benchmark.models import TrajectoryStep as Step

SAYS = {"yes": True, "no": False}
VALUES = {"yes": True, "no": False, "undecided": None}
LABELLED = ("yes", "no", *RATER_KINDS)
RUN_TEXTS = ("external_id", "task", "response", "expected")
# Signals of one name by several sources are one filter: any of them that says so.
FILTERS = (
    *("q", "model", "question", "agent", "rater", "says", "type", "component"),
    *("labelled", "signal", "warning"),
)


@dataclass(frozen=True, slots=True)
class Choices:
    """What the filters may be set to in one corpus."""

    model: list[str]
    question: list[str]
    agent: list[str]
    rater: list[str]
    signal: list[str]
    warning: list[str]


def choices_of(corpus: Corpus) -> Choices:
    """What the runs of `corpus` offer to be narrowed by; six statements."""
    runs = corpus.trajectories.order_by()
    signals = TrajectorySignal.objects.filter(trajectory__corpus=corpus).order_by()
    names = sorted(signals.values_list("name", flat=True).distinct())
    return Choices(
        model=_distinct(runs, "model"),
        question=_distinct(runs, "question"),
        agent=_distinct(Step.objects.filter(trajectory__corpus=corpus), "agent"),
        rater=_distinct(LabelSet.objects.filter(trajectory__corpus=corpus), "rater__name"),
        signal=[f"{name}={value}" for name in names for value in VALUES],
        warning=[name for name, _ in warnings_of(corpus)],
    )


def _distinct(rows: QuerySet[Any], name: str) -> list[str]:
    found = rows.order_by().values_list(name, flat=True).distinct()
    return sorted(text for text in found if text)


def warnings_of(corpus: Corpus) -> list[tuple[str, int]]:
    """(warning, number of runs that carry it), the most frequent first; one statement."""
    counts: Counter[str] = Counter()
    rows = corpus.trajectories.order_by().exclude(warnings={}).values_list("warnings", flat=True)
    for warnings in rows.iterator(chunk_size=2000):
        counts.update(warnings.keys())
    return counts.most_common()


def narrow_runs(rows: QuerySet[Trajectory], asked: Mapping[str, str]) -> QuerySet[Trajectory]:
    """`rows` narrowed by every filter of FILTERS that is not empty.

    `rater`, `says`, `type` and `component` speak of one and the same label. No row is doubled.
    """
    for name in ("model", "question"):
        if asked.get(name):
            rows = rows.filter(**{name: asked[name]})
    if asked.get("q"):
        rows = rows.filter(holding(asked["q"]))
    if asked.get("agent"):
        rows = rows.filter(_some(Step.objects.filter(agent=asked["agent"])))
    if asked.get("warning"):
        rows = rows.filter(warnings__has_key=asked["warning"])
    if asked.get("signal"):
        name, _, value = asked["signal"].rpartition("=")
        signals = TrajectorySignal.objects.filter(name=name)
        known = VALUES[value]
        signals = (
            signals.filter(value__isnull=True) if known is None else signals.filter(value=known)
        )
        rows = rows.filter(_some(signals))
    return _by_labels(rows, asked)


def _by_labels(rows: QuerySet[Trajectory], asked: Mapping[str, str]) -> QuerySet[Trajectory]:
    labelled = asked.get("labelled")
    if labelled == "no":
        rows = rows.filter(~_some(LabelSet.objects.all()))
    elif labelled == "yes":
        rows = rows.filter(_some(LabelSet.objects.all()))
    elif labelled:
        rows = rows.filter(_some(LabelSet.objects.filter(rater__kind=labelled)))
    if not any(asked.get(name) for name in ("rater", "says", "type", "component")):
        return rows
    labels = LabelSet.objects.all()
    if asked.get("rater"):
        labels = labels.filter(rater__name=asked["rater"])
    if asked.get("says"):
        labels = labels.filter(present=SAYS[asked["says"]])
    if asked.get("type"):
        labels = labels.filter(**{asked["type"]: True})
    if asked.get("component"):
        places = LabelPlace.objects.filter(labels=OuterRef("pk"), component=asked["component"])
        if asked.get("type"):
            # A place that names no type shows every type of its label.
            places = places.filter(type__in=("", asked["type"]))
        labels = labels.filter(Exists(places))
    return rows.filter(_some(labels))


def _some(rows: QuerySet[Any]) -> Exists:
    return Exists(rows.order_by().filter(trajectory=OuterRef("pk")))


def holding(text: str) -> Q:
    """Runs that hold `text` in their name, task, answers or any step, in whatever case."""
    names = (*COMPONENTS, "agent")
    steps = Step.objects.filter(_any(names, text))
    return _any(RUN_TEXTS, text) | Q(_some(steps))


def _any(names: tuple[str, ...], text: str) -> Q:
    found = Q()
    for form in forms_of(text):
        for name in names:
            found |= Q(**{f"{name}__icontains": form})
    return found


def forms_of(text: str) -> list[str]:
    """`text` in the cases to look for: SQLite, and PostgreSQL in the locale C, fold the case of
    ASCII letters alone."""
    if text.isascii():
        return [text]
    return sorted({text, text.lower(), text.upper(), text.title()})
