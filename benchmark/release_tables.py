"""The tables of a release: their columns, and writing them as JSON lines and Parquet at once.

The same rows give the same bytes: keys in a fixed order, no times, no random names. In Parquet a
free-form value (`meta`, `warnings`, `witness`) is its JSON text, because its fields are not known.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

TEXT, INT, BOOL = pa.string(), pa.int64(), pa.bool_()
FREE = {"meta", "warnings", "witness", "axes"}
GROUP_ROWS = 5_000
_JSON = {"ensure_ascii": False, "allow_nan": False}

_STEP = pa.struct([("key", TEXT), ("text", TEXT), ("kind", TEXT)])
_MOVE = pa.struct([("source", TEXT), ("target", TEXT), ("observation", TEXT)])
_RUN_STEP = pa.struct(
    [
        ("number", INT),
        *((name, TEXT) for name in ("agent", "thought", "action", "observation", "response")),
        ("meta", TEXT),
    ]
)
_PLACE = [("corpus", TEXT), ("format", TEXT)]
STEPS = ("rate", "instruction", "prefix")
RUN_STEPS = ("review", "compare", "revise")
_LABEL_PLACE = pa.struct(
    [
        ("step", INT),
        *((name, TEXT) for name in ("component", "type", "cause")),
        ("evidence", INT),
    ]
)
_DIFFERS = ("on_presence", "on_type", "on_step", "on_component")

TABLES: dict[str, pa.Schema] = {
    "workflows": pa.schema(
        [
            ("corpus", TEXT),
            *((name, TEXT) for name in ("name", "domain", "objective")),
            ("system_instruction", TEXT),
            ("user_instruction", TEXT),
            ("start", TEXT),
            ("terminals", pa.list_(TEXT)),
            ("steps", pa.list_(_STEP)),
            ("transitions", pa.list_(_MOVE)),
            ("meta", TEXT),
            ("warnings", TEXT),
        ]
    ),
    "dialogues": pa.schema(
        [
            *_PLACE,
            ("id", TEXT),
            ("workflow", TEXT),
            ("conformant", BOOL),
            ("split", TEXT),
            ("n_turns", INT),
            ("n_assistant_turns", INT),
            ("meta", TEXT),
            ("warnings", TEXT),
        ]
    ),
    "turns": pa.schema(
        [
            *_PLACE,
            ("dialogue", TEXT),
            ("number", INT),
            ("assistant_number", INT),
            *((name, TEXT) for name in ("role", "name", "text", "label", "meta")),
        ]
    ),
    "forks": pa.schema(
        [
            *_PLACE,
            ("dialogue", TEXT),
            ("ordinal", INT),
            *((name, TEXT) for name in ("source_corpus", "source_format", "source")),
            ("type", TEXT),
            ("variant", TEXT),
            *((name, INT) for name in ("k", "fork_assistant_turn", "fork_turn")),
            ("rule", TEXT),
            ("instruction", TEXT),
            ("seed", INT),
            *((name, TEXT) for name in ("replay", "generator", "witness")),
        ]
    ),
    "trajectories": pa.schema(
        [
            *_PLACE,
            ("id", TEXT),
            ("task", TEXT),
            *((name, TEXT) for name in ("model", "question", "expected", "response")),
            ("steps", pa.list_(_RUN_STEP)),
            ("meta", TEXT),
            ("warnings", TEXT),
        ]
    ),
    "signals": pa.schema(
        [*_PLACE, *((name, TEXT) for name in ("trajectory", "name", "source")), ("value", BOOL)]
    ),
    "prompts": pa.schema(
        [
            ("name", TEXT),
            ("version", INT),
            *((name, TEXT) for name in ("digest", "variant_set", "axes", "text")),
        ]
    ),
    "raters": pa.schema(
        [
            *((name, TEXT) for name in ("name", "kind", "model", "prompt")),
            ("prompt_version", INT),
            ("simulated", BOOL),
            ("meta", TEXT),
        ]
    ),
    "labels": pa.schema(
        [
            *_PLACE,
            *((name, TEXT) for name in ("trajectory", "rater")),
            ("trial", INT),
            ("post_reveal", BOOL),
            ("stage", TEXT),
            ("present", BOOL),
            ("types", pa.list_(TEXT)),
            ("flags", pa.list_(TEXT)),
            ("places", pa.list_(_LABEL_PLACE)),
            ("rationale", TEXT),
            ("meta", TEXT),
        ]
    ),
    "judge_answers": pa.schema(
        [
            *_PLACE,
            *((name, TEXT) for name in ("trajectory", "rater")),
            ("trial", INT),
            *((name, TEXT) for name in ("status", "reason", "raw", "meta")),
        ]
    ),
    "reviews": pa.schema(
        [
            ("study", TEXT),
            ("protocol_version", INT),
            ("annotator", TEXT),
            *((name, BOOL) for name in ("simulated", "withdrawn")),
            *((name, INT) for name in ("order", "attempt")),
            ("post_reveal", BOOL),
            ("status", TEXT),
            *_PLACE,
            ("trajectory", TEXT),
            ("judge", TEXT),
            ("judge_trial", INT),
            *((name, BOOL) for name in ("reviewed", "revised", "changed")),
            ("agreement", TEXT),
            *((name, BOOL) for name in _DIFFERS),
            ("skipped", TEXT),
            ("finished", BOOL),
            *((f"{step}_{what}_ms", INT) for step in RUN_STEPS for what in ("wall", "active")),
        ]
    ),
    "annotations": pa.schema(
        [
            ("study", TEXT),
            ("protocol_version", INT),
            ("annotator", TEXT),
            ("simulated", BOOL),
            ("withdrawn", BOOL),
            ("order", INT),
            ("attempt", INT),
            ("post_reveal", BOOL),
            ("status", TEXT),
            *_PLACE,
            ("dialogue", TEXT),
            ("is_foil", BOOL),
            *((name, TEXT) for name in ("shown_type", "shown_variant", "shown_instruction")),
            ("slider", INT),
            ("confirmation", TEXT),
            ("onset_marked", BOOL),
            ("onset_turn", INT),
            ("onset_assistant_turn", INT),
            ("prefix", TEXT),
            ("skipped", TEXT),
            ("finished", BOOL),
            *((f"{step}_{what}_ms", INT) for step in STEPS for what in ("wall", "active")),
        ]
    ),
}
# The form of releases; an older version is written in its own form for ever.
FORMAT = 3
_SINCE_2 = {
    "withdrawn",
    "attempt",
    "post_reveal",
    "status",
    *(f"{step}_{what}_ms" for step in STEPS for what in ("wall", "active")),
}
# Table -> columns that came later than the table, with the form they came with.
_SINCE = {
    "annotations": dict.fromkeys(_SINCE_2, 2),
    "trajectories": dict.fromkeys(("model", "question", "expected", "response"), 3),
}
TABLES_SINCE_3 = ("signals", "prompts", "raters", "labels", "judge_answers", "reviews")


def tables_of(format: int = FORMAT) -> list[str]:
    """The tables of a release of this form, in order."""
    return [name for name in TABLES if format >= 3 or name not in TABLES_SINCE_3]


def schema_of(name: str, format: int = FORMAT) -> pa.Schema:
    """The columns of table `name` in a release of this form."""
    since = _SINCE.get(name, {})
    return pa.schema([c for c in TABLES[name] if since.get(c.name, 1) <= format])


class Table:
    """One table being written: `add` rows, then `close`."""

    def __init__(self, folder: Path, name: str, format: int = FORMAT) -> None:
        self.name, self.schema = name, schema_of(name, format)
        self.rows = 0
        self.paths = (folder / f"{name}.jsonl", folder / f"{name}.parquet")
        self._lines = self.paths[0].open("w", encoding="utf-8", newline="\n")
        self._parquet = pq.ParquetWriter(self.paths[1], self.schema, compression="zstd")
        self._waiting: list[dict[str, Any]] = []

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append `rows`; each has at least the columns of the table."""
        for row in rows:
            ordered = {name: _sorted(row[name]) for name in self.schema.names}
            self._lines.write(json.dumps(ordered, **_JSON) + "\n")
            self._waiting.append({name: _columnar(name, v) for name, v in ordered.items()})
            self.rows += 1
        # Row groups of one size, so that the bytes do not depend on how rows are handed over.
        while len(self._waiting) >= GROUP_ROWS:
            self._flush()

    def close(self) -> None:
        """Write what waits and close both files."""
        if self._waiting:
            self._flush()
        self._lines.close()
        self._parquet.close()

    def _flush(self) -> None:
        part, self._waiting = self._waiting[:GROUP_ROWS], self._waiting[GROUP_ROWS:]
        self._parquet.write_table(pa.Table.from_pylist(part, schema=self.schema))


def _sorted(value: Any) -> Any:
    """`value` with the keys of free-form objects in one order, whatever the database did to it."""
    return json.loads(json.dumps(value, sort_keys=True, **_JSON)) if _free(value) else value


def _free(value: Any) -> bool:
    return isinstance(value, dict | list)


def _columnar(name: str, value: Any) -> Any:
    if name in FREE:
        return json.dumps(value, **_JSON)
    if isinstance(value, list):
        return [_columnar("", item) for item in value]
    if isinstance(value, dict):
        return {key: _columnar(key, inner) for key, inner in value.items()}
    return value


def sha256_of(path: Path) -> str:
    """SHA-256 (hex) of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
