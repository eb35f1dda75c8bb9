"""Faults that lead to faults, and claims whose evidence is missing.

A rater may mark a place as the root of a fault or as its consequence, and for a claim that refers
to something the run never had, the earlier step that should hold it. (Trajel, section 7 and
appendix D.)
"""

from __future__ import annotations

import numpy as np

from annotation.figure_tables import Column, Drawn, Figure
from annotation.label_intervals import estimates, share
from annotation.label_marks import Ints
from annotation.label_pairs import Bools
from annotation.label_place_tables import Placed
from annotation.label_type_tables import counting, number, percent
from annotation.people_resampling import ratio
from benchmark.label_records import CAUSES, PROPAGATED, REFERENTIAL, ROOT, TYPES
from scoring.estimates import Estimate, undefined

NO_CAUSE = "no place says whether the fault begins there"
NO_ROOT = "no place is marked as the root"
NO_SPREAD = "no fault is marked as going on"
NO_CLAIM = "no place is of type referential"
NO_EVIDENCE = "no claim names the step that should hold the evidence"


def _first_and_last(found: Placed) -> tuple[Ints, Ints, Ints]:
    """Of each run: its first root step, its last propagated step (0: none), and how many of the
    places marked as propagated have no root before them."""
    marks, runs = found.marks, len(found.runs)
    at_step = marks.step > 0
    roots = at_step & (marks.cause == CAUSES.index(ROOT))
    spread = at_step & (marks.cause == CAUSES.index(PROPAGATED))
    root = np.full(runs, np.iinfo(np.intp).max, dtype=np.intp)
    np.minimum.at(root, marks.run[roots], marks.step[roots])
    orphans = spread & (marks.step <= root[marks.run])
    last = np.zeros(runs, dtype=np.intp)
    led = spread & ~orphans
    np.maximum.at(last, marks.run[led], marks.step[led])
    root[root == np.iinfo(np.intp).max] = 0
    return root, last, np.bincount(marks.run[orphans], minlength=runs).astype(np.intp)


def _columns(first: str) -> tuple[Column, ...]:
    return (
        Column("measure", first),
        Column("count", "Count", "count"),
        percent("share", "Share"),
        number("steps", "Steps"),
    )


def _row(
    measure: str, count: int, part: Estimate | None = None, steps: Estimate | None = None
) -> dict[str, object]:
    return {"measure": measure, "count": int(count), "share": part, "steps": steps}


def cascades_figure(found: Placed) -> Figure:
    """Runs with a marked root, how many go on from there, and over how many steps."""
    title = f"Faults that lead to faults, by {found.labels.rater}"
    columns = _columns("Cascades")
    if not (found.marks.cause >= 0).any():
        return Figure("cascades", title, columns, (), 0, reason=NO_CAUSE)
    root, last, orphans = _first_and_last(found)
    rooted, led, seen = root > 0, last > 0, int(found.labels.present.sum())
    length = np.where(led, last - root, 0)
    n, reached = int(rooted.sum()), int(led.sum())
    most = Estimate(float(length.max()), n=reached) if reached else undefined(NO_SPREAD)
    mean = mean_of(found, length, led, NO_SPREAD)
    rows = [
        _row("runs with a marked root, of those that hallucinate", n, share(n, seen), None),
        _row("runs whose fault goes on, of those with a root", reached, share(reached, n, NO_ROOT)),
        _row("from the root to the last step it reaches, mean", reached, None, mean),
        _row("from the root to the last step it reaches, most", reached, None, most),
        _row("places marked as following, with no root before them", orphans.sum()),
    ]
    return Figure("cascades", title, columns, rows, seen, note=found.note)


def mean_of(found: Placed, values: Ints, kept: Bools, reason: str) -> Estimate:
    """Mean over kept runs with a bootstrap interval over questions."""
    if not kept.any():
        return undefined(reason)
    parts = np.stack([np.where(kept, values, 0), kept], axis=-1)[:, None, :]
    return _ratio_of(found, parts, int(kept.sum()), reason)


def _ratio_of(found: Placed, parts: np.ndarray, n: int, reason: str) -> Estimate:
    mean = {"mean": (lambda sums: ratio(sums[..., 0], sums[..., 1]), reason)}
    return estimates(found.draws, parts, mean, [n])["mean"][0]


def cascade_lengths_figure(found: Placed) -> Figure:
    """How many steps a fault reaches beyond its root, run by run."""
    columns = (
        Column("steps", "Steps reached beyond the root"),
        Column("runs", "Runs", "count"),
        percent("share", "Of runs with a root"),
    )
    title = f"How far a fault goes, by {found.labels.rater}"
    drawn = Drawn("bars", "steps", "share")
    root, last, _ = _first_and_last(found)
    lengths = np.where(last > 0, last - root, 0)[root > 0]
    n = len(lengths)
    if not n:
        return Figure("cascade-lengths", title, columns, (), 0, reason=NO_ROOT, drawn=drawn)
    counts = np.bincount(lengths)
    rows = [
        {"steps": str(k), "runs": count, "share": share(count, n)}
        for k, count in enumerate(counts.tolist())
    ]
    return Figure("cascade-lengths", title, columns, rows, n, drawn=drawn)


def evidence_figure(found: Placed) -> Figure:
    """Of the referential claims: how many name the step that should hold the evidence, how far."""
    columns = _columns("Referential claims")
    title = f"Evidence that should be there, by {found.labels.rater}"
    marks = found.marks
    claims = marks.types[:, TYPES.index(REFERENTIAL)]
    if not claims.any():
        return Figure("evidence", title, columns, (), 0, reason=NO_CLAIM)
    named = claims & (marks.evidence > 0)
    known = named & (marks.step > 0)
    away = np.where(known, marks.step - marks.evidence, 0)
    count, n = int(known.sum()), int(claims.sum())
    before = int((away[known] == 1).sum())
    rows = [
        _row("claims that name the step of the evidence", named.sum(), share(named.sum(), n)),
        _row("of these, in the step just before", before, share(before, count, NO_EVIDENCE)),
        _row("steps back to the evidence, mean", count, None, _mean_away(found, away, known)),
    ]
    apart = "A claim of the final response has no distance." if count < named.sum() else ""
    note = counting("claims", found.note, apart)
    return Figure("evidence", title, columns, rows, n, note=note)


def _mean_away(found: Placed, away: Ints, known: Bools) -> Estimate:
    if not known.any():
        return undefined(NO_EVIDENCE)
    run = found.marks.run[known]
    parts = np.zeros((len(found.runs), 1, 2))
    np.add.at(parts[:, 0, 0], run, away[known])
    np.add.at(parts[:, 0, 1], run, 1)
    return _ratio_of(found, parts, int(known.sum()), NO_EVIDENCE)
