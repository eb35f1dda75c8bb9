"""A dry run of a study: its simulated seats are filled, marked as such for ever."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Prefetch

from annotation import judging
from annotation.imagined_judges import Case, Judge, Strength
from annotation.models import Assignment, Seat, Study
from benchmark.models import Fork, Turn


def simulate_study(
    study: Study, *, seed: int | None = None, strength: Strength | None = None
) -> int:
    """Answer every open item of the simulated seats of `study`; returns how many were answered.

    Seats of people, taken or free, are never touched. Finished items stay as they are, so a second
    call does nothing; one that was interrupted goes on. `seed` is the study's unless given.
    """
    answered = 0
    for seat in study.seats.filter(simulated=True).order_by("number"):
        judge = Judge(
            f"{study.seed if seed is None else seed} {seat.number}", strength or Strength()
        )
        answered += _fill(seat, judge)
    return answered


def _fill(seat: Seat, judge: Judge) -> int:
    turns = Turn.objects.filter(role=Turn.Role.ASSISTANT).order_by("number")
    assignments = (
        seat.assignments.select_related("item__dialogue")
        .prefetch_related(
            Prefetch("item__dialogue__turns", queryset=turns, to_attr="said"),
            Prefetch("item__dialogue__forks", queryset=Fork.objects.order_by("ordinal")),
        )
        .order_by("rank")
    )
    answered = 0
    for assignment in assignments:
        # Drawn for finished items too: the later ones then do not depend on where a run stopped.
        answer = judge.judge(_case(assignment))
        if assignment.finished_at:
            continue
        said = assignment.item.dialogue.said
        onset = said[answer.onset - 1].number if answer.onset else None
        with transaction.atomic():
            judging.open_item(assignment)
            judging.record_slider(assignment, answer.rating)
            judging.record_confirmation(assignment, answer.confirmed, onset)
            if answer.prefix:
                judging.record_prefix(assignment, answer.prefix)
        answered += 1
    return answered


def _case(assignment: Assignment) -> Case:
    item = assignment.item
    fork = next(iter(item.dialogue.forks.all()), None)
    return Case(
        type=fork.type if fork else "",
        k=fork.k if fork else 0,
        is_foil=item.is_foil,
        fork=fork.fork_assistant_turn if fork else 0,
        assistant_turns=range(1, len(item.dialogue.said) + 1),
    )
