"""The rows of a release, read from the tables of the benchmark in an order no database decides.

Sorting is done here by code points: databases sort text by their own rules. A release holds its
corpus and, in full, every corpus its forks start from, so that halves and flow graphs can be made
again from the release alone. The released corpus is named "" in the data: it may be imported under
any name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.models import (
    Corpus,
    Dialogue,
    Fork,
    Turn,
    Workflow,
)

AT_ONCE = 500
Row = dict[str, Any]


@dataclass(frozen=True)
class Scope:
    """The corpora of a release: sources before those that fork from them, its own last."""

    own: Corpus
    corpora: tuple[Corpus, ...]

    def name(self, key: int) -> str:
        """The corpus `key` as the data name it: "" for the release's own."""
        return "" if key == self.own.pk else self._slugs[key]

    def reference(self, key: int, seen_from: int) -> str:
        """The corpus `key` as named from within another: "" for the same."""
        return "" if key == seen_from else self._slugs[key]

    @property
    def _slugs(self) -> dict[int, str]:
        return {corpus.pk: corpus.slug for corpus in self.corpora}

    @property
    def rank(self) -> dict[int, int]:
        return {corpus.pk: place for place, corpus in enumerate(self.corpora)}


def scope_of(corpus: Corpus) -> Scope:
    """The corpora that `corpus` needs: those of its forks' sources and of its workflows."""
    depth = {corpus.pk: 0}
    frontier = {corpus.pk}
    while frontier:
        sources = Fork.objects.filter(dialogue__corpus__in=frontier).order_by()
        flows = Dialogue.objects.filter(corpus__in=frontier, workflow__isnull=False).order_by()
        needed = set(sources.values_list("source__corpus", flat=True).distinct())
        needed |= set(flows.values_list("workflow__corpus", flat=True).distinct())
        level = max(depth.values()) + 1
        frontier = needed - set(depth)
        depth |= dict.fromkeys(frontier, level)
    found = Corpus.objects.in_bulk(depth)
    ordered = sorted(found.values(), key=lambda c: (-depth[c.pk], c.slug))
    return Scope(own=corpus, corpora=tuple(ordered))


def workflow_rows(scope: Scope) -> Iterator[Row]:
    """One row per workflow, with its steps and moves in their order."""
    rows = Workflow.objects.filter(corpus__in=scope.corpora).prefetch_related(
        "steps", "transitions__source", "transitions__target"
    )
    for row in sorted(rows, key=lambda w: (scope.rank[w.corpus_id], w.name)):
        steps = sorted(row.steps.all(), key=lambda s: s.position)
        moves = sorted(row.transitions.all(), key=lambda t: t.position)
        meta = dict(row.meta)
        warnings = meta.pop("warnings", {})
        yield {
            "corpus": scope.name(row.corpus_id),
            "name": row.name,
            "domain": row.domain,
            "objective": row.objective,
            "system_instruction": row.system_instruction,
            "user_instruction": row.user_instruction,
            "start": next((s.key for s in steps if s.is_start), ""),
            "terminals": [s.key for s in steps if s.is_terminal],
            "steps": [{"key": s.key, "text": s.text, "kind": s.kind} for s in steps],
            "transitions": [
                {"source": m.source.key, "target": m.target.key, "observation": m.observation}
                for m in moves
            ],
            "meta": meta,
            "warnings": warnings,
        }


def dialogue_keys(scope: Scope) -> list[int]:
    """Keys of all dialogues: by corpus, those without forks first, by format and external id."""
    forked = set(
        Fork.objects.filter(dialogue__corpus__in=scope.corpora)
        .order_by()
        .values_list("dialogue_id", flat=True)
    )
    rows = Dialogue.objects.filter(corpus__in=scope.corpora).order_by()
    keys = rows.values_list("corpus_id", "format", "external_id", "id")
    rank = scope.rank
    ordered = sorted((rank[c], pk in forked, fmt, ident, pk) for c, fmt, ident, pk in keys)
    return [pk for *_, pk in ordered]


def dialogue_parts(scope: Scope) -> Iterator[tuple[list[Row], list[Row], list[Row]]]:
    """(dialogues, turns, forks), a part of the dialogues at a time, in the order of the keys."""
    for part in parts(dialogue_keys(scope)):
        found = Dialogue.objects.select_related("workflow").in_bulk(part)
        dialogues = [found[pk] for pk in part]
        turns = grouped(Turn.objects.filter(dialogue__in=part).order_by("number"), "dialogue_id")
        forks = grouped(
            Fork.objects.filter(dialogue__in=part).select_related("source").order_by("ordinal"),
            "dialogue_id",
        )
        places = {d.pk: (scope.name(d.corpus_id), d) for d in dialogues}
        yield (
            [_dialogue_row(scope, d) for d in dialogues],
            [_turn_row(*places[d.pk], t) for d in dialogues for t in turns[d.pk]],
            [_fork_row(scope, d, f) for d in dialogues for f in forks[d.pk]],
        )


def parts(keys: Sequence[int]) -> Iterator[Sequence[int]]:
    """`keys` in pieces that fit one query."""
    for start in range(0, len(keys), AT_ONCE):
        yield keys[start : start + AT_ONCE]


def grouped(rows: Any, name: str) -> dict[int, list[Any]]:
    """`rows` by the value of their field `name`."""
    found: dict[int, list[Any]] = defaultdict(list)
    for row in rows:
        found[getattr(row, name)].append(row)
    return found


def _dialogue_row(scope: Scope, row: Dialogue) -> Row:
    workflow = ""
    if row.workflow is not None:
        slug = scope.reference(row.workflow.corpus_id, row.corpus_id)
        workflow = f"{slug}/{row.workflow.name}" if slug else row.workflow.name
    return {
        "corpus": scope.name(row.corpus_id),
        "format": row.format,
        "id": row.external_id,
        "workflow": workflow,
        "conformant": row.conformant,
        "split": row.split,
        "n_turns": row.n_turns,
        "n_assistant_turns": row.n_assistant_turns,
        "meta": row.meta,
        "warnings": row.warnings,
    }


def _turn_row(corpus: str, dialogue: Dialogue, row: Turn) -> Row:
    names = ("number", "assistant_number", "role", "name", "text", "label", "meta")
    return {
        "corpus": corpus,
        "format": dialogue.format,
        "dialogue": dialogue.external_id,
        **{name: getattr(row, name) for name in names},
    }


def _fork_row(scope: Scope, dialogue: Dialogue, row: Fork) -> Row:
    names = ("ordinal", "type", "variant", "k", "fork_assistant_turn", "fork_turn", "rule")
    names += ("instruction", "seed", "replay", "generator", "witness")
    return {
        "corpus": scope.name(dialogue.corpus_id),
        "format": dialogue.format,
        "dialogue": dialogue.external_id,
        "source_corpus": scope.reference(row.source.corpus_id, dialogue.corpus_id),
        "source_format": row.source.format,
        "source": row.source.external_id,
        **{name: getattr(row, name) for name in names},
    }
