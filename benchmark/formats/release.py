"""A folder that `publish_release` wrote, read back: the same records, checked against its sums.

Tables lie in the order in which they can be stored: sources before their forks. The corpus that was
released is named "" in them and may come back under another name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmark.formats import dialfork
from benchmark.formats.reading import (
    expect,
    json_values,
    located,
    parsed,
    reason_of,
    whole,
)
from benchmark.records import BadRecord, Record, WorkflowRecord

MANIFEST = "MANIFEST.json"
READABLE_FORMATS = (1, 2, 3)
_PLACE = ("corpus", "format")
_TURN = ("role", "text", "name", "label", "meta")
_LABEL = (
    "trial",
    "post_reveal",
    "stage",
    "present",
    "types",
    "flags",
    "places",
    "rationale",
    "meta",
)
# What is taken from the rows here; the readers of the records check the rest.
NEEDED = {
    "workflows": {"corpus", "name"},
    "dialogues": {*_PLACE, "id", "split", "n_turns", "n_assistant_turns"},
    "turns": {*_PLACE, "dialogue", *_TURN},
    "forks": {*_PLACE, "dialogue", "ordinal"},
    "trajectories": {*_PLACE, "id"},
    "signals": {*_PLACE, "trajectory", "name", "source", "value"},
    "prompts": {"name", "version", "text", "digest", "variant_set", "axes"},
    "raters": {"name", "kind", "model", "prompt", "prompt_version", "simulated", "meta"},
    "labels": {*_PLACE, "trajectory", "rater", *_LABEL},
    "judge_answers": {*_PLACE, "trajectory", "rater", "trial", "status", "reason", "raw", "meta"},
    "reviews": {
        *("study", "annotator", "simulated", "order", "attempt", "post_reveal", "status"),
        *(*_PLACE, "trajectory", "judge", "judge_trial", "reviewed", "revised", "changed"),
        *("agreement", "on_presence", "on_type", "on_step", "on_component", "skipped", "finished"),
    },
    "annotations": {
        *("study", "annotator", "simulated", "order", "corpus", "format", "dialogue", "is_foil"),
        *("shown_type", "shown_variant", "shown_instruction", "slider", "confirmation"),
        *("onset_marked", "onset_turn", "prefix", "skipped", "finished"),
    },
}

_STUDY = {"study": str, "title": str, "seed": int, "protocol_version": int, "design": dict}

Row = dict[str, Any]


@dataclass
class Group:
    """Records of one corpus and format, to be stored together; "" is the released corpus."""

    corpus: str
    format: str
    records: Iterator[Record | BadRecord] = field(repr=False)


def is_release(folder: Path) -> bool:
    """Whether `folder` looks like a release."""
    return (folder / MANIFEST).is_file()


def manifest_of(folder: Path) -> dict[str, Any]:
    """The manifest, after every file was found to have its checksum; raises BadRecord."""
    manifest = expect(parsed(whole(folder / MANIFEST), MANIFEST), dict, MANIFEST)
    try:
        if expect(manifest.get("format"), int, "format") not in READABLE_FORMATS:
            readable = ", ".join(map(str, READABLE_FORMATS))
            raise BadRecord("format", f"is {manifest['format']}; this software reads {readable}")
        files = expect(manifest.get("files"), dict, "files")
        corpora = expect(manifest.get("corpora"), list, "corpora")
        for entry in [*files.values(), *corpora, *expect(manifest.get("studies"), list, "studies")]:
            expect(entry, dict, "entry")
        for entry in corpora:
            expect(entry.get("corpus"), str, "corpora.corpus")
            expect(entry.get("split_seed"), int, "corpora.split_seed")
            expect(entry.get("meta"), dict, "corpora.meta")
        expect(manifest.get("corpus"), str, "corpus")
        for entry in manifest["studies"]:
            for name, kind in _STUDY.items():
                expect(entry.get(name), kind, f"studies.{name}")
            for name in ("withdrawn", "commitments"):
                expect(entry.get(name, {}), dict, f"studies.{name}")
    except BadRecord as bad:
        raise located(MANIFEST, bad) from bad
    for name, entry in files.items():
        if "/" in name or "\\" in name or name.startswith("."):
            raise BadRecord(MANIFEST, f"names the file {name!r}, which lies outside the folder")
        if _sha256(folder / name) != entry.get("sha256"):
            raise BadRecord(name, "is not the file that was published: its SHA-256 differs")
    return manifest


def workflow_groups(folder: Path) -> Iterator[Group]:
    """The workflows, a corpus at a time."""
    rows = _rows(folder, "workflows")
    for corpus, group in groupby(rows, key=lambda row: row.get("corpus", "")):
        yield Group(corpus, "", _records(group, _workflow, "workflows.jsonl"))


def dialogue_groups(folder: Path) -> Iterator[Group]:
    """Dialogues with their turns and forks, a corpus and format at a time.

    A group must be read to its end before the next one is asked for.
    """
    turns, forks = _Follower(folder, "turns"), _Follower(folder, "forks")

    def build(row: Row, where: str) -> Record:
        key = (row.pop("corpus"), row.pop("format"), row["id"])
        row.pop("n_turns"), row.pop("n_assistant_turns"), row.pop("split")
        row["turns"] = [{name: turn[name] for name in _TURN} for turn in turns.of(key)]
        row["forks"] = [_fork(fork) for fork in forks.of(key)]
        return dialfork.dialogue_of(row, where)

    rows = _rows(folder, "dialogues")
    for (corpus, fmt), group in groupby(rows, key=lambda row: (row["corpus"], row["format"])):
        yield Group(corpus, fmt, _records(group, build, "dialogues.jsonl"))


def trajectory_groups(folder: Path) -> Iterator[Group]:
    """Trajectories with signals and labels, a corpus and format at a time.

    A group must be read to its end before the next one is asked for.
    """
    raters = {row["name"]: row for row in beside(folder, "raters")}
    about = ("corpus", "format", "trajectory")
    signals, labels = (
        _Follower(folder, table, about) if (folder / f"{table}.jsonl").is_file() else None
        for table in ("signals", "labels")
    )

    def build(row: Row, where: str) -> Record:
        key = (row["corpus"], row["format"], row["id"])
        values = {k: row[k] for k in row if k not in _PLACE}
        values["signals"] = [
            {name: signal[name] for name in ("name", "value", "source")}
            for signal in (signals.of(key) if signals else ())
        ]
        values["labels"] = [_label(label, raters) for label in (labels.of(key) if labels else ())]
        return dialfork.trajectory_of(values, where)

    rows = _rows(folder, "trajectories")
    for (corpus, fmt), group in groupby(rows, key=lambda row: (row["corpus"], row["format"])):
        yield Group(corpus, fmt, _records(group, build, "trajectories.jsonl"))


def _label(row: Row, raters: Mapping[str, Row]) -> Row:
    rater = raters.get(row["rater"])
    if rater is None:
        raise BadRecord("labels.jsonl", f"names the rater {row['rater']!r}, who is not in raters")
    kept = {name: row[name] for name in ("rater", *_LABEL)}
    return kept | {"kind": rater["kind"], "model": rater["model"]}


def beside(folder: Path, table: str) -> Iterator[Row]:
    """The rows of a table that releases of an older form do not have, each with its `where`."""
    if not (folder / f"{table}.jsonl").is_file():
        return
    for number, row in enumerate(_rows(folder, table), start=1):
        yield row | {"where": f"{table}.jsonl:{number}"}


def annotation_rows(folder: Path) -> Iterator[Row]:
    """The judgements, each with its place as `where`."""
    for number, row in enumerate(_rows(folder, "annotations"), start=1):
        yield row | {"where": f"annotations.jsonl:{number}"}


def _rows(folder: Path, table: str) -> Iterator[Row]:
    for item in json_values(folder / f"{table}.jsonl"):
        if isinstance(item, BadRecord):
            raise item
        row = expect(item[1], dict, item[0])
        if missing := sorted(NEEDED[table] - set(row)):
            raise BadRecord(item[0], f"has no column {missing[0]}")
        yield row


def _records(rows: Iterator[Row], build: Any, file: str) -> Iterator[Record | BadRecord]:
    for row in rows:
        where = f"{file}, {row.get('id') or row.get('name')}"
        try:
            yield build(dict(row), where)
        except BadRecord as bad:
            yield located(where, bad)


def _workflow(row: Row, where: str) -> WorkflowRecord:
    row.pop("corpus")
    return dialfork.workflow_of(row, where)


def _fork(row: Mapping[str, Any]) -> Row:
    return {k: v for k, v in row.items() if k not in ("corpus", "format", "dialogue", "ordinal")}


class _Follower:
    """Rows of a table that lies in the order of dialogues or runs, handed out one by one."""

    def __init__(
        self, folder: Path, table: str, key: Sequence[str] = ("corpus", "format", "dialogue")
    ) -> None:
        self._groups = groupby(_rows(folder, table), key=lambda row: tuple(row[k] for k in key))
        self._next = next(self._groups, None)

    def of(self, key: tuple[str, str, str]) -> list[Row]:
        if self._next is None or self._next[0] != key:
            return []
        rows = list(self._next[1])
        self._next = next(self._groups, None)
        return rows


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise BadRecord(path.name, f"cannot be opened: {reason_of(error)}") from error
    return digest.hexdigest()
