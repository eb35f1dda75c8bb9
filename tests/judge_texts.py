"""Answers of judges for tests: what a language model might write about a run."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmark.label_records import COMPONENTS, TYPES


def judge_text(
    present: bool = True,
    types: Sequence[str] = ("procedural",),
    location: Any = "Step 2, Action",
    rationale: str = "The order was never placed.",
    **extra: Any,
) -> str:
    """One answer in the form that is asked for."""
    said = {"hallucinations": present, "hallucination_location": location if present else ""}
    said |= {"hallucination_type": list(types) if present else [], "rationale": rationale}
    return json.dumps(said | extra)


def judge_texts(
    n: int, *, seed: int = 0, rate: float = 0.6, unreadable: float = 0
) -> Iterator[str]:
    """`n` answers of a judge that finds something in a share `rate` of runs."""
    rng = random.Random(seed)
    for _ in range(n):
        if rng.random() < unreadable:
            yield "I would have to see more."
            continue
        where = f"Step {rng.randint(1, 3)}, {rng.choice(COMPONENTS).capitalize()}"
        types = rng.sample(TYPES, rng.choice((1, 1, 2)))
        text = judge_text(rng.random() < rate, types, where)
        yield f"```json\n{text}\n```" if rng.random() < 0.3 else text


def write_lines(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """`rows` as JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
