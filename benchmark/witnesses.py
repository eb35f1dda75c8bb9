"""What shows that a fork left its procedure: an alignment of its assistant turns.

A `Procedure` is what is known of the order of steps. It comes either from a workflow graph (strict:
every allowed move is known) or from conformant dialogues (lenient: only the precedences that nearly
all of them keep are known, and which steps were due is read off the fork's source). `align` walks
the labels of assistant turns and notes each turn that a conformant dialogue would not have there.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from typing import Any

from benchmark.bank import PREFIX, is_bank_label
from benchmark.records import ASSISTANT, SSPC, TurnRecord, WorkflowRecord

SKIPPED, REPEATED, OUT_OF_ORDER, FOREIGN, STALLED = (
    "skipped",
    "repeated",
    "out_of_order",
    "foreign",
    "stalled",
)
KINDS = (SKIPPED, REPEATED, OUT_OF_ORDER, FOREIGN, STALLED)
PRECEDENCE_SHARE = 0.95
PRECEDENCE_SUPPORT = 5


@dataclass(frozen=True, slots=True)
class Procedure:
    """Steps and what is known of their order.

    `before[b]` holds the steps that come before b; `repeatable` those that may come again, and
    `echoed` those that may come again word for word; `moves` the allowed next steps of each step,
    None when only precedences are known ("" is the start); `free` the steps that may stand
    anywhere.
    """

    steps: frozenset[str]
    before: Mapping[str, frozenset[str]]
    repeatable: frozenset[str] = frozenset()
    echoed: frozenset[str] = frozenset()
    moves: Mapping[str, frozenset[str]] | None = None
    free: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Event:
    """Assistant turn `assistant_turn` (from 1) does what no conformant dialogue does there.

    `steps` are the steps concerned: those left out, or the step repeated or foreign.
    """

    assistant_turn: int
    kind: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Witness:
    """All events from the fork point on, in order; `inferred` counts labels that were guessed."""

    events: tuple[Event, ...]
    inferred: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def first(self) -> int | None:
        """Assistant turn of the first event; None when nothing deviates."""
        return self.events[0].assistant_turn if self.events else None

    def steps(self, kind: str) -> list[str]:
        """Steps concerned by events of a kind, each once, in order of appearance."""
        return list(dict.fromkeys(s for e in self.events if e.kind == kind for s in e.steps))

    def shows(self, type_: str, assistant_turn: int) -> bool:
        """Whether the deviation of this fork type is there at that assistant turn.

        SSPC shows as a step skipped, repeated, out of order, or as standing still; the other types
        as a foreign turn (one of the bank's must carry the type in its label).
        """
        here = [e for e in self.events if e.assistant_turn == assistant_turn]
        if type_ == SSPC:
            return any(e.kind != FOREIGN for e in here)
        own = f"{PREFIX}{type_}:"
        return any(
            not is_bank_label(step) or step.startswith(own)
            for e in here
            if e.kind == FOREIGN
            for step in e.steps
        )

    def to_dict(self, numbers: Sequence[int] = ()) -> dict[str, Any]:
        """JSON form. `numbers[i]` is the turn number of assistant turn i + 1, when known."""
        first = self.first
        origin: dict[str, int] | None = None
        if first is not None:
            origin = {"assistant_turn": first}
            if first <= len(numbers):
                origin["turn"] = numbers[first - 1]
        return {
            "from": origin,
            "at_fork": sorted({e.kind for e in self.events if e.assistant_turn == first}),
            **{kind: self.steps(kind) for kind in KINDS},
            "deviating_turns": len({e.assistant_turn for e in self.events}),
            "inferred": self.inferred,
            **self.extra,
        }


def procedure_of_workflow(workflow: WorkflowRecord) -> Procedure:
    """Strict knowledge: moves between steps that are said or done (states are passed through)."""
    out: dict[str, set[str]] = {step.key: set() for step in workflow.steps}
    for move in workflow.transitions:
        out[move.source].add(move.target)
    kinds = {step.key: step.kind for step in workflow.steps}
    said = {key for key, kind in kinds.items() if kind == "action"}
    moves = {key: frozenset(_next_said(key, out, said)) for key in said}
    start = workflow.start or next(iter(kinds), "")
    first = {start} if start in said else _next_said(start, out, said)
    moves[""] = frozenset(first)
    return Procedure(
        steps=frozenset(key for key, kind in kinds.items() if kind != "state"),
        before={key: _dominators(key, moves) for key in said},
        repeatable=frozenset(key for key in said if key in _reachable(moves[key], moves)),
        moves=moves,
        free=frozenset(key for key, kind in kinds.items() if kind == "reply"),
    )


def procedure_of_dialogues(
    sequences: Iterable[Sequence[tuple[str, str]]],
    *,
    steps: Collection[str] = (),
    greeting: str = "",
    share: float = PRECEDENCE_SHARE,
    support: int = PRECEDENCE_SUPPORT,
) -> Procedure:
    """Lenient knowledge, from (label, text) of the assistant turns of conformant dialogues.

    a precedes b when, among the dialogues that hold both (at least `support`), at least `share`
    have a's first occurrence before b's. A step may come again (or be echoed) when more than
    1 - `share` of the dialogues that hold it repeat it (word for word). `steps` adds labels that
    belong to the task though unseen; nothing requires the step `greeting`.
    """
    earlier: Counter[tuple[str, str]] = Counter()
    held: Counter[str] = Counter()
    again: Counter[str] = Counter()
    echoes: Counter[str] = Counter()
    for sequence in sequences:
        said = Counter((label, plain(text)) for label, text in sequence if label)
        counts = Counter(label for label, _ in sequence if label)
        held.update(counts.keys())
        again.update(label for label, n in counts.items() if n > 1)
        echoes.update({label for (label, _), n in said.items() if n > 1})
        earlier.update(combinations(dict.fromkeys(label for label, _ in sequence if label), 2))
    before: dict[str, set[str]] = {label: set() for label in held}
    for (a, b), n in earlier.items():
        both = n + earlier.get((b, a), 0)
        if a != greeting and both >= support and n >= share * both:
            before[b].add(a)
    return Procedure(
        steps=frozenset(held) | frozenset(steps),
        before={label: frozenset(found) for label, found in before.items()},
        repeatable=frozenset(s for s, n in held.items() if again[s] > (1 - share) * n),
        echoed=frozenset(s for s, n in held.items() if echoes[s] > (1 - share) * n),
    )


def align(
    labels: Sequence[str],
    procedure: Procedure | WorkflowRecord,
    *,
    start: int = 1,
    source: Sequence[str] | None = None,
    texts: Sequence[str] | None = None,
    inferred: int = 0,
) -> Witness:
    """Note every assistant turn from number `start` on that does not belong where it stands.

    Parameters
    ----------
    labels : one step key per assistant turn ("" where unknown; bank labels count as foreign, or
        as standing still for SSPC).
    procedure : from `procedure_of_dialogues`, or a workflow, whose graph is then used.
    source : labels of the source's assistant turns: they say which steps were due. Without it
        every step that must come before is due (right for a workflow graph).
    texts : texts of the same turns; a step said again word for word is a repetition even where
        the step may come again, unless its echo is usual.
    """
    known = procedure_of_workflow(procedure) if isinstance(procedure, WorkflowRecord) else procedure
    needed = None if source is None else frozenset(source)
    events: list[Event] = []
    done: set[str] = set()
    said: set[tuple[str, str]] = set()
    previous = ""
    for place, label in enumerate(labels):
        text = plain(texts[place]) if texts else ""
        if place + 1 >= start:
            found = _events_at(label, labels[place + 1 :], known, done, needed, previous)
            if not found and text and (label, text) in said and label not in known.echoed:
                found = [(REPEATED, (label,))]
            events += [Event(place + 1, kind, steps) for kind, steps in found]
        if label in known.steps:
            done.add(label)
            if label not in known.free:
                previous = label
        if label and text:
            said.add((label, text))
    return Witness(tuple(events), inferred)


@lru_cache(maxsize=100_000)
def plain(text: str) -> str:
    """A text without regard to case and white space: two turns that say the same are equal."""
    return " ".join(text.split()).casefold()


def assistant_labels(turns: Sequence[TurnRecord]) -> list[str]:
    """Labels of the assistant turns, in order."""
    return [turn.label for turn in turns if turn.role == ASSISTANT]


def assistant_numbers(turns: Sequence[TurnRecord]) -> list[int]:
    """Turn numbers (over all turns, from 1) of the assistant turns."""
    return [number for number, turn in enumerate(turns, start=1) if turn.role == ASSISTANT]


def _events_at(
    label: str,
    later: Sequence[str],
    known: Procedure,
    done: set[str],
    needed: frozenset[str] | None,
    previous: str,
) -> list[tuple[str, tuple[str, ...]]]:
    if label.startswith(f"{PREFIX}{SSPC}:"):
        return [(STALLED, (label,))]
    if not label or label in known.free:
        return []
    if label not in known.steps:
        return [(FOREIGN, (label,))]
    allowed = known.moves is not None and label in known.moves.get(previous, ())
    if label in done:
        again = allowed if known.moves is not None else label in known.repeatable
        return [] if again else [(REPEATED, (label,))]
    due = known.before.get(label, frozenset()) - done
    if needed is not None:
        due &= needed
    late, left_out = sorted(due & set(later)), sorted(due - set(later))
    found = [(OUT_OF_ORDER, tuple(late))] if late else []
    if left_out:
        found.append((SKIPPED, tuple(left_out)))
    if not found and known.moves is not None and not allowed:
        between = _between(previous, label, known.moves)
        missed = [s for s in between or () if s not in done]
        found.append((SKIPPED, tuple(missed)) if missed else (OUT_OF_ORDER, (label,)))
    return found


def _next_said(key: str, out: Mapping[str, set[str]], said: set[str]) -> set[str]:
    """Steps that are said next after `key`, passing through states."""
    found: set[str] = set()
    seen: set[str] = set()
    queue = deque(sorted(out.get(key, ())))
    while queue:
        step = queue.popleft()
        if step in seen:
            continue
        seen.add(step)
        if step in said:
            found.add(step)
        else:
            queue.extend(sorted(out.get(step, ())))
    return found


def _reachable(
    begin: Iterable[str], moves: Mapping[str, frozenset[str]], without: str | None = None
) -> set[str]:
    seen: set[str] = set()
    queue = deque(step for step in begin if step != without)
    while queue:
        step = queue.popleft()
        if step not in seen:
            seen.add(step)
            queue.extend(s for s in moves.get(step, ()) if s != without)
    return seen


def _dominators(key: str, moves: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Steps on every path from the start to `key`, without `key`; none when it is not reached."""
    if key not in _reachable(moves[""], moves):
        return frozenset()
    return frozenset(
        step
        for step in moves
        if step not in {"", key} and key not in _reachable(moves[""], moves, without=step)
    )


def _between(begin: str, end: str, moves: Mapping[str, frozenset[str]]) -> tuple[str, ...] | None:
    """Steps inside a shortest allowed path from `begin` to `end`; None when there is no path."""
    paths: deque[tuple[str, ...]] = deque([(begin,)])
    seen = {begin}
    while paths:
        path = paths.popleft()
        for step in sorted(moves.get(path[-1], ())):
            if step == end:
                return path[1:]
            if step not in seen:
                seen.add(step)
                paths.append((*path, step))
    return None
