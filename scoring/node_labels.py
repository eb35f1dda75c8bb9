"""Names for clusters of utterances without a language model: a central member and telling words."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from scoring.turn_vectors import Floats, cosines, snapped

WORD = re.compile(r"[^\W\d_]{3,}")


def central_member(vectors: Floats, mean: Floats) -> int:
    """Place of the first row nearest to `mean` by cosine; `vectors` has shape (n, d)."""
    return int(snapped(cosines(vectors, mean[None, :]))[:, 0].argmax())


def keywords_of(said: Mapping[str, Sequence[str]], *, most: int = 4) -> dict[str, tuple[str, ...]]:
    """Up to `most` words per cluster by tf-idf, clusters being the documents.

    A word of every cluster weighs nothing and is left out; ties go by the alphabet.
    """
    words = {name: Counter(_words(texts)) for name, texts in said.items()}
    spread = Counter(word for counts in words.values() for word in counts)
    return {
        name: tuple(
            word
            for word, weight in sorted(
                ((w, c * math.log(len(said) / spread[w])) for w, c in counts.items()),
                key=lambda item: (-item[1], item[0]),
            )[:most]
            if weight > 0 or len(said) == 1
        )
        for name, counts in words.items()
    }


def _words(texts: Sequence[str]) -> list[str]:
    return [word for text in texts for word in WORD.findall(text.lower())]
