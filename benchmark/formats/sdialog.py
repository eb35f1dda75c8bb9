"""SDialog's Dialog as JSON (versions 0.3 to 0.5), and its CSV and TXT transcripts.

Speakers are free names there; the role comes from a word that tells it, from the other one of two
speakers, or from a mapping. The events (thoughts, tool calls) stay with the dialogue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmark.formats import transcripts
from benchmark.formats.building import dialogue, from_values, turn
from benchmark.formats.reading import expect, files, json_values
from benchmark.formats.speakers import INFERRED, speaker_role, speaker_roles
from benchmark.records import BadRecord, DialogueRecord, Record

BY_PERSONA = "role taken from the persona"

_KEPT = (
    *("version", "timestamp", "model", "seed", "parentId", "complete", "personas"),
    *("context", "scenario", "events", "annotations", "notes"),
)


def read(
    path: Path, *, workflows: Path | None = None, roles: Mapping[str, str] | None = None
) -> Iterator[Record | BadRecord]:
    """The dialogues of a .json, .jsonl, .csv, .tsv or .txt, or of such files in a folder."""
    suffixes = (".json", ".jsonl", ".jsonl.gz", ".csv", ".tsv", ".txt")
    for file in files(path, *suffixes) if path.is_dir() else [path]:
        if file.suffix in (".csv", ".tsv", ".txt"):
            yield from transcripts.read_file(file, roles)
        else:
            yield from from_values(json_values(file), _builder(file, roles))


def _builder(file: Path, roles: Mapping[str, str] | None) -> Any:
    def build(value: Any, where: str) -> DialogueRecord:
        fallback = file.name.split(".")[0] if where == file.name else where
        return dialogue_of(value, where, fallback, roles)

    return build


def dialogue_of(
    value: Any, where: str, fallback: str, roles: Mapping[str, str] | None
) -> DialogueRecord:
    """One Dialog; `fallback` names it when it has no id."""
    data = expect(value, dict, "dialogue")
    spoken = []
    for number, item in enumerate(expect(data.get("turns"), list, "turns"), start=1):
        part = expect(item, dict, f"turns[{number}]")
        name = expect(part.get("speaker") or "", str, f"turns[{number}].speaker")
        spoken.append((name, expect(part.get("text"), str, f"turns[{number}].text")))
    names = list(dict.fromkeys(name for name, _ in spoken))
    told = _told_by_personas(names, data.get("personas"), roles)
    by_name = speaker_roles(names, told | dict(roles or {}))
    warnings = dict.fromkeys([BY_PERSONA] if told else [], 1)
    if any(name not in told and speaker_role(name, roles) is None for name in names):
        warnings[INFERRED] = 1
    ident = data.get("id")
    return dialogue(
        fallback if ident is None else ident,
        [turn(by_name[name], text, name=name) for name, text in spoken],
        where=where,
        meta={k: data[k] for k in _KEPT if data.get(k) is not None},
        warnings=warnings,
    )


def _told_by_personas(
    names: list[str], personas: Any, roles: Mapping[str, str] | None
) -> dict[str, str]:
    """Roles of the names that tell none themselves, by the `role` of their persona."""
    told = {}
    for name in names:
        persona = personas.get(name) if isinstance(personas, dict) else None
        said = persona.get("role") if isinstance(persona, dict) else None
        if isinstance(said, str) and speaker_role(name, roles) is None:
            role = speaker_role(said, None)
            if role:
                told[name] = role
    return told
