"""Transcripts: CSV and TSV with a row per turn, TXT with `Speaker: text` lines.

An explicit turn index gives the order; without one the order of the file stands. Times are kept and
never sort. An empty text is a turn like any other.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark.formats.building import dialogue, turn
from benchmark.formats.reading import (
    files,
    located,
    text_stream,
    whole,
)
from benchmark.formats.speakers import INFERRED, speaker_role, speaker_roles, unknown
from benchmark.records import BadRecord, DialogueRecord, Record

LIKE_A_SPEAKER = "line that begins like an unknown speaker kept as text"
SPEAKER_WORDS_AT_MOST = 3
COLUMNS = {
    "dialogue": "dialogue_id dialog_id dialogueid conversation_id conversation dialogue dialog "
    "session_id session id",
    "turn": "turn turn_index turn_id turn_number turn_no index utterance_index order",
    "speaker": "speaker role from author sender participant",
    "text": "text utterance message content value transcript",
    "label": "label action_label act intent",
    "workflow": "workflow task",
    "time": "timestamp time date datetime created_at",
}
_NAMES = {name: what for what, names in COLUMNS.items() for name in names.split()}
_LINE = re.compile(r"([^:\s][^:]{0,59}?)\s*:(?: |$)(.*)\Z", re.DOTALL)
_SPEAKER_LIKE = re.compile(r"[A-ZÀ-Þ][\w.'-]*( [\w.'-]+){0,2}\Z")


def read(
    path: Path, *, workflows: Path | None = None, roles: Mapping[str, str] | None = None
) -> Iterator[Record | BadRecord]:
    """The dialogues of a .csv, .tsv or .txt, or of such files in a folder."""
    for file in files(path, ".csv", ".tsv", ".txt") if path.is_dir() else [path]:
        yield from read_file(file, roles)


def read_file(file: Path, roles: Mapping[str, str] | None) -> Iterator[Record | BadRecord]:
    """The dialogues of one transcript; a file that cannot be read is one BadRecord."""
    try:
        if file.suffix == ".txt":
            yield of_lines(whole(file), file, roles)
        elif file.suffix in (".csv", ".tsv"):
            yield from of_table(file, roles)
        else:
            yield BadRecord(file.name, "transcripts end in .csv, .tsv or .txt")
    except BadRecord as bad:
        yield located(file.name, bad)


# TXT


def of_lines(text: str, file: Path, roles: Mapping[str, str] | None) -> DialogueRecord:
    """`Speaker: text` lines as one dialogue; other lines go on with the last speaker."""
    spoken: list[tuple[str, list[str]]] = []
    warnings: Counter[str] = Counter()
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.removesuffix("\r")
        match = _LINE.match(line)
        known = match and _is_speaker(match[1], roles)
        if match and (known or not spoken):
            if not known and not _SPEAKER_LIKE.match(match[1]):
                raise BadRecord(f"line {number}", "a transcript begins with `Speaker: text`")
            spoken.append((match[1], [match[2]]))
        elif spoken:
            if match and _SPEAKER_LIKE.match(match[1]):
                warnings[LIKE_A_SPEAKER] += 1
            spoken[-1][1].append(line)
        elif line.strip():
            raise BadRecord(f"line {number}", "a transcript begins with `Speaker: text`")
    named = {name: speaker_role(name, roles) for name, _ in spoken}
    if dumb := [name for name, role in named.items() if role is None]:
        raise BadRecord("speakers", unknown(dumb, ["user", "assistant", "system", "customer"]))
    turns = [
        turn(named[name] or "", "\n".join(parts).strip("\n"), name=name) for name, parts in spoken
    ]
    return dialogue(file.name.split(".")[0], turns, where=file.name, warnings=warnings)


def _is_speaker(name: str, roles: Mapping[str, str] | None) -> bool:
    """Whether `name` tells a role and looks like a name, not like the start of a sentence."""
    if speaker_role(name, roles) is None:
        return False
    return name in (roles or {}) or len(name.split()) <= SPEAKER_WORDS_AT_MOST


# CSV, TSV


@dataclass
class _Rows:
    """The rows of one dialogue as they come, or why it cannot be one."""

    rows: list[dict[str, str]] = field(default_factory=list)
    bad: BadRecord | None = None


def of_table(file: Path, roles: Mapping[str, str] | None) -> Iterator[Record | BadRecord]:
    """One dialogue per value of the dialogue column, in the order of their first rows."""
    stream = text_stream(file)
    first = stream.readline()
    stream.seek(0)
    rows = csv.reader(stream, delimiter=_delimiter(file, first))
    grouped: dict[str, _Rows] = {}
    columns: list[str] | None = None
    try:
        for row in rows:
            if columns is None:
                columns, is_header = _columns(row)
                if is_header:
                    continue
            if row:
                _put(grouped, columns, row, f"{file.name}:{rows.line_num}", file)
    except csv.Error as error:
        # Which dialogues would go on after this row nobody knows, so none is taken.
        yield BadRecord(f"{file.name}:{rows.line_num}", f"not a readable row: {error}")
        return
    for ident, held in grouped.items():
        try:
            yield held.bad or _dialogue(ident, held.rows, roles)
        except BadRecord as bad:
            yield located(held.rows[0]["where"], bad)


def _delimiter(file: Path, header: str) -> str:
    if file.suffix == ".tsv":
        return "\t"
    return max(",;\t", key=header.count)


def _columns(row: list[str]) -> tuple[list[str], bool]:
    """(what each column holds, whether the row was a header). Without one: speaker, text."""
    names = [cell.strip().lower().replace(" ", "_") for cell in row]
    known = [_NAMES.get(name, name) for name in names]
    if "text" in known and "speaker" in known:
        seen: set[str] = set()
        # A second column of the same meaning keeps its own name and is kept beside the turn.
        return [
            k if k not in seen and not seen.add(k) else n for k, n in zip(known, names, strict=True)
        ], True
    if len(row) == 2 and not {"text", "speaker"} & set(known):
        return ["speaker", "text"], False
    raise BadRecord(
        "header",
        "needs a column for the speaker and one for the text "
        f"({COLUMNS['speaker'].split()[0]}, {COLUMNS['text'].split()[0]})",
    )


def _put(
    grouped: dict[str, _Rows], columns: list[str], row: list[str], where: str, file: Path
) -> None:
    cells = dict(zip(columns, row, strict=False)) | {"where": where}
    ident = cells.get("dialogue", "") if "dialogue" in columns else file.name.split(".")[0]
    held = grouped.setdefault(ident, _Rows())
    held.rows.append(cells)
    if len(row) != len(columns) and held.bad is None:
        reason = (
            f"has {len(row)} fields, the table has {len(columns)}; dialogue {ident} is left out"
        )
        held.bad = BadRecord(where, reason)


def _dialogue(
    ident: str, rows: list[dict[str, str]], roles: Mapping[str, str] | None
) -> DialogueRecord:
    if "turn" in rows[0]:
        rows = sorted(rows, key=_index)
    by_name = speaker_roles((row["speaker"].strip() for row in rows), roles)
    inferred = any(speaker_role(name, roles) is None for name in by_name)
    turns = []
    for row in rows:
        extra = {
            k: v
            for k, v in row.items()
            if k not in ("dialogue", "speaker", "text", "label", "workflow", "where", "turn") and v
        }
        name = row["speaker"].strip()
        turns.append(
            turn(by_name[name], row["text"], name=name, label=row.get("label", ""), meta=extra)
        )
    named = {row["workflow"] for row in rows if row.get("workflow")}
    if len(named) > 1:
        raise BadRecord("workflow", f"the rows name several workflows: {', '.join(sorted(named))}")
    return dialogue(
        ident,
        turns,
        where=rows[0]["where"],
        workflow=named.pop() if named else "",
        warnings={INFERRED: 1} if inferred else {},
    )


def _index(row: Mapping[str, Any]) -> float:
    try:
        index = float(row["turn"])
    except ValueError:
        index = math.nan
    if not math.isfinite(index):
        reason = f"must be a number; it is {row['turn']!r} at {row['where']}"
        raise BadRecord("turn index", reason)
    return index
