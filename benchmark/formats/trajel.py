"""Trajel's trajectories (appendix A): uid, task, and a list of agent, thought, action, observation.

JSON lines, one JSON document, or a folder of either. A step number may repeat (parallel tool
calls): the position tells steps apart. Fields that the format does not name stay with their step.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmark.formats.building import from_values, trajectory
from benchmark.formats.reading import expect, files
from benchmark.formats.runs import each, text_of
from benchmark.records import BadRecord, Record, StepRecord, TrajectoryRecord

_UID = re.compile(r"(?P<model>.+)_Q_(?P<question>[0-9]{1,18})\Z")
_NUMBERS = ("number", "step", "step_number")
_TEXTS = ("agent", "thought", "action", "observation", "response")


def read(
    path: Path, *, workflows: Path | None = None, roles: Mapping[str, str] | None = None
) -> Iterator[Record | BadRecord]:
    """The trajectories of a file or folder; neither workflows nor roles play a part here."""
    for file in files(path, ".json", ".jsonl", ".jsonl.gz") if path.is_dir() else [path]:
        yield from from_values(each(file), trajectory_of)


def trajectory_of(value: Any, where: str) -> TrajectoryRecord:
    """One trajectory; model and question are read off a uid like Model_7_Q_509."""
    data = expect(value, dict, "trajectory")
    uid = expect(data.get("uid"), (str, int), "uid")
    steps = [
        step_of(expect(item, dict, f"trajectory[{position}]"), position)
        for position, item in enumerate(expect(data.get("trajectory"), list, "trajectory"), start=1)
    ]
    meta = {k: v for k, v in data.items() if k not in ("uid", "task", "trajectory")}
    if match := _UID.match(str(uid)):
        meta = {"model": match["model"], "question": int(match["question"])} | meta
    task = expect(data.get("task") or "", str, "task")
    model, question = (str(meta.get(name) or "") for name in ("model", "question"))
    return trajectory(uid, task, steps, where=where, meta=meta, model=model, question=question)


def step_of(item: Mapping[str, Any], position: int) -> StepRecord:
    """One step; without a number its position is it. A structured field is kept as JSON text."""
    key = next((k for k in _NUMBERS if k in item), None)
    number = position if key is None else expect(item[key], int, f"trajectory[{position}].{key}")
    return StepRecord(
        number,
        *(text_of(item.get(name)) for name in _TEXTS),
        meta={k: v for k, v in item.items() if k not in _TEXTS and k != key},
    )
