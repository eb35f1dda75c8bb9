"""Answers that were given in another tool become a closed study: seats, items, judgements.

Doing it twice changes nothing. What has no place is listed with its line, the rest is stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.crypto import salted_hmac

from annotation.foreign_answers import ForeignAnswer, ForeignItem, Found
from annotation.foreign_values import Judgement, Meaning, dialogue_of, judgement_of
from annotation.models import Assignment, Item, Seat, Study
from annotation.restoring import IMPORTED, JUDGES_KEPT
from annotation.study_import_rows import Waiting, write
from annotation.titles import revealing_word
from benchmark.formats.reading import located
from benchmark.importing import import_records
from benchmark.models import Corpus, Dialogue, Turn
from benchmark.records import BadRecord, DialogueRecord

SALT = "annotation.study_imports"
AT_ONCE = 500


class StudyImportRefused(ValueError):
    """An import that must not be made; the message says why."""


@dataclass
class StudyImport:
    """What became of the files: answers `new`, `unchanged` and `rejected`; items and seats in all.

    `ignored` counts, by name, what was answered and has no place in a study.
    """

    new: int = 0
    unchanged: int = 0
    items: int = 0
    seats: int = 0
    rejected: list[BadRecord] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Any]:
        return {
            "new": self.new,
            "unchanged": self.unchanged,
            "items": self.items,
            "seats": self.seats,
            "rejected": [{"where": bad.where, "reason": bad.reason} for bad in self.rejected],
            "ignored": dict(sorted(self.ignored.items())),
        }


@transaction.atomic
def import_study(
    *, slug: str, title: str, corpus: Corpus, format: str, found: Iterable[Found], meaning: Meaning
) -> StudyImport:
    """Store items as dialogues of `corpus` and answers as the closed study `slug`.

    People get drawn pseudonyms; who they were over there is kept as a keyed digest only, so that
    another import knows their seats again.

    Raises StudyImportRefused if a study `slug` is here that was not made this way over this corpus.
    """
    report = StudyImport()
    items: dict[str, tuple[DialogueRecord, str]] = {}
    answers: list[ForeignAnswer] = []
    for one in found:
        if isinstance(one, BadRecord):
            report.rejected.append(one)
        elif isinstance(one, ForeignAnswer):
            answers.append(one)
        else:
            _take_item(one, meaning, items, report)
    stored = import_records(corpus, format, [record for record, _ in items.values()])
    report.rejected += stored.rejected
    study = _study(slug, title, corpus, format)
    store = _Store(study, corpus, format, items, meaning, report)
    for answer in answers:
        store.take(answer)
    store.flush()
    study.save(update_fields=["design"])
    report.items, report.seats = study.items.count(), study.seats.count()
    return report


def _take_item(
    item: ForeignItem,
    meaning: Meaning,
    items: dict[str, tuple[DialogueRecord, str]],
    report: StudyImport,
) -> None:
    try:
        record = dialogue_of(item, meaning)
    except BadRecord as bad:
        report.rejected.append(located(item.where, bad))
        return
    instruction = item.fields.get(meaning.instruction) if meaning.instruction else ""
    held = items.setdefault(item.id, (record, str(instruction or "")))
    if held[0].digest != record.digest:
        reason = f"the item {item.id} stands twice in the input, with other content"
        report.rejected.append(BadRecord(item.where, reason))


def _study(slug: str, title: str, corpus: Corpus, format: str) -> Study:
    if word := revealing_word(title):
        raise StudyImportRefused(
            f"The title says {word!r}, which tells annotators about a design. Choose another."
        )
    design = {IMPORTED: True, "from": format, "corpus": corpus.slug, JUDGES_KEPT: {}}
    study, new = Study.objects.get_or_create(
        slug=slug,
        defaults={"title": title, "seed": 0, "state": Study.State.CLOSED, "design": design},
    )
    if new:
        study.corpora.add(corpus)
    held = study.design
    if (held.get("from"), held.get("corpus")) != (format, corpus.slug) or not held.get(IMPORTED):
        raise StudyImportRefused(
            f"There is a study {slug!r} already that was not imported from {format} into "
            f"{corpus.slug}. Choose another slug."
        )
    return study


class _Store:
    """Answers on their way into a study."""

    def __init__(
        self,
        study: Study,
        corpus: Corpus,
        format: str,
        items: dict[str, tuple[DialogueRecord, str]],
        meaning: Meaning,
        report: StudyImport,
    ) -> None:
        self.study, self.items, self.meaning, self.report = study, items, meaning, report
        self.now = timezone.now()
        rows = Dialogue.objects.filter(corpus=corpus, format=format)
        self.dialogues = {row.external_id: row for row in rows}
        self.turns = _assistant_turns(corpus, format) if meaning.onset else {}
        self.rows = {row.dialogue_id: row for row in study.items.all()}
        self.seats = {seat.number: seat for seat in study.seats.all()}
        ranks = study.seats.annotate(last=Max("assignments__rank")).values_list("pk", "last")
        self.ranks = {pk: last or 0 for pk, last in ranks}
        self.held = _held(study)
        self.waiting: list[Waiting] = []

    def take(self, answer: ForeignAnswer) -> None:
        """Store an answer, or say why it cannot be."""
        self.report.ignored.update(answer.ignored)
        self.report.ignored.update(set(answer.values) - self.meaning.names)
        try:
            new = self._stored(answer)
        except BadRecord as bad:
            self.report.rejected.append(located(answer.where, bad))
            return
        self.report.new += new
        self.report.unchanged += not new
        if len(self.waiting) >= AT_ONCE:
            self.flush()

    def _stored(self, answer: ForeignAnswer) -> bool:
        dialogue = self._dialogue(answer)
        said = judgement_of(answer, self.meaning)
        turn = self._turn(dialogue, said)
        seat = self._seat(answer.judge)
        held = self.held.setdefault((seat.pk, dialogue.pk), said)
        if held is not said:
            if held != said:
                raise BadRecord("answer", "another answer of this person is here; it stands")
            return False
        self.ranks[seat.pk] += 1
        row = Assignment(
            item=self._item(dialogue, answer.item),
            seat=seat,
            rank=self.ranks[seat.pk],
            opened_at=self.now,
            finished_at=self.now,
        )
        self.waiting.append(Waiting(row, said, turn, answer))
        return True

    def _dialogue(self, answer: ForeignAnswer) -> Dialogue:
        read = self.items.get(answer.item)
        held = self.dialogues.get(answer.item)
        if held is None or read is None:
            raise BadRecord("item", f"the text of item {answer.item} is not there")
        if held.digest != read[0].digest:
            raise BadRecord("item", f"the text of item {answer.item} has changed since")
        return held

    def _turn(self, dialogue: Dialogue, said: Judgement) -> int | None:
        if said.onset is None:
            return None
        turn = self.turns.get((dialogue.pk, said.onset))
        if turn is None:
            raise BadRecord(self.meaning.onset, f"turn {said.onset} is no turn of the assistant")
        return turn

    def _item(self, dialogue: Dialogue, ident: str) -> Item:
        if dialogue.pk not in self.rows:
            self.rows[dialogue.pk] = Item(
                study=self.study,
                dialogue=dialogue,
                instruction=self.items[ident][1],
                instruction_type="",
                instruction_variant="",
                is_foil=False,
            )
        return self.rows[dialogue.pk]

    def _seat(self, judge: str) -> Seat:
        known = self.study.design.setdefault(JUDGES_KEPT, {})
        name = salted_hmac(SALT, f"{self.study.slug}\x1f{judge}").hexdigest()
        if name not in known:
            number = max(self.seats, default=0) + 1
            seat = Seat.objects.create(
                study=self.study,
                number=number,
                state=Seat.State.FINISHED,
                phase=Seat.Phase.DONE,
            )
            known[name], self.seats[number], self.ranks[seat.pk] = number, seat, 0
        return self.seats[known[name]]

    def flush(self) -> None:
        """Write what waits."""
        waiting, self.waiting = self.waiting, []
        write(waiting, self.now)


def _assistant_turns(corpus: Corpus, format: str) -> dict[tuple[int, int], int]:
    """(dialogue, number) -> key of every assistant turn."""
    rows = Turn.objects.filter(
        dialogue__corpus=corpus, dialogue__format=format, role=Turn.Role.ASSISTANT
    ).order_by()
    names = ("dialogue_id", "number", "pk")
    return {(dialogue, number): pk for dialogue, number, pk in rows.values_list(*names)}


def _held(study: Study) -> dict[tuple[int, int], Judgement]:
    """(seat, dialogue) -> the judgement that is here."""
    onset = "slider__confirmation__onset"
    rows = Assignment.objects.filter(seat__study=study).order_by()
    answers = ("slider__value", "slider__confirmation__answer", f"{onset}__turn__number")
    names = ("seat_id", "item__dialogue_id", *answers, f"{onset}__prefix__answer")
    return {(row[0], row[1]): Judgement(*row[2:]) for row in rows.values_list(*names)}
