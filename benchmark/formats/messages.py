"""Chat logs: OpenAI chat messages and ShareGPT conversations, JSON lines or one JSON document.

A message is a turn, in the order of the file. The speaker is what `role` or `from` says, never the
position. A tool call is an action turn, a tool's answer an observation turn. Roles that are not
known reject the dialogue with a sentence until they are mapped.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmark.formats.building import dialogue, from_values, turn
from benchmark.formats.reading import expect, files
from benchmark.formats.runs import each
from benchmark.formats.speakers import message_role
from benchmark.records import ACTION, BadRecord, DialogueRecord, Record, TurnRecord

NOT_TEXT = "content that is not text left out"
IDS = ("id", "conversation_id", "dialogue_id", "dialog_id")
LISTS = ("messages", "conversations", "conversation")


def read(
    path: Path, *, workflows: Path | None = None, roles: Mapping[str, str] | None = None
) -> Iterator[Record | BadRecord]:
    """The dialogues of a file or of the files in a folder; `workflows` says nothing here."""

    def build(value: Any, where: str) -> DialogueRecord:
        return dialogue_of(value, where, roles)

    for file in files(path, ".json", ".jsonl", ".jsonl.gz") if path.is_dir() else [path]:
        yield from from_values(each(file), build)


def dialogue_of(value: Any, where: str, roles: Mapping[str, str] | None) -> DialogueRecord:
    """One chat as a record; without an id it is named after its place (`chats.jsonl:7`)."""
    data = expect(value, dict, "dialogue")
    key = next((k for k in LISTS if k in data), None)
    if key is None:
        raise BadRecord("dialogue", f"needs one of the fields {', '.join(LISTS)}")
    warnings: Counter[str] = Counter()
    turns: list[TurnRecord] = []
    for number, message in enumerate(expect(data[key], list, key), start=1):
        what = f"{key}[{number}]"
        turns += turns_of(expect(message, dict, what), what, roles, warnings)
    ident = next((k for k in IDS if data.get(k) is not None), None)
    workflow = expect(data.get("workflow") or "", str, "workflow")
    return dialogue(
        data[ident] if ident else where,
        turns,
        where=where,
        workflow=workflow,
        meta={k: v for k, v in data.items() if k not in (key, ident, "workflow")},
        warnings=warnings,
    )


def turns_of(
    message: dict[str, Any],
    what: str,
    roles: Mapping[str, str] | None,
    warnings: Counter[str],
) -> Iterator[TurnRecord]:
    """The turn of a message; one that both speaks and calls a tool is two, speech first."""
    said = message.get("role", message.get("from"))
    name = expect(said, str, f"{what}.role")
    role = message_role(name, roles, f"{what}.role")
    content = message["content"] if "content" in message else message.get("value")
    text = text_of(content, f"{what}.content", warnings)
    calls = calls_of(message, what)
    meta = {k: message[k] for k in ("tool_call_id", "name", "refusal") if message.get(k)}
    if calls and not text.strip():
        yield turn(ACTION, _shown(calls), name=name, meta=meta | {"tool_calls": calls})
        return
    if not text and isinstance(message.get("refusal"), str):
        text = message["refusal"]
    yield turn(role, text, name=name, meta=meta)
    if calls:
        yield turn(ACTION, _shown(calls), name=name, meta={"tool_calls": calls})


def text_of(content: Any, what: str, warnings: Counter[str]) -> str:
    """The text of a content: itself, its text parts, or "" for null."""
    if content is None:
        return ""
    if isinstance(content, dict):
        return json.dumps(content, ensure_ascii=False)
    parts = expect(content, (str, list), what)
    if isinstance(parts, str):
        return parts
    texts = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            texts.append(part["text"])
        else:
            warnings[NOT_TEXT] += 1
    return "\n".join(texts)


def calls_of(message: dict[str, Any], what: str) -> list[dict[str, Any]]:
    """The tool calls of a message, an old `function_call` last."""
    calls = expect(message.get("tool_calls") or [], list, f"{what}.tool_calls")
    for call in calls:
        expect(call, dict, f"{what}.tool_calls")
    if legacy := message.get("function_call"):
        calls = [*calls, {"function": expect(legacy, dict, f"{what}.function_call")}]
    return calls


def _shown(calls: list[dict[str, Any]]) -> str:
    """Tool calls as text: one `name(arguments)` a line."""
    shown = []
    for call in calls:
        function = call.get("function")
        inner = function if isinstance(function, dict) else call
        arguments = inner.get("arguments", inner.get("input"))
        if arguments is None:
            arguments = ""
        elif not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        shown.append(f"{inner.get('name') or call.get('type') or 'call'}({arguments})")
    return "\n".join(shown)
