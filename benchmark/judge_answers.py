"""What a judge wrote, read strictly as labels of a run (Trajel, appendix B).

Read is one JSON object, alone or with text around it. Everything else, and everything that
contradicts itself, is refused with a reason; nothing is guessed. A place that cannot be read does
not refuse the answer: it becomes a place without a step, and is counted. docs/judges.md has the
tables.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmark.formats.building import tidied
from benchmark.judge_locations import BY_POSITION, RunStep, places_of
from benchmark.label_records import JUDGE, TYPES, LabelRecord, PlaceRecord

__all__ = ["Answer", "Refused", "RunStep", "read_answer", "strict_json"]

PRESENT, LOCATION, TYPE, RATIONALE = KEYS = (
    "hallucinations",
    "hallucination_location",
    "hallucination_type",
    "rationale",
)
LONGEST = 1_000_000
DEEPEST = 32
MOST_DIGITS = 40
MOST_ATTEMPTS = 100
MOST_WORDS = 50
NONE_WORDS = frozenset(("", "none", "n/a", "na", "null", "-", "no", "not applicable"))
# A type may be written as its noun, and with one of the words of the second line behind it.
TYPE_WORDS: Mapping[str, str] = {
    **{name: name for name in TYPES},
    **{"fact": "factual", "factuality": "factual", "reference": "referential", "logic": "logical"},
    **{"procedure": "procedural", "out of scope": "scope", "out-of-scope": "scope"},
}
TYPE_ENDINGS = ("hallucination", "error", "violation", "inconsistency", "issue", "type")
_ENDING = re.compile(rf"\s+(?:{'|'.join(TYPE_ENDINGS)})s?\Z")
_LISTED = re.compile(r"\A\(?\d{1,2}[.)]\s*")
# Counted notes of an answer, in its `meta["notes"]`.
NO_TYPE, NO_KEY, AROUND, REPLACED = (
    "no type named",
    "a key is missing",
    "text around the answer",
    "characters replaced",
)


class Refused(ValueError):
    """An answer that cannot be read; `reason` says why and what is allowed."""

    def __init__(self, reason: str) -> None:
        # Of a key or word as the judge wrote it; a lone surrogate could not be stored.
        reason = reason.encode("utf-8", "replace").decode()
        self.reason = reason if len(reason) <= 500 else f"{reason[:497]}..."
        super().__init__(self.reason)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as read. `meta` holds "notes" (counts by what was met), "location" (as written)
    and "extra" (keys that were not asked for), each where there is any."""

    present: bool
    types: tuple[str, ...] = ()
    places: tuple[PlaceRecord, ...] = ()
    rationale: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)

    def label(self, rater: str, *, model: str = "", trial: int = 1) -> LabelRecord:
        """The answer as the label of the judge `rater`."""
        return LabelRecord(
            rater,
            self.present,
            self.types,
            places=self.places,
            rationale=self.rationale,
            kind=JUDGE,
            model=model,
            trial=trial,
            meta=self.meta,
        )


def read_answer(raw: str, steps: Sequence[RunStep], *, numbering: str = BY_POSITION) -> Answer:
    """The answer in `raw` on a run with `steps` (in order).

    `numbering` says what "Step 3" counts: positions in the run, or the numbers the run itself
    gives its steps (see `judge_locations`).

    Raises
    ------
    Refused
        If there is not exactly one JSON object, a value is not of the form asked for, a type is
        unknown, or the answer contradicts itself. Nothing else is raised.
    """
    found, notes = _object_in(raw)
    replaced: set[str] = set()
    found = tidied(found, replaced)
    if replaced:
        notes[REPLACED] += 1
    present = _present(found)
    types = _types(found.get(TYPE))
    rationale = _rationale(found.get(RATIONALE))
    places, unread = places_of(found.get(LOCATION), steps, numbering)
    if not present and types:
        raise Refused(f"says that there is no hallucination, and names the type {types[0]}")
    if not present and any(place.step or place.component for place in places):
        raise Refused("says that there is no hallucination, and names a place of one")
    if present:
        notes.update(unread)
        notes[NO_TYPE] += not types
    notes[NO_KEY] += sum(key not in found for key in KEYS)
    return Answer(present, types, tuple(places) if present else (), rationale, _meta(found, notes))


def _meta(found: Mapping[str, Any], notes: Counter[str]) -> dict[str, Any]:
    extra = {key: value for key, value in found.items() if key not in KEYS}
    parts = {
        "notes": {name: n for name, n in sorted(notes.items()) if n},
        "location": found.get(LOCATION),
        "extra": extra,
    }
    return {name: part for name, part in parts.items() if part}


def _present(found: Mapping[str, Any]) -> bool:
    if PRESENT not in found:
        raise Refused(f"lacks the key {PRESENT}")
    value = found[PRESENT]
    if isinstance(value, str) and value.strip().casefold() in ("true", "false"):
        return value.strip().casefold() == "true"
    if not isinstance(value, bool):
        raise Refused(f"{PRESENT} is {_short(value)}; it must be true or false")
    return value


def _types(value: Any) -> tuple[str, ...]:
    named = [value] if isinstance(value, str) else value
    if named is None:
        return ()
    if not isinstance(named, list):
        raise Refused(f"{TYPE} is {_short(value)}; it must be a list of {', '.join(TYPES)}")
    words = []
    for item in named:
        if not isinstance(item, str):
            raise Refused(f"{TYPE} holds {_short(item)}; allowed are {', '.join(TYPES)}")
        words += re.split(r"[,;/|\n]|\band\b|&", item)
    if len(words) > MOST_WORDS:
        raise Refused(f"{TYPE} names {len(words):,} types; there are {', '.join(TYPES)}")
    found = {_type(word) for word in words if word.strip().casefold() not in NONE_WORDS}
    return tuple(name for name in TYPES if name in found)


def _type(word: str) -> str:
    plain = _LISTED.sub("", " ".join(word.split()).casefold()).strip(" .\"'")
    known = TYPE_WORDS.get(plain) or TYPE_WORDS.get(_ENDING.sub("", plain))
    if known is None:
        raise Refused(f"{TYPE} names {_short(word.strip())}; allowed are {', '.join(TYPES)}")
    return known


def _rationale(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Refused(f"{RATIONALE} is {_short(value)}; it must be text")
    return value


def _short(value: Any) -> str:
    shown = json.dumps(value, ensure_ascii=False, default=str)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."


# -- finding the object ------------------------------------------------------------------------


def _object_in(raw: str) -> tuple[dict[str, Any], Counter[str]]:
    """The one object in `raw`, and a note where other text stands around it."""
    if len(raw) > LONGEST:
        raise Refused(f"has {len(raw):,} characters; at most {LONGEST:,} are read")
    if not raw.strip():
        raise Refused("is empty")
    found = list(_objects(raw))
    if len(found) != 1:
        raise Refused(
            f"holds {len(found)} JSON objects; one is allowed" if found else "holds no JSON object"
        )
    value, around = found[0]
    if around.startswith("[") and around.endswith("]"):
        raise Refused("is a list; one JSON object is allowed")
    if _deeper_than(value, DEEPEST):
        raise Refused(f"is nested deeper than {DEEPEST} levels")
    plain = re.sub(r"\A```[a-zA-Z]*\s*```\Z", "", around)
    return value, Counter({AROUND: 1} if plain else {})


def _objects(raw: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Every object of the outermost level, and the text around it."""
    at, attempts = raw.find("{"), 0
    while at >= 0:
        attempts += 1
        if attempts > MOST_ATTEMPTS:
            raise Refused(f"has more than {MOST_ATTEMPTS} opening braces outside of an object")
        following = raw[at + 1 : at + 200].lstrip()[:1]
        if following not in ('"', "}"):
            # Braces of prose, such as {name}: no JSON was begun.
            at = raw.find("{", at + 1)
            continue
        value, end = _decoded(raw, at)
        yield value, f"{raw[:at]}{raw[end:]}".strip()
        at = raw.find("{", end)


def strict_json(text: str) -> Any:
    """`text` as one JSON value: no key twice, no NaN, bounded numbers and depth; raises Refused."""
    value, end = _decoded(text, len(text) - len(text.lstrip()))
    if text[end:].strip():
        raise Refused("holds more than one JSON value")
    if isinstance(value, dict | list) and _deeper_than(value, DEEPEST):
        raise Refused(f"is nested deeper than {DEEPEST} levels")
    return value


def _decoded(raw: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(raw, at)
    except json.JSONDecodeError as error:
        line, column = error.lineno, error.colno
        raise Refused(f"is not valid JSON ({error.msg}, column {column} of line {line})") from error
    except RecursionError as error:
        raise Refused(f"is nested deeper than {DEEPEST} levels") from error


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
        raise Refused(f"has the key {_short(twice)} twice")
    return found


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise Refused(f"holds a number of {len(text)} digits; at most {MOST_DIGITS} are allowed")
    return int(text)


def _fraction(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise Refused(f"holds the number {text[:40]}, which is too large")
    return value


def _constant(text: str) -> float:
    raise Refused(f"holds {text}, which is not JSON")


# Not strict: judges put line ends into their texts as they are.
_DECODER = json.JSONDecoder(
    strict=False,
    object_pairs_hook=_pairs,
    parse_int=_whole,
    parse_float=_fraction,
    parse_constant=_constant,
)


def _deeper_than(value: Any, depth: int) -> bool:
    level = [value]
    for _ in range(depth):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True
