"""Do two raters mean the same place? Steps, parts of steps and types together, and the first step.

Pairs such as (step, type) of one rater are the truth, those of the other the answer: precision,
recall and F1 over all of them, and the share of runs with one in common. (Trajel, appendix C.1:
compare type and location; the joint accuracy of localisation benchmarks.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from annotation.figure_tables import Column, Drawn, Figure
from annotation.label_intervals import estimates, share
from annotation.label_marks import says_where
from annotation.label_pairs import Bools, LabelPairs
from annotation.label_type_tables import counting, left_out, number, percent
from annotation.people_resampling import ratio
from benchmark.label_records import REFERENTIAL, LabelRecord, PlaceRecord
from scoring.estimates import Estimate, undefined

Spots = frozenset[tuple[int | str, ...]]
NO_BOTH_PLACED = "there is no run in which both see a hallucination and say where"
NOTHING_NAMED = "neither names any"


def _steps(label: LabelRecord) -> Spots:
    return frozenset((p.step,) for p in label.places if p.step is not None)


def _has_part(place: PlaceRecord) -> bool:
    return bool(place.component) and says_where(place)


def _parts(label: LabelRecord) -> Spots:
    return frozenset((p.step or 0, p.component) for p in label.places if _has_part(p))


def _typed_steps(label: LabelRecord) -> Spots:
    return frozenset(
        (p.step, name)
        for p in label.places
        if p.step is not None
        for name in ([p.type] if p.type else label.types)
    )


def _typed_parts(label: LabelRecord) -> Spots:
    return frozenset(
        (p.step or 0, p.component, name)
        for p in label.places
        if _has_part(p)
        for name in ([p.type] if p.type else label.types)
    )


# What must be the same, from loose to strict. A part of the final response counts as a place.
MATCHES: Mapping[str, Callable[[LabelRecord], Spots]] = {
    "step": _steps,
    "step and part": _parts,
    "step and type": _typed_steps,
    "step, part and type": _typed_parts,
}


def located(pairs: LabelPairs) -> Bools:
    """Runs on which both say where, or that there is nothing."""
    says = [
        [not r.present or any(map(says_where, r.places)) for r in side.records]
        for side in (pairs.one, pairs.other)
    ]
    return np.array(says, dtype=bool).reshape(2, len(pairs)).all(axis=0)


def location_figure(pairs: LabelPairs) -> Figure:
    """How far two raters name the same places."""
    columns = (
        Column("match", "The same"),
        Column("one", f"Named by {pairs.one.rater}", "count"),
        Column("other", f"Named by {pairs.other.rater}", "count"),
        Column("shared", "By both", "count"),
        percent("precision", "Precision"),
        percent("recall", "Recall"),
        number("f1", "F1"),
        percent("runs", "Runs with one in common"),
    )
    title = f"Places: {pairs.other.rater} against {pairs.one.rater}"
    kept, drawn = located(pairs), Drawn("points", "match", "f1")
    both = kept & pairs.both
    if not both.any():
        return Figure("places", title, columns, (), 0, reason=NO_BOTH_PLACED, drawn=drawn)
    rows = [_location_row(pairs, name, kept, both) for name in MATCHES]
    out = int((~kept).sum())
    why = "where a rater sees a hallucination and says no place"
    note = (
        "A place without a type stands for every type of its run. Runs with one in common are of "
        f"the {int(both.sum())} in which both say where. {left_out(out, len(pairs), why)}"
    )
    n = int(kept.sum())
    return Figure("places", title, columns, rows, n, note=note.strip(), drawn=drawn)


def _location_row(pairs: LabelPairs, name: str, kept: Bools, both: Bools) -> dict[str, object]:
    of = MATCHES[name]
    sides = [[of(record) for record in side.records] for side in (pairs.one, pairs.other)]
    counts = np.array(
        [(len(a), len(b), len(a & b)) for a, b in zip(*sides, strict=True)], dtype=np.float64
    ).reshape(len(pairs), 3)
    counts *= kept[:, None]
    one, other, shared = counts.sum(axis=0).astype(int).tolist()
    f1 = {"f1": (lambda c: ratio(2 * c[..., 2], c[..., 0] + c[..., 1]), NOTHING_NAMED)}
    never = {side.rater: f"none is named by {side.rater}" for side in (pairs.one, pairs.other)}
    hits = int(((counts[:, 2] > 0) & both).sum())
    values: dict[str, Estimate] = {
        "precision": share(shared, other, never[pairs.other.rater]),
        "recall": share(shared, one, never[pairs.one.rater]),
        "f1": estimates(pairs.draws, counts[:, None, :], f1, [one + other])["f1"][0],
        "runs": share(hits, both.sum(), NO_BOTH_PLACED),
    }
    if not one or not other:
        silent = pairs.one.rater if not one else pairs.other.rater
        values = {key: undefined(never[silent], n=one + other) for key in values}
    return {"match": name, "one": one, "other": other, "shared": shared} | values


def first_step_figure(pairs: LabelPairs, within: Sequence[int] = (0, 1, 3)) -> Figure:
    """Where both see a hallucination and name a step: how near their first steps are."""
    columns = (
        Column("measure", "The first step named"),
        percent("share", "Share"),
        number("steps", "Steps"),
    )
    title = f"The first step named by {pairs.one.rater} and by {pairs.other.rater}"
    first = _onsets(pairs.one.records), _onsets(pairs.other.records)
    kept = (first[0] > 0) & (first[1] > 0)
    n, away = int(kept.sum()), first[1] - first[0]
    if not n:
        return Figure("first-steps", title, columns, (), 0, reason=NO_BOTH_PLACED)
    rows: list[dict[str, object]] = [
        {"measure": word, "share": share((kept & hit).sum(), n), "steps": None}
        for word, hit in _nearness(pairs.other.rater, away, within).items()
    ]
    distance = _between(pairs, kept, away)
    rows.append({"measure": "steps between, mean", "share": None, "steps": distance})
    out = len(pairs) - n
    note = left_out(out, len(pairs), "in which not both name a step")
    return Figure("first-steps", title, columns, rows, n, note=note)


def _nearness(rater: str, away: np.ndarray, within: Sequence[int]) -> dict[str, np.ndarray]:
    near = {
        f"within {w} step{'s' * (w > 1)}" if w else "the same step": abs(away) <= w for w in within
    }
    return near | {f"{rater}: later": away > 0, f"{rater}: earlier": away < 0}


def _between(pairs: LabelPairs, kept: Bools, away: np.ndarray) -> Estimate:
    parts = np.stack([np.where(kept, abs(away), 0), kept], axis=-1)[:, None, :]
    mean = {"mean": (lambda sums: ratio(sums[..., 0], sums[..., 1]), NO_BOTH_PLACED)}
    return estimates(pairs.draws, parts, mean, [int(kept.sum())])["mean"][0]


def _onsets(records: Iterable[LabelRecord]) -> np.ndarray:
    return np.array([record.onset or 0 for record in records], dtype=np.intp)


def evidence_figure(pairs: LabelPairs) -> Figure:
    """Where both see a referential claim at a step: is the missing evidence sought in one place?"""
    columns = (
        Column("measure", "Referential claims both see at one step"),
        Column("count", "Count", "count"),
        percent("share", "Share"),
    )
    title = f"Missing evidence: {pairs.one.rater} and {pairs.other.rater}"
    found = [
        (a[step], b[step])
        for a, b in zip(*(map(_claims, s.records) for s in (pairs.one, pairs.other)), strict=True)
        for step in sorted(a.keys() & b.keys())
    ]
    if not found:
        reason = "there is no step at which both see a referential claim"
        return Figure("evidence-agreement", title, columns, (), 0, reason=reason)
    named = [(a, b) for a, b in found if a and b]
    same, n = sum(bool(a & b) for a, b in named), len(named)
    rows = [
        {"measure": "both name the step of the evidence", "count": n}
        | {"share": share(n, len(found))},
        {"measure": "and name the same", "count": same}
        | {"share": share(same, n, "there is no claim for which both name it")},
    ]
    return Figure("evidence-agreement", title, columns, rows, len(found), note=counting("claims"))


def _claims(label: LabelRecord) -> dict[int, set[int]]:
    """Steps with a referential claim, each with the steps that should hold the evidence."""
    found: dict[int, set[int]] = {}
    for place in label.places:
        of = [place.type] if place.type else label.types
        if place.step is not None and REFERENTIAL in of:
            evidence = {place.evidence} if place.evidence is not None else set()
            found.setdefault(place.step, set()).update(evidence)
    return found
