"""Reading corpora for scoring: which dialogues, their turns as arrays, and what they contain."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import QuerySet
from numpy.typing import NDArray

from benchmark.models import Corpus, Dialogue, Turn, Workflow
from scoring.embeddings import encoder_for, vectors_for
from scoring.encoders import Encoder
from scoring.turn_vectors import DialogueVectors, scored_turns

LOOKUP = 900


@dataclass(frozen=True, slots=True)
class Turns:
    """All turns of a dialogue in order; the number of a turn is its place, counted from 1."""

    numbers: tuple[int, ...]
    roles: tuple[str, ...]
    texts: tuple[str, ...]


def with_sources(corpora: Iterable[Corpus]) -> list[Corpus]:
    """The corpora and those that hold the sources of their forks, by slug."""
    slugs = {corpus.slug for corpus in corpora}
    sources = Corpus.objects.filter(dialogues__forked_into__dialogue__corpus__slug__in=slugs)
    found = Corpus.objects.filter(slug__in=slugs) | Corpus.objects.filter(
        pk__in=sources.values("pk")
    )
    return sorted(found.distinct(), key=lambda corpus: corpus.slug)


@dataclass(frozen=True, slots=True)
class Scope:
    """What a run over some corpora reads: slugs of all corpora read, and their content digest."""

    read: tuple[str, ...]
    content: str


def scope_of(corpora: Iterable[Corpus]) -> Scope:
    """The scope of runs over `corpora`. It reads every dialogue's row: take it once for many."""
    scope = with_sources(corpora)
    return Scope(tuple(corpus.slug for corpus in scope), content_digest(scope))


def content_digest(corpora: Sequence[Corpus]) -> str:
    """sha256 over everything of the corpora that can change a score.

    Workflows, dialogues, their split and their forks, by outside names: the same content imported
    elsewhere has the same digest, whatever order the database's collation gives.
    """
    digest = hashlib.sha256()
    for corpus in sorted(corpora, key=lambda corpus: corpus.slug):
        workflows = Workflow.objects.filter(corpus=corpus).values_list("name", "digest")
        dialogues = corpus.dialogues.order_by().values_list(
            "format", "external_id", "digest", "split", "workflow__name", "conformant"
        )
        # Sorted here: databases sort text by different rules.
        by_name = sorted(dialogues.iterator(chunk_size=5000), key=lambda row: row[:2])
        for row in [("corpus", corpus.slug), *sorted(workflows), *by_name]:
            digest.update(repr(row).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def encoder_of(parameters: Mapping[str, Any]) -> Encoder | None:
    """The encoder a run was started with; None for methods that need none.

    Raises EncoderUnavailable when this process has another revision: scores of two revisions must
    not mix in one run.
    """
    if "encoder" not in parameters:
        return None
    return encoder_for(parameters["encoder"], parameters["encoder_revision"])


def turns_of(dialogue_ids: Sequence[int]) -> dict[int, Turns]:
    """The turns of each dialogue; one without a turn has empty tuples."""
    rows: dict[int, list[tuple[int, str, str]]] = {pk: [] for pk in dialogue_ids}
    limit = connection.features.max_query_params or 10 * LOOKUP
    step = min(10 * LOOKUP, limit - 1)
    for start in range(0, len(dialogue_ids), step):
        found = (
            Turn.objects.filter(dialogue_id__in=dialogue_ids[start : start + step])
            .order_by("dialogue_id", "number")
            .values_list("dialogue_id", "number", "role", "text")
        )
        for pk, *turn in found:
            rows[pk].append(tuple(turn))
    return {pk: _as_turns(turns) for pk, turns in rows.items()}


def _as_turns(rows: list[tuple[int, str, str]]) -> Turns:
    numbers, roles, texts = zip(*rows, strict=True) if rows else ((), (), ())
    return Turns(numbers, roles, texts)


def dialogue_vectors(
    encoder: Encoder | None, turns: Mapping[int, Turns], *, full: bool = False
) -> dict[int, DialogueVectors]:
    """The scored turns of each dialogue with their vectors, all texts looked up together.

    Without an encoder the vectors have no columns: for methods that count or compare text only.
    With `full` each dialogue also carries the vector of its whole text (turns joined by newlines),
    and no turn vectors.
    """
    scored = {pk: scored_turns(t.roles, t.texts) for pk, t in turns.items()}
    if full and encoder is not None:
        whole = [whole_text(turns[pk]) for pk in turns]
        rows = vectors_for(encoder, whole)
        return {
            pk: _vectors(turns[pk], scored[pk], None, row)
            for pk, row in zip(turns, rows, strict=True)
        }
    if encoder is None:
        return {pk: _vectors(turns[pk], scored[pk], None, None) for pk in turns}
    texts = [turns[pk].texts[i] for pk in turns for i in scored[pk]]
    rows = vectors_for(encoder, texts)
    found, start = {}, 0
    for pk, places in scored.items():
        found[pk] = _vectors(turns[pk], places, rows[start : start + len(places)], None)
        start += len(places)
    return found


def whole_text(turns: Turns) -> str:
    """The scored turns of a dialogue as one text, a line each."""
    return "\n".join(turns.texts[i].strip() for i in scored_turns(turns.roles, turns.texts))


def _vectors(
    turns: Turns,
    places: list[int],
    rows: NDArray[np.float32] | None,
    whole: NDArray[np.float32] | None,
) -> DialogueVectors:
    return DialogueVectors(
        tuple(turns.roles[i] for i in places),
        tuple(turns.texts[i].strip() for i in places),
        np.zeros((len(places), 0), dtype=np.float32) if rows is None else rows,
        # A dialogue that says nothing has no vector of its whole text.
        whole if places else None,
        unit=True,
    )


def fitting_turns(workflow_id: int) -> dict[int, Turns]:
    """The conformant train half of a workflow, by dialogue, in the order of external ids."""
    return turns_of(
        by_outside_name(Dialogue.objects.filter(workflow_id=workflow_id).fitting_half())
    )


def by_outside_name(dialogues: QuerySet[Dialogue]) -> list[int]:
    """The ids of dialogues in the order of format and external id, the same in every database.

    Databases sort text by different rules, and the order of dialogues decides the numbers of nodes.
    """
    rows = dialogues.order_by().values_list("format", "external_id", "pk")
    return [pk for _, _, pk in sorted(rows)]
