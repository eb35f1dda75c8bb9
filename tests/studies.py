"""Studies for tests: a corpus large enough for one seat, and an open study over its forks."""

from __future__ import annotations

from annotation import enrolment
from annotation.models import Assignment, Study
from benchmark.models import Dialogue
from tests.small import make_corpus, make_forks


def make_study(slug: str = "winter", **settings) -> Study:
    """Seats of four forks and one conformant dialogue over six sources."""
    corpus = make_corpus(f"{slug}-corpus", n=6)
    return enrolment.create_study(
        slug=slug,
        title="Winter round",
        forks=make_forks(corpus, f"{slug}-forks"),
        **{"seed": 7, "n_seats": 3, "forks_per_seat": 4, "conformant_per_seat": 1} | settings,
    )


def item_at(seat, *, k: int = 0, foil: bool | None = None) -> Assignment:
    """An assignment of `seat` to the fork at position `k`, or the conformant dialogue (k = 0).

    With `foil` given, the item is made to show a foil or the true instruction.
    """
    mine = seat.assignments.select_related("item__dialogue", "seat__study")
    wanted = (
        mine.filter(item__dialogue__forks__k=k) if k else mine.filter(item__dialogue__forks=None)
    )
    assignment = wanted.get()
    if foil is not None and assignment.item.is_foil != foil:
        fork = assignment.item.dialogue.forks.get()
        assignment.item.is_foil = foil
        assignment.item.instruction = "Sell something else." if foil else fork.instruction
        assignment.item.save()
    return assignment


def assistant_turns(dialogue: Dialogue) -> list[int]:
    """Turn numbers of the assistant's turns."""
    return list(
        dialogue.turns.filter(role="assistant").order_by("number").values_list("number", flat=True)
    )
