"""The rows of a release about agent runs: the runs, their signals, and what raters say of them.

The order is decided here, by code points, as in `release_rows`. Labels of people are among the
labels; which study they were given in stands in the reviews.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import Exists, OuterRef

from benchmark.label_records import FLAGS, TYPES, LabelRecord
from benchmark.labelling import records_of
from benchmark.models import (
    JudgeAnswer,
    JudgePrompt,
    LabelPlace,
    LabelSet,
    Rater,
    Trajectory,
    TrajectorySignal,
    TrajectoryStep,
)
from benchmark.release_rows import Row, Scope, grouped, parts

Tables = dict[str, list[Row]]


def run_parts(scope: Scope) -> Iterator[Tables]:
    """Trajectories, signals, labels and judge answers, a part of the runs at a time."""
    rank = scope.rank
    keys = Trajectory.objects.filter(corpus__in=scope.corpora).order_by()
    ordered = sorted(
        (rank[c], fmt, ident, pk)
        for c, fmt, ident, pk in keys.values_list("corpus_id", "format", "external_id", "id")
    )
    for part in parts([pk for *_, pk in ordered]):
        found = Trajectory.objects.in_bulk(part)
        yield _part(scope, [found[pk] for pk in part])


def rater_rows(scope: Scope) -> list[Row]:
    """Everybody who says anything of a run of the release."""
    rows = _raters(scope).select_related("prompt")
    return [
        {
            "name": row.name,
            "kind": row.kind,
            "model": row.model,
            "prompt": row.prompt.name if row.prompt else "",
            "prompt_version": row.prompt.version if row.prompt else None,
            "simulated": row.simulated,
            "meta": row.meta,
        }
        for row in sorted(rows, key=lambda rater: rater.name)
    ]


def prompt_rows(scope: Scope) -> list[Row]:
    """The prompts that the judges of the release were asked with."""
    rows = JudgePrompt.objects.filter(raters__in=_raters(scope)).distinct()
    names = ("name", "version", "digest", "variant_set", "text")
    return [
        {**{name: getattr(row, name) for name in names}, "axes": row.variant}
        for row in sorted(rows, key=lambda prompt: (prompt.name, prompt.version))
    ]


def state(scope: Scope) -> tuple[Any, ...]:
    """What a label, an answer or a signal stored meanwhile would change."""
    within = {"trajectory__corpus__in": scope.corpora}
    return (
        TrajectorySignal.objects.filter(**within).count(),
        LabelSet.objects.filter(**within).count(),
        LabelPlace.objects.filter(labels__trajectory__corpus__in=scope.corpora).count(),
        JudgeAnswer.objects.filter(**within).count(),
    )


def _raters(scope: Scope) -> Any:
    within = {"rater": OuterRef("pk"), "trajectory__corpus__in": scope.corpora}
    labelled = Exists(LabelSet.objects.filter(**within))
    return Rater.objects.filter(labelled | Exists(JudgeAnswer.objects.filter(**within)))


def _part(scope: Scope, runs: Sequence[Trajectory]) -> Tables:
    keys = [run.pk for run in runs]
    steps = grouped(
        TrajectoryStep.objects.filter(trajectory__in=keys).order_by("position"), "trajectory_id"
    )
    within = {"trajectory__in": keys}
    signals = grouped(TrajectorySignal.objects.filter(**within), "trajectory_id")
    sets = list(LabelSet.objects.filter(**within))
    records = records_of(sets)
    labels = grouped(sets, "trajectory_id")
    answers = grouped(JudgeAnswer.objects.filter(**within).select_related("rater"), "trajectory_id")
    found: Tables = {"trajectories": [], "signals": [], "labels": [], "judge_answers": []}
    for run in runs:
        place = {"corpus": scope.name(run.corpus_id), "format": run.format}
        about = {**place, "trajectory": run.external_id}
        found["trajectories"].append(place | _run_row(run, steps[run.pk]))
        found["signals"] += [
            about | {"name": s.name, "source": s.source, "value": s.value}
            for s in sorted(signals[run.pk], key=lambda s: (s.source, s.name))
        ]
        rows = [about | _label_row(row, records[row.pk]) for row in labels[run.pk]]
        found["labels"] += sorted(
            rows, key=lambda row: (row["rater"], row["trial"], row["post_reveal"], row["stage"])
        )
        found["judge_answers"] += [
            about | _answer_row(row)
            for row in sorted(answers[run.pk], key=lambda a: (a.rater.name, a.trial))
        ]
    return found


def _run_row(run: Trajectory, steps: Sequence[TrajectoryStep]) -> Row:
    texts = ("number", "agent", "thought", "action", "observation", "response", "meta")
    return {
        "id": run.external_id,
        **{name: getattr(run, name) for name in ("task", "model", "question", "expected")},
        "response": run.response,
        "steps": [{name: getattr(step, name) for name in texts} for step in steps],
        "meta": run.meta,
        "warnings": run.warnings,
    }


def _label_row(row: Any, record: LabelRecord) -> Row:
    places = [
        {name: getattr(place, name) for name in ("step", "component", "type", "cause", "evidence")}
        for place in record.places
    ]
    places.sort(key=lambda p: (p["step"] or 0, p["component"], p["type"]))
    return {
        "rater": record.rater,
        "trial": record.trial,
        "post_reveal": record.post_reveal,
        "stage": row.stage,
        "present": record.present,
        "types": [name for name in TYPES if name in record.types],
        "flags": [name for name in FLAGS if name in record.flags],
        "places": places,
        "rationale": record.rationale,
        "meta": record.meta,
    }


def _answer_row(row: JudgeAnswer) -> Row:
    names = ("trial", "status", "reason", "raw", "meta")
    return {"rater": row.rater.name, **{name: getattr(row, name) for name in names}}
