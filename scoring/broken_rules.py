"""How many conformant dialogues break hard rules of their workflow: why the rules must be graded.

Rules come from the workflow (its moves) or from training dialogues (what none of them did); the
dialogues they are held against are others, read by their labels. Declare names such rules (Pesic,
Schonenberg and van der Aalst 2007, doi:10.1109/EDOC.2007.14).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from scoring.workflow_steps import WorkflowKnowledge

EDGE = "move not in the workflow"
UNKNOWN = "turn that takes no known step"
AGAIN = "step taken twice in a row"
VERBATIM = "turn said twice in a row"
SUCCESSION = "move that no training dialogue makes"
TIMES = "step taken more often than in any training dialogue"
ORDER = "step after one it follows in no training dialogue"
PRECEDENCE = "step before one that precedes it in 90 % of training dialogues"
RULES = (EDGE, UNKNOWN, AGAIN, VERBATIM, SUCCESSION, TIMES, ORDER, PRECEDENCE)
SURE_SHARE = 0.9
# Rules on order and precedence need so many training dialogues to stand on.
FEWEST = 5


class Said(NamedTuple):
    """An assistant turn: its label ("" without one) and its text."""

    label: str
    text: str


Told = Sequence[Said]


def broken(knowledge: WorkflowKnowledge, train: Sequence[Told], told: Told) -> frozenset[str]:
    """The kinds of rule that the assistant turns of one dialogue break.

    A rule on two steps is passed over where one of the turns takes no known step, that on moves
    also where a step lies outside the graph.
    """
    known = {step.key for step in knowledge.steps if step.said}
    known.update(turn.label for row in train for turn in row if turn.label)
    path = [turn.label for turn in told]
    steps = [label for label in path if label in known]
    moves = [(a, b) for a, b in pairwise(path) if a in known and b in known]
    before = [[turn.label for turn in row] for row in train]
    seen = {move for row in before for move in pairwise(row)}
    allowed = _moves(knowledge)
    drawn = {key for move in allowed for key in move}
    found = {
        EDGE: any(a != b and {a, b} <= drawn and (a, b) not in allowed for a, b in moves),
        UNKNOWN: len(steps) < len(path),
        AGAIN: any(a == b for a, b in moves),
        VERBATIM: any(a.text.strip() == b.text.strip() for a, b in pairwise(told)),
        SUCCESSION: any(move not in seen for move in moves),
        TIMES: _too_often(before, steps),
        ORDER: _too_late(before, steps),
        PRECEDENCE: _too_early(before, steps),
    }
    return frozenset(rule for rule, holds in found.items() if holds)


def shares(found: Iterable[frozenset[str]]) -> dict[str, float]:
    """The percentage of dialogues that break each kind of rule; empty without a dialogue."""
    rows = list(found)
    if not rows:
        return {}
    return {rule: 100 * sum(rule in row for row in rows) / len(rows) for rule in RULES}


def _moves(knowledge: WorkflowKnowledge) -> set[tuple[str, str]]:
    """The moves from said step to said step, passing through states."""
    onward: dict[str, list[str]] = defaultdict(list)
    for a, b in knowledge.moves:
        onward[a].append(b)
    said = {step.key: step.said for step in knowledge.steps}
    found = set()
    for key in said:
        waiting, passed = list(onward[key]), set()
        while waiting:
            target = waiting.pop()
            if target in passed:
                continue
            passed.add(target)
            if said.get(target, True):
                found.add((key, target))
            else:
                waiting += onward[target]
    return found


def _too_often(train: Sequence[Sequence[str]], steps: Sequence[str]) -> bool:
    most: Counter[str] = Counter()
    for row in train:
        most |= Counter(row)
    return any(times > most[step] for step, times in Counter(steps).items())


def _too_late(train: Sequence[Sequence[str]], steps: Sequence[str]) -> bool:
    """A step after another that it never follows, though both are taken often enough together."""
    together: Counter[tuple[str, str]] = Counter()
    follows: set[tuple[str, str]] = set()
    for row in train:
        kinds = dict.fromkeys(label for label in row if label)
        together.update((a, b) for a in kinds for b in kinds if a != b)
        follows |= _later(row)
    return any(together[pair] >= FEWEST and pair not in follows for pair in _later(steps))


def _too_early(train: Sequence[Sequence[str]], steps: Sequence[str]) -> bool:
    """The first of a step while another is missing that nearly always comes before it."""
    having: Counter[str] = Counter()
    preceded: dict[str, Counter[str]] = defaultdict(Counter)
    for row in train:
        for step, done in _firsts(row).items():
            having[step] += 1
            preceded[step].update(done)
    for step, done in _firsts(steps).items():
        if having[step] < FEWEST:
            continue
        missing = (a for a in preceded[step] if a not in done)
        if any(preceded[step][a] >= SURE_SHARE * having[step] for a in missing):
            return True
    return False


def _later(path: Sequence[str]) -> set[tuple[str, str]]:
    """(a, b) for each step b that comes somewhere after a first a, a and b different."""
    done: dict[str, None] = {}
    found = set()
    for step in path:
        if step:
            found.update((earlier, step) for earlier in done if earlier != step)
            done[step] = None
    return found


def _firsts(path: Sequence[str]) -> Mapping[str, set[str]]:
    """What was done before the first of each step."""
    done: set[str] = set()
    found: dict[str, set[str]] = {}
    for step in path:
        if step and step not in found:
            found[step] = set(done)
            done.add(step)
    return found
