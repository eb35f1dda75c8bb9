"""Item by item: what its judges answered, and where they differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from annotation.judgement_rows import JudgementRow

# Judges differ when numbers are further apart than this, and words when they are not the same.
RATING_APART, ONSET_APART = 20, 1


@dataclass(frozen=True, slots=True)
class ItemSpread:
    """One item; answers stand in the order of `judges`, None where there is none.

    `differ` names the questions in which two judges differ: "rating" (more than RATING_APART
    points apart), "confirmation", "onset" (more than ONSET_APART assistant turns), "prefix".
    """

    item: str
    dialogue: int
    external_id: str
    type: str
    k: int
    is_foil: bool
    judges: tuple[str, ...]
    ratings: tuple[int | None, ...]
    confirmed: tuple[str | None, ...]
    onsets: tuple[int | None, ...]
    prefixes: tuple[str | None, ...]
    differ: tuple[str, ...]

    @property
    def rating_range(self) -> int | None:
        """Highest minus lowest rating; None with fewer than two."""
        given = [value for value in self.ratings if value is not None]
        return max(given) - min(given) if len(given) > 1 else None


def items(rows: Iterable[JudgementRow]) -> list[ItemSpread]:
    """The items with a counted judgement: those whose judges differ most come first.

    Order: number of questions that differ, then range of ratings, both falling, then the item.
    """
    by_item: dict[str, list[JudgementRow]] = defaultdict(list)
    for row in rows:
        if row.counted:
            by_item[row.judgement.item].append(row)
    found = [_spread(group) for group in by_item.values()]
    return sorted(found, key=lambda i: (-len(i.differ), -(i.rating_range or 0), int(i.item)))


def _spread(group: Sequence[JudgementRow]) -> ItemSpread:
    group = sorted(group, key=lambda row: row.judgement.person)
    first, judged = group[0], [row.judgement for row in group]
    ratings = tuple(j.rating for j in judged)
    confirmed = tuple(j.confirmed for j in judged)
    onsets = tuple(j.onset for j in judged)
    prefixes = tuple(j.prefix for j in judged)
    tests: dict[str, bool] = {
        "rating": _range(ratings) > RATING_APART,
        "confirmation": _several(confirmed),
        "onset": _range(onsets) > ONSET_APART,
        "prefix": _several(prefixes),
    }
    return ItemSpread(
        item=first.judgement.item,
        dialogue=first.dialogue,
        external_id=first.external_id,
        type=first.judgement.type,
        k=first.judgement.k,
        is_foil=first.judgement.is_foil,
        judges=tuple(j.person for j in judged),
        ratings=ratings,
        confirmed=confirmed,
        onsets=onsets,
        prefixes=prefixes,
        differ=tuple(name for name, differs in tests.items() if differs),
    )


def _range(values: Sequence[int | None]) -> int:
    given = [value for value in values if value is not None]
    return max(given) - min(given) if given else 0


def _several(values: Sequence[str | None]) -> bool:
    return len({value for value in values if value is not None}) > 1


def differing(found: Iterable[ItemSpread]) -> list[ItemSpread]:
    """The items in which two judges differ in some question, in the order given."""
    return [item for item in found if item.differ]
