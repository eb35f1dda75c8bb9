"""Records become rows, a batch at a time; the digest tells what is new from what has changed.

A batch is stored whole or not at all. Two imports at once meet at the unique key; the one that
comes second finds the rows of the first and calls them unchanged.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from django.db import IntegrityError, connection, models, transaction

from benchmark.models import (
    Corpus,
    Dialogue,
    Trajectory,
    Workflow,
    WorkflowStep,
    WorkflowTransition,
)
from benchmark.records import BadRecord, WorkflowRecord

NEW, UNCHANGED, UPDATED, LINKED = "new", "unchanged", "updated", "linked"
UNKNOWN_WORKFLOW = "unknown workflow"
# More would cost memory and save no time.
MOST_PARAMETERS = 16_000
_ATTEMPTS = 3

Outcome = str | BadRecord


@dataclass
class Target:
    """Where records go: a corpus, the format that is half of their identity, and what may change.

    A corpus without a key (a dry run into a corpus that does not exist yet) has no rows. `sources`
    holds the keys of dialogues by (corpus, external id) and format, of the batch at work only (in a
    dry run of all that would have been stored).
    """

    corpus: Corpus
    format: str
    update: bool = False
    dry_run: bool = False
    workflows: dict[str, int] = field(default_factory=dict)
    sources: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.corpus.pk:
            self.workflows = dict(self.corpus.workflows.order_by().values_list("name", "id"))

    def workflow_id(self, name: str) -> int | None:
        """The key of workflow `name` ("corpus/name" for another corpus's), None when unknown."""
        if name and name not in self.workflows and "/" in name:
            slug, _, inner = name.partition("/")
            found = Workflow.objects.filter(corpus__slug=slug, name=inner).values_list("id")
            for (key,) in found:
                self.workflows[name] = key
        return self.workflows.get(name)


def in_one_piece(store: Callable[[], Any]) -> Any:
    """`store()` in a transaction; again when another import won the race for a key."""
    for _ in range(_ATTEMPTS - 1):
        with suppress(IntegrityError), transaction.atomic():
            return store()
    with transaction.atomic():
        return store()


@contextmanager
def many_parameters() -> Iterator[None]:
    """Let one INSERT on SQLite carry as many values as the library allows, not the old 999."""
    features = connection.features
    if connection.vendor != "sqlite":
        yield
        return
    connection.ensure_connection()
    before = features.max_query_params
    limit = connection.connection.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER)
    features.max_query_params = min(limit, MOST_PARAMETERS)
    try:
        yield
    finally:
        features.max_query_params = before


def insert(model: type[models.Model], rows: Sequence[models.Model]) -> None:
    """Insert `rows` with as few statements as the database takes; keys are filled in."""
    if rows:
        with many_parameters():
            model.objects.bulk_create(rows)


def held_rows(
    model: type[Dialogue] | type[Trajectory], target: Target, ids: Sequence[str]
) -> dict[str, tuple[int, str, int | None]]:
    """external id -> (key, digest, workflow key) of what the corpus holds in this format."""
    if not target.corpus.pk or not ids:
        return {}
    rows = model.objects.filter(
        corpus=target.corpus, format=target.format, external_id__in=list(ids)
    ).order_by()
    if model is Trajectory:
        return {i: (k, d, None) for i, k, d in rows.values_list("external_id", "id", "digest")}
    values = rows.values_list("external_id", "id", "digest", "workflow_id")
    return {ident: (key, digest, workflow) for ident, key, digest, workflow in values}


# Workflows


def store_workflow(target: Target, record: WorkflowRecord) -> Outcome:
    """One workflow with its steps and moves; a changed one needs `update`."""
    return in_one_piece(lambda: _store_workflow(target, record))


def _store_workflow(target: Target, record: WorkflowRecord) -> Outcome:
    held = (
        Workflow.objects.filter(corpus=target.corpus, name=record.name).first()
        if target.corpus.pk
        else None
    )
    if held:
        # Another import may have stored it after this one read the names.
        target.workflows.setdefault(record.name, held.pk)
    if held and held.digest == record.digest:
        return UNCHANGED
    if held and not target.update:
        return changed(record.where, f"workflow {record.name}")
    if target.dry_run:
        target.workflows.setdefault(record.name, held.pk if held else 0)
        return UPDATED if held else NEW
    row = held or Workflow(corpus=target.corpus, name=record.name)
    for name in ("domain", "objective", "system_instruction", "user_instruction", "digest"):
        setattr(row, name, getattr(record, name))
    row.meta = dict(record.meta)
    if record.warnings:
        row.meta["warnings"] = dict(record.warnings)
    row.save()
    if held:
        held.steps.all().delete()
    _insert_steps(row, record)
    target.workflows[record.name] = row.pk
    return UPDATED if held else NEW


def _insert_steps(row: Workflow, record: WorkflowRecord) -> None:
    steps = [
        WorkflowStep(
            workflow=row,
            position=position,
            key=step.key,
            text=step.text,
            kind=step.kind,
            is_start=step.key == record.start,
            is_terminal=step.key in record.terminals,
        )
        for position, step in enumerate(record.steps, start=1)
    ]
    insert(WorkflowStep, steps)
    by_key = {step.key: step for step in steps}
    insert(
        WorkflowTransition,
        [
            WorkflowTransition(
                workflow=row,
                position=position,
                source=by_key[move.source],
                target=by_key[move.target],
                observation=move.observation,
            )
            for position, move in enumerate(record.transitions, start=1)
        ],
    )


def changed(where: str, what: str) -> BadRecord:
    return BadRecord(
        where or what,
        f"{what} is here already with other content; import with --update to replace it",
    )
