"""What the splice engine knows: conformant dialogues, cut up, labelled and compared.

Only conformant dialogues enter. Every distinct text is encoded once, and everything that needs
vectors (guessed labels, near turns, fitting donors) comes from one product per task and role.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmark.records import ASSISTANT, USER, DialogueRecord, TurnRecord, WorkflowRecord
from benchmark.witnesses import Procedure, plain, procedure_of_dialogues

Encode = Callable[[Sequence[str]], NDArray[np.float32]]

NEAR, SAME = 0.75, 0.97
REWORDED_SHARE = 0.3
SHORT_WORDS = 4
_ASSENT_WORDS = (
    "yes yep yeah yup no nope not ok okay sure alright all right fine good great perfect cool nice "
    "awesome wonderful excellent lovely please thanks thank you very much that works is sounds "
    "correct exactly indeed i see got it oh well hmm so now then do go ahead me for"
)
ASSENT = frozenset(_ASSENT_WORDS.split())
UNLABELLED = frozenset({"", "custom"})
BLOCK = 1024


@dataclass(frozen=True, slots=True)
class Pieces:
    """A dialogue cut at its assistant turns.

    `lead` is what comes before the first assistant turn; `said[i]` is assistant turn i + 1,
    `replies[i]` what comes between it and the next one (after the last: the tail). `labels[i]` is
    the step of said[i], guessed where `guessed[i]`; `places[i]` its place among all turns, from 0.
    """

    record: DialogueRecord
    lead: tuple[TurnRecord, ...]
    said: tuple[TurnRecord, ...]
    replies: tuple[tuple[TurnRecord, ...], ...]
    places: tuple[int, ...]
    labels: tuple[str, ...]
    guessed: tuple[bool, ...]

    @property
    def key(self) -> str:
        return self.record.external_id

    def before(self, place: int) -> tuple[TurnRecord, ...]:
        """The turns between the assistant turn before `place` and `said[place]`."""
        return self.replies[place - 1] if place else self.lead


@dataclass(frozen=True, slots=True)
class Partners:
    """Other tasks that a WIC fork may turn to; `other_domain` when its own domain has none."""

    tasks: tuple[str, ...]
    other_domain: bool


def cut(record: DialogueRecord, labels: Mapping[int, str] | None = None) -> Pieces:
    """Cut a dialogue; `labels` guesses the step of assistant turns by place among all turns."""
    places = tuple(i for i, turn in enumerate(record.turns) if turn.role == ASSISTANT)
    ends = (*places[1:], len(record.turns))
    own = [record.turns[p].label for p in places]
    guesses = labels or {}
    known = [label not in UNLABELLED for label in own]
    return Pieces(
        record=record,
        lead=tuple(record.turns[: places[0]] if places else record.turns),
        said=tuple(record.turns[p] for p in places),
        replies=tuple(
            tuple(record.turns[p + 1 : end]) for p, end in zip(places, ends, strict=True)
        ),
        places=places,
        labels=tuple(
            label if sure else guesses.get(p, "")
            for p, label, sure in zip(places, own, known, strict=True)
        ),
        guessed=tuple(not sure for sure in known),
    )


class SplicePool:
    """The dialogues of `pool` by task, and the questions that the engine asks of them.

    `encode` gives unit rows for texts. Dialogues without a workflow or an assistant turn are left
    out. Two pools of equal content answer equally.
    """

    def __init__(
        self,
        pool: Sequence[DialogueRecord],
        workflows: Mapping[str, WorkflowRecord],
        encode: Encode,
    ) -> None:
        self.workflows = dict(workflows)
        kept = [d for d in pool if d.workflow and any(t.role == ASSISTANT for t in d.turns)]
        kept.sort(key=lambda d: (d.workflow, d.external_id))
        texts = list(dict.fromkeys(t.text.strip() for d in kept for t in d.turns))
        self._row = {text: i for i, text in enumerate(texts)}
        self._encode = encode
        self._vectors = encode(texts) if texts else np.zeros((0, 1), dtype=np.float32)
        self._records: dict[str, list[DialogueRecord]] = defaultdict(list)
        for record in kept:
            self._records[record.workflow].append(record)
        self._procedures: dict[str, Procedure] = {}
        self._near: dict[tuple[str, str], TurnRecord] = {}
        self._near_tasks: set[str] = set()

    @cached_property
    def tasks(self) -> dict[str, list[Pieces]]:
        """Pieces by task, with unlabelled assistant turns guessed from the nearest labelled one."""
        return {
            task: [cut(record, guesses) for record, guesses in self._guessed(records)]
            for task, records in self._records.items()
        }

    @cached_property
    def pieces(self) -> dict[str, Pieces]:
        """Pieces by external id."""
        return {one.key: one for group in self.tasks.values() for one in group}

    def vector(self, text: str) -> NDArray[np.float32]:
        """The unit row of a text, of the pool or from elsewhere."""
        row = self._row.get(text.strip())
        return self._encode([text.strip()])[0] if row is None else self._vectors[row]

    def procedure(self, task: str) -> Procedure:
        """What the task's conformant dialogues say about the order of its steps."""
        if task not in self._procedures:
            workflow = self.workflows.get(task)
            self._procedures[task] = procedure_of_dialogues(
                (
                    [(label, turn.text) for label, turn in zip(p.labels, p.said, strict=True)]
                    for p in self.tasks.get(task, ())
                ),
                steps=[s.key for s in workflow.steps] if workflow else (),
                greeting=workflow.start if workflow else "",
            )
        return self._procedures[task]

    def partners(self, task: str) -> Partners:
        """Tasks of the same domain; if there is none, those of the domain with most steps shared.

        Overlap is the Jaccard index of the two domains' step keys; ties go to the first name.
        """
        domain = self._domain(task)
        by_domain: dict[str, list[str]] = defaultdict(list)
        for other in sorted(self._records):
            if other != task:
                by_domain[self._domain(other)].append(other)
        if own := by_domain.pop(domain, []):
            return Partners(tuple(own), other_domain=False)
        if not by_domain:
            return Partners((), other_domain=True)
        mine = self.procedure(task).steps

        def overlap(name: str) -> float:
            theirs = frozenset().union(*(self.procedure(t).steps for t in by_domain[name]))
            return len(mine & theirs) / max(1, len(mine | theirs))

        nearest = min(by_domain, key=lambda name: (-overlap(name), name))
        return Partners(tuple(by_domain[nearest]), other_domain=True)

    def near(self, turn: TurnRecord, record: DialogueRecord) -> TurnRecord | None:
        """The nearest turn that says nearly the same in another dialogue of the task, or None.

        Same role, same step where both are labelled, cosine from .75 to .97.
        """
        if record.workflow not in self._near_tasks:
            self._compare(record.workflow)
            self._near_tasks.add(record.workflow)
        return self._near.get((record.external_id, f"{turn.role}\x1f{turn.text.strip()}"))

    def reworded(
        self, turns: Sequence[TurnRecord], record: DialogueRecord, rng: random.Random
    ) -> tuple[list[TurnRecord], int]:
        """`turns` with about 30 % of them said in the words of `near`, and how many were.

        The share is rounded by chance, so that its mean holds for short prefixes too; fewer are
        replaced where fewer have a near turn.
        """
        near = {i: found for i, turn in enumerate(turns) if (found := self.near(turn, record))}
        share = REWORDED_SHARE * len(turns)
        wanted = int(share) + (rng.random() < share - int(share))
        chosen = rng.sample(sorted(near), min(len(near), wanted))
        return [
            replace(turn, text=near[i].text, meta={}) if i in chosen else turn
            for i, turn in enumerate(turns)
        ], len(chosen)

    def short_replies(self, task: str) -> list[TurnRecord]:
        """Brief user turns from the task's dialogues that fit after anything ("okay, thanks")."""
        found: dict[str, TurnRecord] = {}
        for one in self.tasks.get(task, ()):
            for reply in one.replies:
                for turn in reply:
                    if turn.role == USER and is_assent(turn.text):
                        found.setdefault(plain(turn.text), borrowed(turn, one.key))
        return [found[text] for text in sorted(found)]

    def _domain(self, task: str) -> str:
        return self.workflows[task].domain if task in self.workflows else ""

    def _rows(self, turns: Sequence[TurnRecord]) -> NDArray[np.float32]:
        return self._vectors[[self._row[t.text.strip()] for t in turns]]

    def _guessed(
        self, records: Sequence[DialogueRecord]
    ) -> list[tuple[DialogueRecord, dict[int, str]]]:
        spots = [
            (n, place, turn)
            for n, record in enumerate(records)
            for place, turn in enumerate(record.turns)
            if turn.role == ASSISTANT
        ]
        sure = [turn for _, _, turn in spots if turn.label not in UNLABELLED]
        open_ = [spot for spot in spots if spot[2].label in UNLABELLED and spot[2].text.strip()]
        guesses: list[dict[int, str]] = [{} for _ in records]
        if sure and open_:
            nearest = _argmax(self._rows([turn for _, _, turn in open_]), self._rows(sure))
            for (n, place, _), best in zip(open_, nearest, strict=True):
                guesses[n][place] = sure[best].label
        return list(zip(records, guesses, strict=True))

    def _compare(self, task: str) -> None:
        for role in (USER, ASSISTANT):
            spots = [
                (owner, turn)
                for owner, record in enumerate(self._records[task])
                for turn in record.turns
                if turn.role == role and turn.text.strip()
            ]
            if not spots:
                continue
            rows = self._rows([turn for _, turn in spots])
            owners = np.array([owner for owner, _ in spots])
            steps = {label: i for i, label in enumerate({t.label: 0 for _, t in spots})}
            labels = np.array([steps[t.label] if t.label else -1 for _, t in spots])
            for begin in range(0, len(spots), BLOCK):
                block = slice(begin, begin + BLOCK)
                cosines = rows[block] @ rows.T
                cosines[owners[block, None] == owners[None, :]] = -1.0
                differ = labels[block, None] != labels[None, :]
                differ &= (labels[block, None] >= 0) & (labels[None, :] >= 0)
                cosines[differ | (cosines > SAME)] = -1.0
                best = cosines.argmax(axis=1)
                for i in np.flatnonzero(cosines[np.arange(len(best)), best] >= NEAR):
                    owner, turn = spots[begin + i]
                    key = self._records[task][owner].external_id
                    self._near[key, f"{role}\x1f{turn.text.strip()}"] = spots[best[i]][1]


def borrowed(turn: TurnRecord, origin: str) -> TurnRecord:
    """A turn taken from another dialogue, which its meta names."""
    return replace(turn, name="", meta={"from": origin})


def is_assent(text: str) -> bool:
    """Whether a turn only agrees, declines or thanks, in a few words."""
    words = "".join(c if c.isalnum() else " " for c in text.casefold()).split()
    return 0 < len(words) <= SHORT_WORDS and "?" not in text and ASSENT.issuperset(words)


def opens_with_assent(text: str) -> bool:
    """Whether the first word agrees, declines or thanks."""
    words = "".join(c if c.isalnum() else " " for c in text.casefold()).split()
    return bool(words) and words[0] in ASSENT - {"i", "it", "is", "that", "for", "me"}


def _argmax(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.intp]:
    return np.concatenate(
        [(a[i : i + BLOCK] @ b.T).argmax(axis=1) for i in range(0, len(a), BLOCK)]
    )
