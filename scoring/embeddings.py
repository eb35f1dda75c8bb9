"""Stored vectors: each distinct text is encoded once per encoder revision, and kept.

The precision of the rows is part of the revision they are stored under: "+f16" marks half
precision. Which one is written is the setting VECTOR_PRECISION.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from benchmark.storing import many_parameters
from scoring import encoding_claims
from scoring.encoder_batches import unit_rows
from scoring.encoders import Encoder
from scoring.models import Embedding
from scoring.stored_encoders import HALF, StoredOnly, encoder_for, stored_revisions

__all__ = ["CutShare", "cut_share", "encoder_for", "lacking", "stored_revisions", "vectors_for"]

Item = TypeVar("Item")
# A wave is claimed, encoded and stored at once: a worker that is killed loses at most one. Waves
# grow while they are quick and shrink when they take long, well below the life of a claim.
FIRST_WAVE, SMALLEST_WAVE, WAVE = 256, 32, 4096
QUICK_SECONDS, LONG_SECONDS = 3.0, 20.0
WAIT_SECONDS = 0.1
LOOKUP = 5000


class CutShare(NamedTuple):
    """How many of `n` texts an encoder cuts; `limit` says at what. `share` is None for n = 0, and
    with a `reason` where it cannot be counted on this machine."""

    share: float | None
    cut: int
    n: int
    limit: str
    reason: str = ""


def vectors_for(encoder: Encoder, texts: Sequence[str]) -> NDArray[np.float32]:
    """The unit rows of `texts`, shape (len(texts), dim); a blank text gives a zero row.

    Distinct texts that are not stored yet are encoded in waves and stored. A text that another
    worker is encoding is waited for, not encoded again. Surrounding blanks do not count. Raises
    EncoderUnavailable when vectors are missing and the encoder cannot encode here.
    """
    stripped = [text.strip() for text in texts]
    digests = {text: text_digest(text) for text in dict.fromkeys(stripped) if text}
    found = stored_rows(encoder.revision, list(digests.values()))
    missing = {digest: text for text, digest in digests.items() if digest not in found}
    if missing:
        if isinstance(encoder, StoredOnly):
            encoder.refuse(len(missing))
        found |= _encoded(encoder, missing)
    table = np.zeros((len(digests) + 1, encoder.dim), dtype=np.float32)
    row_of = {"": 0}
    for row, (text, digest) in enumerate(digests.items(), start=1):
        row_of[text] = row
        table[row] = found[digest]
    if encoder.revision.endswith(HALF):
        # Half precision leaves lengths off by up to 0.0005.
        table = unit_rows(table)
    return table[[row_of[text] for text in stripped]].reshape(len(texts), encoder.dim)


def lacking(revision: str, texts: Sequence[str]) -> list[str]:
    """The distinct texts, without surrounding blanks, that have no vector under `revision`.

    Blank texts need none. In the order of their first appearance.
    """
    digests = {text_digest(t): t for t in dict.fromkeys(text.strip() for text in texts) if t}
    held = stored_digests(revision, list(digests))
    return [text for digest, text in digests.items() if digest not in held]


def cut_share(encoder: Encoder, texts: Sequence[str]) -> CutShare:
    """How many of the non-blank `texts` are longer than the encoder reads.

    Counted in tokens where the encoder has such a limit, else in characters. Where the weights are
    not here, tokens cannot be counted: the share is None with the reason.
    """
    said = [stripped for text in texts if (stripped := text.strip())]
    long = np.array([len(text) > encoder.max_characters for text in said], dtype=bool)
    limit = f"{encoder.max_characters} characters"
    if encoder.max_tokens:
        counted = getattr(encoder, "token_counts", None)
        if counted is None:
            reason = f"the weights of {encoder.name} are not here to count tokens"
            return CutShare(None, 0, len(said), f"{encoder.max_tokens} tokens", reason)
        tokens = counted(said)
        # Loading the weights may have corrected the published limit.
        limit = f"{encoder.max_tokens} tokens"
        long |= tokens > encoder.max_tokens
    cut = int(long.sum())
    return CutShare(cut / len(said) if said else None, cut, len(said), limit)


def text_digest(text: str) -> bytes:
    """sha256 of the UTF-8 text, 32 bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def store(revision: str, vectors: Mapping[bytes, NDArray[Any]]) -> None:
    """Keep one row per digest in the precision of `revision`; rows that are there stay."""
    kind = _row_type(revision)
    with many_parameters():
        Embedding.objects.bulk_create(
            [
                Embedding(
                    encoder=revision,
                    text_digest=digest,
                    vector=np.asarray(row).astype(kind, copy=False).tobytes(),
                )
                for digest, row in sorted(vectors.items())
            ],
            ignore_conflicts=True,
            batch_size=2000,
        )


def stored_rows(revision: str, digests: Sequence[bytes]) -> dict[bytes, NDArray[Any]]:
    """The rows kept for `digests` under `revision`, in its precision."""
    found: dict[bytes, NDArray[Any]] = {}
    kind = _row_type(revision)
    for part in parts(digests, _lookup_size()):
        rows = Embedding.objects.filter(encoder=revision, text_digest__in=part)
        for digest, vector in rows.values_list("text_digest", "vector"):
            found[bytes(digest)] = np.frombuffer(vector, dtype=kind)
    return found


def stored_digests(revision: str, digests: Sequence[bytes]) -> set[bytes]:
    """Those of `digests` that have a vector under `revision`."""
    found: set[bytes] = set()
    for part in parts(digests, _lookup_size()):
        rows = Embedding.objects.filter(encoder=revision, text_digest__in=part)
        found |= {bytes(digest) for digest in rows.values_list("text_digest", flat=True)}
    return found


def parts(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _encoded(encoder: Encoder, missing: Mapping[bytes, str]) -> dict[bytes, NDArray[Any]]:
    """The vectors of texts that were not stored: encoded here, or by who claimed them first."""
    found: dict[bytes, NDArray[Any]] = {}
    queue = _turned(sorted(missing, key=lambda digest: len(missing[digest])))
    size = min(FIRST_WAVE, WAVE)
    while queue:
        before, left = len(found), []
        while queue:
            wave, queue = queue[:size], queue[size:]
            began = time.monotonic()
            found |= _wave(encoder, wave, missing)
            left += [digest for digest in wave if digest not in found]
            took = time.monotonic() - began
            if took < QUICK_SECONDS:
                size = min(2 * size, WAVE)
            elif took > LONG_SECONDS:
                size = max(size // 2, SMALLEST_WAVE)
        if left and len(found) == before and not encoding_claims.free_abandoned():
            time.sleep(WAIT_SECONDS)
        queue = left
    return found


def _turned(digests: list[bytes]) -> list[bytes]:
    """In the order of length, from a place of this call's own: workers that lack the same texts
    begin at different ones."""
    start = random.randrange(len(digests))
    return digests[start:] + digests[:start]


def _wave(
    encoder: Encoder, digests: Sequence[bytes], texts: Mapping[bytes, str]
) -> dict[bytes, NDArray[Any]]:
    revision = encoder.revision
    with encoding_claims.held(revision, digests) as own:
        # Between the first look and the claim another worker may have finished some.
        found = stored_rows(revision, digests)
        todo = [digest for digest in digests if digest in own and digest not in found]
        if todo:
            rows = encoder.encode([texts[digest] for digest in todo])
            fresh = dict(zip(todo, rows.astype(_row_type(revision)), strict=True))
            store(revision, fresh)
            found |= fresh
    return found


def _row_type(revision: str) -> str:
    return "<f2" if revision.endswith(HALF) else "<f4"


def _lookup_size() -> int:
    return min(LOOKUP, (connection.features.max_query_params or LOOKUP + 1) - 1)
