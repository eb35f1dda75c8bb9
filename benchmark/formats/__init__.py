"""Outside formats by name. Each reader yields records, and `BadRecord` for what cannot be one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from benchmark.formats import dialfork, messages, sdialog, star, trajel, transcripts
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
}
