"""How unusual the new words of a turn are, beside the dialogues known to conform.

A word weighs 1 where no training dialogue holds it and 0 where all do. Its ceiling is 1 whatever
their number: without that the thresholds would not fit the dialogue watched, which one more
dialogue stands behind.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Letters of any script; the apostrophe belongs to its word.
_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|')*")
# Words of any talk: they say nothing about what a turn is about.
_TALK = (
    "a an the this that these those and or but so if as than then just of in on at to for with "
    "from by about up out i you he she it we they me my your our their is are was were be been am "
    "do does did has have had can could will would shall may not no yes what which who when where "
    "how there here please re ll ve"
)
FUNCTION_WORDS = frozenset(_TALK.split())


@lru_cache(maxsize=200_000)
def content_words(text: str) -> tuple[str, ...]:
    """The distinct words of two letters or more that are no function words, in order."""
    plain = text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    found = (word for word in _WORD.findall(plain) if len(word.replace("'", "")) > 1)
    return tuple(dict.fromkeys(word for word in found if word not in FUNCTION_WORDS))


def word_weights(dialogues: int) -> Floats:
    """1 - log(1 + df) / log(1 + n) at df = 0..n, shape (n + 1,); all 1 for n = 0."""
    counts = np.arange(dialogues + 1, dtype=np.float64)
    return 1.0 - np.log1p(counts) / max(np.log1p(dialogues), np.log(2.0))


class NewWords:
    """The words of one dialogue as it goes on: each counts where it is first said, by anyone."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def add(self, text: str) -> tuple[list[str], int]:
        """The content words first said in this turn, and how many distinct ones it has."""
        words = content_words(text)
        fresh = [word for word in words if word not in self._said]
        self._said.update(fresh)
        return fresh, len(words)


def document_counts(dialogues: Iterable[Iterable[str]]) -> Counter[str]:
    """In how many dialogues (each the texts of its turns) each content word is said."""
    counts: Counter[str] = Counter()
    for texts in dialogues:
        counts.update({word for text in texts for word in content_words(text)})
    return counts


def rarity(
    fresh: Collection[str], words: int, counts: Mapping[str, int], weights: Floats, own: int = 0
) -> float:
    """The weights of the fresh words over the number of words of the turn; 0 without a word.

    `own` is subtracted from the counts: 1 for a turn of a dialogue that is counted itself.
    """
    if not words:
        return 0.0
    return float(sum(weights[counts.get(word, own) - own] for word in fresh) / words)


class Postings:
    """Which turns say a word first: what one more dialogue with the word takes off their rarity.

    `fresh` and `sizes` belong to the turns, as `NewWords.add` gives them; `counts` are over their
    own dialogues, and `weights` over one dialogue more than stands behind a turn.
    """

    def __init__(
        self,
        fresh: Sequence[Collection[str]],
        sizes: Sequence[int],
        counts: Mapping[str, int],
        weights: Floats,
    ) -> None:
        turns: dict[str, list[int]] = {}
        for place, words in enumerate(fresh):
            for word in words:
                turns.setdefault(word, []).append(place)
        lengths = np.asarray(sizes, dtype=np.float64)
        self._falls = {
            word: (
                np.array(places),
                (weights[counts[word]] - weights[counts[word] - 1]) / lengths[places],
            )
            for word, places in turns.items()
        }

    def lower(self, rarities: Floats, words: Iterable[str]) -> None:
        """Take off `rarities`, in place, what `words` being said in one more dialogue takes off."""
        for word in words:
            fall = self._falls.get(word)
            if fall is not None:
                rarities[fall[0]] += fall[1]
