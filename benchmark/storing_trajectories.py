"""Agent runs become rows, a batch at a time, with the labels and signals that came with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from benchmark.labelling import (
    UNCHANGED as LABEL_UNCHANGED,
)
from benchmark.labelling import relied_on, store_labels, store_signals
from benchmark.models import Trajectory, TrajectoryStep
from benchmark.records import BadRecord, TrajectoryRecord
from benchmark.storing import (
    NEW,
    UNCHANGED,
    UPDATED,
    Outcome,
    Target,
    changed,
    held_rows,
    in_one_piece,
    insert,
)


@dataclass
class Beside:
    """What became of labels and signals; `counts` by words such as "published: new"."""

    counts: Counter[str] = field(default_factory=Counter)
    rejected: list[BadRecord] = field(default_factory=list)


def store(target: Target, records: Sequence[TrajectoryRecord]) -> tuple[list[Outcome], Beside]:
    """One outcome per record, in order, and what became of their labels and signals.

    A run that a study shows or a person has labelled is not replaced: what they say is about the
    text they saw.
    """
    found: tuple[list[Outcome], Beside] = in_one_piece(lambda: _store(target, records))
    return found


def _store(target: Target, records: Sequence[TrajectoryRecord]) -> tuple[list[Outcome], Beside]:
    held = held_rows(Trajectory, target, [r.external_id for r in records])
    kept = relied_on(key for key, *_ in held.values()) if target.update else set()
    outcomes: list[Outcome] = []
    for record in records:
        known = held.get(record.external_id)
        what = f"trajectory {record.external_id}"
        if known is None:
            outcomes.append(NEW)
        elif known[1] == record.digest:
            outcomes.append(UNCHANGED)
        elif known[0] in kept:
            reason = f"{what} is part of a study or labelled by people, and is not replaced"
            outcomes.append(BadRecord(record.where or what, reason))
        elif target.update:
            outcomes.append(UPDATED)
        else:
            outcomes.append(changed(record.where, what))
    if target.dry_run:
        return outcomes, Beside()
    chosen = [(r, o) for r, o in zip(records, outcomes, strict=True) if o in (NEW, UPDATED)]
    old = [held[r.external_id][0] for r, o in chosen if o == UPDATED]
    Trajectory.objects.filter(pk__in=old).delete()
    rows = [_row(target, r) for r, _ in chosen]
    insert(Trajectory, rows)
    insert(
        TrajectoryStep,
        [s for row, (r, _) in zip(rows, chosen, strict=True) for s in _steps(row, r)],
    )
    keys = {r.external_id: row.pk for row, (r, _) in zip(rows, chosen, strict=True)}
    for record, outcome in zip(records, outcomes, strict=True):
        if outcome == UNCHANGED:
            keys[record.external_id] = held[record.external_id][0]
    return outcomes, _beside(target, records, keys)


def _beside(target: Target, records: Sequence[TrajectoryRecord], keys: dict[str, int]) -> Beside:
    """Store what others say of the runs that are there."""
    found = Beside()
    there = [r for r in records if r.external_id in keys]
    labels = [(r, label) for r in there for label in r.labels]
    outcomes = store_labels([(keys[r.external_id], label) for r, label in labels])
    for (record, label), outcome in zip(labels, outcomes, strict=True):
        if isinstance(outcome, BadRecord):
            found.rejected.append(BadRecord(record.where or record.external_id, outcome.reason))
        else:
            word = "unchanged" if outcome == LABEL_UNCHANGED else "new"
            found.counts[f"{label.rater}: {word}"] += 1
    signals = [(keys[r.external_id], signal) for r in there for signal in r.signals]
    if n := store_signals(signals, update=target.update):
        found.counts["signals: new"] += n
    return found


def _row(target: Target, record: TrajectoryRecord) -> Trajectory:
    return Trajectory(
        corpus=target.corpus,
        format=target.format,
        external_id=record.external_id,
        digest=record.digest,
        task=record.task,
        model=record.model,
        question=record.question,
        expected=record.expected,
        response=record.response,
        n_steps=len(record.steps),
        warnings=dict(record.warnings),
        meta=dict(record.meta),
    )


def _steps(row: Trajectory, record: TrajectoryRecord) -> Iterator[TrajectoryStep]:
    for position, step in enumerate(record.steps, start=1):
        yield TrajectoryStep(
            trajectory=row,
            position=position,
            number=step.number,
            agent=step.agent,
            thought=step.thought,
            action=step.action,
            observation=step.observation,
            response=step.response,
            meta=dict(step.meta),
        )
