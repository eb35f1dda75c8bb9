"""What is said off the workflow: another objective's small script, a side goal's remarks, courtesy.

The wordings are in `diversions.toml`, beside this file, as templates of `benchmark.phrasing`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchmark.records import BadRecord

PLACE = Path(__file__).with_name("diversions.toml")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One thing an assistant says and what a user may answer (templates)."""

    say: str
    replies: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Diversion:
    """A variant's exchanges: `open` first, `body` in any order, `close` as the last turn."""

    open: Sequence[Exchange]
    body: Sequence[Exchange]
    close: Sequence[Exchange]


def lines_of(block: str) -> list[str]:
    """The non-blank lines of a block of text, stripped."""
    return [line.strip() for line in block.splitlines() if line.strip()]


@cache
def _read() -> Mapping[str, Any]:
    return tomllib.loads(PLACE.read_text(encoding="utf-8"))


@cache
def courtesies() -> Mapping[str, Sequence[str]]:
    """Greetings, acknowledgements and the like, by what they are for."""
    return MappingProxyType({name: lines_of(text) for name, text in _read()["courtesy"].items()})


@cache
def diversion(type_: str, variant: str) -> Diversion:
    """The script of a goal-replacement (GR) or side-goal (CSC) variant.

    Raises
    ------
    BadRecord
        If there is none of that name.
    """
    try:
        found = _read()[type_][variant]
    except KeyError:
        raise BadRecord("diversion", f"no script for {type_} variant {variant!r}") from None
    return Diversion(*(_exchanges(found.get(part, "")) for part in ("open", "body", "close")))


def _exchanges(block: str) -> tuple[Exchange, ...]:
    pairs = (line.partition(" => ") for line in lines_of(block))
    return tuple(Exchange(say, (reply,) if reply else ()) for say, _, reply in pairs)
