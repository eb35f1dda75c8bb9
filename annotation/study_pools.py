"""The dialogues a study may show, read once, under names that do not depend on row ids."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from django.db.models import QuerySet

from annotation.design import Candidate
from benchmark.models import Corpus, Dialogue, Fork

OWN = ("pk", "corpus_id", "corpus__slug", "format", "external_id")
FLOW = ("workflow_id", "workflow__name", "workflow__domain")


@dataclass(frozen=True, slots=True)
class Entry:
    """A dialogue of the pool, with the row ids that storing an item needs."""

    candidate: Candidate
    dialogue_id: int
    corpus_id: int
    source_corpus_id: int
    workflow_id: int
    domain: str


class StudyPool:
    """Forks of one corpus with a workflow, and the conformant dialogues of their sources' corpora.

    A dialogue with several injections is left out: step 3 asks about one place.
    """

    def __init__(self, corpus: Corpus, workflows: Collection[str] = ()) -> None:
        forked = list(_forked(corpus, workflows))
        self.entries = {e.candidate.key: e for e in [*forked, *_whole(forked)]}
        self.tasks: dict[str, set[str]] = defaultdict(set)
        for entry in self.entries.values():
            self.tasks[entry.domain].add(entry.candidate.workflow)

    @property
    def candidates(self) -> list[Candidate]:
        return [entry.candidate for entry in self.entries.values()]

    @property
    def corpora(self) -> set[int]:
        """Ids of the corpora that hold what may be shown, and its sources."""
        found = {entry.corpus_id for entry in self.entries.values()}
        return found | {entry.source_corpus_id for entry in self.entries.values()}

    def forks_of(self, keys: Collection[str]) -> dict[str, Fork]:
        """The forks among the dialogues named `keys`."""
        names = {self.entries[key].dialogue_id: key for key in keys}
        return {names[f.dialogue_id]: f for f in Fork.objects.filter(dialogue__in=list(names))}

    def other_task(self, key: str, seed: int) -> str:
        """Another workflow's name, of the same domain where there is one; "" if there is none."""
        entry = self.entries[key]
        own = entry.candidate.workflow
        near = self.tasks[entry.domain] - {own}
        far = {name for names in self.tasks.values() for name in names} - {own}
        choices = sorted(near or far)
        return random.Random(f"{seed} {key}").choice(choices) if choices else ""


def _forked(corpus: Corpus, workflows: Collection[str]) -> Iterator[Entry]:
    several = Fork.objects.filter(ordinal__gt=1, dialogue__corpus=corpus).values("dialogue")
    forks = (
        Fork.objects.filter(dialogue__corpus=corpus, dialogue__workflow__isnull=False)
        .exclude(dialogue__in=several)
        .order_by("pk")
    )
    if workflows:
        forks = forks.filter(dialogue__workflow__name__in=workflows)
    columns = [f"dialogue__{name}" for name in (*OWN, *FLOW)] + [f"source__{n}" for n in OWN]
    for row in forks.values_list(*columns, "type", "k").iterator(chunk_size=2000):
        pk, corpus_id, *name, workflow_id, task, domain = row[:8]
        _, source_corpus_id, *source = row[8:13]
        unit = Candidate("/".join(name), "/".join(source), task, row[13], row[14])
        yield Entry(unit, pk, corpus_id, source_corpus_id, workflow_id, domain)


def _whole(forked: Collection[Entry]) -> Iterator[Entry]:
    rows: QuerySet[Dialogue] = Dialogue.objects.conformant().filter(
        corpus__in={entry.source_corpus_id for entry in forked},
        workflow__in={entry.workflow_id for entry in forked},
        forks=None,
        n_assistant_turns__gt=0,
    )
    for row in rows.order_by("pk").values_list(*OWN, *FLOW):
        pk, corpus_id, *name, workflow_id, task, domain = row
        key = "/".join(name)
        yield Entry(Candidate(key, key, task), pk, corpus_id, corpus_id, workflow_id, domain)
