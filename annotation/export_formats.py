"""The files of an export: which columns there are, and writing rows as CSV, JSON lines, Parquet.

A row is one assignment: an item for a seat. The CSV is long (one line per assignment and question),
the others hold one row per assignment. The same rows give the same bytes. Times are UTC and end
in Z. A formula is disarmed in the CSV only: elsewhere nothing runs it.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.spreadsheet_cells import cell

Row = dict[str, Any]

TEXT, INT, BOOL, REAL = pa.string(), pa.int64(), pa.bool_(), pa.float64()
STEPS = ("rate", "instruction", "prefix")
STATUSES = ("pending", "in_progress", "submitted", "skipped", "expired", "withdrawn")
ANSWERED, MISSING, NOT_APPLICABLE = "answered", "missing", "not_applicable"
GROUP_ROWS = 5_000

IDENTITY: list[tuple[str, pa.DataType]] = [
    ("study", TEXT),
    ("protocol_version", INT),
    ("guideline_version", TEXT),
    ("seat", INT),
    ("pseudonym", TEXT),
    ("simulated", BOOL),
    ("seat_state", TEXT),
    ("withdrawal", TEXT),
    ("item", TEXT),
    ("kind", TEXT),
    ("corpus", TEXT),
    ("format", TEXT),
    ("dialogue", TEXT),
    ("workflow", TEXT),
    ("fork_type", TEXT),
    ("k", INT),
    ("fork_assistant_turn", INT),
    ("is_foil", BOOL),
    ("shown_type", TEXT),
    ("shown_variant", TEXT),
    ("rank", INT),
    ("attempt", INT),
    ("post_reveal", BOOL),
    ("status", TEXT),
]
ANSWERS: list[tuple[str, pa.DataType]] = [
    ("shown_instruction", TEXT),
    ("rating", INT),
    ("appears", TEXT),
    ("onset_marked", BOOL),
    ("onset_turn", INT),
    ("onset_assistant_turn", INT),
    ("prefix", TEXT),
    ("prefix_applies", BOOL),
    ("skip_reason", TEXT),
    ("skip_note", TEXT),
    ("problems", INT),
    *((name, TEXT) for name in ("opened_at", "finished_at", "ended_at")),
    *((name, TEXT) for name in ("rated_at", "confirmed_at", "prefix_at", "skipped_at")),
    *((f"{step}_wall_seconds", REAL) for step in STEPS),
    *((f"{step}_active_seconds", REAL) for step in STEPS),
]
SCHEMA = pa.schema([*IDENTITY, *ANSWERS])

LONG = [
    *(name for name, _ in IDENTITY),
    *("question", "answer", "answer_state", "assistant_turn", "answered_at"),
    *("wall_seconds", "active_seconds", "skip_reason", "skip_note"),
]


def stamp(moment: datetime | None) -> str | None:
    """ISO 8601 in UTC with a Z and microseconds, whatever zone `moment` is in; None stays None.

    >>> stamp(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    '2026-01-02T03:04:05.000000Z'
    """
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ") if moment else None


def seconds_between(start: datetime | None, end: datetime | None) -> float | None:
    """Seconds to the millisecond, never negative; None when either is missing."""
    if start is None or end is None:
        return None
    return max(0.0, round((end - start).total_seconds(), 3))


def long_rows(row: Mapping[str, Any]) -> Iterator[Row]:
    """The four questions of an assignment, each with its answer or why there is none.

    A question that the item does not have, or that a "no" made void, is `not_applicable`; one
    that was not reached is `missing`.
    """
    attention = row["kind"] == "attention"
    void = attention or row["appears"] == "no"
    onset = row["onset_turn"]
    questions = (
        ("rating", row["rating"], "rate", "rated_at", False),
        ("appears", row["appears"], "instruction", "confirmed_at", attention),
        ("onset", onset, "instruction", "confirmed_at", void),
        ("prefix", row["prefix"], "prefix", "prefix_at", attention or not row["prefix_applies"]),
    )
    for question, answer, step, at, inapplicable in questions:
        state = ANSWERED if answer is not None else NOT_APPLICABLE if inapplicable else MISSING
        yield {name: row[name] for name, _ in IDENTITY} | {
            "question": question,
            "answer": answer,
            "answer_state": state,
            "assistant_turn": row["onset_assistant_turn"] if question == "onset" else None,
            "answered_at": row[at] if answer is not None else None,
            "wall_seconds": row[f"{step}_wall_seconds"],
            "active_seconds": row[f"{step}_active_seconds"],
            "skip_reason": row["skip_reason"],
            "skip_note": row["skip_note"],
        }


def columns(row: Mapping[str, Any]) -> Row:
    """`row` with the columns of a file and nothing else."""
    return {name: row[name] for name in SCHEMA.names}


class Writer(Protocol):
    """A file being written: `add` rows, then `close`; `rows` counts what the file holds."""

    rows: int

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None: ...

    def close(self) -> None: ...


class LongCsv:
    """One line per assignment and question, UTF-8, quoted where needed."""

    names: Sequence[str] = LONG

    def __init__(self, path: Path) -> None:
        self.rows = 0
        self._file = path.open("w", encoding="utf-8", newline="")
        self._csv = csv.DictWriter(self._file, self.names)
        self._csv.writeheader()

    def lines(self, row: Mapping[str, Any]) -> Iterable[Row]:
        """The lines of one assignment."""
        return long_rows(row)

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        for row in rows:
            for line in self.lines(row):
                self._csv.writerow({name: _plain(value) for name, value in line.items()})
                self.rows += 1

    def close(self) -> None:
        self._file.close()


def _plain(value: Any) -> Any:
    """Flags as in JSON, and nothing that a spreadsheet would run."""
    return str(value).lower() if isinstance(value, bool) else cell(value)


class JsonLines:
    """One JSON object per line."""

    def __init__(self, path: Path) -> None:
        self.rows = 0
        self._file = path.open("w", encoding="utf-8", newline="\n")

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        for row in rows:
            self._file.write(dumped(row) + "\n")
            self.rows += 1

    def close(self) -> None:
        self._file.close()


class ParquetFile:
    """One row per assignment, in row groups of one size."""

    schema = SCHEMA

    def __init__(self, path: Path) -> None:
        self.rows = 0
        self._writer = pq.ParquetWriter(path, self.schema, compression="zstd")
        self._waiting: list[Mapping[str, Any]] = []

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._waiting += rows
        while len(self._waiting) >= GROUP_ROWS:
            self._flush()

    def close(self) -> None:
        if self._waiting:
            self._flush()
        self._writer.close()

    def _flush(self) -> None:
        part, self._waiting = self._waiting[:GROUP_ROWS], self._waiting[GROUP_ROWS:]
        self._writer.write_table(pa.Table.from_pylist(part, schema=self.schema))
        self.rows += len(part)


class JsonArray:
    """A JSON array, one element per line."""

    def __init__(self, path: Path) -> None:
        self.rows = 0
        self._file = path.open("w", encoding="utf-8", newline="\n")
        self._file.write("[")

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        for row in rows:
            self._file.write((",\n" if self.rows else "\n") + dumped(row))
            self.rows += 1

    def close(self) -> None:
        self._file.write("\n]\n" if self.rows else "]\n")
        self._file.close()


def dumped(value: Any) -> str:
    """JSON on one line, letters as they are, no NaN."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def tool_annotation(
    row: Row, *, steps: Sequence[str], times: Sequence[str], result: Sequence[Any]
) -> Row:
    """A row in the shape of Label Studio's annotations; `times` are the columns of its answers."""
    active = [row[f"{step}_active_seconds"] for step in steps]
    wall = [row[f"{step}_wall_seconds"] for step in steps if row[f"{step}_wall_seconds"]]
    last = max((row[name] for name in times if row[name]), default=row["opened_at"])
    return {
        "id": row["id"],
        "completed_by": row["seat"],
        "pseudonym": row["pseudonym"],
        "simulated": row["simulated"],
        "status": row["status"],
        "was_cancelled": row["status"] in ("skipped", "expired", "withdrawn"),
        "skip_reason": row["skip_reason"],
        "ground_truth": False,
        "attempt": row["attempt"],
        "post_reveal": row["post_reveal"],
        "lead_time": round(sum(wall), 3) if wall else None,
        "active_time": round(sum(a for a in active if a is not None), 3) if any(active) else None,
        "created_at": row["opened_at"] or last,
        "updated_at": last,
        "result": list(result),
    }
