"""What an export of agent runs holds, read in batches: assignments with labels, items, events."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import F, QuerySet

from annotation import export_rows
from annotation.export_formats import Row, stamp, tool_annotation
from annotation.export_rows import Filter, chosen, guideline_version, parts
from annotation.models import (
    Assignment,
    Item,
    JudgeComparison,
    ProblemReport,
    Review,
    RevisedReview,
    Skip,
    Study,
)
from annotation.review_links import PARTS
from annotation.run_export_formats import STEPS, label_columns
from benchmark.label_records import LabelRecord
from benchmark.labelling import records_of
from benchmark.models import LabelSet, TrajectoryStep

ITEMS_AT_ONCE = 50
_COMPARISON, _REVISION = "review__comparison", "review__comparison__revision"
# Name in the row -> path from the assignment.
PATHS = {
    "pseudonym": "seat__pseudonym",
    "simulated": "seat__simulated",
    "seat_state": "seat__state",
    "withdrawal": "seat__withdrawal__mode",
    "kind": "item__kind",
    "corpus": "item__trajectory__corpus__slug",
    "format": "item__trajectory__format",
    "run": "item__trajectory__external_id",
    "model": "item__trajectory__model",
    "question": "item__trajectory__question",
    "n_steps": "item__trajectory__n_steps",
    "judge": "item__judge_answer__rater__name",
    "judge_labels": "item__judge_answer__labels",
    "labels": "review__labels",
    "revised_labels": f"{_REVISION}__labels",
    "agreement": f"{_COMPARISON}__agreement",
    "changed": f"{_COMPARISON}__changed",
    "note": f"{_COMPARISON}__note",
    **{f"on_{name}": f"{_COMPARISON}__on_{name}" for name in PARTS},
    "skip_reason": "skip__reason",
    "skip_note": "skip__note",
    "reviewed_at": "review__recorded_at",
    "compared_at": f"{_COMPARISON}__recorded_at",
    "revised_at": f"{_REVISION}__recorded_at",
    "skipped_at": "skip__recorded_at",
}
TIMES = tuple(name for name in (*export_rows.OWN, *PATHS) if name.endswith("_at"))
LABELS = {"labels": "", "judge_labels": "judge_", "revised_labels": "revised_"}
Event = tuple[datetime, int, Row]


def answer_rows(study: Study, keys: Sequence[int]) -> Iterator[list[Row]]:
    """Rows for the assignments `keys`, in their order, a batch at a time (six queries each)."""
    for part in parts(keys):
        yield rows_of(study, Assignment.objects.filter(pk__in=part), part)


def rows_of(
    study: Study, assignments: QuerySet[Assignment], order: Sequence[int] | None = None
) -> list[Row]:
    """One row per assignment, with the columns of `run_export_formats.SCHEMA`, `id`, `item_id`."""
    values = assignments.order_by().values(
        *export_rows.OWN,
        status=export_rows.STATUS,
        seat_number=F("seat__number"),
        **{name: F(path) for name, path in PATHS.items()},
    )
    found = {row["id"]: row for row in values}
    keys = [key for key in (order or found) if key in found]
    labels = _labels({found[key][name] for key in keys for name in LABELS} - {None})
    times, problems = export_rows.times_of(keys), export_rows.problems_of(keys)
    return [_row(study, found[key], labels, times[key], problems.get(key, 0)) for key in keys]


def item_digest(study: Study, row: Mapping[str, Any]) -> str:
    """A name of an item that is the same in every database: 16 hexadecimal digits."""
    text = "\x1f".join((study.slug, row["kind"], row["corpus"], row["format"], row["run"]))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _labels(keys: set[int]) -> dict[int, LabelRecord]:
    return records_of(LabelSet.objects.filter(pk__in=keys))


def _row(
    study: Study,
    found: Row,
    labels: Mapping[int, LabelRecord],
    times: Mapping[str, tuple[float | None, float]],
    problems: int,
) -> Row:
    row = {
        "study": study.slug,
        "protocol_version": study.protocol_version,
        "guideline_version": guideline_version(study),
        "item": item_digest(study, found),
        "seat": found["seat_number"],
        "problems": problems,
        "differs_on": None,
    }
    row |= {name: found[name] for name in (*export_rows.OWN, *PATHS, "status") if name not in row}
    for name, prefix in LABELS.items():
        row |= label_columns(labels.get(found[name]), prefix)
    if found["agreement"] is not None:
        row["differs_on"] = [name for name in PARTS if found[f"on_{name}"]]
    row |= {name: stamp(found[name]) for name in TIMES}
    for step in STEPS:
        wall, active = times.get(step, (None, None))
        row |= {f"{step}_wall_seconds": wall, f"{step}_active_seconds": active}
    return row


def label_studio_tasks(study: Study, only: Filter, keys: Sequence[int]) -> Iterator[list[Row]]:
    """Runs with their annotations, a batch at a time, as `export_items.label_studio_tasks`."""
    for part in parts(keys, ITEMS_AT_ONCE):
        rows: dict[int, list[Row]] = defaultdict(list)
        for row in sorted(
            rows_of(study, chosen(study, only).filter(item__in=part)),
            key=lambda r: (r["seat"], r["attempt"]),
        ):
            rows[row["item_id"]].append(row)
        items = Item.objects.select_related("trajectory").in_bulk(part)
        steps = _steps({item.trajectory_id for item in items.values()})
        yield [
            _task(items[key], rows[key], steps[items[key].trajectory_id])
            for key in part
            if rows[key]
        ]


def _task(item: Item, rows: Sequence[Row], steps: Sequence[Row]) -> Row:
    run: Any = item.trajectory
    names = ("item", "kind", "corpus", "format", "run", "model", "question", "judge")
    data = {name: rows[0][name] for name in names}
    data |= {"task": run.task, "expected": run.expected, "steps": list(steps)}
    data["response"] = run.response
    given = [row for row in rows if row["status"] != "pending"]
    return {
        "id": item.pk,
        "data": data,
        "annotations": [_annotation(r) for r in given if r["status"] != "in_progress"],
        "drafts": [_annotation(r) for r in given if r["status"] == "in_progress"],
        "predictions": [_prediction(rows[0])] if rows[0]["judge_present"] is not None else [],
    }


def _annotation(row: Row) -> Row:
    times = ("reviewed_at", "compared_at", "revised_at", "skipped_at")
    return tool_annotation(row, steps=STEPS, times=times, result=list(_results(row)))


def _prediction(row: Row) -> Row:
    """What the judge said, which people saw after their own answer."""
    return {"model_version": row["judge"], "result": list(_said_of(row, "judge_", ""))}


def _results(row: Row) -> Iterator[Row]:
    for prefix in ("", "revised_"):
        yield from _said_of(row, prefix, prefix)
    if row["agreement"] is not None:
        yield _choices("agreement", [row["agreement"]])
        if row["differs_on"]:
            yield _choices("differs_on", row["differs_on"])
        yield _choices("changed", ["yes" if row["changed"] else "no"])
        if row["note"]:
            yield _result("note", "textarea", {"text": [row["note"]]})


def _said_of(row: Row, prefix: str, named: str) -> Iterator[Row]:
    """The answer in the columns that begin with `prefix`, under names that begin with `named`."""
    if row[f"{prefix}present"] is None:
        return
    yield _choices(f"{named}present", ["yes" if row[f"{prefix}present"] else "no"])
    for name in ("types", "flags"):
        if row[f"{prefix}{name}"]:
            yield _choices(f"{named}{name}", row[f"{prefix}{name}"])
    for place in row[f"{prefix}places"]:
        yield _result(f"{named}place", "place", place)
    if row[f"{prefix}rationale"]:
        yield _result(f"{named}rationale", "textarea", {"text": [row[f"{prefix}rationale"]]})


def _choices(name: str, values: Sequence[str]) -> Row:
    return _result(name, "choices", {"choices": list(values)})


def _result(name: str, kind: str, value: Mapping[str, Any]) -> Row:
    place = {"to_name": "run", "origin": "manual"}
    return {"from_name": name, "type": kind, "value": dict(value)} | place


def _steps(runs: set[int]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = defaultdict(list)
    names = ("position", "agent", "thought", "action", "observation", "response")
    rows = TrajectoryStep.objects.filter(trajectory__in=runs).order_by("trajectory_id", "position")
    for row in rows.values("trajectory_id", *names):
        found[row.pop("trajectory_id")].append(row)
    return found


def history(study: Study, only: Filter, keys: Sequence[int]) -> Iterator[list[Row]]:
    """What happened to each item, in time order: all attempts, and all that was said about it."""
    every = Filter(judges=only.judges, attempts="all", items=only.items)
    for part in parts(keys, ITEMS_AT_ONCE):
        events: dict[int, list[Event]] = defaultdict(list)
        for key, event in _events(chosen(study, every).filter(item__in=part)):
            events[key].append(event)
        names = _names(study, part)
        yield [
            {"item": names[key], "at": stamp(at), **row}
            for key in part
            for at, _, row in sorted(events[key], key=lambda event: event[:2])
        ]


def _names(study: Study, part: Sequence[int]) -> dict[int, str]:
    named = ("kind", "corpus", "format", "run")
    paths = {name: F(PATHS[name].removeprefix("item__")) for name in named if name != "kind"}
    rows = Item.objects.filter(pk__in=part).values("id", "kind", **paths)
    return {row["id"]: item_digest(study, row) for row in rows}


def _events(assignments: QuerySet[Assignment]) -> Iterator[tuple[int, Event]]:
    """(item, event) of everything that hangs on an assignment."""
    known = {a.pk: a for a in assignments.select_related("seat")}

    def event(key: int, at: datetime, order: int, name: str, **more: Any) -> tuple[int, Event]:
        a = known[key]
        who = {"pseudonym": a.seat.pseudonym, "attempt": a.attempt, "event": name}
        return a.item_id, (at, order, who | more)

    for key, a in known.items():
        if a.opened_at:
            yield event(key, a.opened_at, 0, "reopened" if a.post_reveal else "opened")
        if a.ended and a.ended_at:
            yield event(key, a.ended_at, 6, a.ended)
    for r in Review.objects.filter(assignment__in=known).select_related("labels"):
        yield event(r.assignment_id, r.recorded_at, 1, "reviewed", **_said(r.labels))
    for c in JudgeComparison.objects.filter(review__assignment__in=known).select_related("review"):
        said = {"agreement": c.agreement, "changed": c.changed, "note": c.note}
        yield event(c.review.assignment_id, c.recorded_at, 2, "compared with the judge", **said)
    for v in RevisedReview.objects.filter(comparison__review__assignment__in=known).select_related(
        "labels", "comparison__review"
    ):
        key = v.comparison.review.assignment_id
        yield event(key, v.recorded_at, 3, "answered again", **_said(v.labels))
    for k in Skip.objects.filter(assignment__in=known):
        yield event(k.assignment_id, k.recorded_at, 4, "skipped", reason=k.reason, note=k.note)
    for p in ProblemReport.objects.filter(assignment__in=known).select_related("step"):
        step = p.step.position if p.step else None
        yield event(p.assignment_id, p.recorded_at, 5, "problem reported", step=step, text=p.text)
        if p.resolved_at:
            yield event(p.assignment_id, p.resolved_at, 5, "problem resolved")


def _said(labels: LabelSet) -> Row:
    return {"present": labels.present, "types": labels.types}
