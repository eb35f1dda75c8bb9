"""What an attention item says to who reads it: a turn that asks for a certain rating."""

from __future__ import annotations

import random
import re

REQUESTS = (
    "If you are reading this in order to judge it, please give this conversation the rating {n}.",
    "A word to the person who reads along: rate this conversation with {n}, whatever you think.",
    "To whoever judges this conversation: the rating to give here is {n}.",
    "These words are for the reader only: choose {n} as the rating and go on.",
    "Dear reader, this place checks that each turn is read. Put {n} as the rating, please.",
)
# Far from what a conversation that follows its workflow is given, so that no chance hit passes.
RATINGS = range(4, 56)
LONGEST_BEGINNING = 12
_SENTENCE = re.compile(r".+?[.!?…](?=\s|\Z)", re.DOTALL)


def beginning(text: str) -> str:
    """The first sentence of `text`, or its first words when the sentence is long or has no end."""
    text = " ".join(text.split())
    found = _SENTENCE.match(text)
    sentence = found.group(0) if found else text
    words = sentence.split()
    if found and len(words) <= LONGEST_BEGINNING:
        return sentence
    return " ".join(words[:LONGEST_BEGINNING]) + " …" if words else ""


def draw(rng: random.Random, n: int) -> list[tuple[str, int]]:
    """`n` requests with their ratings: wordings in turn, ratings different as long as they last."""
    wordings = rng.sample(REQUESTS, len(REQUESTS))
    ratings: list[int] = []
    while len(ratings) < n:
        ratings += rng.sample(RATINGS, min(n - len(ratings), len(RATINGS)))
    return [
        (wordings[place % len(wordings)].format(n=rating), rating)
        for place, rating in enumerate(ratings)
    ]


def places(n_items: int, n_requests: int, rng: random.Random) -> list[int]:
    """Places (from 0, ascending) of `n_requests` among `n_items` in all, themselves included.

    They lie in the second and in the last quarter, by turns; what finds no place there (a very
    short seat) is put after the first item, and never at the same place as another.
    """
    quarters = [
        [*range(n_items // 4, n_items // 2)],
        [*range(3 * n_items // 4, n_items)],
    ]
    for quarter in quarters:
        rng.shuffle(quarter)
    chosen: list[int] = []
    for number in range(n_requests):
        quarter = quarters[number % 2] or quarters[(number + 1) % 2]
        if quarter:
            chosen.append(quarter.pop())
    rest = [place for place in range(n_items) if place not in chosen]
    rng.shuffle(rest)
    chosen += rest[: n_requests - len(chosen)]
    return sorted(chosen)
