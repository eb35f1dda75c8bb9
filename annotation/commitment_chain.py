"""A chain of digests over what one person answered: later changes show, contents stay hidden.

Texts are hashed as UTF-8, digests are written in small hexadecimal, and parts are joined without
anything between them:

    leaf_n = sha256(salt_n payload_n)
    head_n = sha256(head_(n-1) leaf_n),   head_0 = sha256("DialFork chain 1 " pseudonym)

so that anyone can redo them with any tool. A payload is JSON in its canonical form (`canonical`).
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

RATED, REVEALED, CONFIRMED, PREFIX, SKIPPED = "rated", "revealed", "confirmed", "prefix", "skipped"
REVIEWED, COMPARED, REVISED = "reviewed", "compared", "revised"
KINDS = (RATED, REVEALED, CONFIRMED, PREFIX, SKIPPED, REVIEWED, COMPARED, REVISED)
# What must stand before what, within one item: a conversation, or an agent run.
ORDER = (RATED, REVEALED, CONFIRMED, PREFIX)
RUN_ORDER = (REVIEWED, REVEALED, COMPARED, REVISED)


@dataclass(frozen=True, slots=True)
class Link:
    """A link as stored; salt and payload are both "" once they were erased."""

    ordinal: int
    salt: str
    payload: str
    leaf: str
    head: str

    @property
    def erased(self) -> bool:
        return not self.salt and not self.payload


def digest(text: str) -> str:
    """SHA-256 of a text, 64 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def canonical(payload: Mapping[str, Any]) -> str:
    """JSON with sorted keys, no spaces, and no NaN (ValueError): equal values, equal text.

    >>> canonical({"b": 1, "a": "é"})
    '{"a":"é","b":1}'
    """
    return json.dumps(
        payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def first_head(pseudonym: str) -> str:
    """The head of a chain without links; it ties the chain to its seat."""
    return digest(f"DialFork chain 1 {pseudonym}")


def leaf_of(salt: str, payload: str) -> str:
    """The salt keeps an answer out of 101 possible ones from being guessed from its digest."""
    return digest(salt + payload)


def next_head(head: str, leaf: str) -> str:
    return digest(head + leaf)


def first_break(pseudonym: str, links: Iterable[Link]) -> tuple[int, str] | None:
    """The place of the first link that does not hold, and why; None when the chain holds.

    `links` are in order. Links that were erased hold by their leaf alone.
    """
    head = first_head(pseudonym)
    for place, link in enumerate(links, start=1):
        if link.ordinal != place:
            return place, f"link {place} is missing"
        if not link.erased and leaf_of(link.salt, link.payload) != link.leaf:
            return place, f"what link {place} says was changed after it was written"
        head = next_head(head, link.leaf)
        if link.head != head:
            return place, f"link {place} does not follow from the one before it"
    return None


def out_of_order(kinds: Iterable[str], order: Sequence[str] = ORDER) -> str | None:
    """What is wrong with the order of one item's links, in words; None when nothing is.

    >>> out_of_order(["rated", "revealed", "confirmed"])
    >>> out_of_order(["revealed", "rated"])
    'revealed comes before rated'
    >>> out_of_order(["reviewed", "compared"], RUN_ORDER)
    'compared is there without revealed'
    >>> out_of_order(["rated"], RUN_ORDER)
    'rated has no place in this item'
    """
    seen: list[str] = []
    for kind in kinds:
        if kind in seen:
            return f"{kind} is there twice"
        if kind in KINDS and kind not in (*order, SKIPPED):
            return f"{kind} has no place in this item"
        seen.append(kind)
    places = [order.index(kind) for kind in seen if kind in order]
    for before, after in itertools.pairwise(places):
        if after < before:
            return f"{order[before]} comes before {order[after]}"
    missing = [order[place] for place in range(max(places, default=0)) if place not in places]
    return f"{order[max(places)]} is there without {missing[0]}" if missing else None
