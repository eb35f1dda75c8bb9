"""Where one rater sees hallucinations: in which part of a step, how far into a run, by which agent.

(Trajel, section 5.3 and appendix C: types by component, positions by step and by task.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from annotation.figure_tables import Column, Drawn, Figure
from annotation.label_intervals import Draws, Floats, cluster_share, estimates, share
from annotation.label_marks import NOWHERE, Ints, Marks, marks_of, spots, step_flags
from annotation.label_pairs import Bools, Labels, Run
from annotation.label_single_tables import no_types
from annotation.label_type_tables import counting, left_out, percent
from annotation.people_resampling import ratio
from benchmark.label_records import COMPONENTS, RESPONSE, TYPES
from scoring.estimates import Estimate

NO_PLACE = "no place is named"
NO_COMPONENT = "no part of a step is named"
NO_STEP = "no step is named"
NO_TASK = "no step carries the number of a task"
FINAL = "final response"
SINGLE_STEPS = 20
BLOCK = 10
FIFTHS = ("first fifth", "second fifth", "third fifth", "fourth fifth", "last fifth")


@dataclass(frozen=True, slots=True)
class Placed:
    """A rater's labels with all their places. `spots` are those of `label_marks.spots`, `steps`
    every step of the runs that say where (its run, its position, whether it is named)."""

    runs: Sequence[Run]
    labels: Labels
    draws: Draws
    marks: Marks
    spots: tuple[Ints, Ints, Ints, Bools]
    steps: tuple[Ints, Ints, Bools]
    located: Bools

    @property
    def note(self) -> str:
        """How many runs are left out because nobody says where."""
        out, seen = int((~self.located).sum()), int(self.labels.present.sum())
        return left_out(out, seen, "with a hallucination and no place")


def placed(runs: Sequence[Run], labels: Labels, draws: Draws) -> Placed:
    """Labels with their places. Runs with a hallucination and no place are left out of steps."""
    marks = marks_of(runs, labels)
    located = ~labels.present
    located[marks.run[marks.located]] = True
    run, position, flags = step_flags(runs, marks)
    kept = located[run]
    steps = (run[kept], position[kept], flags[kept])
    return Placed(runs, labels, draws, marks, spots(marks), steps, located)


def parts_of(found: Placed, run: Ints, member: Floats) -> list[Estimate]:
    """Share of all rows that are of each group: `member` (rows, groups), `run` the row's run.

    Intervals are by bootstrap over questions; for none or all, Wilson's over questions.
    """
    sums = np.zeros((len(found.runs), member.shape[1], 2))
    np.add.at(sums[..., 0], run, member)
    np.add.at(sums[..., 1], run, np.ones_like(member))
    part = {"part": (lambda cells: ratio(cells[..., 0], cells[..., 1]), NO_PLACE)}
    shares = estimates(found.draws, sums, part, [len(run)] * member.shape[1])["part"]
    return [cluster_share(each) for each in shares]


def components_figure(found: Placed) -> Figure:
    """Places by part of a step, of all places with a named part."""
    columns = (
        Column("component", "Part of a step"),
        Column("places", "Places", "count"),
        percent("share", "Of all places"),
    )
    title, drawn = (
        f"Parts of steps named by {found.labels.rater}",
        Drawn("bars", "component", "share"),
    )
    run, _, component, _ = found.spots
    known = component >= 0
    n = int(known.sum())
    if not n:
        return Figure("components", title, columns, (), 0, reason=NO_COMPONENT, drawn=drawn)
    member = component[known][:, None] == np.arange(len(COMPONENTS))
    shares = parts_of(found, run[known], member.astype(np.float64))
    rows = [
        {"component": name, "places": int(member[:, k].sum()), "share": shares[k]}
        for k, name in enumerate(COMPONENTS)
    ]
    out = len(run) - n
    note = counting("places", _places_out(out, len(run), "which name no part"))
    return Figure("components", title, columns, rows, n, note=note, drawn=drawn)


def _places_out(n: int, total: int, why: str) -> str:
    return left_out(n, total, why).replace(" runs,", " places,")


def type_components_figure(found: Placed) -> Figure:
    """Places of each type by part of a step."""
    _, _, component, _ = found.spots
    title = f"Types and parts of steps, by {found.labels.rater}"
    first = Column("component", "Part of a step")
    return _types_figure(
        "type-components", title, first, COMPONENTS, found, component, NO_COMPONENT
    )


def type_fifths_figure(found: Placed) -> Figure:
    """Places of each type by how far into the run they are; the final response comes last."""
    run, step, component, _ = found.spots
    sizes = np.array([r.n_steps for r in found.runs], dtype=np.intp)
    fifth = np.where(step > 0, (step - 1) * len(FIFTHS) // np.maximum(sizes[run], 1), NOWHERE)
    ends = (step == 0) & (component == COMPONENTS.index(RESPONSE))
    title = f"Types and how far into a run, by {found.labels.rater}"
    first = Column("part", "Part of the run")
    part = np.where(ends, len(FIFTHS), fifth)
    return _types_figure("type-fifths", title, first, (*FIFTHS, FINAL), found, part, NO_PLACE)


def _types_figure(
    name: str,
    title: str,
    first: Column,
    words: Sequence[str],
    found: Placed,
    part: Ints,
    nothing: str,
) -> Figure:
    """Places of each type by part; `part` (s,) is the place in `words` of each spot, or NOWHERE."""
    columns = (
        Column("type", "Type"),
        first,
        Column("places", "Places", "count"),
        percent("share", "Of the type's places"),
    )
    drawn = Drawn("heat", first.key, "share", "type")
    run, _, _, types = found.spots
    known = (part >= 0) & types.any(axis=1)
    reason = no_types(found.labels) or ("" if known.any() else nothing)
    if reason:
        return Figure(name, title, columns, (), 0, reason=reason, drawn=drawn)
    member = part[known][:, None] == np.arange(len(words))
    rows = []
    for k, type_ in enumerate(TYPES):
        of_type = types[known, k]
        shares = parts_of(found, run[known][of_type], member[of_type].astype(np.float64))
        rows += [
            {"type": type_, first.key: word, "places": int(member[of_type, c].sum())}
            | {"share": shares[c]}
            for c, word in enumerate(words)
        ]
    note = counting("types at places", _spread_note(found))
    return Figure(name, title, columns, rows, int(types[known].sum()), note=note, drawn=drawn)


def _spread_note(found: Placed) -> str:
    several = ~found.marks.own & (found.marks.types.sum(axis=1) > 1)
    if not several.any():
        return ""
    return (
        f"A place without a type counts under each type of its run: {int(several.sum())} of "
        f"{len(found.marks)} places count more than once."
    )


def steps_figure(found: Placed) -> Figure:
    """How often each step of a run is named; later steps in tens, then the final response."""
    _, position, flags = found.steps
    last = int(position.max(initial=0))
    cuts = [*range(1, min(last, SINGLE_STEPS) + 1), *range(SINGLE_STEPS + 1, last + 1, BLOCK)]
    rows = []
    for low, high in pairwise([*cuts, last + 1]):
        inside = (position >= low) & (position < high)
        word = str(low) if high - low == 1 else f"{low} to {high - 1}"
        rows.append(_steps_row("step", word, flags[inside]))
    ends = np.zeros(len(found.runs), dtype=bool)
    ends[found.marks.run[found.marks.in_response]] = True
    if ends.any():
        rows.append(_steps_row("step", FINAL, ends[found.located]))
    title = f"Steps named by {found.labels.rater}"
    return _steps_figure("steps", title, Column("step", "Step"), rows, found)


def fifths_figure(found: Placed) -> Figure:
    """How often steps are named in each fifth of a run."""
    run, position, flags = found.steps
    sizes = np.array([r.n_steps for r in found.runs], dtype=np.intp)
    fifth = (position - 1) * len(FIFTHS) // np.maximum(sizes[run], 1)
    rows = [_steps_row("part", word, flags[fifth == k]) for k, word in enumerate(FIFTHS)]
    title = f"How far into a run the steps are that are named by {found.labels.rater}"
    return _steps_figure("run-fifths", title, Column("part", "Part of the run"), rows, found)


def _steps_row(key: str, word: str, flags: Bools) -> dict[str, object]:
    named = int(flags.sum())
    return {key: word, "steps": len(flags), "named": named, "share": share(named, len(flags))}


def _steps_figure(
    name: str, title: str, first: Column, rows: Sequence[dict[str, object]], found: Placed
) -> Figure:
    columns = (
        first,
        Column("steps", "Steps", "count"),
        Column("named", "Named", "count"),
        percent("share", "Of these steps"),
    )
    drawn, n = Drawn("bars", first.key, "share"), len(found.steps[0])
    if not len(found.marks) or not n:
        return Figure(name, title, columns, (), 0, reason=NO_PLACE, drawn=drawn)
    note = counting("steps", found.note)
    return Figure(name, title, columns, rows, n, note=note, drawn=drawn)


def tasks_figure(found: Placed, tasks: Mapping[int, Sequence[int | None]]) -> Figure:
    """Places by the number of the task they fall in; `tasks` holds that of every step of a run.

    Raises ValueError where a run has more or fewer numbers than steps.
    """
    columns = (
        Column("task", "Task"),
        Column("steps", "Steps", "count"),
        Column("places", "Places", "count"),
        percent("share", "Of all places"),
    )
    title, drawn = f"Tasks of a run, by {found.labels.rater}", Drawn("bars", "task", "places")
    of_step = _task_numbers(found.runs, tasks)
    run, step, _, _ = found.spots
    at = np.array([of_step.get((int(r), int(s)), 0) for r, s in zip(run, step, strict=True)])
    known = at > 0 if len(at) else np.zeros(0, dtype=bool)
    steps_at = np.array(list(of_step.values()), dtype=np.intp)
    numbers = np.unique(steps_at[steps_at > 0])
    if not known.any():
        reason = NO_PLACE if len(numbers) else NO_TASK
        return Figure("tasks", title, columns, (), 0, reason=reason, drawn=drawn)
    member = at[known][:, None] == numbers
    shares = parts_of(found, run[known], member.astype(np.float64))
    rows = [
        {"task": str(number), "steps": int((steps_at == number).sum())}
        | {"places": int(member[:, k].sum()), "share": shares[k]}
        for k, number in enumerate(numbers.tolist())
    ]
    out = len(run) - int(known.sum())
    note = counting("places", _places_out(out, len(run), "which fall in no task"))
    return Figure("tasks", title, columns, rows, int(known.sum()), note=note, drawn=drawn)


def _task_numbers(
    runs: Sequence[Run], tasks: Mapping[int, Sequence[int | None]]
) -> dict[tuple[int, int], int]:
    found = {}
    for at, run in enumerate(runs):
        numbers = tasks.get(run.pk, ())
        if numbers and len(numbers) != run.n_steps:
            raise ValueError(
                f"{run.external_id} has {run.n_steps} steps and {len(numbers)} task numbers"
            )
        found |= {(at, step): number or 0 for step, number in enumerate(numbers, start=1)}
    return found
