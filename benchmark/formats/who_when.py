"""Who&When: logs of several agents, each with the published first fault (arXiv:2505.00212).

A message has no thought, action and observation: its content is the response of its step. The
published label (agent, step, reason) becomes a label by the rater "published".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmark.formats.building import from_values, trajectory
from benchmark.formats.reading import abbreviated, expect
from benchmark.formats.runs import (
    NO_STEPS,
    each,
    positive,
    rest_of,
    run_files,
    stem_of,
    text_at,
    text_of,
)
from benchmark.label_records import LabelRecord, PlaceRecord
from benchmark.records import BadRecord, Record, StepRecord, TrajectoryRecord

PUBLISHED = "published"
OTHER_SPEAKER = "mistake_agent is not the speaker of mistake_step"
OUTSIDE = "mistake_step lies outside the history"
NO_CONTENT = "message without content"
_MAPPED = frozenset(["file", "history", "question", "ground_truth", "question_ID"]) | {
    *("mistake_agent", "mistake_step", "mistake_reason"),
}
_KNOWN = _MAPPED | {"is_correct", "is_corrected", "level", "system_prompt"}
_OWN = frozenset(["content", "name", "role"])
_WHOLE = re.compile(r"-?[0-9]{1,9}\Z")


def read(
    path: Path, *, workflows: Path | None = None, roles: Mapping[str, str] | None = None
) -> Iterator[Record | BadRecord]:
    """The logs of a file or folder; neither workflows nor roles play a part here."""
    for file in run_files(path):
        lone = file.suffix == ".json"
        group = file.resolve().parent.name if lone else stem_of(file)

        def build(value: Any, where: str, group: str = group, lone: bool = lone) -> Record:
            return run_of(value, where, group, where if lone else "")

        yield from from_values(each(file), build)


def run_of(value: Any, where: str, group: str, name: str = "") -> TrajectoryRecord:
    """One log. Its id is `group`/`file`, where a log of its own file is called `name`."""
    data = expect(value, dict, "log")
    warnings: Counter[str] = Counter()
    history = expect(data.get("history"), list, "history")
    steps = [_step(item, n, warnings) for n, item in enumerate(history, start=1)]
    warnings[NO_STEPS] += not steps
    meta = {k: v for k, v in data.items() if k not in _MAPPED}
    rest_of(data, _KNOWN, warnings)
    labels = _labels(data, [step.agent for step in steps], warnings)
    file = data.get("file") or name or None
    return trajectory(
        f"{group}/{expect(file, str, 'file')}",
        text_at(data, "question", "question"),
        steps,
        where=where,
        meta=meta,
        question=text_of(expect(data.get("question_ID", ""), (str, int), "question_ID")),
        expected=text_of(data.get("ground_truth")),
        labels=labels,
        warnings=positive(warnings),
    )


def _step(value: Any, position: int, warnings: Counter[str]) -> StepRecord:
    what = f"history[{position}]"
    item = expect(value, dict, what)
    name = text_at(item, "name", f"{what}.name") or text_at(item, "role", f"{what}.role")
    content = text_of(item.get("content"))
    warnings[NO_CONTENT] += not content.strip()
    meta = rest_of(item, _OWN, warnings)
    if item.get("name") and item.get("role"):
        meta["role"] = item["role"]
    return StepRecord(position, agent=name, response=content, meta=meta)


def _labels(
    data: Mapping[str, Any], agents: list[str], warnings: Counter[str]
) -> tuple[LabelRecord, ...]:
    """The published label; none where the log names no faulty step."""
    given = data.get("mistake_step")
    if given is None:
        return ()
    index = _index(given)
    inside = 0 <= index < len(agents)
    agent = text_at(data, "mistake_agent", "mistake_agent")
    warnings[OUTSIDE] += not inside
    warnings[OTHER_SPEAKER] += inside and agents[index] != agent
    label = LabelRecord(
        rater=PUBLISHED,
        present=True,
        places=(PlaceRecord(index + 1),) if inside else (),
        rationale=text_at(data, "mistake_reason", "mistake_reason"),
        kind=PUBLISHED,
        meta={"mistake_agent": agent, "mistake_step": index},
    )
    return (label,)


def _index(given: Any) -> int:
    text = str(expect(given, (str, int), "mistake_step")).strip()
    if not _WHOLE.match(text):
        reason = f"must be a whole number, counted from 0; it is {abbreviated(given)}"
        raise BadRecord("mistake_step", reason)
    return int(text)
