"""Outside formats by name. Each reader yields records, and `BadRecord` for what cannot be one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from benchmark.formats import (
    agent_runner,
    assetops,
    dialfork,
    message_runs,
    messages,
    sdialog,
    smartgrid,
    star,
    trajel,
    transcripts,
    who_when,
)
from benchmark.records import BadRecord, Record


class Reader(Protocol):
    def __call__(
        self,
        path: Path,
        *,
        workflows: Path | None = None,
        roles: Mapping[str, str] | None = None,
    ) -> Iterator[Record | BadRecord]: ...


FORMATS: dict[str, Reader] = {
    "star": star.read,
    "sdialog": sdialog.read,
    "dialfork": dialfork.read,
    "messages": messages.read,
    "transcripts": transcripts.read,
    "trajel": trajel.read,
    "assetops": assetops.read,
    "agent_runner": agent_runner.read,
    "smartgrid": smartgrid.read,
    "who_when": who_when.read,
}

# Formats that can also be read as agent runs.
AS_RUNS: dict[str, Reader] = {"messages": message_runs.read}
