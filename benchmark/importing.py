"""Records become rows, once, by digest; every record of the input is accounted for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.db import DatabaseError

from annotation.restoring import restore_judgements
from benchmark import storing, storing_dialogues, storing_trajectories
from benchmark.formats import release
from benchmark.models import Corpus
from benchmark.records import (
    BadRecord,
    DialogueRecord,
    Record,
    TrajectoryRecord,
    WorkflowRecord,
)
from benchmark.restoring_labels import restore_answers, restore_raters
from benchmark.splitting import store_split

BATCH = 500
PLACES_SHOWN = 20


@dataclass
class ImportReport:
    """What became of an input. Counts are of dialogues and trajectories; `turns` of their turns.

    `warnings` counts, per name, the dialogues that show it; `places` names the first of them.
    Workflows are counted apart, and so are `labels`: those of runs, by rater and outcome, and
    signals.
    """

    format: str
    corpus: str
    new: int = 0
    unchanged: int = 0
    updated: int = 0
    turns: int = 0
    steps: int = 0
    read: int = 0
    rejected: list[BadRecord] = field(default_factory=list)
    warnings: Counter[str] = field(default_factory=Counter)
    places: dict[str, list[str]] = field(default_factory=dict)
    workflows: Counter[str] = field(default_factory=Counter)
    workflow_warnings: Counter[str] = field(default_factory=Counter)
    split: dict[str, int] = field(default_factory=dict)
    annotations: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)

    def add(self, other: ImportReport) -> None:
        """Add up the report of another part of the same input."""
        for name in ("new", "unchanged", "updated", "turns", "steps", "read"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("warnings", "workflows", "workflow_warnings", "labels"):
            getattr(self, name).update(getattr(other, name))
        self.rejected += other.rejected
        for name, places in other.places.items():
            self.places[name] = [*self.places.get(name, []), *places][:PLACES_SHOWN]
        self.split = other.split or self.split

    def to_json(self) -> dict[str, Any]:
        """The report as the last line of `import_corpus --json`."""
        return {
            "format": self.format,
            "corpus": self.corpus,
            "new": self.new,
            "unchanged": self.unchanged,
            "updated": self.updated,
            "rejected": [{"where": b.where, "reason": b.reason} for b in self.rejected],
            "warnings": dict(sorted(self.warnings.items())),
            "turns": self.turns,
            "steps": self.steps,
            "places": self.places,
            "workflows": dict(sorted(self.workflows.items())),
            "workflow_warnings": dict(sorted(self.workflow_warnings.items())),
            "split": self.split,
            "annotations": dict(sorted(self.annotations.items())),
            "labels": dict(sorted(self.labels.items())),
        }


def import_records(
    corpus: Corpus,
    format: str,
    records: Iterable[Record | BadRecord],
    *,
    update: bool = False,
    dry_run: bool = False,
) -> ImportReport:
    """Store `records` in `corpus` and draw its halves; a second time changes nothing.

    Identity is (corpus, format, external id), the digest says whether the content is the same.
    What has changed is rejected, or replaced with `update` (unless a study or a fork relies on
    it). A workflow is known from the moment it was read; a dialogue that names one never read is
    stored without, with a warning, and linked when the workflow comes with a later import. With
    `dry_run` nothing is written. The stream is read once and held a batch at a time.
    """
    target = storing.Target(corpus, format, update=update, dry_run=dry_run)
    return _import(target, records)


def _import(target: storing.Target, records: Iterable[Record | BadRecord]) -> ImportReport:
    corpus = target.corpus
    stream = _Stream(target, ImportReport(format=target.format, corpus=corpus.slug))
    for record in records:
        stream.take(record)
    stream.flush()
    if not target.dry_run:
        stream.remember_given_splits()
        if stream.report.new or stream.report.updated:
            stream.report.split = store_split(corpus)
    return stream.report


def import_release(
    corpus: Corpus, folder: Path, *, update: bool = False, dry_run: bool = False
) -> ImportReport:
    """Store everything a release holds: its corpus as `corpus`, its sources under their own names.

    Halves are drawn again by rule and seed, which gives the same halves. Judgements come back as
    closed studies whose seats are pseudonyms. Publishing `corpus` again gives the same data files.

    Raises
    ------
    BadRecord
        If a file is not the one that was published. Judgements that cannot be stored are left out
        as a whole and reported as rejected.
    """
    manifest = release.manifest_of(folder)
    report = ImportReport(format="dialfork", corpus=corpus.slug)
    corpora = _corpora(corpus, manifest, dry_run=dry_run)
    sources: dict[tuple[str, str], dict[str, int]] = {}
    workflows: dict[tuple[str, str], int] = {}
    if not dry_run:
        restore_raters(release.beside(folder, "prompts"), release.beside(folder, "raters"))
    for groups in (
        release.workflow_groups(folder),
        release.dialogue_groups(folder),
        release.trajectory_groups(folder),
    ):
        for group in groups:
            target = corpora.get(group.corpus)
            if target is None:
                raise BadRecord(release.MANIFEST, f"does not tell of the corpus {group.corpus}")
            part = storing.Target(target, group.format, update=update, dry_run=dry_run)
            if dry_run:
                # What an earlier part would have stored counts as stored.
                part.sources = sources
                part.workflows |= _named_from(target, workflows)
            report.add(_import(part, group.records))
            workflows |= {(target.slug, name): key for name, key in part.workflows.items()}
    if not dry_run:
        try:
            answers = restore_answers(corpora, release.beside(folder, "judge_answers"))
            report.labels.update({f"judge answers: {word}": n for word, n in answers.items()})
            report.annotations = restore_judgements(
                corpora,
                manifest["studies"],
                release.annotation_rows(folder),
                release.beside(folder, "reviews"),
            )
        except BadRecord as bad:
            reason = f"{bad.reason}; no judgement was imported"
            report.rejected.append(BadRecord(bad.where, reason))
        except (DatabaseError, ValueError, TypeError) as error:
            reason = f"a judgement is out of range ({error}); none was imported"
            report.rejected.append(BadRecord("annotations.jsonl", reason))
    return report


def _named_from(corpus: Corpus, workflows: Mapping[tuple[str, str], int]) -> dict[str, int]:
    """Workflow keys by the name that a dialogue of `corpus` uses."""
    return {
        name if slug == corpus.slug else f"{slug}/{name}": key
        for (slug, name), key in workflows.items()
    }


def _corpora(corpus: Corpus, manifest: Mapping[str, Any], *, dry_run: bool) -> dict[str, Corpus]:
    """Corpus by its name in the data; new and empty ones take over what the manifest tells."""
    found = {}
    for entry in manifest["corpora"]:
        own = entry["corpus"] == manifest["corpus"]
        slug = corpus.slug if own else entry["corpus"]
        held = Corpus.objects.filter(slug=slug).first() or Corpus(slug=slug)
        if held.pk is None or not held.dialogues.exists():
            for name in ("title", "description", "licence", "split_seed", "meta"):
                setattr(held, name, entry.get(name, getattr(held, name)))
            _check(held)
            if not dry_run:
                held.save()
        found["" if own else slug] = held
    return found


def _check(corpus: Corpus) -> None:
    """Refuse a slug or a text that no corpus may have."""
    try:
        corpus.clean_fields()
    except ValidationError as error:
        field, (message, *_) = next(iter(error.message_dict.items()))
        raise BadRecord(f"{release.MANIFEST}, corpora.{field}", message) from error


class _Stream:
    """Batches on their way from a reader to the database."""

    def __init__(self, target: storing.Target, report: ImportReport) -> None:
        self.target, self.report = target, report
        self.dialogues: list[DialogueRecord] = []
        self.trajectories: list[TrajectoryRecord] = []
        self.seen: dict[tuple[str, str], str] = {}
        self.given: set[str] = set()

    def take(self, record: Record | BadRecord) -> None:
        """Queue a record, count a bad one; a full batch is stored."""
        if isinstance(record, BadRecord):
            self.report.rejected.append(record)
            return
        self.report.read += 1
        if isinstance(record, WorkflowRecord):
            self._workflow(record)
        elif self._is_first(record):
            queue = self.dialogues if isinstance(record, DialogueRecord) else self.trajectories
            queue.append(record)
            if len(queue) >= BATCH:
                self.flush()

    def flush(self) -> None:
        """Store what is queued: dialogues before their forks, then trajectories."""
        plain = [r for r in self.dialogues if not r.forks]
        forked = [r for r in self.dialogues if r.forks]
        for part in (plain, forked):
            if part:
                self._count(part, storing_dialogues.store_dialogues(self.target, part))
        if self.trajectories:
            outcomes, beside = storing_trajectories.store(self.target, self.trajectories)
            self._count(self.trajectories, outcomes)
            self.report.labels.update(beside.counts)
            self.report.rejected += beside.rejected
        self.dialogues, self.trajectories = [], []

    def remember_given_splits(self) -> None:
        """Workflows whose dialogues came with a split keep it: the rule does not draw again."""
        corpus = self.target.corpus
        given = sorted(self.given | set(corpus.meta.get("given_splits", ())))
        if self.given and given != corpus.meta.get("given_splits"):
            corpus.meta["given_splits"] = given
            corpus.save(update_fields=["meta"])

    def _workflow(self, record: WorkflowRecord) -> None:
        outcome = storing.store_workflow(self.target, record)
        self.report.workflow_warnings.update(dict.fromkeys(record.warnings, 1))
        if isinstance(outcome, BadRecord):
            self.report.rejected.append(outcome)
        else:
            self.report.workflows[outcome] += 1

    def _is_first(self, record: DialogueRecord | TrajectoryRecord) -> bool:
        """Whether the identity is new in this input; a repeat is unchanged or rejected."""
        key = (type(record).__name__, record.external_id)
        if key not in self.seen:
            self.seen[key] = record.digest
            return True
        if self.seen[key] == record.digest:
            self.report.unchanged += 1
        else:
            reason = f"the id {record.external_id} stands twice in the input, with other content"
            self.report.rejected.append(BadRecord(record.where or record.external_id, reason))
        return False

    def _count(
        self,
        records: Sequence[DialogueRecord] | Sequence[TrajectoryRecord],
        outcomes: Sequence[storing.Outcome],
    ) -> None:
        for record, outcome in zip(records, outcomes, strict=True):
            if isinstance(outcome, BadRecord):
                self.report.rejected.append(outcome)
                continue
            name = storing.UPDATED if outcome == storing.LINKED else outcome
            setattr(self.report, name, getattr(self.report, name) + 1)
            self._warn(record)
            if isinstance(record, TrajectoryRecord):
                self.report.steps += len(record.steps)
                continue
            self.report.turns += len(record.turns)
            if record.split and not record.forks and name != storing.UNCHANGED:
                self.given.add(record.workflow)

    def _warn(self, record: DialogueRecord | TrajectoryRecord) -> None:
        names = set(record.warnings)
        named = record.workflow if isinstance(record, DialogueRecord) else ""
        if named and self.target.workflow_id(named) is None:
            names.add(storing.UNKNOWN_WORKFLOW)
        for name in sorted(names):
            self.report.warnings[name] += 1
            places = self.report.places.setdefault(name, [])
            if len(places) < PLACES_SHOWN:
                places.append(place_of(record, name))


def place_of(record: DialogueRecord | TrajectoryRecord, warning: str) -> str:
    """File and line of a record, and the turns that `warning` is about where turns say so."""
    where = record.where or record.external_id
    if isinstance(record, TrajectoryRecord):
        return where
    turns = [
        str(number)
        for number, turn in enumerate(record.turns, start=1)
        if warning in turn.meta.get("warnings", ())
    ]
    return f"{where}, turn {', '.join(turns)}" if turns else where
