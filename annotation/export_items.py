"""Exports item by item: the shape of Label Studio, and the history of each item."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from annotation.export_formats import STEPS, Row, stamp, tool_annotation
from annotation.export_rows import Filter, chosen, item_digest, parts, rows_of
from annotation.models import (
    Adjudication,
    InstructionConfirmation,
    Item,
    PrefixJudgement,
    ProblemReport,
    Skip,
    SliderRating,
    Study,
)
from benchmark.models import Turn

ITEMS_AT_ONCE = 50
# What tells one database from another; a second export elsewhere may differ in these.
LOCAL_IDS = ("id", "annotations.id", "annotations.created_at", "annotations.updated_at")
Event = tuple[datetime, int, Row]


def label_studio_tasks(study: Study, only: Filter, keys: Sequence[int]) -> Iterator[list[Row]]:
    """Items with their annotations, a batch at a time.

    An assignment without any answer is left out; one in progress is a draft; one that was skipped,
    expired or withdrawn is an annotation with `was_cancelled`.
    """
    for part in parts(keys, ITEMS_AT_ONCE):
        rows: dict[int, list[Row]] = defaultdict(list)
        assignments = chosen(study, only).filter(item__in=part)
        for row in sorted(rows_of(study, assignments), key=lambda r: (r["seat"], r["attempt"])):
            rows[row["item_id"]].append(row)
        items = Item.objects.in_bulk(part)
        turns = _turns({item.dialogue_id for item in items.values()})
        yield [
            _task(items[key], rows[key], turns[items[key].dialogue_id]) for key in part if rows[key]
        ]


def _task(item: Item, rows: Sequence[Row], turns: Sequence[tuple[int, str, str]]) -> Row:
    first = rows[0]
    names = ("item", "kind", "corpus", "format", "dialogue", "workflow", "fork_type", "k")
    names += ("fork_assistant_turn", "is_foil", "shown_type", "shown_variant")
    messages = [
        {"role": role, "content": item.altered.get(str(number), text)}
        for number, role, text in turns
    ]
    data = {name: first[name] for name in names}
    data |= {"instruction": first["shown_instruction"], "messages": messages}
    given = [row for row in rows if row["status"] != "pending"]
    return {
        "id": item.pk,
        "data": data,
        "annotations": [_annotation(r) for r in given if r["status"] != "in_progress"],
        "drafts": [_annotation(r) for r in given if r["status"] == "in_progress"],
        "predictions": [],
    }


def _annotation(row: Row) -> Row:
    times = ("rated_at", "confirmed_at", "prefix_at", "skipped_at")
    return tool_annotation(row, steps=STEPS, times=times, result=list(_results(row)))


def _results(row: Row) -> Iterator[Row]:
    place = {"to_name": "conversation", "origin": "manual"}
    for name in ("rating", "onset"):
        value = row["rating"] if name == "rating" else row["onset_turn"]
        if value is not None:
            yield {"from_name": name, "type": "number", "value": {"number": value}} | place
    for name in ("appears", "prefix"):
        if row[name] is not None:
            yield {"from_name": name, "type": "choices", "value": {"choices": [row[name]]}} | place


def _turns(dialogues: set[int]) -> dict[int, list[tuple[int, str, str]]]:
    found: dict[int, list[tuple[int, str, str]]] = defaultdict(list)
    rows = Turn.objects.filter(dialogue__in=dialogues).order_by("dialogue_id", "number")
    for dialogue, number, role, text in rows.values_list("dialogue_id", "number", "role", "text"):
        found[dialogue].append((number, role, text))
    return found


def history(study: Study, only: Filter, keys: Sequence[int]) -> Iterator[list[Row]]:
    """What happened to each item, in time order: all attempts, and all that was said about it."""
    every = Filter(judges=only.judges, attempts="all", items=only.items)
    for part in parts(keys, ITEMS_AT_ONCE):
        events: dict[int, list[Event]] = defaultdict(list)
        assignments = chosen(study, every).filter(item__in=part)
        names = _names(study, part)
        for key, event in (*_of_assignments(assignments), *_adjudications(part)):
            events[key].append(event)
        yield [
            {"item": names[key], "at": stamp(at), **row}
            for key in part
            for at, _, row in sorted(events[key], key=lambda event: event[:2])
        ]


def _names(study: Study, part: Sequence[int]) -> dict[int, str]:
    rows = Item.objects.filter(pk__in=part).select_related("dialogue__corpus")
    return {
        item.pk: item_digest(
            study,
            {
                "kind": item.kind,
                "corpus": item.dialogue.corpus.slug,
                "format": item.dialogue.format,
                "dialogue": item.dialogue.external_id,
                "is_foil": item.is_foil,
            },
        )
        for item in rows
    }


def _of_assignments(assignments: Any) -> Iterator[tuple[int, Event]]:
    """(item, event) of everything that hangs on an assignment."""
    known = {a.pk: a for a in assignments.select_related("seat")}

    def event(key: int, at: datetime, order: int, name: str, **more: Any) -> tuple[int, Event]:
        a = known[key]
        who = {"pseudonym": a.seat.pseudonym, "attempt": a.attempt, "event": name}
        return a.item_id, (at, order, who | more)

    for key, a in known.items():
        if a.opened_at:
            yield event(key, a.opened_at, 0, "reopened" if a.post_reveal else "opened")
        if a.ended and a.ended_at:
            yield event(key, a.ended_at, 6, a.ended)
    for s in SliderRating.objects.filter(assignment__in=known):
        yield event(s.assignment_id, s.recorded_at, 1, "rated", rating=s.value)
    for c in InstructionConfirmation.objects.filter(slider__assignment__in=known).select_related(
        "slider", "onset__turn"
    ):
        turn = getattr(getattr(c, "onset", None), "turn", None)
        said = {"appears": c.answer, "onset_turn": turn.number if turn else None}
        yield event(c.slider.assignment_id, c.recorded_at, 2, "confirmed", **said)
    for p in PrefixJudgement.objects.filter(
        onset__confirmation__slider__assignment__in=known
    ).select_related("onset__confirmation__slider"):
        key = p.onset.confirmation.slider.assignment_id
        yield event(key, p.recorded_at, 3, "judged the prefix", prefix=p.answer)
    for k in Skip.objects.filter(assignment__in=known):
        yield event(k.assignment_id, k.recorded_at, 4, "skipped", reason=k.reason, note=k.note)
    for r in ProblemReport.objects.filter(assignment__in=known).select_related("turn"):
        turn = r.turn.number if r.turn else None
        yield event(r.assignment_id, r.recorded_at, 5, "problem reported", turn=turn, text=r.text)
        if r.resolved_at:
            yield event(r.assignment_id, r.resolved_at, 5, "problem resolved")


def _adjudications(part: Sequence[int]) -> Iterator[tuple[int, Event]]:
    for a in Adjudication.objects.filter(item__in=part).select_related("onset").order_by("pk"):
        said: Mapping[str, Any] = {
            "rating": a.rating,
            "appears": a.appears or None,
            "onset_turn": a.onset.number if a.onset else None,
            "prefix": a.prefix or None,
            "note": a.note,
        }
        row = {"pseudonym": None, "attempt": None, "event": "adjudicated", **said}
        yield a.item_id, (a.recorded_at, 7, row)
