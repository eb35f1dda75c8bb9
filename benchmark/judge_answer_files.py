"""Files that hold the answers of a judge: JSON lines, a JSON document, or a file for each run.

Each answer says which run it is about, by the run's id or the id of its question, or by the name of
its file, and holds what the judge wrote as text, or the object it was parsed to.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.formats.building import tidied
from benchmark.formats.reading import files, lines, whole
from benchmark.judge_answers import KEYS, PRESENT, Refused, strict_json
from benchmark.records import BadRecord

RUN_KEYS = ("external_id", "uid", "run_id", "run", "trajectory", "id")
QUESTION_KEYS = ("scenario_id", "scenario", "question_id")
MODEL_KEYS = ("agent_model", "run_model")
RAW_KEYS = ("raw", "raw_response", "output", "completion", "text")
OBJECT_KEYS = ("answer", "judgement", "judge", "parsed")
TRIAL = "trial"
JSON, LINES, TEXTS = (".json",), (".jsonl", ".jsonl.gz"), (".txt", ".md")
# Of a run that stands beside the answer.
_OF_THE_RUN = ("task", "trajectory")


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One answer. `run` and `question` are ids, of which at least one is not empty; `model` tells
    runs of one question apart; `trial` is None where the file does not say."""

    where: str
    raw: str
    run: str = ""
    question: str = ""
    model: str = ""
    trial: int | None = None


def read_answers(path: Path) -> Iterator[AnswerRow | BadRecord]:
    """Every answer of a file or folder, in order; what cannot be read is a BadRecord in its place.

    Raises BadRecord where `path` itself cannot be read.
    """
    if not path.exists():
        raise BadRecord(str(path), "no such file or folder")
    if path.is_dir():
        for file in files(path, *JSON, *LINES, *TEXTS):
            yield from _file(file, alone=False)
        return
    if not path.name.endswith(JSON + LINES + TEXTS):
        known = ", ".join(JSON + LINES + TEXTS)
        raise BadRecord(path.name, f"must be a folder or end in one of {known}")
    yield from _file(path, alone=True)


def _file(file: Path, *, alone: bool) -> Iterator[AnswerRow | BadRecord]:
    try:
        if file.name.endswith(LINES):
            yield from _lines(file)
        else:
            yield from _document(file, alone=alone)
    except BadRecord as bad:
        yield bad


def _lines(file: Path) -> Iterator[AnswerRow | BadRecord]:
    name = _clean(file.name)
    for line in lines(file):
        if isinstance(line, BadRecord):
            yield line
            continue
        number, text = line
        try:
            yield _row(strict_json(text), f"{name}:{number}")
        except Refused as refused:
            yield BadRecord(f"{name}:{number}", refused.reason)
        except BadRecord as bad:
            yield bad


def _document(file: Path, *, alone: bool) -> Iterator[AnswerRow | BadRecord]:
    text, name = whole(file), _clean(file.name)
    of_its_run = AnswerRow(name, text, run=name.removesuffix(file.suffix))
    if file.name.endswith(TEXTS):
        yield of_its_run
        return
    try:
        value = strict_json(text)
    except Refused as refused:
        # Of many files each is what a judge wrote, whether it is JSON or not.
        yield BadRecord(name, refused.reason) if alone else of_its_run
        return
    if isinstance(value, dict) and not _names_run(value):
        yield of_its_run
        return
    for place, item in enumerate(value if isinstance(value, list) else [value], start=1):
        where = f"{name}[{place}]" if isinstance(value, list) else name
        try:
            yield _row(item, where)
        except BadRecord as bad:
            yield bad


def _names_run(value: Mapping[str, Any]) -> bool:
    return any(_id(value.get(key)) for key in (*RUN_KEYS, *QUESTION_KEYS))


def _row(value: Any, where: str) -> AnswerRow:
    if not isinstance(value, dict):
        raise BadRecord(where, "must be an object with the id of a run and an answer")
    run, question, model = (
        next((found for key in keys if (found := _id(value.get(key)))), "")
        for keys in (RUN_KEYS, QUESTION_KEYS, MODEL_KEYS)
    )
    if not run and not question:
        known = ", ".join((*RUN_KEYS, *QUESTION_KEYS))
        raise BadRecord(where, f"says of no run; the id stands under one of {known}")
    trial = value.get(TRIAL)
    if trial is not None and (
        not isinstance(trial, int) or isinstance(trial, bool) or not 1 <= trial <= 32_767
    ):
        raise BadRecord(where, f"{TRIAL} must be a whole number from 1 to 32,767")
    return AnswerRow(where, _raw(value, where), run, question, model, trial)


def _id(value: Any) -> str:
    if isinstance(value, str):
        return _clean(value.strip())
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _clean(text: str) -> str:
    """`text` as a database takes it; names of files can hold anything."""
    return str(tidied(text, set()))


def _raw(value: Mapping[str, Any], where: str) -> str:
    """What the judge wrote; an object is written as JSON again."""
    for key in (*RAW_KEYS, *OBJECT_KEYS):
        if isinstance(value.get(key), str):
            return str(value[key])
    for key in OBJECT_KEYS:
        if isinstance(value.get(key), dict):
            return json.dumps(value[key], ensure_ascii=False)
    if PRESENT in value:
        about = {*RUN_KEYS, *QUESTION_KEYS, *MODEL_KEYS, *_OF_THE_RUN, TRIAL} - set(KEYS)
        own = {key: item for key, item in value.items() if key not in about}
        return json.dumps(own, ensure_ascii=False)
    known = ", ".join((*RAW_KEYS, *OBJECT_KEYS))
    raise BadRecord(where, f"holds no answer: text under one of {known}, or the key {PRESENT}")
