"""What runs would do, counted before they start: rows to write, texts to encode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Sum

from benchmark.models import Corpus, Dialogue
from scoring import runs
from scoring.corpora import with_sources
from scoring.embeddings import lacking
from scoring.encoders import EncoderUnavailable
from scoring.label_runs import texts_read
from scoring.run_kinds import planned
from scoring.seen_runs import runs_of
from scoring.stored_encoders import encoder_for
from scoring.trajectory_methods import KIND as LABELS
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
    """What the runs would write in all, and what would have to be encoded first.

    `read` says what they read.
    """

    runs: int
    rows: int
    unit: str
    read: str
    encoding: list[Encoding]


def work_of(wanted: Sequence[Wanted]) -> Work:
    """Count the work of runs of one kind over the same corpora.

    Runs that exist already are counted like the others. Raises ValueError where nothing can be
    scored.
    """
    first = wanted[0]
    chosen = [runs.KINDS[each.kind].parameters(each.parameters) for each in wanted]
    parts = planned(first.kind, first.corpora, runs.CHUNK_DIALOGUES, chosen[0])
    rows = sum(size for _, size in parts)
    labels = first.kind == LABELS
    return Work(
        runs=len(wanted),
        rows=rows,
        unit=UNITS.get(first.kind, "dialogues"),
        read=_runs_read(first.corpora) if labels else _dialogues_read(first.corpora),
        encoding=_texts_of_runs(wanted, chosen) if labels else encoding(wanted),
    )


def _dialogues_read(corpora: Sequence[Corpus]) -> str:
    read = Dialogue.objects.filter(corpus__in=with_sources(corpora))
    counts: dict[str, Any] = read.aggregate(n=Count("pk"), turns=Sum("n_turns", default=0))
    return f"{counts['n']:,} dialogues with {counts['turns']:,} turns are read."


def _runs_read(corpora: Sequence[Corpus]) -> str:
    counts: dict[str, Any] = runs_of(corpora).aggregate(
        n=Count("pk"), steps=Sum("n_steps", default=0)
    )
    return f"{counts['n']:,} agent runs with {counts['steps']:,} steps are read."


def _texts_of_runs(wanted: Sequence[Wanted], chosen: Sequence[Mapping[str, Any]]) -> list[Encoding]:
    """Per encoder how many distinct texts of the runs have no vector, over all methods."""
    texts: dict[str, set[str]] = {}
    for parameters in chosen:
        if name := parameters.get("encoder"):
            texts.setdefault(name, set()).update(texts_read(wanted[0].corpora, parameters))
    return [_missing(name, sorted(found)) for name, found in texts.items()]


def _missing(name: str, texts: Sequence[str]) -> Encoding:
    try:
        revision = encoder_for(name).revision
    except EncoderUnavailable as error:
        return Encoding(name, len(texts), str(error))
    return Encoding(name, len(lacking(revision, texts)), "")


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
