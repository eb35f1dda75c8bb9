"""What the answers of another tool mean here: which question is which, and how far a scale goes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from annotation.foreign_answers import Chosen, ForeignAnswer, ForeignItem
from benchmark.formats.building import dialogue, turn
from benchmark.formats.reading import abbreviated, expect
from benchmark.formats.speakers import message_role, speaker_roles
from benchmark.records import ASSISTANT, BadRecord, DialogueRecord, TurnRecord

TEXTS = ("messages", "conversations", "conversation", "dialogue", "dialog", "chat", "turns", "text")
_LINE = re.compile(r"([^:\n]{1,40}):\s+(.*)\Z", re.DOTALL)
WORDS = {"appears": ("yes", "partly", "no"), "prefix": ("yes", "mostly", "no")}


@dataclass(frozen=True, slots=True)
class Meaning:
    """Names of questions over there, and how their values are read.

    `scale` is (lowest, highest) of the rating and spreads it over 0 to 100; without one a rating is
    a whole number from 0 to 100 already. `words` maps labels to our words. `text` and `instruction`
    name fields of an item. `roles` maps speakers.
    """

    rating: str = "rating"
    appears: str = ""
    onset: str = ""
    prefix: str = ""
    scale: tuple[float, float] | None = None
    words: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    instruction: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> set[str]:
        return {self.rating, self.appears, self.onset, self.prefix} - {""}


@dataclass(frozen=True, slots=True)
class Judgement:
    """An answer in our words; None where a question was not asked or not answered."""

    rating: int | None
    appears: str | None = None
    onset: int | None = None
    prefix: str | None = None


def judgement_of(answer: ForeignAnswer, meaning: Meaning) -> Judgement:
    """`answer` in our words; raises BadRecord for a value that has no place here."""
    values = answer.values
    rating = _rating(values.get(meaning.rating), meaning)
    appears = _word(values.get(meaning.appears), "appears", meaning)
    prefix = _word(values.get(meaning.prefix), "prefix", meaning)
    onset = _as_number(values.get(meaning.onset)) if meaning.onset else None
    if onset is not None and (not isinstance(onset, int) or isinstance(onset, bool) or onset < 1):
        raise BadRecord(meaning.onset, f"must be the number of a turn; it is {abbreviated(onset)}")
    if rating is None and not answer.cancelled:
        raise BadRecord(meaning.rating, "is not answered; a judgement starts with a rating")
    if appears == "no":
        onset = None
    if prefix is not None and (appears is None or (appears != "no" and onset is None)):
        raise BadRecord(
            meaning.prefix, "has no place without an answer to step 2 with the turn it starts at"
        )
    return Judgement(rating, appears, onset if appears else None, prefix)


def _rating(value: Any, meaning: Meaning) -> int | None:
    value = _as_number(value)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise BadRecord(meaning.rating, f"must be a number; it is {abbreviated(value)}")
    low, high = meaning.scale or (0, 100)
    if not low <= value <= high:
        raise BadRecord(meaning.rating, f"is {value}; it must lie from {low:g} to {high:g}")
    if meaning.scale:
        return round(100 * (value - low) / (high - low))
    if value != int(value):
        raise BadRecord(meaning.rating, f"is {value}; without --scale it must be a whole number")
    return int(value)


def _as_number(value: Any) -> Any:
    """The number of a chosen label, else the one beside it; anything else as it is."""
    if not isinstance(value, Chosen):
        return value
    for text in (value.label, value.value):
        try:
            number = float(text)
        except (TypeError, ValueError):
            continue
        if math.isfinite(number) and not isinstance(text, bool):
            return int(number) if number.is_integer() else number
    return value.label


def _word(value: Any, question: str, meaning: Meaning) -> str | None:
    name = getattr(meaning, question)
    if not name or value is None:
        return None
    allowed = WORDS[question]
    labels = [value.label, value.value] if isinstance(value, Chosen) else [value]
    given = [str(label) for label in labels if isinstance(label, str | int | float)]
    if not given:
        raise BadRecord(name, f"has several labels, {abbreviated(value)}; one is needed")
    for label in given:
        word = meaning.words.get(label, label.strip().lower())
        if word in allowed:
            return word
    raise BadRecord(
        name,
        f"the label {abbreviated(given[0])} has no place; say it with "
        f'--map "{given[0][:40]}={allowed[0]}" (or {", ".join(allowed[1:])})',
    )


def dialogue_of(item: ForeignItem, meaning: Meaning) -> DialogueRecord:
    """The conversation of an item: a list of messages, lines "Speaker: text", or one text.

    A text that names no speakers is one turn of the assistant: that is who is judged.
    """
    name = meaning.text or next((n for n in TEXTS if n in item.fields), "")
    if name not in item.fields:
        raise BadRecord("text", f"no field {name or ', '.join(TEXTS)}; name it with --text")
    value = expect(item.fields[name], (str, list), name)
    turns = _messages(value, name, meaning) if isinstance(value, list) else _lines(value, meaning)
    if not turns:
        raise BadRecord(name, "holds no text")
    return dialogue(item.id, turns, where=item.where)


def _messages(given: list[Any], name: str, meaning: Meaning) -> list[TurnRecord]:
    if given and all(isinstance(one, str) for one in given):
        return _lines("\n".join(given), meaning)
    said = list(_said(given, name))
    spoken = [who for key, who, _ in said if key != "role"]
    by_name = speaker_roles(spoken, meaning.roles) if spoken else {}
    return [
        turn(
            message_role(who, meaning.roles, f"{name}[{number}].role")
            if key == "role"
            else by_name[who],
            text,
            name=who,
        )
        for number, (key, who, text) in enumerate(said, start=1)
    ]


def _said(given: list[Any], name: str) -> Iterator[tuple[str, str, str]]:
    """(key that names the speaker, speaker, text) of every message."""
    for number, one in enumerate(given, start=1):
        what = f"{name}[{number}]"
        message = expect(one, dict, what)
        key = next((k for k in ("role", "speaker", "author", "from", "name") if k in message), "")
        if not key:
            raise BadRecord(what, "does not say who speaks")
        text = next(
            (message[k] for k in ("content", "text", "value", "message") if k in message), ""
        )
        yield key, str(message[key]).strip(), expect(text, str, f"{what}.text")


def _lines(text: str, meaning: Meaning) -> list[TurnRecord]:
    lines = [found for line in text.splitlines() if line.strip() and (found := line.strip())]
    parts = [_LINE.match(line) for line in lines]
    if lines and all(parts):
        said = [(part[1].strip(), part[2]) for part in parts if part]
        try:
            roles = speaker_roles((who for who, _ in said), meaning.roles)
        except BadRecord:
            # Lines such as "Note: ..." are text, unless the caller mapped speakers.
            if meaning.roles:
                raise
        else:
            return [turn(roles[who], words, name=who) for who, words in said]
    return [turn(ASSISTANT, text)] if text.strip() else []
