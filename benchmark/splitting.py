"""The train half: what flow graphs and thresholds may be fitted on.

Per workflow the floor(n/2) conformant dialogues with the smallest sha256(seed:external id) train;
the other conformant dialogues test, and so do the forks of those (DialFork, table 6). Dialogues
without a turn and those not known to be conformant belong to neither half.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from django.db import transaction
from django.db.models import Q

from benchmark.models import Corpus, Dialogue

RULE = "train = floor(n/2) conformant dialogues per workflow by smallest sha256(seed:external id)"
TRAIN, TEST, NONE = Dialogue.Split.TRAIN, Dialogue.Split.TEST, Dialogue.Split.NONE
_AT_ONCE = 500


def rank(seed: int, external_id: str) -> str:
    """The place of a dialogue in the draw: hex of sha256(seed:external id)."""
    return hashlib.sha256(f"{seed}:{external_id}".encode()).hexdigest()


def train_half(seed: int, external_ids: Iterable[str]) -> set[str]:
    """The floor(n/2) of `external_ids` with the smallest rank."""
    ids = sorted(external_ids, key=lambda ident: (rank(seed, ident), ident))
    return set(ids[: len(ids) // 2])


def store_split(corpus: Corpus, seed: int | None = None) -> dict[str, int]:
    """Draw and store the halves of `corpus`; the same seed and dialogues give the same halves.

    `seed` replaces the corpus's own and is stored with it. Workflows whose input came with a split
    (`corpus.meta["given_splits"]`) keep that. Returns the number of dialogues per half.
    """
    with transaction.atomic():
        if seed is not None and seed != corpus.split_seed:
            corpus.split_seed = seed
            corpus.save(update_fields=["split_seed"])
        given = set(corpus.meta.get("given_splits", ()))
        rows = (
            corpus.dialogues.order_by()
            .filter(Q(conformant=True) | ~Q(split=NONE), forks__isnull=True)
            .exclude(workflow__name__in=given)
            .values_list("id", "external_id", "workflow_id", "split", "conformant", "n_turns")
        )
        groups: dict[int, list[tuple[int, str, str]]] = defaultdict(list)
        wanted: dict[str, list[int]] = defaultdict(list)
        for pk, ident, workflow, now, conformant, n_turns in rows.iterator():
            if conformant and n_turns and workflow is not None:
                groups[workflow].append((pk, ident, now))
            elif now:
                wanted[NONE].append(pk)
        for members in groups.values():
            train = train_half(corpus.split_seed, (ident for _, ident, _ in members))
            for pk, ident, now in members:
                half = TRAIN if ident in train else TEST
                if now != half:
                    wanted[half].append(pk)
        for half, keys in wanted.items():
            _set(half, keys)
        _split_forks(corpus)
        return {
            half.value: corpus.dialogues.filter(split=half, conformant=True).count()
            for half in (TRAIN, TEST)
        }


def _split_forks(corpus: Corpus) -> None:
    """Forks of a test source test; forks of any other source belong to neither half."""
    for forks in (
        Dialogue.objects.filter(corpus=corpus, forks__isnull=False),
        Dialogue.objects.filter(forks__source__corpus=corpus),
    ):
        tested = forks.filter(forks__source__split=TEST)
        _set(TEST, tested.exclude(split=TEST).values_list("id", flat=True).distinct())
        others = forks.exclude(forks__source__split=TEST).exclude(split=NONE)
        _set(NONE, others.values_list("id", flat=True).distinct())


def _set(half: str, keys: Iterable[int]) -> None:
    for part in _parts(list(keys)):
        Dialogue.objects.filter(pk__in=part).update(split=half)


def _parts(keys: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(keys), _AT_ONCE):
        yield keys[start : start + _AT_ONCE]
