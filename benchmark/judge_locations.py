"""Where a judge says that a hallucination is, as steps and components of the run.

Read are a step or task by its number, a component, and the final response, in any order within a
segment: "Task 2, Action", "Step 3 - Thought", "Action of step 3", "Steps 2-4", "Final response".
Segments are separated by semicolons or new lines, or come as a list.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmark.label_records import ACTION, OBSERVATION, RESPONSE, THOUGHT, PlaceRecord

# What "Step 3" counts: positions in the run, or the numbers the run gives (which may repeat).
BY_POSITION, BY_NUMBER = NUMBERINGS = ("position", "number")
COMPONENT_WORDS: Mapping[str, str] = {
    **dict.fromkeys(("thought", "thoughts", "thinking", "think", "reasoning"), THOUGHT),
    **dict.fromkeys(("action", "actions", "action input", "tool call", "tool use"), ACTION),
    **dict.fromkeys(("observation", "observations", "tool output", "tool result"), OBSERVATION),
    **dict.fromkeys(("response", "responses", "answer", "output"), RESPONSE),
}
FINAL_WORDS = frozenset(
    f"{first} {second}"
    for first in ("final", "agent final", "agent's final", "overall")
    for second in ("response", "answer", "output", "summary")
)
UNREADABLE, OUT_OF_RUN, SPANS = (
    "location not readable",
    "location outside of the run",
    "location spans several steps",
)
STEP, TASK, PART, FINAL = "step", "task", "part", "final"
MOST_SEGMENTS, MOST_STEPS, LONGEST = 50, 200, 2_000
_NONE = frozenset(("", "none", "n/a", "na", "null", "-", "no", "not applicable", "nowhere"))
_NUMBERS = r"\d{1,6}(?:\s*(?:-|–|to|through|,|and|&)\s*\d{1,6})*"
_UNIT = re.compile(
    rf"(?:(?:in|at|of)\s+)?(?:the\s+)?(?P<kind>step|task|sub-?task|entry)s?"
    rf"\s*(?:#|no\.?|number)?\s*(?P<numbers>{_NUMBERS})\Z"
)
_RANGE = re.compile(r"(\d+)\s*(?:-|–|to|through)\s*(\d+)")
# A number list may hold commas, so those between numbers separate nothing.
_PIECES = re.compile(r"(?<!\d),|,(?!\s*\d)|[:()\[\]/|>]|\s[-–—]\s|\.\s|\.\Z")
_PART_OF = re.compile(
    r"(?P<part>.+?)\s+(?:of|in|at|for)\s+(?:the\s+)?(?P<unit>(?:step|task|sub-?task|entry)s?\b.+)\Z"
)
_THEN_PART = re.compile(
    rf"(?P<unit>(?:step|task|sub-?task|entry)s?\s*(?:#|no\.?|number)?\s*{_NUMBERS})"
    r"(?:(?:'s|’s)?\s+|\s?[-–—]\s?)(?P<part>[a-z].*)\Z"
)


@dataclass(frozen=True, slots=True)
class RunStep:
    """A step as places are found in it: its position from 1, its number as given, the task it
    belongs to (None where the run has no tasks), and the components that hold text."""

    position: int
    number: int
    task: int | None = None
    components: frozenset[str] = frozenset()


def places_of(
    value: Any, steps: Sequence[RunStep], numbering: str = BY_POSITION
) -> tuple[list[PlaceRecord], Counter[str]]:
    """The places in `value` (text, or a list of texts) and counted notes on what was met.

    A segment that cannot be read, or names a step the run does not have, becomes a place without
    step and component. "Task 2" of a run whose steps belong to tasks is each step of that task that
    has the component. Nothing named is no place.
    """
    notes: Counter[str] = Counter()
    places: dict[PlaceRecord, None] = {}
    for segment in _segments(value):
        found = _segment(segment, steps, numbering, notes) if segment is not None else None
        if found is None:
            notes[UNREADABLE] += 1
        for place in found or [PlaceRecord(None)]:
            places[place] = None
    named = [place for place in places if place.step or place.component]
    return named or list(places), notes


def _segments(value: Any) -> Iterator[str | None]:
    items = value if isinstance(value, list) else [value]
    for item in items[:MOST_SEGMENTS]:
        if item is None:
            continue
        if not isinstance(item, str) or len(item) > LONGEST:
            yield None
            continue
        for text in re.split(r"[;\n]", item)[:MOST_SEGMENTS]:
            plain = " ".join(text.split()).casefold().strip(" .\"'*")
            if plain not in _NONE:
                yield plain


@dataclass
class _Group:
    """Steps that a segment names, with their components; without steps it is the final response."""

    kind: str
    steps: list[RunStep]
    parts: list[str] = field(default_factory=list)


def _segment(
    text: str, steps: Sequence[RunStep], numbering: str, notes: Counter[str]
) -> list[PlaceRecord] | None:
    """The places of one segment; None where it names nothing that can be read."""
    groups: list[_Group] = []
    waiting: list[str] = []
    for kind, found in _tokens(text):
        if kind == PART:
            (groups[-1].parts if groups else waiting).extend(found)
        elif kind == FINAL and groups and not groups[-1].parts:
            groups[-1].parts.append(RESPONSE)
        elif kind == FINAL:
            groups.append(_Group(FINAL, [], [RESPONSE]))
        else:
            chosen = _chosen(kind, found, groups, steps, numbering)
            if not chosen:
                notes[OUT_OF_RUN] += 1
                return [PlaceRecord(None)]
            groups.append(_Group(kind, chosen))
    if not groups and RESPONSE in waiting:
        # A response that belongs to no step is that of the run.
        return [PlaceRecord(None, RESPONSE)]
    if not groups:
        return None
    groups[0].parts[:0] = waiting
    return [place for group in groups for place in _placed(group, notes)]


def _chosen(
    kind: str,
    numbers: list[int],
    groups: list[_Group],
    steps: Sequence[RunStep],
    numbering: str,
) -> list[RunStep]:
    """The steps meant, none where the run lacks one of them. "Task 2, Step 3" is one place."""
    tasks = any(step.task is not None for step in steps)
    if kind == TASK and tasks:
        return _all(numbers, [(step.task, step) for step in steps])
    if kind == STEP and groups and groups[-1].kind == TASK and not groups[-1].parts:
        # In a run without tasks nobody can say which of the two numbers is meant.
        return _within(numbers, groups.pop().steps, numbering) if tasks else []
    return _numbered(numbers, steps, numbering)


def _within(numbers: list[int], steps: Sequence[RunStep], numbering: str) -> list[RunStep]:
    """Steps of a task: by their number in the run, else counted within the task."""
    return _numbered(numbers, steps, numbering) or _all(numbers, list(enumerate(steps, start=1)))


def _numbered(numbers: list[int], steps: Sequence[RunStep], numbering: str) -> list[RunStep]:
    by_number = numbering == BY_NUMBER
    return _all(numbers, [(s.number if by_number else s.position, s) for s in steps])


def _all(numbers: list[int], named: Sequence[tuple[int | None, RunStep]]) -> list[RunStep]:
    """The steps under `numbers`; none where one of the numbers is not there."""
    found = [(number, step) for number, step in named if number in numbers]
    return [step for _, step in found] if {n for n, _ in found} == set(numbers) else []


def _placed(group: _Group, notes: Counter[str]) -> Iterator[PlaceRecord]:
    if group.kind == FINAL:
        yield PlaceRecord(None, RESPONSE)
        return
    for part in dict.fromkeys(group.parts) or [""]:
        having = [step for step in group.steps if part in step.components] or group.steps
        notes[SPANS] += len(having) > 1
        for step in having[:MOST_STEPS]:
            yield PlaceRecord(step.position, part)


def _tokens(text: str) -> Iterator[tuple[str, Any]]:
    """(STEP or TASK, numbers), (PART, components) and (FINAL, None), as they stand; words that are
    none of these are passed over."""
    for piece in _PIECES.split(text.replace("no. ", "no ")):
        yield from _piece(piece.strip(" .,\"'*"))


def _piece(piece: str) -> Iterator[tuple[str, Any]]:
    if piece in FINAL_WORDS or piece.removeprefix("the ") in FINAL_WORDS:
        yield FINAL, None
    elif unit := _UNIT.match(piece):
        if numbers := _whole(unit["numbers"]):
            yield (STEP if unit["kind"] in ("step", "entry") else TASK), numbers
    elif parts := _parts(piece):
        yield PART, parts
    elif (found := _THEN_PART.match(piece) or _PART_OF.match(piece)) and (
        parts := _parts(found["part"])
    ):
        yield from _piece(found["unit"].strip())
        yield PART, parts


def _parts(piece: str) -> list[str]:
    words = [word.removeprefix("the ").strip() for word in re.split(r"\s+and\s+|&|\+", piece)]
    found = [COMPONENT_WORDS.get(word.strip()) for word in words]
    return [part for part in found if part] if all(found) else []


def _whole(text: str) -> list[int]:
    """The numbers of "2", "2 and 4" and "2-4"; empty where there are too many."""
    numbers: set[int] = set()
    for low, high in _RANGE.findall(text):
        if not 0 <= int(high) - int(low) < MOST_STEPS:
            return []
        numbers.update(range(int(low), int(high) + 1))
    numbers.update(map(int, re.findall(r"\d+", _RANGE.sub(" ", text))))
    return sorted(numbers)
