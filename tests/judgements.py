"""Answers for tests, written row by row so that no test depends on the pages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

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
from benchmark.models import Corpus, Fork

DAY = datetime(2026, 3, 1, 8, tzinfo=UTC)


def make_seats(forked: Corpus, *, slug: str = "s1", n_items: int = 10, n_seats: int = 2) -> Study:
    """A study in which every seat has the same `n_items` forks, opened and not answered."""
    study = Study.objects.create(slug=slug, title="Tables", seed=3)
    seats = [Seat.objects.create(study=study, number=n + 1, state="active") for n in range(n_seats)]
    forks = Fork.objects.filter(dialogue__corpus=forked).order_by("dialogue__external_id")
    for rank, fork in enumerate(forks.select_related("dialogue")[:n_items], start=1):
        item = Item.objects.create(
            study=study,
            dialogue=fork.dialogue,
            instruction=fork.instruction,
            instruction_type=fork.type,
            instruction_variant=fork.variant,
            is_foil=rank % 2 == 0,
        )
        for seat in seats:
            Assignment.objects.create(item=item, seat=seat, rank=rank, opened_at=DAY)
    return study


def judge(
    assignment: Assignment,
    rating: int,
    appears: str = "yes",
    prefix: str = "mostly",
    *,
    late: int = 0,
) -> None:
    """All steps of an item; the onset lies `late` assistant turns behind the fork."""
    dialogue = assignment.item.dialogue
    turns = dialogue.turns.filter(role="assistant").order_by("number")
    at = dialogue.forks.get().fork_assistant_turn
    turn = turns[at - 1 + late] if appears != "no" else None
    slider = SliderRating.objects.create(assignment=assignment, value=rating)
    confirmation = InstructionConfirmation.objects.create(slider=slider, answer=appears)
    onset = OnsetMark.objects.create(confirmation=confirmation, turn=turn)
    if at > 1:
        PrefixJudgement.objects.create(onset=onset, answer=prefix)
    finish(assignment)


def finish(assignment: Assignment) -> None:
    Assignment.objects.filter(pk=assignment.pk).update(finished_at=DAY + timedelta(minutes=1))
