"""Dialogues with their turns and forks become rows, a batch at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from benchmark.models import Dialogue, Fork, Turn
from benchmark.records import ASSISTANT, BadRecord, DialogueRecord, ForkRecord
from benchmark.storing import (
    LINKED,
    NEW,
    UNCHANGED,
    UNKNOWN_WORKFLOW,
    UPDATED,
    Outcome,
    Target,
    changed,
    held_rows,
    in_one_piece,
    insert,
)


def store_dialogues(target: Target, records: Sequence[DialogueRecord]) -> list[Outcome]:
    """One outcome per record, in order; forks need their sources stored before, or here."""
    return in_one_piece(lambda: _store_dialogues(target, records))


def _store_dialogues(target: Target, records: Sequence[DialogueRecord]) -> list[Outcome]:
    held = held_rows(Dialogue, target, [r.external_id for r in records])
    outcomes: list[Outcome] = [_judged(target, r, held.get(r.external_id)) for r in records]
    if not target.dry_run:
        target.sources.clear()
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
                _remember(target, record, 0)
        return outcomes
    new = [r for r, o in zip(records, outcomes, strict=True) if o == NEW]
    renewed = [r for r, o in zip(records, outcomes, strict=True) if o == UPDATED]
    _insert_dialogues(target, new)
    _replace_dialogues(target, renewed, held)
    return outcomes


def _judged(
    target: Target, record: DialogueRecord, held: tuple[int, str, int | None] | None
) -> Outcome:
    if held is None:
        return NEW
    if held[1] != record.digest:
        what = f"dialogue {record.external_id}"
        return UPDATED if target.update else changed(record.where, what)
    # The workflow came after the dialogue: linking it now changes nothing that was read.
    if held[2] is None and (workflow := target.workflow_id(record.workflow)):
        if not target.dry_run:
            warnings = dict(record.warnings)
            Dialogue.objects.filter(pk=held[0]).update(workflow_id=workflow, warnings=warnings)
        return LINKED
    return UNCHANGED


def _find_sources(target: Target, forks: Iterable[ForkRecord]) -> None:
    wanted: dict[str, set[str]] = defaultdict(set)
    for fork in forks:
        slug = fork.source_corpus or target.corpus.slug
        if (slug, fork.source) not in target.sources:
            wanted[slug].add(fork.source)
    for slug, ids in wanted.items():
        rows = Dialogue.objects.filter(corpus__slug=slug, external_id__in=ids).order_by()
        for key, fmt, ident in rows.values_list("id", "format", "external_id"):
            target.sources.setdefault((slug, ident), {})[fmt] = key


def _remember(target: Target, record: DialogueRecord, key: int) -> None:
    place = (target.corpus.slug, record.external_id)
    target.sources.setdefault(place, {})[target.format] = key


def source_key(target: Target, fork: ForkRecord) -> int | str:
    """The key of the source, or a sentence saying why there is none."""
    slug = fork.source_corpus or target.corpus.slug
    found = target.sources.get((slug, fork.source), {})
    if fork.source_format:
        found = {f: key for f, key in found.items() if f == fork.source_format}
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        formats = ", ".join(sorted(found))
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
    for row, record in zip(rows, records, strict=True):
        _remember(target, record, row.pk)
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
            rows.append(_fork_row(row, ordinal, fork, key))
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
