"""One agent run as a page shows it: steps with excerpts, and who names which place.

Long texts are cut in the database, so that a run of any length costs the same few statements and a
bounded number of bytes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models.functions import Length, Substr

from benchmark.label_records import COMPONENTS, TYPES, LabelRecord, PlaceRecord
from benchmark.labelling import records_of
from benchmark.models import JudgeAnswer, LabelSet, Rater, Trajectory

WINDOW = 100
# Characters of one text that a page carries; the rest is fetched from an address of its own.
EXCERPT = 6000
# What stands open before the fold, and the least that is worth a fold.
OPEN_CHARACTERS, OPEN_LINES, LEAST_FOLD = 700, 10, 200
RAW_EXCERPT = 2000
COLOURS = 6
# Marks of one kind at one place from which on they stand as one, to be opened.
MANY_MARKS = 4
CODE = {"action", "observation"}
# Published first: it is what the others are held against.
KIND_ORDER = {kind: at for at, kind in enumerate(("published", "person", "judge"))}


@dataclass(frozen=True, slots=True)
class Mark:
    """One place of a label, as it stands at its step: who says it, and of what."""

    label: int
    rater: str
    kind: str
    place: PlaceRecord
    blind: bool


@dataclass(frozen=True, slots=True)
class MarkGroup:
    """Marks of raters of one kind at one place."""

    kind: str
    marks: Sequence[Mark]

    @property
    def types(self) -> list[tuple[str, int]]:
        """How many of them name which type; "" for none, last."""
        counts = Counter(mark.place.type for mark in self.marks)
        return [(name, counts[name]) for name in (*TYPES, "") if counts[name]]


class PlaceMarks(tuple[Mark, ...]):
    """Marks at one place; many of one kind are shown as one."""

    @property
    def single(self) -> list[Mark]:
        many = self._many
        return [mark for mark in self if mark.kind not in many]

    @property
    def groups(self) -> list[MarkGroup]:
        return [MarkGroup(kind, [m for m in self if m.kind == kind]) for kind in self._many]

    @property
    def _many(self) -> list[str]:
        counts = Counter(mark.kind for mark in self)
        return [kind for kind in KIND_ORDER if counts[kind] >= MANY_MARKS]


@dataclass(frozen=True, slots=True)
class Part:
    """A thought, action, observation or response: what is open, what is folded, what is left out.

    `length` counts all characters of the text; `cut` says that `head` and `rest` hold fewer.
    """

    name: str
    head: str
    rest: str
    length: int
    marks: Sequence[Mark] = ()

    @property
    def code(self) -> bool:
        return self.name in CODE

    @property
    def cut(self) -> bool:
        return len(self.head) + len(self.rest) < self.length


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step with its parts; `marks` name the step alone, `evidence` call it what is missing."""

    position: int
    number: int
    repeated: bool
    agent: str
    colour: int
    parts: Sequence[Part]
    marks: Sequence[Mark]
    evidence: Sequence[Mark]

    @property
    def named(self) -> bool:
        return bool(self.marks) or any(part.marks for part in self.parts)


@dataclass(frozen=True, slots=True)
class Column:
    """What one rater says of the run in one trial and stage; no label where it was not readable."""

    rater: Rater
    trial: int
    label: LabelRecord | None
    key: int | None
    answer: JudgeAnswer | None

    @property
    def anchor(self) -> str:
        if self.key is None:
            return f"answer-{self.answer.pk}" if self.answer else ""
        return f"label-{self.key}"


@dataclass(slots=True)
class Marks:
    """Marks of a run by where they stand."""

    at: dict[tuple[int, str], list[Mark]] = field(default_factory=lambda: defaultdict(list))
    final: list[Mark] = field(default_factory=list)
    evidence: dict[int, list[Mark]] = field(default_factory=lambda: defaultdict(list))

    @property
    def positions(self) -> list[int]:
        """Positions of the steps that somebody names, in order."""
        return sorted({position for position, _ in self.at})


def columns_of(run: Trajectory) -> list[Column]:
    """Every label and every unreadable answer, publishers first, then people, then judges.

    Four statements, whatever the number of raters.
    """
    held = list(LabelSet.objects.filter(trajectory=run).select_related("rater__prompt"))
    records = records_of(held)
    answers = JudgeAnswer.objects.filter(trajectory=run).select_related("rater__prompt")
    cut = answers.defer("raw").annotate(excerpt=Substr("raw", 1, RAW_EXCERPT), n_raw=Length("raw"))
    found = list(cut)
    by_label = {answer.labels_id: answer for answer in found if answer.labels_id}
    columns = [
        Column(row.rater, row.trial, records[row.pk], row.pk, by_label.get(row.pk)) for row in held
    ]
    columns += [Column(a.rater, a.trial, None, None, a) for a in found if not a.labels_id]
    return sorted(columns, key=_order)


def _order(column: Column) -> tuple[Any, ...]:
    late = column.label is not None and column.label.post_reveal
    return KIND_ORDER[column.rater.kind], column.rater.name, column.trial, late, column.key or 0


def marks_of(columns: Sequence[Column]) -> Marks:
    """Where the labels of `columns` point; a place without step and component points nowhere."""
    marks = Marks()
    for column in columns:
        if column.label is None or column.key is None:
            continue
        for place in column.label.places:
            blind = not column.label.post_reveal
            mark = Mark(column.key, column.rater.name, column.rater.kind, place, blind)
            if place.step is not None:
                marks.at[place.step, place.component].append(mark)
            elif place.component:
                marks.final.append(mark)
            if place.evidence is not None:
                marks.evidence[place.evidence].append(mark)
    return marks


def agents_of(rows: Sequence[tuple[int, int, str]]) -> dict[str, tuple[int, int]]:
    """(number of steps, colour from 1) of each named agent, in the order they first speak.

    `rows` are (position, number, agent) of every step. Colours repeat beyond COLOURS agents.
    """
    counts = Counter(agent for _, _, agent in rows if agent)
    return {agent: (n, at % COLOURS + 1) for at, (agent, n) in enumerate(counts.items())}


def outline_of(run: Trajectory) -> list[tuple[int, int, str]]:
    """(position, number, agent) of every step, in order; one statement without a text."""
    return list(run.steps.order_by("position").values_list("position", "number", "agent"))


def steps_of(
    run: Trajectory,
    first: int,
    outline: Sequence[tuple[int, int, str]],
    marks: Marks,
    *,
    size: int = WINDOW,
    excerpt: int | None = EXCERPT,
) -> list[ShownStep]:
    """The steps from position `first` on, `size` at most, in one statement.

    No text is longer than `excerpt` characters; None carries them whole.
    """
    times = Counter(number for _, number, _ in outline)
    colours = agents_of(outline)
    rows = run.steps.filter(position__gte=first, position__lt=first + size).order_by("position")
    heads = {
        f"{name}_head": Substr(name, 1, excerpt) if excerpt else Substr(name, 1)
        for name in COMPONENTS
    }
    lengths = {f"{name}_length": Length(name) for name in COMPONENTS}
    read = rows.annotate(**heads, **lengths)
    shown = []
    for row in read.values("position", "number", "agent", *heads, *lengths):
        position = row["position"]
        shown.append(
            ShownStep(
                position,
                row["number"],
                times[row["number"]] > 1,
                row["agent"],
                colours.get(row["agent"], (0, 0))[1],
                list(_parts(row, marks, fold=excerpt is not None)),
                PlaceMarks(marks.at.get((position, ""), ())),
                marks.evidence.get(position, ()),
            )
        )
    return shown


def _parts(row: Mapping[str, Any], marks: Marks, *, fold: bool) -> Iterator[Part]:
    """The parts that hold anything, and empty ones that somebody names."""
    for name in COMPONENTS:
        text, length = row[f"{name}_head"] or "", row[f"{name}_length"] or 0
        said = marks.at.get((row["position"], name), ())
        if text.strip() or length > len(text) or said:
            yield part_of(name, text, length, PlaceMarks(said), fold=fold)


def part_of(
    name: str, text: str, length: int, marks: Sequence[Mark] = (), *, fold: bool = True
) -> Part:
    """`text`, the first characters of a text of `length`, as what is open and what is folded."""
    head, rest = folded(text) if fold else (text, "")
    return Part(name, head, rest, max(length, len(text)), marks)


def folded(text: str) -> tuple[str, str]:
    """`text` in two pieces that make it up again: its first lines, and the rest ("" if short)."""
    end = min(len(text), OPEN_CHARACTERS)
    for at, line in enumerate(_line_ends(text, end), start=1):
        if at == OPEN_LINES:
            end = line
            break
    if len(text) - end < LEAST_FOLD and text.count("\n", end) < OPEN_LINES:
        return text, ""
    # A word, or what looks like one letter, stays whole where there is a space to cut at.
    space = max(text.rfind(" ", 0, end), text.rfind("\n", 0, end))
    if end < len(text) and space > end // 2:
        end = space + 1
    return text[:end], text[end:]


def _line_ends(text: str, before: int) -> Iterator[int]:
    at = text.find("\n", 0, before)
    while at >= 0:
        yield at + 1
        at = text.find("\n", at + 1, before)


def signal_table(run: Trajectory) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Sources, and per signal what each of them says: "yes", "no", "undecided", or "" for none."""
    words = {True: "yes", False: "no", None: "undecided"}
    said = {(s.name, s.source): words[s.value] for s in run.signals.all()}
    sources = sorted({source for _, source in said})
    names = sorted({name for name, _ in said})
    return sources, [(name, [said.get((name, source), "") for source in sources]) for name in names]
