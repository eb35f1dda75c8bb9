"""The columns of an export of agent runs, and its long form.

A row is one assignment: a run for a seat. Lists stay lists in JSON and Parquet; in the CSV they are
words with "; " between them, and a place is "step.component", "final" for the final response, with
":type" where the place shows one type only, then " cause=root" and " evidence=3" where said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from annotation.export_formats import (
    ANSWERED,
    BOOL,
    INT,
    MISSING,
    NOT_APPLICABLE,
    REAL,
    TEXT,
    LongCsv,
    ParquetFile,
    Row,
)
from benchmark.label_records import LabelRecord

STEPS = ("review", "compare", "revise")
WORDS = pa.list_(TEXT)
PLACES = pa.list_(
    pa.struct(
        [
            ("step", INT),
            ("component", TEXT),
            ("type", TEXT),
            ("cause", TEXT),
            ("evidence", INT),
        ]
    )
)

IDENTITY: list[tuple[str, pa.DataType]] = [
    ("study", TEXT),
    ("protocol_version", INT),
    ("guideline_version", TEXT),
    ("seat", INT),
    ("pseudonym", TEXT),
    ("simulated", BOOL),
    ("seat_state", TEXT),
    ("withdrawal", TEXT),
    ("item", TEXT),
    ("kind", TEXT),
    ("corpus", TEXT),
    ("format", TEXT),
    ("run", TEXT),
    ("model", TEXT),
    ("question", TEXT),
    ("n_steps", INT),
    ("rank", INT),
    ("attempt", INT),
    ("post_reveal", BOOL),
    ("status", TEXT),
]


def _label(prefix: str) -> list[tuple[str, pa.DataType]]:
    return [
        (f"{prefix}present", BOOL),
        (f"{prefix}types", WORDS),
        (f"{prefix}flags", WORDS),
        (f"{prefix}places", PLACES),
        (f"{prefix}first_step", INT),
        (f"{prefix}rationale", TEXT),
    ]


ANSWERS: list[tuple[str, pa.DataType]] = [
    *_label(""),
    ("judge", TEXT),
    *_label("judge_"),
    ("agreement", TEXT),
    ("differs_on", WORDS),
    ("changed", BOOL),
    ("note", TEXT),
    *_label("revised_"),
    ("skip_reason", TEXT),
    ("skip_note", TEXT),
    ("problems", INT),
    *((name, TEXT) for name in ("opened_at", "finished_at", "ended_at")),
    *((name, TEXT) for name in ("reviewed_at", "compared_at", "revised_at", "skipped_at")),
    *((f"{step}_wall_seconds", REAL) for step in STEPS),
    *((f"{step}_active_seconds", REAL) for step in STEPS),
]
SCHEMA = pa.schema([*IDENTITY, *ANSWERS])

LONG = [
    *(name for name, _ in IDENTITY),
    *("asked", "answer", "answer_state", "answered_at", "wall_seconds", "active_seconds"),
    *("skip_reason", "skip_note"),
]
# What is asked -> the step it is asked in and the time it was answered at.
QUESTIONS = {
    "present": ("review", "reviewed_at"),
    "types": ("review", "reviewed_at"),
    "flags": ("review", "reviewed_at"),
    "places": ("review", "reviewed_at"),
    "rationale": ("review", "reviewed_at"),
    "agreement": ("compare", "compared_at"),
    "differs_on": ("compare", "compared_at"),
    "note": ("compare", "compared_at"),
    "changed": ("compare", "compared_at"),
    "revised_present": ("revise", "revised_at"),
    "revised_types": ("revise", "revised_at"),
    "revised_flags": ("revise", "revised_at"),
    "revised_places": ("revise", "revised_at"),
    "revised_rationale": ("revise", "revised_at"),
}
OF_A_FAULT = ("types", "places")


def label_columns(label: LabelRecord | None, prefix: str = "") -> Row:
    """The columns that `label` fills; all None without one."""
    if label is None:
        return dict.fromkeys(name for name, _ in _label(prefix))
    said = label.to_json()
    return {
        f"{prefix}present": label.present,
        f"{prefix}types": said["types"],
        f"{prefix}flags": said["flags"],
        f"{prefix}places": said["places"],
        f"{prefix}first_step": label.onset,
        f"{prefix}rationale": label.rationale,
    }


def long_rows(row: Mapping[str, Any]) -> Iterator[Row]:
    """The questions of an assignment, each with its answer or why there is none.

    What nothing is asked of (types of a run without a fault, flags without the type scope, a
    comparison without a judge, on what those differ who agree, a second thought without a changed
    mind) is `not_applicable`; what was not reached is `missing`.
    """
    identity = {name: row[name] for name, _ in IDENTITY}
    for question, (step, at) in QUESTIONS.items():
        state = _state(row, question, step, row[at] is not None)
        answered = state == ANSWERED
        yield identity | {
            "asked": question,
            "answer": in_words(row[question]) if answered else None,
            "answer_state": state,
            "answered_at": row[at] if answered else None,
            "wall_seconds": row[f"{step}_wall_seconds"],
            "active_seconds": row[f"{step}_active_seconds"],
            "skip_reason": row["skip_reason"],
            "skip_note": row["skip_note"],
        }


def in_words(value: Any) -> Any:
    """A list on one line; other values as they are.

    >>> in_words(["factual", "scope"])
    'factual; scope'
    """
    if not isinstance(value, list):
        return value
    return "; ".join(_place(each) if isinstance(each, dict) else each for each in value)


def columns(row: Mapping[str, Any]) -> Row:
    """`row` with the columns of a file and nothing else."""
    return {name: row[name] for name in SCHEMA.names}


class RunCsv(LongCsv):
    """One line per assignment and question."""

    names: Sequence[str] = LONG

    def lines(self, row: Mapping[str, Any]) -> Iterable[Row]:
        return long_rows(row)


class RunParquet(ParquetFile):
    """One row per assignment."""

    schema = SCHEMA


def _state(row: Mapping[str, Any], question: str, step: str, answered: bool) -> str:
    if answered:
        return NOT_APPLICABLE if _is_void(row, question) else ANSWERED
    if step == "compare" and row["judge"] is None:
        return NOT_APPLICABLE
    if step == "revise" and (row["judge"] is None or row["changed"] is False):
        return NOT_APPLICABLE
    return MISSING


def _is_void(row: Mapping[str, Any], question: str) -> bool:
    """Whether an answer that was given leaves nothing to ask here."""
    if question == "differs_on":
        return row["agreement"] == "agree"
    name = question.removeprefix("revised_")
    prefix = question.removesuffix(name)
    if name == "flags":
        return "scope" not in row[f"{prefix}types"]
    return name in OF_A_FAULT and not row[f"{prefix}present"]


def _place(place: Mapping[str, Any]) -> str:
    at = "final" if place["step"] is None else f"{place['step']}.{place['component'] or 'step'}"
    kind = f":{place['type']}" if place["type"] else ""
    more = (f" {name}={place[name]}" for name in ("cause", "evidence") if place.get(name))
    return "".join((at, kind, *more))
