"""Agent runs of the demo corpus, written by hand in `trajectories.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path

from benchmark.demo.scripted_runs import planted_label
from benchmark.records import BadRecord, StepRecord, TrajectoryRecord

PLACE = Path(__file__).with_name("trajectories.toml")


def read_trajectories(path: Path = PLACE) -> list[TrajectoryRecord]:
    """All runs of a file. `meta["planted"]` names a planted fault: its type, step and component.

    Raises
    ------
    BadRecord
        If the file is not TOML or a run lacks a field.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        return [_run(run, data["mandates"], path.name) for run in data["run"]]
    except tomllib.TOMLDecodeError as error:
        raise BadRecord(path.name, f"is not TOML: {error}") from error
    except KeyError as error:
        raise BadRecord(path.name, f"lacks the field {error}") from error


def _run(run: dict, mandates: dict[str, str], where: str) -> TrajectoryRecord:
    steps = tuple(
        StepRecord(
            number=number,
            agent=step["agent"],
            thought=step.get("thought", ""),
            action=step.get("action", ""),
            observation=step.get("observation", ""),
            response=step.get("response", ""),
        )
        for number, step in enumerate(run["step"], start=1)
    )
    agents = dict.fromkeys(step.agent for step in steps)
    return TrajectoryRecord(
        external_id=run["id"],
        task=run["task"],
        steps=steps,
        meta={
            "mandates": {agent: mandates[agent] for agent in agents},
            "planted": run.get("planted", {}),
        },
        labels=(planted_label(run.get("planted", {})),),
        where=where,
    )
