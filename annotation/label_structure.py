"""Labels by the structure of runs: whose steps are named, and labels of steps made into runs'.

(Trajel, sections 3.3 and 5, RQ1.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from annotation.figure_tables import Column, Drawn, Figure
from annotation.label_binary import cells_of, measures
from annotation.label_intervals import Floats, share
from annotation.label_marks import Ints
from annotation.label_pairs import Bools, LabelPairs, grouped
from annotation.label_place_tables import NO_STEP, Placed, parts_of, placed
from annotation.label_single_tables import no_types
from annotation.label_type_tables import counting, left_out, number, percent
from benchmark.label_records import TYPES

NO_AGENT = "(no name)"
CUT = 0.5


# -- agents --------------------------------------------------------------------------------------


def agents_figure(found: Placed) -> Figure:
    """How often the steps of each agent are named, and what part of all named steps are its.

    The agent with most named steps comes first.
    """
    columns = (
        Column("agent", "Agent"),
        Column("runs", "Runs", "count"),
        Column("steps", "Steps", "count"),
        Column("named", "Named", "count"),
        percent("share", "Of its steps"),
        percent("part", "Of all named steps"),
    )
    title, drawn = (
        f"Agents whose steps are named by {found.labels.rater}",
        Drawn("bars", "agent", "share"),
    )
    run, position, flags = found.steps
    if not flags.any():
        return Figure("agents", title, columns, (), 0, reason=NO_STEP, drawn=drawn)
    names, held = grouped(_agents(found, run, position))
    parts = parts_of(found, run[flags], held[flags].astype(np.float64))
    rows: list[dict[str, Any]] = [
        {"agent": name, "runs": len(np.unique(run[held[:, k]])), "steps": int(held[:, k].sum())}
        | {"named": int(flags[held[:, k]].sum())}
        | {"share": share(flags[held[:, k]].sum(), held[:, k].sum()), "part": parts[k]}
        for k, name in enumerate(names)
    ]
    rows.sort(key=lambda row: (-row["named"], -row["steps"], row["agent"]))
    note = counting("steps", found.note)
    return Figure("agents", title, columns, rows, len(run), note=note, drawn=drawn)


def _agents(found: Placed, run: Ints, position: Ints) -> list[str]:
    """The agent of each step; a step beyond the known agents has no name."""
    names = []
    for at, step in zip(run.tolist(), position.tolist(), strict=True):
        agents = found.runs[at].agents
        names.append((agents[step - 1] if step <= len(agents) else "") or NO_AGENT)
    return names


def agent_types_figure(found: Placed) -> Figure:
    """Named steps of each agent by the types seen there."""
    columns = (
        Column("agent", "Agent"),
        Column("type", "Type"),
        Column("steps", "Named steps", "count"),
    )
    title = f"Agents and types, by {found.labels.rater}"
    drawn, reason = Drawn("heat", "type", "steps", "agent"), no_types(found.labels)
    run, step, _, types = found.spots
    at_step = (step > 0) & types.any(axis=1)
    if reason or not at_step.any():
        why = reason or NO_STEP
        return Figure("agent-types", title, columns, (), 0, reason=why, drawn=drawn)
    names, held = grouped(_agents(found, run[at_step], step[at_step]))
    # Two parts of one step are one step.
    keys = np.stack([run[at_step], step[at_step]], axis=1)
    _, first, of = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    seen = np.zeros((len(first), len(TYPES)), dtype=bool)
    np.logical_or.at(seen, of.ravel(), types[at_step])
    counts = held[first].T.astype(int) @ seen.astype(int)
    rows = [
        {"agent": agent, "type": name, "steps": int(counts[a, k])}
        for a, agent in sorted(enumerate(names), key=lambda at: (-counts[at[0]].sum(), at[1]))
        for k, name in enumerate(TYPES)
    ]
    note = counting("types at named steps")
    return Figure("agent-types", title, columns, rows, int(seen.sum()), note=note, drawn=drawn)


# -- from steps to runs --------------------------------------------------------------------------

# Scores of steps (m,) in 0 to 1 and their runs (m,), with the number of runs: scores (runs,).
Aggregator = Callable[[Floats, Ints, int], Floats]


def any_step(scores: Floats, run: Ints, runs: int) -> Floats:
    """1 where some step of the run reaches one half."""
    return (np.bincount(run, scores >= CUT, runs) > 0).astype(np.float64)


def majority(scores: Floats, run: Ints, runs: int) -> Floats:
    """1 where more than half of the steps of the run reach one half."""
    steps = np.bincount(run, minlength=runs)
    return (np.bincount(run, scores >= CUT, runs) > steps / 2).astype(np.float64)


def highest(scores: Floats, run: Ints, runs: int) -> Floats:
    """The highest score of a step of the run; 0 without steps."""
    found = np.zeros(runs)
    np.maximum.at(found, run, scores)
    return found


AGGREGATORS: Mapping[str, Aggregator] = {"any": any_step, "majority": majority, "max": highest}


def aggregated(name: str, scores: Floats, run: Ints, runs: int) -> Floats:
    """Scores of runs from scores of their steps by a named function; a run is flagged from 0.5 on.

    Raises ValueError for an unknown name and for a score outside 0 to 1.
    """
    if name not in AGGREGATORS:
        raise ValueError(f"aggregator is {name!r}; it must be one of {', '.join(AGGREGATORS)}")
    if len(scores) and not ((scores >= 0) & (scores <= 1)).all():
        raise ValueError("the score of a step must lie between 0 and 1")
    return AGGREGATORS[name](scores, run, runs)


def _aggregator_columns(whole: str, steps: str) -> tuple[Column, ...]:
    return (
        Column("aggregator", "Run is flagged by"),
        Column("tp", "Both", "count"),
        Column("fn", f"Only {whole}", "count"),
        Column("fp", f"Only {steps}", "count"),
        Column("tn", "Neither", "count"),
        percent("agreement", "Agreement"),
        percent("precision", "Precision"),
        percent("recall", "Recall"),
        number("f1", "F1"),
        number("kappa", "Kappa"),
    )


def aggregator_rows(found: Placed, truth: Bools) -> tuple[int, list[dict[str, object]]]:
    """How many runs say where, and one row per aggregator: named steps (1, the others 0) made into
    a label of the run, against the `truth` (n,) of the runs."""
    run, _, flags = found.steps
    scores = flags.astype(np.float64)
    whole = [aggregated(name, scores, run, len(found.runs)) >= CUT for name in AGGREGATORS]
    kept = _with_steps(found)
    parts = cells_of(truth[:, None], np.stack(whole, axis=1)) * kept[:, None, None]
    cells = parts.sum(axis=0).astype(int).tolist()
    values = measures(found.draws, parts, ("f1", "kappa"))
    rows = [
        {"aggregator": name, **dict(zip(("tp", "fn", "fp", "tn"), cells[k], strict=True))}
        | values[k]
        for k, name in enumerate(AGGREGATORS)
    ]
    return int(kept.sum()), rows


def _with_steps(found: Placed) -> Bools:
    return found.located & np.array([run.n_steps > 0 for run in found.runs], dtype=bool)


def _aggregator_note(found: Placed) -> str:
    out = int((~_with_steps(found)).sum())
    why = "with a hallucination and no place, or without steps"
    how = "Named steps count 1, others 0, so that any and max are the same."
    return f"{how} {left_out(out, len(found.runs), why)}".strip()


def aggregators_figure(found: Placed) -> Figure:
    """Labels of steps made into labels of runs, against what the rater says of the run itself."""
    title = f"From steps to runs: {found.labels.rater}"
    columns = _aggregator_columns("the run's label", "its steps")
    drawn = Drawn("points", "aggregator", "agreement")
    if not found.steps[2].any():
        return Figure("aggregators", title, columns, (), 0, reason=NO_STEP, drawn=drawn)
    n, rows = aggregator_rows(found, found.labels.present)
    note = _aggregator_note(found)
    return Figure("aggregators", title, columns, rows, n, note=note, drawn=drawn)


def steps_against_runs_figure(pairs: LabelPairs) -> Figure:
    """The steps that the other names, made into labels of runs, against `one`'s labels of runs."""
    one, other = pairs.one.rater, pairs.other.rater
    title = f"From the steps of {other} to runs, against {one}"
    columns = _aggregator_columns(one, f"the steps of {other}")
    drawn = Drawn("points", "aggregator", "agreement")
    found = placed(pairs.runs, pairs.other, pairs.draws)
    if not found.steps[2].any():
        return Figure("steps-to-runs", title, columns, (), 0, reason=NO_STEP, drawn=drawn)
    n, rows = aggregator_rows(found, pairs.one.present)
    note = _aggregator_note(found)
    return Figure("steps-to-runs", title, columns, rows, n, note=note, drawn=drawn)
