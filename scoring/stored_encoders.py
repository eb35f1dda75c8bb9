"""The encoder of a name as runs use it: at this site's precision, or from stored vectors alone.

`scoring.encoders` knows the weights on this machine. What was computed elsewhere and imported is
known by the revisions in the table of vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from django.conf import settings
from django.db.models import Max
from numpy.typing import NDArray

from scoring import encoders, sentence_encoders
from scoring.encoders import Encoder, EncoderUnavailable
from scoring.models import Embedding

HALF = "+f16"
PRECISIONS = ("float32", "float16")


class HalfPrecision:
    """An encoder whose vectors are stored as float16: its revision says so."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.name = encoder.name
        self.dim = encoder.dim
        self.max_characters = encoder.max_characters
        if counted := getattr(encoder, "token_counts", None):
            self.token_counts = counted

    @property
    def revision(self) -> str:
        return self._encoder.revision + HALF

    @property
    def max_tokens(self) -> int | None:
        return self._encoder.max_tokens

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The rows of the encoder itself, in full precision."""
        return self._encoder.encode(texts)


class StoredOnly:
    """An encoder whose weights are not here: vectors that were imported are all it has."""

    def __init__(self, name: str, revision: str) -> None:
        known = encoders.registered(name)
        self.name = name
        self.revision = revision
        self.dim = known.dim
        self.max_characters = known.max_characters
        self.max_tokens = known.max_tokens

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Raises EncoderUnavailable for any text that says something."""
        if said := sum(bool(text.strip()) for text in texts):
            self.refuse(said)
        return np.zeros((len(texts), self.dim), dtype=np.float32)

    def refuse(self, n: int) -> NoReturn:
        """Raise EncoderUnavailable for `n` texts without a vector."""
        are = "1 text has" if n == 1 else f"{n} texts have"
        raise EncoderUnavailable(
            f"{are} no stored vector of {self.revision}, and its weights are not on this machine. "
            "Compute them elsewhere (manage.py export_texts, then import_vectors), or fetch the "
            f"weights with: manage.py pull_encoder {self.name}."
        )


def encoder_for(name: str, revision: str = "") -> Encoder:
    """The encoder of `name` for reading and storing vectors.

    Without `revision`: the weights on this machine at the precision of the setting
    VECTOR_PRECISION; without weights, the newest revision that has stored vectors. With
    `revision` (a run goes on): exactly that one. Raises UnknownEncoder, and EncoderUnavailable
    when there is neither.
    """
    encoder = encoders.get(name)
    try:
        own = encoder.revision
    except EncoderUnavailable:
        if found := revision or _newest(name):
            if found == revision and found not in _revisions_of(name):
                raise
            return StoredOnly(name, found)
        raise
    if revision in ("", own, own + HALF):
        half = revision.endswith(HALF) if revision else settings.VECTOR_PRECISION == "float16"
        return HalfPrecision(encoder) if half else encoder
    if revision in _revisions_of(name):
        return StoredOnly(name, revision)
    raise EncoderUnavailable(
        f"The run was started with encoder {revision}, but this worker has {own}. "
        "Install the same version on all machines, or start a new run."
    )


def at_precision(revision: str) -> str:
    """`revision` as this site stores it: marked where the setting is float16."""
    half = settings.VECTOR_PRECISION == "float16" and not revision.endswith(HALF)
    return revision + HALF if half else revision


def stored_revisions() -> list[str]:
    """Every encoder revision that has a stored vector, sorted. One short query per revision."""
    found: list[str] = []
    rows = Embedding.objects.order_by("encoder", "text_digest").values_list("encoder", flat=True)
    while last := rows.filter(encoder__gt=found[-1] if found else "").first():
        found.append(last)
    return found


def _revisions_of(name: str) -> list[str]:
    prefix = encoders.revision_prefix(name)
    model = sentence_encoders.MODELS.get(name)
    mark = "+prompt" if model and model.prompt else ""
    return [
        revision
        for revision in stored_revisions()
        if revision.startswith(prefix) and revision.removesuffix(HALF).endswith(mark)
    ]


def _newest(name: str) -> str:
    """The revision of `name` to read: this site's precision first, then what came last."""
    found = _revisions_of(name)
    if len(found) < 2:
        return found[0] if found else ""
    half = settings.VECTOR_PRECISION == "float16"
    rows = Embedding.objects.filter(encoder__in=found).order_by().values("encoder")
    last = {row["encoder"]: row["last"] for row in rows.annotate(last=Max("pk"))}
    return max(found, key=lambda revision: (revision.endswith(HALF) == half, last[revision]))
