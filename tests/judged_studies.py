"""Studies whose answers are written down in a test: everyone judges the same forks."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils import timezone

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
from benchmark.models import Fork, Turn
from tests.small import make_corpus, make_forks

A, B, C = "A-aaaaaaa1", "A-bbbbbbb2", "A-ccccccc3"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answers to one item; `onset` counts assistant turns, None leaves a question open."""

    rating: int
    appears: str | None = None
    onset: int | None = None
    prefix: str | None = None


YES, NO = Answer(20, "yes", 1), Answer(80, "no")


def judged_study(
    answers: Mapping[str, Sequence[Answer]],
    *,
    slug: str = "winter",
    foils: Sequence[int] = (),
    simulated: Sequence[str] = (),
) -> Study:
    """A study in which the seat of each pseudonym has answered the same items in order.

    Items are forks in the order of their keys; those at the places in `foils` show a foil.
    """
    forks = make_forks(make_corpus(f"{slug}-corpus", n=2), f"{slug}-forks")
    study = Study.objects.create(slug=slug, title="Winter round", seed=7, state=Study.State.OPEN)
    dialogues = list(forks.dialogues.order_by("id"))
    longest = max(map(len, answers.values()))
    items = [
        Item.objects.create(
            study=study,
            dialogue=dialogues[place],
            instruction="Do something else.",
            instruction_type="GR",
            instruction_variant="test",
            is_foil=place in foils,
        )
        for place in range(longest)
    ]
    for number, (name, given) in enumerate(answers.items(), start=1):
        seat = Seat.objects.create(
            study=study,
            number=number,
            pseudonym=name,
            simulated=name in simulated,
            state=Seat.State.ACTIVE,
        )
        for rank, (item, answer) in enumerate(zip(items, given, strict=False), start=1):
            store(Assignment.objects.create(seat=seat, item=item, rank=rank), answer)
    return study


def store(assignment: Assignment, answer: Answer) -> None:
    """Write the answers of one assignment as they are given, without asking whether they may be."""
    slider = SliderRating.objects.create(assignment=assignment, value=answer.rating)
    if answer.appears:
        confirmation = InstructionConfirmation.objects.create(slider=slider, answer=answer.appears)
        turn = answer.onset and Turn.objects.get(
            dialogue=assignment.item.dialogue, assistant_number=answer.onset
        )
        onset = OnsetMark.objects.create(confirmation=confirmation, turn=turn or None)
        if answer.prefix:
            PrefixJudgement.objects.create(onset=onset, answer=answer.prefix)
    now = timezone.now()
    Assignment.objects.filter(pk=assignment.pk).update(opened_at=now, finished_at=now)


def fork_turn(study: Study, place: int) -> int:
    """The assistant turn of the fork that item number `place` (from 0) shows."""
    item = study.items.order_by("id")[place]
    return Fork.objects.get(dialogue=item.dialogue).fork_assistant_turn


def address(study: Study, name: str = "report", *args: object) -> str:
    """A page of the report of `study`."""
    return reverse(f"annotation:{name}", args=[study.slug, *args])


def table(client, study: Study, name: str) -> list[dict[str, str]]:
    """The rows of one table of the report, as its file has them."""
    response = client.get(address(study, "report-table", name))
    assert response.status_code == 200
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(response.content.decode())))
