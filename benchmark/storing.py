"""Records become rows, a batch at a time; the digest tells what is new from what has changed.

A batch is stored whole or not at all. Two imports at once meet at the unique key; the one that
comes second finds the rows of the first and calls them unchanged.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import IntegrityError, connection, models, transaction

from benchmark.models import (
    Corpus,
    Dialogue,
    Fork,
    Trajectory,
    TrajectoryStep,
    Turn,
    Workflow,
    WorkflowStep,
    WorkflowTransition,
)
from benchmark.records import (
    ASSISTANT,
    BadRecord,
    DialogueRecord,
    ForkRecord,
    TrajectoryRecord,
    WorkflowRecord,
)

NEW, UNCHANGED, UPDATED, LINKED = "new", "unchanged", "updated", "linked"
UNKNOWN_WORKFLOW = "unknown workflow"
SOURCES_KEPT = 100_000
# More would cost memory and save no time.
MOST_PARAMETERS = 16_000
_ATTEMPTS = 3

Outcome = str | BadRecord


@dataclass
class Target:
    """Where records go: a corpus, the format that is half of their identity, and what may change.

    A corpus without a key (a dry run into a corpus that does not exist yet) has no rows.
    """

    corpus: Corpus
    format: str
    update: bool = False
    dry_run: bool = False
    workflows: dict[str, int] = field(default_factory=dict)
    sources: dict[tuple[str, str, str], int] = field(default_factory=dict)

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
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with transaction.atomic():
                return store()
        except IntegrityError:
            if attempt == _ATTEMPTS:
                raise
    raise AssertionError("unreachable")


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
    if held and held.digest == record.digest:
        return UNCHANGED
    if held and not target.update:
        return _changed(record.where, f"workflow {record.name}")
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


def _changed(where: str, what: str) -> BadRecord:
    return BadRecord(
        where or what,
        f"{what} is here already with other content; import with --update to replace it",
    )


# Dialogues


def store_dialogues(target: Target, records: Sequence[DialogueRecord]) -> list[Outcome]:
    """One outcome per record, in order; forks need their sources stored before, or here."""
    return in_one_piece(lambda: _store_dialogues(target, records))


def _store_dialogues(target: Target, records: Sequence[DialogueRecord]) -> list[Outcome]:
    held = _held(Dialogue, target, [r.external_id for r in records])
    outcomes: list[Outcome] = [_judged(target, r, held.get(r.external_id)) for r in records]
    _find_sources(target, [f for r in records for f in r.forks])
    inside = {(target.corpus.slug, target.format, r.external_id) for r in records if not r.forks}
    for i, record in enumerate(records):
        if outcomes[i] in (NEW, UPDATED):
            outcomes[i] = _missing_source(target, record, inside) or outcomes[i]
    changed = [
        held[r.external_id][0] for r, o in zip(records, outcomes, strict=True) if o == UPDATED
    ]
    blocked = _blocked(changed)
    for i, record in enumerate(records):
        if outcomes[i] == UPDATED and (why := blocked.get(held[record.external_id][0])):
            outcomes[i] = BadRecord(record.where or record.external_id, why)
    if target.dry_run:
        for record, outcome in zip(records, outcomes, strict=True):
            if outcome == NEW:
                target.sources[target.corpus.slug, target.format, record.external_id] = 0
        return outcomes
    new = [r for r, o in zip(records, outcomes, strict=True) if o == NEW]
    renewed = [r for r, o in zip(records, outcomes, strict=True) if o == UPDATED]
    _insert_dialogues(target, new)
    _replace_dialogues(target, renewed, held)
    return outcomes


def _held(
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


def _judged(
    target: Target, record: DialogueRecord, held: tuple[int, str, int | None] | None
) -> Outcome:
    if held is None:
        return NEW
    if held[1] != record.digest:
        what = f"dialogue {record.external_id}"
        return UPDATED if target.update else _changed(record.where, what)
    # The workflow came after the dialogue: linking it now changes nothing that was read.
    if held[2] is None and (workflow := target.workflow_id(record.workflow)):
        if not target.dry_run:
            warnings = dict(record.warnings)
            Dialogue.objects.filter(pk=held[0]).update(workflow_id=workflow, warnings=warnings)
        return LINKED
    return UNCHANGED


def _find_sources(target: Target, forks: Iterable[ForkRecord]) -> None:
    wanted: dict[str, set[str]] = defaultdict(set)
    known = {(slug, ident) for slug, _, ident in target.sources}
    for fork in forks:
        slug = fork.source_corpus or target.corpus.slug
        if (slug, fork.source) not in known:
            wanted[slug].add(fork.source)
    for slug, ids in wanted.items():
        rows = Dialogue.objects.filter(corpus__slug=slug, external_id__in=ids).order_by()
        for key, fmt, ident in rows.values_list("id", "format", "external_id"):
            target.sources[slug, fmt, ident] = key


def source_key(target: Target, fork: ForkRecord) -> tuple[str, str, str] | str:
    """(corpus, format, external id) of the source, or a sentence saying why there is none."""
    slug = fork.source_corpus or target.corpus.slug
    if fork.source_format:
        found = [(slug, fork.source_format, fork.source)]
        found = [key for key in found if key in target.sources]
    else:
        found = [key for key in target.sources if (key[0], key[2]) == (slug, fork.source)]
    if len(found) == 1:
        return found[0]
    if found:
        formats = ", ".join(sorted(key[1] for key in found))
        return f"its source {fork.source} is in corpus {slug} in several formats ({formats})"
    return f"its source {fork.source} is not in corpus {slug}; import sources before their forks"


def _missing_source(
    target: Target, record: DialogueRecord, inside: set[tuple[str, str, str]]
) -> BadRecord | None:
    for fork in record.forks:
        slug = fork.source_corpus or target.corpus.slug
        own = (slug, fork.source_format or target.format, fork.source)
        key = source_key(target, fork)
        if isinstance(key, str) and own not in inside:
            return BadRecord(record.where or record.external_id, key)
    return None


def _blocked(keys: Sequence[int]) -> dict[int, str]:
    """Why some of the dialogues `keys` cannot be replaced: people or forks rely on their text."""
    if not keys:
        return {}
    rows = Dialogue.objects.filter(pk__in=keys)
    forked = rows.filter(forked_into__isnull=False).values_list("id", flat=True)
    judged = rows.filter(items__isnull=False).values_list("id", flat=True)
    why = dict.fromkeys(forked, "it cannot be replaced: forks in the database start from it")
    return why | dict.fromkeys(judged, "it cannot be replaced: it is an item of a study")


def _insert_dialogues(target: Target, records: Sequence[DialogueRecord]) -> None:
    rows = [_dialogue_row(target, r) for r in records]
    insert(Dialogue, rows)
    if len(target.sources) > SOURCES_KEPT:
        target.sources.clear()
    for row, record in zip(rows, records, strict=True):
        target.sources[target.corpus.slug, target.format, record.external_id] = row.pk
    insert(Turn, [t for row, r in zip(rows, records, strict=True) for t in turn_rows(row, r)])
    _insert_forks(target, zip(rows, records, strict=True))


def _dialogue_row(target: Target, record: DialogueRecord, row: Dialogue | None = None) -> Dialogue:
    row = row or Dialogue(
        corpus=target.corpus, format=target.format, external_id=record.external_id
    )
    row.workflow_id = target.workflow_id(record.workflow)
    row.digest = record.digest
    row.conformant = record.conformant
    row.split = record.split
    row.n_turns = len(record.turns)
    row.n_assistant_turns = sum(t.role == ASSISTANT for t in record.turns)
    row.warnings = dict(record.warnings)
    row.meta = dict(record.meta)
    if record.workflow and row.workflow_id is None:
        row.warnings[UNKNOWN_WORKFLOW] = 1
    return row


def turn_rows(row: Dialogue, record: DialogueRecord) -> Iterator[Turn]:
    """The turns of `record` numbered from 1, the assistant's also among themselves."""
    assistant = 0
    for number, turn in enumerate(record.turns, start=1):
        own = turn.role == ASSISTANT
        assistant += own
        yield Turn(
            dialogue=row,
            number=number,
            assistant_number=assistant if own else None,
            role=turn.role,
            name=turn.name,
            text=turn.text,
            label=turn.label,
            meta=dict(turn.meta),
        )


def _insert_forks(target: Target, pairs: Iterable[tuple[Dialogue, DialogueRecord]]) -> None:
    rows = []
    for row, record in pairs:
        for ordinal, fork in enumerate(record.forks, start=1):
            key = source_key(target, fork)
            if isinstance(key, str):
                raise BadRecord(record.where or record.external_id, key)
            rows.append(_fork_row(row, ordinal, fork, target.sources[key]))
    insert(Fork, rows)


def _fork_row(row: Dialogue, ordinal: int, fork: ForkRecord, source: int) -> Fork:
    names = "type variant k fork_assistant_turn fork_turn rule instruction seed replay generator"
    return Fork(
        dialogue=row,
        ordinal=ordinal,
        source_id=source,
        witness=dict(fork.witness),
        **{name: getattr(fork, name) for name in names.split()},
    )


def _replace_dialogues(
    target: Target,
    records: Sequence[DialogueRecord],
    held: dict[str, tuple[int, str, int | None]],
) -> None:
    """New content for dialogues nobody relies on. Scores of the old text go with it."""
    if not records:
        return
    rows = Dialogue.objects.in_bulk([held[r.external_id][0] for r in records])
    pairs = [(rows[held[r.external_id][0]], r) for r in records]
    for row, record in pairs:
        row.turns.all().delete()
        row.forks.all().delete()
        row.scores.all().delete()
        _dialogue_row(target, record, row).save()
    insert(Turn, [t for row, r in pairs for t in turn_rows(row, r)])
    _insert_forks(target, pairs)


# Trajectories


def store_trajectories(target: Target, records: Sequence[TrajectoryRecord]) -> list[Outcome]:
    """One outcome per record, in order."""
    return in_one_piece(lambda: _store_trajectories(target, records))


def _store_trajectories(target: Target, records: Sequence[TrajectoryRecord]) -> list[Outcome]:
    held = _held(Trajectory, target, [r.external_id for r in records])
    outcomes: list[Outcome] = []
    for record in records:
        known = held.get(record.external_id)
        if known is None:
            outcomes.append(NEW)
        elif known[1] == record.digest:
            outcomes.append(UNCHANGED)
        elif target.update:
            outcomes.append(UPDATED)
        else:
            outcomes.append(_changed(record.where, f"trajectory {record.external_id}"))
    if target.dry_run:
        return outcomes
    chosen = [(r, o) for r, o in zip(records, outcomes, strict=True) if o in (NEW, UPDATED)]
    old = [held[r.external_id][0] for r, o in chosen if o == UPDATED]
    Trajectory.objects.filter(pk__in=old).delete()
    rows = [_trajectory_row(target, r) for r, _ in chosen]
    insert(Trajectory, rows)
    insert(
        TrajectoryStep,
        [s for row, (r, _) in zip(rows, chosen, strict=True) for s in _step_rows(row, r)],
    )
    return outcomes


def _trajectory_row(target: Target, record: TrajectoryRecord) -> Trajectory:
    return Trajectory(
        corpus=target.corpus,
        format=target.format,
        external_id=record.external_id,
        digest=record.digest,
        task=record.task,
        n_steps=len(record.steps),
        warnings=dict(record.warnings),
        meta=dict(record.meta),
    )


def _step_rows(row: Trajectory, record: TrajectoryRecord) -> Iterator[TrajectoryStep]:
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
