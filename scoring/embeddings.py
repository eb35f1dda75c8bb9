"""Stored vectors: each distinct text is encoded once per encoder revision, and kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from scoring.encoders import Encoder
from scoring.models import Embedding

Item = TypeVar("Item")
# A worker that is killed loses at most one wave.
WAVE = 4096
LOOKUP = 5000


def vectors_for(encoder: Encoder, texts: Sequence[str]) -> NDArray[np.float32]:
    """The unit rows of `texts`, shape (len(texts), dim); a blank text gives a zero row.

    Distinct texts that are not stored yet are encoded in one call per wave of 4,096 and stored;
    two workers doing so at once store the same rows once. Surrounding blanks do not count.
    """
    stripped = [text.strip() for text in texts]
    digests = {text: text_digest(text) for text in stripped if text}
    revision = encoder.revision
    found = _stored(revision, list(digests.values()))
    missing = sorted((t for t, digest in digests.items() if digest not in found), key=len)
    for wave in _parts(missing, WAVE):
        rows = encoder.encode(wave)
        fresh = {digests[text]: row for text, row in zip(wave, rows, strict=True)}
        _store(revision, fresh)
        found |= fresh
    out = np.zeros((len(texts), encoder.dim), dtype=np.float32)
    for place, text in enumerate(stripped):
        if text:
            out[place] = found[digests[text]]
    return out


def text_digest(text: str) -> bytes:
    """sha256 of the UTF-8 text, 32 bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _stored(revision: str, digests: list[bytes]) -> dict[bytes, NDArray[np.float32]]:
    found: dict[bytes, NDArray[np.float32]] = {}
    step = min(LOOKUP, (connection.features.max_query_params or LOOKUP + 1) - 1)
    for part in _parts(digests, step):
        rows = Embedding.objects.filter(encoder=revision, text_digest__in=part)
        for digest, vector in rows.values_list("text_digest", "vector"):
            found[bytes(digest)] = np.frombuffer(vector, dtype="<f4")
    return found


def _store(revision: str, vectors: dict[bytes, NDArray[np.float32]]) -> None:
    Embedding.objects.bulk_create(
        [
            Embedding(
                encoder=revision, text_digest=digest, vector=row.astype("<f4", copy=False).tobytes()
            )
            for digest, row in sorted(vectors.items())
        ],
        ignore_conflicts=True,
        batch_size=2000,
    )


def _parts(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
