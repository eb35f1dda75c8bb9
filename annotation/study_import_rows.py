"""Imported answers become rows, many at a time and step by step, as their keys demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from annotation.foreign_answers import ForeignAnswer
from annotation.foreign_values import Judgement
from annotation.models import (
    Assignment,
    InstructionConfirmation,
    Item,
    OnsetMark,
    PrefixJudgement,
    Skip,
    SliderRating,
    StepTime,
)

LONGEST = 10**7


@dataclass(frozen=True, slots=True)
class Waiting:
    """An answer that is to be written: its assignment, our words for it, the key of its turn."""

    row: Assignment
    said: Judgement
    turn: int | None
    answer: ForeignAnswer

    @property
    def is_timed(self) -> bool:
        return self.answer.seconds is not None and self.answer.seconds >= 0

    def time(self, start: datetime) -> StepTime:
        """The time of the first step, from `start` on: when it was is not kept."""
        end = start + timedelta(seconds=min(self.answer.seconds or 0, LONGEST))
        return StepTime(assignment=self.row, step="rate", opened_at=start, submitted_at=end)


def write(waiting: Sequence[Waiting], now: datetime) -> None:
    """Store `waiting`: items that are new, assignments, then their answers; eight statements."""
    new = {w.row.item.dialogue_id: w.row.item for w in waiting if w.row.item.pk is None}
    Item.objects.bulk_create(new.values())
    Assignment.objects.bulk_create([w.row for w in waiting])
    StepTime.objects.bulk_create([w.time(now) for w in waiting if w.is_timed])
    Skip.objects.bulk_create(
        [Skip(assignment=w.row, reason=Skip.Reason.OTHER) for w in waiting if w.answer.cancelled]
    )
    rated = [w for w in waiting if w.said.rating is not None]
    sliders = SliderRating.objects.bulk_create(
        [SliderRating(assignment=w.row, value=w.said.rating) for w in rated]
    )
    told = [(w, s) for w, s in zip(rated, sliders, strict=True) if w.said.appears is not None]
    words = InstructionConfirmation.objects.bulk_create(
        [InstructionConfirmation(slider=s, answer=w.said.appears) for w, s in told]
    )
    placed = [
        (w, word)
        for (w, _), word in zip(told, words, strict=True)
        if w.turn is not None or w.said.appears == "no"
    ]
    onsets = OnsetMark.objects.bulk_create(
        [OnsetMark(confirmation=word, turn_id=w.turn) for w, word in placed]
    )
    PrefixJudgement.objects.bulk_create(
        [
            PrefixJudgement(onset=onset, answer=w.said.prefix)
            for (w, _), onset in zip(placed, onsets, strict=True)
            if w.said.prefix is not None
        ]
    )
