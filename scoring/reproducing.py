"""Reading a run that `export_run` wrote, and comparing what is recomputed with what was stored.

Nothing here needs a database, settings or a network: an exported run is a folder of JSON lines and
one array of vectors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.estimates import Estimate
from scoring.onset_methods import ObservedTurn
from scoring.turn_vectors import DialogueVectors, scored_turns

# Vectors are float32, and matrix products of another machine round otherwise.
TOLERANCE = 2e-6
SHOWN = 20


@dataclass(frozen=True, slots=True)
class ExportedDialogue:
    """A dialogue with all its turns in order; `forks` are the injections it carries, if any."""

    id: int
    corpus: str
    format: str
    external_id: str
    workflow: int | None
    conformant: bool | None
    split: str
    numbers: tuple[int, ...]
    roles: tuple[str, ...]
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    forks: tuple[Mapping[str, Any], ...]

    @property
    def fork(self) -> Mapping[str, Any] | None:
        """The injection of a dialogue that carries exactly one: with more, k orders nothing."""
        return self.forks[0] if len(self.forks) == 1 else None

    @property
    def scored(self) -> list[int]:
        """Places of the turns that are scored."""
        return scored_turns(self.roles, self.texts)


@dataclass(slots=True)
class Numbers:
    """Numbers of a run by what they are about: rows by kind and key, each a mapping of fields."""

    rows: dict[tuple[str, ...], dict[str, Any]] = field(default_factory=dict)

    def of(self, kind: str) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
        """Key (without the kind) and fields of every row of a kind."""
        return ((key[1:], fields) for key, fields in self.rows.items() if key[0] == kind)

    def add(self, kind: str, *key: Any, **fields: Any) -> None:
        self.rows[(kind, *map(str, key))] = fields

    def add_estimate(self, estimate: Estimate, *key: Any) -> None:
        """A result row: `key` is statistic, group, workflow and k; the detail's `skipped` is the
        row's, and a reason stands only where there is no value."""
        self.add("result", *key, **estimate.as_row())


class ExportedRun:
    """The folder of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run: dict[str, Any] = json.loads((folder / "run.json").read_text("utf-8"))
        self.parameters: dict[str, Any] = self.run["parameters"]

    def lines(self, name: str) -> Iterator[Any]:
        """The objects of a file of JSON lines; nothing where the run has no such file."""
        path = self.folder / f"{name}.jsonl"
        if path.is_file():
            with path.open(encoding="utf-8") as file:
                yield from map(json.loads, file)

    @cached_property
    def dialogues(self) -> dict[int, ExportedDialogue]:
        """Every dialogue the run could read, by id, in the order of ids."""
        found = {}
        for row in self.lines("dialogues"):
            numbers, roles, texts, labels = (tuple(column) for column in row.pop("turns"))
            forks = tuple(row.pop("forks"))
            found[row["id"]] = ExportedDialogue(
                **row, numbers=numbers, roles=roles, texts=texts, labels=labels, forks=forks
            )
        return found

    def read(self) -> Iterator[ExportedDialogue]:
        """The dialogues of the corpora the run reads, in the order of ids."""
        corpora = set(self.parameters["read"])
        return (each for each in self.dialogues.values() if each.corpus in corpora)

    def fitting_half(self, workflow: int | None) -> list[ExportedDialogue]:
        """The conformant train half of a workflow, in the order in which the run was fitted."""
        return [self.dialogues[key] for key in self._fitting.get(workflow, ())]

    @cached_property
    def _fitting(self) -> dict[int | None, list[int]]:
        return {row["workflow"]: row["dialogues"] for row in self.lines("fitting")}

    @cached_property
    def workflows(self) -> dict[int, dict[str, Any]]:
        """Workflows with their steps and moves, by id, in the order of names."""
        return {row["id"]: row for row in self.lines("workflows")}

    @cached_property
    def _vectors(self) -> NDArray[np.float32]:
        return np.load(self.folder / "vectors.npy", allow_pickle=False)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {text: place for place, text in enumerate(self.lines("texts"))}

    def vectors_for(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The stored rows of `texts`, shape (len(texts), d); a blank text gives a zero row."""
        out = np.zeros((len(texts), self._vectors.shape[1]), dtype=np.float32)
        for place, text in enumerate(texts):
            if stripped := text.strip():
                out[place] = self._vectors[self._places[stripped]]
        return out

    def scored(self, dialogue: ExportedDialogue, *, full: bool = False) -> DialogueVectors:
        """The scored turns with their vectors, or with `full` the vector of the whole text.

        Without an encoder, and with `full`, the turn vectors have no columns.
        """
        places = dialogue.scored
        texts = tuple(dialogue.texts[i].strip() for i in places)
        roles = tuple(dialogue.roles[i] for i in places)
        nothing = np.zeros((len(places), 0), dtype=np.float32)
        if "encoder" not in self.parameters:
            return DialogueVectors(roles, texts, nothing)
        if full:
            whole = self.vectors_for(["\n".join(texts)])[0] if places else None
            return DialogueVectors(roles, texts, nothing, whole)
        return DialogueVectors(roles, texts, self.vectors_for(texts) if places else nothing)

    def observed(self, dialogue: ExportedDialogue) -> list[ObservedTurn]:
        """The scored turns as a detector sees them."""
        numbers = [dialogue.numbers[place] for place in dialogue.scored]
        seen = self.scored(dialogue)
        return [
            ObservedTurn(*turn)
            for turn in zip(numbers, seen.roles, seen.texts, seen.vectors, strict=True)
        ]

    def stored(self) -> Numbers:
        """Every number the run stored."""
        found = Numbers()
        for row in self.lines("numbers"):
            found.rows[tuple(row["key"])] = row["fields"]
        return found


def differences(stored: Numbers, computed: Numbers) -> list[str]:
    """What differs, as sentences; empty when every stored number was computed again."""
    found = []
    for key, fields in stored.rows.items():
        name = " ".join(key)
        if key not in computed.rows:
            found.append(f"{name}: stored, but not recomputed")
            continue
        for part, value in fields.items():
            again = computed.rows[key].get(part)
            found += [f"{name}, {where}" for where in _unequal(value, again, part)]
    found += [
        f"{' '.join(key)}: recomputed, but not stored"
        for key in computed.rows
        if key not in stored.rows
    ]
    return found


def report(exported: ExportedRun, computed: Numbers) -> int:
    """Print OK or the differences; returns the exit code."""
    stored = exported.stored()
    found = differences(stored, computed)
    for line in found[:SHOWN]:
        print(line)
    if found:
        print(f"{len(found)} differences in {len(stored.rows)} rows")
        return 1
    print(f"OK: {len(stored.rows)} rows of run {exported.run['id']} recomputed, none differs")
    return 0


def _unequal(stored: Any, again: Any, where: str) -> Iterable[str]:
    if isinstance(stored, Mapping) and isinstance(again, Mapping):
        for name in sorted(stored.keys() | again.keys(), key=str):
            yield from _unequal(stored.get(name), again.get(name), f"{where}.{name}")
    elif isinstance(stored, list) and isinstance(again, (list, tuple)):
        if len(stored) != len(again):
            yield f"{where}: {len(stored)} entries stored, {len(again)} recomputed"
            return
        for place, (a, b) in enumerate(zip(stored, again, strict=True)):
            yield from _unequal(a, b, f"{where}[{place}]")
    elif not _same(stored, again):
        yield f"{where}: {stored!r} stored, {again!r} recomputed"


def _same(stored: Any, again: Any) -> bool:
    if isinstance(stored, (int, float)) and isinstance(again, (int, float)):
        if isinstance(stored, bool) or isinstance(again, bool):
            return stored is again
        return math.isclose(stored, again, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return stored == again
