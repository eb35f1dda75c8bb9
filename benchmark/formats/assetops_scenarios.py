"""AssetOpsBench's scenarios: what was asked under an id and what a good answer holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark.formats.reading import expect, files, located
from benchmark.formats.runs import ENDINGS, each, text_at, text_of
from benchmark.records import BadRecord

FOLDER = "scenarios"
_KIND = ("type", "category", "deterministic")


@dataclass(frozen=True, slots=True)
class Scenario:
    """A question. `expected` is "" where the scenario does not say what a good answer holds."""

    ident: str
    text: str
    expected: str
    kind: Mapping[str, Any] = field(default_factory=dict)


class Scenarios:
    """Scenarios by id: of several with the same id the first that has an expected answer."""

    def __init__(self) -> None:
        self._held: dict[str, Scenario] = {}

    def add(self, scenario: Scenario) -> None:
        held = self._held.get(scenario.ident)
        if held is None or (scenario.expected and not held.expected):
            self._held[scenario.ident] = scenario

    def of(self, ident: str) -> Scenario | None:
        """The scenario `ident`, None where there is none."""
        return self._held.get(ident)


def scenarios_beside(path: Path) -> Iterator[Scenario | BadRecord]:
    """The scenarios of the folder `scenarios` inside or beside `path`; none where there is none."""
    inner = path / FOLDER
    folder = inner if path.is_dir() and inner.is_dir() else path.resolve().parent / FOLDER
    if not folder.is_dir():
        return
    for file in files(folder, *ENDINGS):
        for item in each(file):
            if isinstance(item, BadRecord):
                yield item
                continue
            where, value = item
            try:
                yield scenario_of(value)
            except BadRecord as bad:
                yield located(f"{FOLDER}/{where}", bad)


def scenario_of(value: Any) -> Scenario:
    """One scenario; raises BadRecord naming the field that does not fit."""
    data = expect(value, dict, "scenario")
    return Scenario(
        ident=text_of(expect(data.get("id"), (str, int), "id")),
        text=text_at(data, "text", "text"),
        expected=text_at(data, "characteristic_form", "characteristic_form"),
        kind={k: data[k] for k in _KIND if data.get(k) not in (None, "")},
    )
