"""In what the judges of one item differ, and by how much that counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

THRESHOLD = 20
ONSET_TURNS = 1


@dataclass(frozen=True, slots=True)
class Answer:
    """One judgement of an item; None where a question was not reached or does not apply.

    `onset` counts assistant turns from 1; it is None with "no".
    """

    rating: int | None
    appears: str | None = None
    onset: int | None = None
    prefix: str | None = None


def disputed(answers: Sequence[Answer], threshold: int = THRESHOLD) -> list[str]:
    """The questions on which `answers` differ: rating, appears, onset, prefix, in this order.

    Ratings differ when they lie more than `threshold` apart, onsets when they lie more than one
    assistant turn apart, words when they are not the same. An answer that is not there differs
    from nothing.

    >>> disputed([Answer(10, "yes", 3), Answer(31, "yes", 4)])
    ['rating']
    >>> disputed([Answer(10, "yes", 3), Answer(30, "no")])
    ['appears']
    """
    found = []
    if _spread(answer.rating for answer in answers) > threshold:
        found.append("rating")
    if len({answer.appears for answer in answers} - {None}) > 1:
        found.append("appears")
    if _spread(answer.onset for answer in answers) > ONSET_TURNS:
        found.append("onset")
    if len({answer.prefix for answer in answers} - {None}) > 1:
        found.append("prefix")
    return found


def _spread(values: Iterable[int | None]) -> int:
    known = [value for value in values if value is not None]
    return max(known) - min(known) if known else 0
