"""What runs would do, counted before they start: rows to write, texts to encode."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Sum

from benchmark.models import Corpus, Dialogue, Turn
from scoring import encoders, runs
from scoring.corpora import with_sources
from scoring.embeddings import text_digest
from scoring.models import Embedding
from scoring.turn_vectors import SCORED_ROLES
from scoring.views.run_tables import UNITS
from scoring.views.starting import OFFERED, Wanted

LOOKUP = 900


@dataclass(frozen=True, slots=True)
class Encoding:
    """`missing` of `texts` distinct texts have no stored vector; None where it is not known."""

    encoder: str
    texts: int
    missing: int | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Work:
    """What the runs would write in all, and what would have to be encoded first."""

    runs: int
    rows: int
    unit: str
    dialogues: int
    turns: int
    encoding: list[Encoding]
    whole_dialogues: bool


def work_of(wanted: Sequence[Wanted]) -> Work:
    """Count the work of runs over the same corpora. Raises ValueError where nothing can be scored.

    Runs that exist already are counted like the others.
    """
    first = wanted[0]
    rows = sum(size for _, size in runs.KINDS[first.kind].plan(first.corpora, runs.CHUNK_DIALOGUES))
    scope = with_sources(first.corpora)
    read = Dialogue.objects.filter(corpus__in=scope)
    names = list(
        dict.fromkeys(w.parameters["encoder"] for w in wanted if "encoder" in w.parameters)
    )
    return Work(
        runs=len(wanted),
        rows=rows,
        unit=UNITS.get(first.kind, "dialogues"),
        dialogues=read.count(),
        turns=read.aggregate(n=Sum("n_turns", default=0))["n"],
        encoding=encoding(scope, list(names)) if names else [],
        whole_dialogues=any(
            OFFERED[w.kind][w.parameters["method"]].name == "full"
            for w in wanted
            if "method" in w.parameters
        ),
    )


def encoding(corpora: Iterable[Corpus], names: Sequence[str]) -> list[Encoding]:
    """Per encoder how many distinct texts of scored turns have no vector yet."""
    turns = Turn.objects.filter(dialogue__corpus__in=corpora, role__in=SCORED_ROLES)
    texts = turns.order_by().values_list("text", flat=True).distinct()
    digests = {text_digest(stripped) for text in texts.iterator(5000) if (stripped := text.strip())}
    return [_of_encoder(name, digests) for name in names]


def _of_encoder(name: str, digests: set[bytes]) -> Encoding:
    try:
        revision = encoders.get(name).revision
    except encoders.EncoderUnavailable as error:
        return Encoding(name, len(digests), None, str(error))
    stored = sum(
        Embedding.objects.filter(encoder=revision, text_digest__in=part).count()
        for part in _parts(list(digests), LOOKUP)
    )
    return Encoding(name, len(digests), len(digests) - stored)


def _parts(digests: list[bytes], size: int) -> Iterator[list[bytes]]:
    for start in range(0, len(digests), size):
        yield digests[start : start + size]
