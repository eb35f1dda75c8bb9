"""Batches of texts of like length, so that padding costs little and memory is bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

BATCH_CHARACTERS = 64_000
BATCH_TEXTS = 256


def encode_distinct(
    texts: Sequence[str],
    *,
    dim: int,
    embed: Callable[[list[str]], ArrayLike],
    max_characters: int,
    batch_texts: int = BATCH_TEXTS,
) -> NDArray[np.float32]:
    """Encode each distinct non-blank text once and hand every text its unit row.

    `embed` maps a list of texts to (n, dim) rows of any length. Surrounding blanks do not count
    and texts are cut at `max_characters`. Returns float32 (len(texts), dim); blank texts, and
    texts `embed` knows nothing of, give zero rows.
    """
    prepared = [prepare(text, max_characters) for text in texts]
    distinct = sorted({text for text in prepared if text}, key=lambda text: (len(text), text))
    row_of = {text: row for row, text in enumerate(distinct, start=1)}
    rows = np.zeros((len(distinct) + 1, dim), dtype=np.float32)
    start = 1
    for batch in batches(distinct, batch_texts):
        rows[start : start + len(batch)] = unit_rows(embed(batch))
        start += len(batch)
    return rows[[row_of.get(text, 0) for text in prepared]].reshape(len(texts), dim)


def prepare(text: str, max_characters: int) -> str:
    """The text without surrounding blanks, cut, with unpaired surrogates replaced."""
    return text.strip()[:max_characters].rstrip().encode("utf-8", "replace").decode("utf-8")


def batches(by_length: Sequence[str], largest: int = BATCH_TEXTS) -> Iterator[list[str]]:
    """Runs of texts sorted by length whose padded size stays below BATCH_CHARACTERS.

    A text longer than that makes a batch of its own.
    """
    batch: list[str] = []
    for text in by_length:
        padded = (len(batch) + 1) * len(text)
        if batch and (padded > BATCH_CHARACTERS or len(batch) == largest):
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch


def unit_rows(vectors: ArrayLike) -> NDArray[np.float32]:
    """Rows scaled to length one; a zero row stays zero."""
    rows = np.asarray(vectors, dtype=np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0).astype(np.float32)
