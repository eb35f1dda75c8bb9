"""What a corpus is made of, read once per content and kept in the cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.cache import cache
from django.db.models import Aggregate, Exists, OuterRef, Q, TextField

from benchmark.models import Corpus, Dialogue, Fork, Turn
from scoring import composition_tables as tables
from scoring.composition_tables import DialogueSize
from scoring.corpora import content_digest, with_sources

KEPT_SECONDS = 7 * 24 * 3600
# Raised when the tables change their form, so that a kept one of an older form is not read.
FORM = 1


@dataclass(frozen=True, slots=True)
class Composition:
    """The tables of a corpus. `left_out` counts dialogues that no table holds, by reason."""

    conditions: list[tables.ConditionRow]
    workflows: list[tables.WorkflowRow]
    spreads: list[tables.Spread]
    around: list[tables.AroundFork]
    left_out: dict[str, int]
    sources: list[str]


class Joined(Aggregate):
    """The texts of a group with a space between them, in any order."""

    function = "STRING_AGG"
    template = "%(function)s(%(expressions)s, ' ')"
    output_field = TextField()

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        return self.as_sql(compiler, connection, function="GROUP_CONCAT", **extra)


def composition(corpus: Corpus) -> Composition:
    """The tables of `corpus`: its forks, their sources wherever they are stored, and its own
    conformant dialogues. Read anew when the content has changed."""
    scope = with_sources([corpus])
    key = f"composition:{FORM}:{corpus.slug}:{content_digest(scope)}"
    found = cache.get(key)
    if found is None:
        found = _read(corpus, scope)
        cache.set(key, found, KEPT_SECONDS)
    return found


def _read(corpus: Corpus, scope: list[Corpus]) -> Composition:
    rows = sizes(corpus, scope)
    return Composition(
        conditions=tables.by_condition(rows),
        workflows=tables.by_workflow(rows),
        spreads=tables.spreads(rows),
        around=tables.around_forks(rows),
        left_out=_left_out(corpus),
        sources=[other.slug for other in scope if other.pk != corpus.pk],
    )


def sizes(corpus: Corpus, scope: list[Corpus]) -> list[DialogueSize]:
    """One row per conformant dialogue and per dialogue with exactly one fork, in three statements.

    `scope` are the corpora that hold them (`with_sources`). Words are counted by whitespace over
    all turns.
    """
    words = _words(scope)
    return [
        DialogueSize(
            workflow=workflow or "",
            domain=domain or "",
            condition=tables.CONFORMANT,
            turns=n_turns,
            words=words.get(pk, 0),
            split=split,
        )
        for pk, workflow, domain, n_turns, split in _conformant(corpus)
    ] + [
        DialogueSize(workflow or "", domain or "", type_, n_turns, words.get(pk, 0), split, k, at)
        for pk, workflow, domain, n_turns, split, type_, k, at in _forks(corpus)
    ]


def _words(scope: list[Corpus]) -> dict[int, int]:
    joined = (
        Turn.objects.filter(dialogue__corpus__in=scope)
        .order_by()
        .values_list("dialogue_id")
        .annotate(text=Joined("text"))
    )
    return {pk: len(text.split()) for pk, text in joined.iterator(chunk_size=2000)}


def _conformant(corpus: Corpus) -> Any:
    forked_here = Fork.objects.filter(source=OuterRef("pk"), dialogue__corpus=corpus)
    return (
        Dialogue.objects.filter(Q(corpus=corpus, conformant=True) | Exists(forked_here))
        .order_by()
        .values_list("pk", "workflow__name", "workflow__domain", "n_turns", "split")
    )


def _forks(corpus: Corpus) -> Any:
    return (
        Fork.objects.filter(dialogue__corpus=corpus, ordinal=1)
        .exclude(dialogue__in=_composite(corpus))
        .order_by()
        .values_list(
            "dialogue_id",
            "dialogue__workflow__name",
            "dialogue__workflow__domain",
            "dialogue__n_turns",
            "source__split",
            "type",
            "k",
            "fork_turn",
        )
    )


def _composite(corpus: Corpus) -> Any:
    return Fork.objects.filter(dialogue__corpus=corpus, ordinal=2).values("dialogue")


def _left_out(corpus: Corpus) -> dict[str, int]:
    """Dialogues of the corpus that are in no table, by reason; only reasons that occur."""
    forked = Exists(Fork.objects.filter(dialogue=OuterRef("pk")))
    source = Exists(Fork.objects.filter(source=OuterRef("pk"), dialogue__corpus=corpus))
    plain = corpus.dialogues.filter(~forked, ~source)
    found = {
        "several forks in one dialogue": _composite(corpus).count(),
        "deviating, and not a fork": plain.filter(conformant=False).count(),
        "not known to follow its workflow": plain.filter(conformant=None).count(),
    }
    return {reason: n for reason, n in found.items() if n}
