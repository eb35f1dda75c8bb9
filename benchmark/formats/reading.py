"""What all readers share: opening files within caps and parsing strict JSON.

Every limit exists because a file from elsewhere can be hostile or broken: a line without end, a
small archive that unpacks to terabytes, brackets nested until the parser gives up, a number with a
million digits. A breach is a `BadRecord` that names file and line; the lines after it are read on.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from benchmark.records import BadRecord

_ABBREVIATE = 80


@dataclass(frozen=True, slots=True)
class Caps:
    """Largest line, decompressed total and single document in bytes; deepest nesting; digits."""

    line_bytes: int = 16 << 20
    total_bytes: int = 4 << 30
    document_bytes: int = 64 << 20
    depth: int = 64
    digits: int = 40


CAPS = Caps()


def reason_of(error: OSError) -> str:
    """The system's own words for `error`, without the path (which `where` names)."""
    return (error.strerror or str(error) or type(error).__name__).rstrip(".")


def opened(path: Path) -> BinaryIO:
    """`path` for reading bytes, decompressed when it ends in .gz; BadRecord when it cannot be."""
    try:
        if path.is_dir():
            raise BadRecord(path.name, "this is a folder; a file is needed here")
        if path.suffix == ".gz":
            return gzip.open(path, "rb")  # type: ignore[return-value]
        return path.open("rb")
    except OSError as error:
        raise BadRecord(path.name, f"cannot be opened: {reason_of(error)}") from error


def lines(path: Path) -> Iterator[tuple[int, str] | BadRecord]:
    r"""The lines of `path` with their numbers from 1, cut at \n only, a final \r dropped.

    U+2028, U+0085 and the like stay inside their line. A byte order mark at the start is dropped.
    Blank lines are left out, their numbers are counted. A line that is too long or not UTF-8 is
    yielded as `BadRecord`; a damaged archive or one past the total ends the reading with one.
    """
    with opened(path) as file:
        total = 0
        number = 0
        while True:
            number += 1
            where = f"{path.name}:{number}"
            try:
                raw, size = _one_line(file)
            except (EOFError, OSError, zlib.error) as error:
                yield BadRecord(where, f"the file is damaged from here on: {error}")
                return
            if not size:
                return
            total += size
            if total > CAPS.total_bytes:
                yield BadRecord(
                    where, f"the file holds more than {CAPS.total_bytes:,} bytes; split it"
                )
                return
            if raw is None:
                yield BadRecord(
                    where, f"the line has {size:,} bytes; at most {CAPS.line_bytes:,} are allowed"
                )
                continue
            line = _decoded(raw, number, where)
            if isinstance(line, BadRecord):
                yield line
            elif line.strip():
                yield number, line


def _one_line(file: BinaryIO) -> tuple[bytes | None, int]:
    """(line, bytes read); the line is None when it is longer than allowed."""
    raw = file.readline(CAPS.line_bytes + 1)
    size = len(raw)
    if size <= CAPS.line_bytes or raw.endswith(b"\n"):
        return raw, size
    while raw and not raw.endswith(b"\n"):
        if size > CAPS.total_bytes:
            break
        raw = file.readline(CAPS.line_bytes + 1)
        size += len(raw)
    return None, size


def _decoded(raw: bytes, number: int, where: str) -> str | BadRecord:
    if number == 1:
        raw = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        return raw.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        return BadRecord(where, f"byte {error.start + 1} is not UTF-8; save the file as UTF-8")


def whole(path: Path) -> str:
    """The whole text of `path` (one document), without a byte order mark; raises BadRecord."""
    with opened(path) as file:
        try:
            raw = file.read(CAPS.document_bytes + 1)
        except (EOFError, OSError, zlib.error) as error:
            raise BadRecord(path.name, f"the file is damaged: {error}") from error
    if len(raw) > CAPS.document_bytes:
        raise BadRecord(
            path.name, f"the document has more than {CAPS.document_bytes:,} bytes; use JSON lines"
        )
    text = _decoded(raw, 1, path.name)
    if isinstance(text, BadRecord):
        raise text
    return text


def json_values(path: Path) -> Iterator[tuple[str, Any] | BadRecord]:
    """(where, value) for each line of a .jsonl or .jsonl.gz, or for the one document of a .json."""
    if path.suffix == ".json":
        try:
            yield path.name, parsed(whole(path), path.name)
        except BadRecord as bad:
            yield bad
        return
    try:
        for line in lines(path):
            yield line if isinstance(line, BadRecord) else _value(path, *line)
    except BadRecord as bad:
        yield bad


def _value(path: Path, number: int, line: str) -> tuple[str, Any] | BadRecord:
    where = f"{path.name}:{number}"
    try:
        return where, parsed(line, where)
    except BadRecord as bad:
        return bad


def parsed(text: str, where: str) -> Any:
    """`text` as strict JSON: no NaN or Infinity, no giant numbers, bounded nesting."""
    try:
        value = json.loads(text, parse_int=_int, parse_float=_float, parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise BadRecord(
            where, f"not valid JSON ({error.msg}, column {error.colno} of line {error.lineno})"
        ) from error
    except RecursionError as error:
        raise BadRecord(where, f"nested deeper than {CAPS.depth} levels") from error
    except ValueError as error:
        raise BadRecord(where, str(error)) from error
    if _deeper_than(value, CAPS.depth):
        raise BadRecord(where, f"nested deeper than {CAPS.depth} levels")
    return value


def _int(text: str) -> int:
    if len(text) > CAPS.digits:
        raise ValueError(f"a number has {len(text)} digits; at most {CAPS.digits} are allowed")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:_ABBREVIATE]} is too large")
    return value


def _constant(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number; write null for a missing value")


def _deeper_than(value: Any, depth: int) -> bool:
    level = [value]
    for _ in range(depth + 1):
        level = [
            child
            for node in level
            if isinstance(node, dict | list)
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def files(folder: Path, *suffixes: str) -> list[Path]:
    """The files of `folder` with one of `suffixes`; numbered names in the order of numbers."""

    def order(path: Path) -> tuple[bool, int, str]:
        stem = path.name.split(".")[0]
        numbered = stem.isascii() and stem.isdigit() and len(stem) < 19
        return not numbered, int(stem) if numbered else 0, path.name

    try:
        found = [p for p in folder.iterdir() if p.name.endswith(suffixes) and p.is_file()]
    except OSError as error:
        raise BadRecord(folder.name, f"cannot be read: {reason_of(error)}") from error
    return sorted((p for p in found if not p.name.startswith(".")), key=order)


def expect(value: Any, kind: type | tuple[type, ...], what: str) -> Any:
    """`value` if it is of `kind` (a bool is no number here), else BadRecord naming `what`."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if isinstance(value, kinds) and not (isinstance(value, bool) and bool not in kinds):
        return value
    names = {str: "text", int: "a whole number", dict: "an object", list: "a list", bool: "a flag"}
    names |= {float: "a number", type(None): "null"}
    allowed = " or ".join(names[k] for k in kinds)
    shown = "missing" if value is None else f"{abbreviated(value)}"
    raise BadRecord(what, f"must be {allowed}; it is {shown}")


def abbreviated(value: Any) -> str:
    """`value` as it may stand in a sentence: at most 80 characters."""
    shown = repr(value)
    return shown if len(shown) <= _ABBREVIATE else f"{shown[: _ABBREVIATE - 3]}..."


def located(where: str, bad: BadRecord) -> BadRecord:
    """`bad` with the file and line in front of the field it names."""
    return bad if bad.where.startswith(where) else BadRecord(f"{where}, {bad.where}", bad.reason)


def text_stream(path: Path) -> io.StringIO:
    """The whole text of `path` as a stream for the csv module (which must see its own newlines)."""
    return io.StringIO(whole(path), newline="")
