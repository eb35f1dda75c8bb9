"""Vectors computed on another machine: which texts to send there, and storing what comes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from django.db import transaction

from benchmark.models import Corpus, Turn, WorkflowStep
from scoring import encoders
from scoring.corpora import turns_of, whole_text, with_sources
from scoring.embeddings import lacking, parts, store, stored_rows, text_digest
from scoring.encoder_batches import unit_rows
from scoring.encoders import EncoderUnavailable
from scoring.stored_encoders import at_precision, encoder_for
from scoring.turn_vectors import SCORED_ROLES
from scoring.vector_files import BadVectors, alike, first_rows, read_texts, read_vectors

UNNAMED = "imported"
DIALOGUES, STORED_AT_ONCE = 500, 2000


class Imported(NamedTuple):
    """What became of a file: distinct texts stored and known before, blank and repeated rows."""

    revision: str
    stored: int
    known: int
    repeated: int
    blank: int


def texts_to_encode(corpus: Corpus, encoder: str, *, whole: bool = False) -> list[str]:
    """The distinct texts of `corpus` and its forks' sources that `encoder` has no vector of.

    Turns of user and assistant and the steps of the workflows; with `whole` also each dialogue as
    one text, for the method that compares whole dialogues. UnknownEncoder for other names.
    """
    encoders.check(encoder)
    try:
        revision = encoder_for(encoder).revision
    except EncoderUnavailable:
        revision = ""
    scope = with_sources([corpus])
    turns = Turn.objects.filter(dialogue__corpus__in=scope, role__in=SCORED_ROLES)
    said = dict.fromkeys(turns.order_by().values_list("text", flat=True).distinct().iterator(5000))
    steps = WorkflowStep.objects.filter(workflow__corpus__in=scope).order_by("pk")
    said |= dict.fromkeys(steps.values_list("text", flat=True))
    if whole:
        said |= dict.fromkeys(_whole_dialogues(scope))
    return sorted(lacking(revision, list(said)), key=lambda text: (len(text), text))


def import_vectors(name: str, vectors: Path, texts: Path, revision: str = "") -> Imported:
    """Store the vectors of the texts, all or none; a second time changes nothing.

    `revision` is the commit or version of the weights that made them (see
    `encoders.revision_key`); without one, that of the weights on this machine, or "imported".
    Rows are scaled to length one. Raises UnknownEncoder, and BadVectors with a sentence for files
    that do not fit each other, the encoder, or what is stored.
    """
    key = at_precision(revision_of(name, revision))
    said = read_texts(texts)
    if not said:
        raise BadVectors(f"{texts.name} holds no text")
    rows = read_vectors(vectors, texts=len(said), dim=encoders.registered(name).dim)
    first = first_rows(said, rows, vectors.name)
    digests = {text_digest(text): place for text, place in first.items()}
    known = 0
    with transaction.atomic():
        for part in parts(list(digests), STORED_AT_ONCE):
            held = stored_rows(key, part)
            for digest, row in held.items():
                if not alike(row, rows[digests[digest]]):
                    raise BadVectors(
                        f"{vectors.name}, row {digests[digest] + 1}: {key} has another vector of "
                        "this text; give the weights that made these another --revision"
                    )
            known += len(held)
            fresh = [digest for digest in part if digest not in held]
            unit = unit_rows(rows[[digests[digest] for digest in fresh]])
            store(key, dict(zip(fresh, unit, strict=True)))
    blank = sum(not text.strip() for text in said)
    stored = len(digests) - known
    return Imported(key, stored, known, len(said) - blank - len(digests), blank)


def revision_of(name: str, given: str) -> str:
    """The revision that vectors made with the weights `given` belong to.

    Raises UnknownEncoder, and BadVectors for a name that cannot be stored.
    """
    encoders.check(name)
    if given:
        if len(given) > 120 or not given.isprintable() or " " in given:
            raise BadVectors("--revision must be a word of at most 120 characters")
        return encoders.revision_key(name, given)
    own = encoders.registered(name).revision
    return own or encoders.revision_key(name, UNNAMED)


def _whole_dialogues(scope: Sequence[Corpus]) -> Iterator[str]:
    for corpus in scope:
        ids = list(corpus.dialogues.scorable().order_by("pk").values_list("pk", flat=True))
        for part in parts(ids, DIALOGUES):
            yield from map(whole_text, turns_of(part).values())
