"""A dry run of a study: its simulated seats are filled, marked as such for ever."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotation.imagined_judges import Answer, Case, Judge, Strength
from annotation.models import (
    Assignment,
    InstructionConfirmation,
    Item,
    OnsetMark,
    PrefixJudgement,
    Seat,
    SliderRating,
    Study,
)
from annotation.run_rehearsal import answer_runs
from benchmark.models import Fork, Turn

BATCH = 500
GIVEN = "slider__confirmation__onset__prefix"
Turns = Mapping[int, Sequence[tuple[int, int]]]


@transaction.atomic
def simulate_study(
    study: Study, *, seed: int | None = None, strength: Strength | None = None
) -> int:
    """Answer every open item of the simulated seats of `study`; returns how many were answered.

    Seats of people, taken or free, are never touched. Finished items stay as they are, so a second
    call does nothing; one that was interrupted goes on. Practice and attention items are answered
    as they ask, and the seats are finished. `seed` is the study's unless given. `strength` is of
    judges of conversations; who reviews agent runs has a skill of their own.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    seats = study.seats.filter(simulated=True)
    if study.kind == Study.Kind.RUNS:
        answered = answer_runs(study, seed=study.seed if seed is None else seed)
        _finish(seats)
        return answered
    assignments = (
        Assignment.objects.filter(seat__in=seats, ended="")
        .select_related("seat", "item__dialogue", GIVEN)
        .order_by("seat__number", "rank")
    )
    turns = _assistant_turns(study)
    forks = _forks(study)
    judges: dict[int, Judge] = {}
    rows = []
    for assignment in assignments:
        number = assignment.seat.number
        name = f"{study.seed if seed is None else seed} {number}"
        judge = judges.setdefault(number, Judge(name, strength or Strength()))
        said = turns.get(assignment.item.dialogue_id, ())
        case = _case(study, assignment.item, forks.get(assignment.item.dialogue_id), len(said))
        # Drawn for finished items too: the later ones then do not depend on where a run stopped.
        answer = _answer(judge, assignment.item, case, said)
        if not assignment.finished_at:
            rows.append(_Given.of(assignment, answer))
    _store(rows, turns)
    _finish(seats)
    return len(rows)


def _assistant_turns(study: Study) -> Turns:
    """dialogue id -> (turn id, turn number) of its assistant turns, for simulated seats."""
    found = defaultdict(list)
    shown = Item.objects.filter(study=study, assignments__seat__simulated=True)
    rows = Turn.objects.filter(
        dialogue__in=shown.values("dialogue"), role=Turn.Role.ASSISTANT
    ).order_by("dialogue_id", "number")
    for dialogue, pk, number in rows.values_list("dialogue_id", "pk", "number"):
        found[dialogue].append((pk, number))
    return found


def _forks(study: Study) -> dict[int, Fork]:
    """The first injection of each dialogue."""
    forks = Fork.objects.filter(dialogue__items__study=study).order_by("-ordinal")
    return {
        fork.dialogue_id: fork
        for fork in forks.only("dialogue_id", "type", "k", "fork_assistant_turn")
    }


def _case(study: Study, item: Item, fork: Fork | None, n_said: int) -> Case:
    return Case(
        type=fork.type if fork else "",
        k=fork.k if fork else 0,
        is_foil=item.is_foil,
        fork=fork.fork_assistant_turn if fork else 0,
        assistant_turns=range(1, n_said + 1),
        name=f"{study.seed} {item.dialogue.external_id} {item.is_foil}",
    )


def _answer(judge: Judge, item: Item, case: Case, said: Sequence[tuple[int, int]]) -> Answer:
    """The judge's answer, or for items with a known one that which is expected."""
    if item.kind == Item.Kind.MAIN:
        return judge.judge(case)
    expected: Mapping[str, Any] = item.expected
    low, high = expected["rating"]
    confirmed = expected.get("appears", ["no"])[0]
    numbers = [number for _, number in said]
    onset = None
    if confirmed != "no":
        onset = 1 + numbers.index(expected["onset"][0]) if "onset" in expected else 1
    prefix = expected.get("prefix", ["yes"])[0] if case.fork > 1 else ""
    return Answer((low + high) // 2, confirmed, onset, prefix)


@dataclass
class _Given:
    """An item with its answer, and the rows of it that are stored, or made here, so far."""

    assignment: Assignment
    answer: Answer
    slider: SliderRating | None = None
    confirmation: InstructionConfirmation | None = None
    onset: OnsetMark | None = None
    prefix: PrefixJudgement | None = None

    @classmethod
    def of(cls, assignment: Assignment, answer: Answer) -> _Given:
        # Asked before any row is made: asking a new row for the next one is a query each.
        slider = getattr(assignment, "slider", None)
        confirmation = getattr(slider, "confirmation", None)
        onset = getattr(confirmation, "onset", None)
        prefix = getattr(onset, "prefix", None)
        return cls(assignment, answer, slider, confirmation, onset, prefix)


def _store(rows: Sequence[_Given], turns: Turns) -> None:
    """Write what is missing of each answer, one kind after the other."""
    for row in rows:
        row.slider = row.slider or SliderRating(assignment=row.assignment, value=row.answer.rating)
    _create(SliderRating, [row.slider for row in rows])
    asked = [row for row in rows if row.assignment.item.kind != Item.Kind.ATTENTION]
    for row in asked:
        row.confirmation = row.confirmation or InstructionConfirmation(
            slider=row.slider, answer=row.answer.confirmed
        )
    _create(InstructionConfirmation, [row.confirmation for row in asked])
    for row in asked:
        said = turns[row.assignment.item.dialogue_id]
        turn = said[row.answer.onset - 1][0] if row.answer.onset else None
        row.onset = row.onset or OnsetMark(confirmation=row.confirmation, turn_id=turn)
    _create(OnsetMark, [row.onset for row in asked])
    judged = [row for row in asked if row.answer.prefix]
    for row in judged:
        row.prefix = row.prefix or PrefixJudgement(onset=row.onset, answer=row.answer.prefix)
    _create(PrefixJudgement, [row.prefix for row in judged])


def _create(model: Any, rows: Sequence[Any]) -> None:
    model.objects.bulk_create([row for row in rows if row.pk is None], batch_size=BATCH)


def _finish(seats: Any) -> None:
    now = timezone.now()
    Assignment.objects.filter(seat__in=seats, ended="", finished_at=None).update(
        opened_at=Coalesce(F("opened_at"), Value(now)), finished_at=now
    )
    seats.exclude(state=Seat.State.FINISHED).update(
        state=Seat.State.FINISHED, phase=Seat.Phase.DONE, finished_at=now
    )
