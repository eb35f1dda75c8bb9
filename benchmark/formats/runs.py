"""What readers of agent runs share: where values stand, texts of what is no text, counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmark.formats.reading import expect, files, json_values
from benchmark.records import BadRecord

ENDINGS = (".json", ".jsonl", ".jsonl.gz")
UNKNOWN_FIELD = "field that the format does not name"
NO_STEPS = "run without a step"
NO_RESPONSE = "run without a final response"


def each(file: Path) -> Iterator[tuple[str, Any] | BadRecord]:
    """(where, value) of a file; a document that is a list is taken apart."""
    for item in json_values(file):
        if not isinstance(item, BadRecord) and isinstance(item[1], list):
            yield from ((f"{item[0]}[{n}]", value) for n, value in enumerate(item[1], start=1))
        else:
            yield item


def run_files(path: Path) -> list[Path]:
    """`path` itself, or the files of a folder; a folder without any gives those of its folders."""
    if not path.is_dir():
        return [path]
    own = files(path, *ENDINGS)
    if own:
        return own
    inner = sorted(p for p in path.iterdir() if p.is_dir() and not p.name.startswith("."))
    return [file for folder in inner for file in files(folder, *ENDINGS)]


def stem_of(file: Path) -> str:
    """The name of a file without its ending."""
    return next((file.name.removesuffix(e) for e in ENDINGS[::-1] if file.name.endswith(e)), "")


def text_of(value: Any) -> str:
    """A text as it is, null as "", anything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def text_at(data: Mapping[str, Any], name: str, what: str) -> str:
    """The text of a field, "" where it is missing or null; raises BadRecord for anything else."""
    value = data.get(name)
    return "" if value is None else str(expect(value, str, what))


def list_at(data: Mapping[str, Any], name: str, what: str) -> list[Any]:
    """The list of a field, empty where it is missing or null; raises BadRecord for another kind."""
    value = data.get(name)
    return [] if value is None else list(expect(value, list, what))


def dict_at(data: Mapping[str, Any], name: str, what: str) -> dict[str, Any]:
    """The object of a field, empty where it is missing or null; raises BadRecord otherwise."""
    value = data.get(name)
    return {} if value is None else dict(expect(value, dict, what))


def call_text(name: str, arguments: Any) -> str:
    """A tool call as people read it: `name(arguments)`, arguments as text or JSON."""
    return f"{name or 'call'}({text_of(arguments)})"


def rest_of(
    data: Mapping[str, Any], known: frozenset[str], warnings: Counter[str]
) -> dict[str, Any]:
    """The fields that `known` does not name: kept by whoever calls, and counted."""
    rest = {k: v for k, v in data.items() if k not in known}
    warnings[UNKNOWN_FIELD] += len(rest)
    return rest


def positive(counts: Counter[str]) -> dict[str, int]:
    """What was met at least once."""
    return dict(+counts)
