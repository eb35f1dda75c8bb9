"""Answers of a judge become rows: what it wrote, word for word, and the labels it was read as.

An answer is known by run, judge and trial. The first stands: the same again changes nothing,
another one is refused. An answer that cannot be read is stored too, with the reason.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

from django.db.models import BooleanField, ExpressionWrapper, Q

from benchmark.formats.building import tidied
from benchmark.judge_answer_files import AnswerRow
from benchmark.judge_answers import REPLACED, Answer, Refused, RunStep, read_answer
from benchmark.judge_locations import BY_POSITION
from benchmark.label_records import COMPONENTS
from benchmark.labelling import store_labels
from benchmark.models import Corpus, JudgeAnswer, LabelSet, Rater, Trajectory, TrajectoryStep
from benchmark.records import BadRecord
from benchmark.storing import in_one_piece, insert

AT_ONCE = 500
READ, REJECTED = JudgeAnswer.Status.READ, JudgeAnswer.Status.REJECTED


@dataclass
class AnswerReport:
    """What became of every answer: `read`, `rejected` (stored with a reason) and `unchanged` are
    counts; the rest could not be stored. `reasons` and `notes` count what was met."""

    read: int = 0
    rejected: int = 0
    unchanged: int = 0
    refused: list[BadRecord] = field(default_factory=list)
    unknown: list[BadRecord] = field(default_factory=list)
    unreadable: list[BadRecord] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)

    @property
    def stored(self) -> int:
        """How many answers are in the database now."""
        return self.read + self.rejected + self.unchanged

    @property
    def left_out(self) -> list[BadRecord]:
        """What could not be stored, with the reasons."""
        return [*self.unreadable, *self.unknown, *self.refused]

    def to_json(self) -> dict[str, Any]:
        """As the command prints it."""
        lists = ("refused", "unknown", "unreadable")
        return {
            **{name: getattr(self, name) for name in ("read", "rejected", "unchanged")},
            **{name: [str(bad) for bad in getattr(self, name)] for name in lists},
            "reasons": dict(self.reasons),
            "notes": dict(self.notes),
        }


@dataclass(frozen=True, slots=True)
class Import:
    """Where answers go and how they are read. A `rater` without a key (a dry run of a judge that is
    not here yet) has no answers."""

    corpus: Corpus
    rater: Rater
    trial: int = 1
    numbering: str = BY_POSITION
    dry_run: bool = False


Key = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Read:
    """An answer that is new, as it was read; `key` is its run and trial."""

    row: AnswerRow
    key: Key
    raw: str
    digest: str
    outcome: Answer | Refused
    notes: dict[str, int]


def import_answers(how: Import, rows: Iterable[AnswerRow | BadRecord]) -> AnswerReport:
    """Store the answers `rows`, in constant queries per 500; returns what became of each."""
    report = AnswerReport()
    seen: dict[Key, str] = {}
    for part in _parts(rows):
        report.unreadable += [row for row in part if isinstance(row, BadRecord)]
        answers = [row for row in part if isinstance(row, AnswerRow)]
        # A part that loses a race is stored again, so it is counted afterwards.
        done, digests = in_one_piece(partial(_store, how, answers, seen))
        seen |= digests
        _add(report, done)
    return report


def _parts(rows: Iterable[AnswerRow | BadRecord]) -> Iterator[list[AnswerRow | BadRecord]]:
    iterator = iter(rows)
    while part := list(islice(iterator, AT_ONCE)):
        yield part


def _add(report: AnswerReport, part: AnswerReport) -> None:
    for name in AnswerReport.__dataclass_fields__:
        setattr(report, name, getattr(report, name) + getattr(part, name))


def _store(
    how: Import, rows: Sequence[AnswerRow], seen: Mapping[Key, str]
) -> tuple[AnswerReport, dict[Key, str]]:
    report = AnswerReport()
    found = _runs(how.corpus, rows, report)
    steps = run_steps({run for _, run in found})
    held = _held(how.rater, {run for _, run in found}) | seen
    new: list[_Read] = []
    for row, run in found:
        read = _read(how, row, run, steps[run])
        if read.key not in held:
            held[read.key] = read.digest
            new.append(read)
        elif held[read.key] == read.digest:
            report.unchanged += 1
        else:
            trial = f", trial {read.key[1]}" if read.key[1] > 1 else ""
            reason = f"another answer of {how.rater.name} on {_name(row)}{trial} is here already"
            report.refused.append(BadRecord(row.where, reason))
    stored = new if how.dry_run else _insert(how.rater, new, report)
    for read in stored:
        _count(report, read)
    return report, {read.key: read.digest for read in stored}


def _count(report: AnswerReport, read: _Read) -> None:
    report.notes.update(read.notes)
    if isinstance(read.outcome, Refused):
        report.rejected += 1
        report.reasons[read.outcome.reason] += 1
    else:
        report.read += 1


# -- finding the run ---------------------------------------------------------------------------


def _runs(
    corpus: Corpus, rows: Sequence[AnswerRow], report: AnswerReport
) -> list[tuple[AnswerRow, int]]:
    """Every row with the key of its run; rows whose run is not to be found are reported."""
    names = {name for row in rows for name in (row.run, row.question) if name}
    runs = Trajectory.objects.filter(corpus=corpus).order_by()
    by_id: dict[str, list[int]] = defaultdict(list)
    for name, pk in runs.filter(external_id__in=names).values_list("external_id", "pk"):
        by_id[name].append(pk)
    by_question: dict[str, list[tuple[str, int]]] = defaultdict(list)
    wanted = {row.question or row.run for row in rows if row.run not in by_id}
    for name, model, pk in runs.filter(question__in=wanted).values_list("question", "model", "pk"):
        by_question[name].append((model, pk))
    found = []
    for row in rows:
        keys = by_id.get(row.run) or [
            pk for model, pk in by_question[row.question or row.run] if row.model in ("", model)
        ]
        if len(keys) == 1:
            found.append((row, keys[0]))
        elif keys:
            reason = f"{len(keys)} runs of {corpus.slug} are {_name(row)}; give the id of one"
            report.unknown.append(BadRecord(row.where, reason))
        else:
            report.unknown.append(BadRecord(row.where, f"{corpus.slug} has no run {_name(row)}"))
    return found


def _name(row: AnswerRow) -> str:
    name = row.run or f"of the question {row.question}"
    return f"{name} by {row.model}" if row.model else name


def run_steps(runs: Iterable[int]) -> dict[int, list[RunStep]]:
    """The steps of runs, by key of the run and in order, as places are found in them: one query."""
    steps = TrajectoryStep.objects.filter(trajectory__in=list(runs))
    holding = {
        f"has_{name}": ExpressionWrapper(~Q(**{name: ""}), output_field=BooleanField())
        for name in COMPONENTS
    }
    found: dict[int, list[RunStep]] = defaultdict(list)
    rows = steps.annotate(**holding).order_by("trajectory_id", "position")
    for run, position, number, task, *held in rows.values_list(
        "trajectory_id", "position", "number", "meta__task_number", *holding
    ):
        parts = frozenset(name for name, holds in zip(COMPONENTS, held, strict=True) if holds)
        in_task = task if isinstance(task, int) and not isinstance(task, bool) else None
        found[run].append(RunStep(position, number, in_task, parts))
    return found


# -- storing -----------------------------------------------------------------------------------


def _held(rater: Rater, runs: set[int]) -> dict[Key, str]:
    if rater.pk is None:
        return {}
    rows = JudgeAnswer.objects.filter(rater=rater, trajectory__in=runs).order_by()
    return {(run, trial): d for run, trial, d in rows.values_list("trajectory", "trial", "digest")}


def _read(how: Import, row: AnswerRow, run: int, steps: Sequence[RunStep]) -> _Read:
    replaced: set[str] = set()
    raw = tidied(row.raw, replaced)
    digest = hashlib.sha256(raw.encode()).hexdigest()
    notes: dict[str, int] = {}
    outcome: Answer | Refused
    try:
        outcome = read_answer(raw, steps, numbering=how.numbering)
        notes |= outcome.meta.get("notes", {})
    except Refused as refused:
        outcome = refused
    if replaced:
        notes[REPLACED] = notes.get(REPLACED, 0) + 1
    return _Read(row, (run, row.trial or how.trial), raw, digest, outcome, notes)


def _insert(rater: Rater, new: Sequence[_Read], report: AnswerReport) -> list[_Read]:
    """Store new answers; those whose label is here otherwise are reported and left out."""
    read = [item for item in new if isinstance(item.outcome, Answer)]
    records = [
        (item.key[0], item.outcome.label(rater.name, model=rater.model, trial=item.key[1]))
        for item in read
        if isinstance(item.outcome, Answer)
    ]
    left_out = set()
    for item, outcome in zip(read, store_labels(records), strict=True):
        if isinstance(outcome, BadRecord):
            report.refused.append(BadRecord(item.row.where, str(outcome)))
            left_out.add(item.key)
    labels = LabelSet.objects.filter(
        rater=rater, stage="", trajectory__in={item.key[0] for item in read}
    )
    keys = {(run, trial): pk for run, trial, pk in labels.values_list("trajectory", "trial", "pk")}
    stored = [item for item in new if item.key not in left_out]
    insert(JudgeAnswer, [_answer(rater, item, keys) for item in stored])
    return stored


def _answer(rater: Rater, item: _Read, labels: Mapping[Key, int]) -> JudgeAnswer:
    refused = isinstance(item.outcome, Refused)
    meta = {"file": item.row.where, "notes": item.notes}
    return JudgeAnswer(
        trajectory_id=item.key[0],
        rater=rater,
        trial=item.key[1],
        raw=item.raw,
        digest=item.digest,
        status=REJECTED if refused else READ,
        reason=item.outcome.reason if isinstance(item.outcome, Refused) else "",
        labels_id=None if refused else labels[item.key],
        meta={name: value for name, value in meta.items() if value},
    )
