"""What runs would do, counted before they start: rows to write, texts to encode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Sum

from benchmark.models import Corpus, Dialogue
from scoring import runs
from scoring.corpora import with_sources
from scoring.encoders import EncoderUnavailable
from scoring.run_kinds import planned
from scoring.stored_encoders import encoder_for
from scoring.vector_exchange import texts_to_encode
from scoring.views.run_tables import UNITS
from scoring.views.starting import Wanted


@dataclass(frozen=True, slots=True)
class Encoding:
    """`missing` texts have no stored vector. `note` says why they cannot be encoded here, or ""."""

    encoder: str
    missing: int
    note: str


@dataclass(frozen=True, slots=True)
class Work:
    """What the runs would write in all, and what would have to be encoded first."""

    runs: int
    rows: int
    unit: str
    dialogues: int
    turns: int
    encoding: list[Encoding]


def work_of(wanted: Sequence[Wanted]) -> Work:
    """Count the work of runs of one kind over the same corpora.

    Runs that exist already are counted like the others. Raises ValueError where nothing can be
    scored.
    """
    first = wanted[0]
    chosen = runs.KINDS[first.kind].parameters(first.parameters)
    parts = planned(first.kind, first.corpora, runs.CHUNK_DIALOGUES, chosen)
    rows = sum(size for _, size in parts)
    read = Dialogue.objects.filter(corpus__in=with_sources(first.corpora))
    counts: dict[str, Any] = read.aggregate(n=Count("pk"), turns=Sum("n_turns", default=0))
    return Work(
        runs=len(wanted),
        rows=rows,
        unit=UNITS.get(first.kind, "dialogues"),
        dialogues=counts["n"],
        turns=counts["turns"],
        encoding=encoding(wanted),
    )


def encoding(wanted: Sequence[Wanted]) -> list[Encoding]:
    """Per encoder of the runs how many distinct texts would have to be encoded."""
    whole: dict[str, bool] = {}
    for each in wanted:
        if name := each.parameters.get("encoder"):
            full = each.parameters.get("method") == "full"
            whole[name] = whole.get(name, False) or full
    return [_of_encoder(name, wanted[0].corpora, full) for name, full in whole.items()]


def _of_encoder(name: str, corpora: Sequence[Corpus], whole: bool) -> Encoding:
    missing = {text for corpus in corpora for text in texts_to_encode(corpus, name, whole=whole)}
    try:
        encoder_for(name)
    except EncoderUnavailable as error:
        return Encoding(name, len(missing), str(error))
    return Encoding(name, len(missing), "")
