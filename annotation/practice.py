"""Practice items, whose answers are known, and attention items, which ask for a rating.

Neither is a judgement: no statistic, no export and no release counts them. Their dialogues come
from sources that no main item uses, so that what is told about them tells of nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from annotation.models import (
    Assignment,
    InstructionConfirmation,
    Item,
    PrefixJudgement,
    Seat,
    Study,
)
from annotation.practice_items import add_items

__all__ = [
    "Feedback",
    "Line",
    "Result",
    "add_items",
    "attention",
    "attention_by_seat",
    "judged",
    "result",
    "result_of",
    "results",
]

GIVEN = ("item", "skip", "slider__confirmation__onset__turn", "slider__confirmation__onset__prefix")


@dataclass(frozen=True, slots=True)
class Line:
    """One answer of a practice item: the question's name, what was given, what fits, in words."""

    question: str
    given: str
    fitting: str
    right: bool


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a person is told about a practice item they finished.

    `right` is true when every answer fits; a skipped item has no `lines` and is not right.
    """

    token: str
    right: bool
    skipped: bool
    text: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """How the practice of a seat went: `n_right` of `n_items`, of which `needed` must be right."""

    n_right: int
    n_items: int
    needed: int

    @property
    def passed(self) -> bool:
        return self.n_right >= self.needed


def judged(assignment: Assignment) -> Feedback:
    """Compare the answers of a finished practice item with what was expected; one query.

    Raises ValueError when the item is no practice item, or is not finished: nothing is told
    before.
    """
    stored = Assignment.objects.select_related(*GIVEN).get(pk=assignment.pk)
    if stored.item.kind != Item.Kind.PRACTICE:
        raise ValueError("Only practice items have feedback.")
    if stored.finished_at is None:
        raise ValueError("A practice item has feedback once it is finished.")
    return _feedback(stored)


def results(seat: Seat) -> list[Feedback | None]:
    """The feedback of each practice item of `seat`, in order; None where one is open. One query."""
    items = seat.assignments.filter(item__kind=Item.Kind.PRACTICE)
    return [
        _feedback(stored) if stored.finished_at else None
        for stored in items.select_related(*GIVEN).order_by("rank")
    ]


def result(seat: Seat) -> Result:
    """How many practice items of `seat` are right; one query."""
    return result_of(seat.study, results(seat))


def result_of(study: Study, feedback: Sequence[Feedback | None]) -> Result:
    """`result` from what `results` gave. A pass mark above their number asks for all of them."""
    n_right = sum(each.right for each in feedback if each)
    return Result(n_right, len(feedback), min(study.pass_mark, len(feedback)))


def attention(seat: Seat) -> tuple[int, int]:
    """(passed, of): how many attention items of `seat` were rated as they asked, of those rated.

    Skipped and open items are in neither number.
    """
    return attention_by_seat(seat.study).get(seat.pk, (0, 0))


def attention_by_seat(study: Study) -> dict[int, tuple[int, int]]:
    """(passed, of) of every seat of `study` that rated an attention item, in one query."""
    rated = Assignment.objects.filter(
        seat__study=study, item__kind=Item.Kind.ATTENTION, slider__isnull=False
    )
    counts: dict[int, tuple[int, int]] = {}
    for seat, expected, value in rated.values_list("seat", "item__expected", "slider__value"):
        low, high = expected["rating"]
        passed, of = counts.get(seat, (0, 0))
        counts[seat] = (passed + (low <= value <= high), of + 1)
    return counts


def _feedback(stored: Assignment) -> Feedback:
    slider = getattr(stored, "slider", None)
    skipped = getattr(stored, "skip", None) is not None
    lines = () if skipped or slider is None else tuple(_lines(slider, stored.item.expected))
    right = bool(lines) and all(line.right for line in lines)
    return Feedback(stored.token, right, skipped, stored.item.feedback, lines)


def _lines(slider: Any, expected: Mapping[str, list[Any]]) -> list[Line]:
    low, high = expected["rating"]
    fitting = _("%(low)d to %(high)d") % {"low": low, "high": high}
    lines = [Line("rating", str(slider.value), fitting, low <= slider.value <= high)]
    confirmation = getattr(slider, "confirmation", None)
    if confirmation is None:
        return lines
    appears = InstructionConfirmation.Answer
    lines.append(_choice("appears", appears, confirmation.answer, expected["appears"]))
    onset = getattr(confirmation, "onset", None)
    if onset is None:
        return lines
    if onset.turn and "onset" in expected:
        lines.append(_onset(onset.turn.number, *expected["onset"]))
    prefix = getattr(onset, "prefix", None)
    if prefix and "prefix" in expected:
        lines.append(_choice("prefix", PrefixJudgement.Answer, prefix.answer, expected["prefix"]))
    return lines


def _choice(question: str, answers: Any, given: str, fitting: list[str]) -> Line:
    words = [answers(answer).label.lower() for answer in fitting]
    return Line(question, answers(given).label.lower(), _(" or ").join(words), given in fitting)


def _onset(given: int, low: int, high: int) -> Line:
    turn = _("turn %(number)d")
    fitting = turn % {"number": low}
    if high > low:
        fitting = _("turn %(low)d to %(high)d") % {"low": low, "high": high}
    return Line("onset", turn % {"number": given}, fitting, low <= given <= high)
