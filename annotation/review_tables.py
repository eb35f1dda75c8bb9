"""Tables of how a study of runs went: progress, comparisons, changed minds, time, troubles.

What was said after the judge's answer was seen is shown for itself and enters no agreement.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from annotation.agreement import wilson
from annotation.figure_tables import Column, Drawn, Figure
from annotation.review_rows import AGREEMENTS, DIRECTIONS, PARTS, STEPS, ReviewRow
from scoring.estimates import Estimate, undefined

STATUSES = ("finished", "skipped", "in progress", "waiting", "expired", "withdrawn")
NOT_COMPARED = "nobody has compared an answer with the judge's yet"
NOBODY_CHANGED = "nobody has changed their mind"
UNTIMED = "no time was measured"
PART_WORDS = {"presence": "whether there is one", "type": "which types", "step": "at which step"}
PART_WORDS |= {"component": "in which part of a step"}


def share_of(part: int, whole: int, reason: str) -> Estimate:
    """A share with Wilson's interval; undefined, with the reason, where the whole is 0."""
    return wilson(part, whole) if whole else undefined(reason)


def _percent(key: str, title: str) -> Column:
    return Column(key, title, "estimate", percent=True)


def progress_figure(rows: Sequence[ReviewRow]) -> Figure:
    """Each person: what was given to them, how it stands, problems reported, and median time."""
    by_person: dict[str, list[ReviewRow]] = defaultdict(list)
    for row in rows:
        if not row.post_reveal:
            by_person[row.person].append(row)
    columns = (
        Column("person", "Person"),
        Column("assigned", "Given", "count"),
        *(Column(name.replace(" ", "_"), name.capitalize(), "count") for name in STATUSES),
        Column("problems", "Problems", "count"),
        Column("seconds", "Median active seconds", "number"),
    )
    found = [_person(name, by_person[name]) for name in sorted(by_person)]
    return Figure(
        "progress",
        "Person by person",
        columns,
        found,
        len(found),
        note="First attempts. The median is over finished runs with a measured time.",
        reason="" if found else "nobody has a place in this study",
    )


def _person(name: str, rows: Sequence[ReviewRow]) -> dict[str, Any]:
    statuses = Counter(row.status for row in rows)
    times = [row.total_seconds for row in rows if row.status == "finished"]
    measured = [seconds for seconds in times if seconds is not None]
    return {
        "person": name,
        "assigned": len(rows),
        **{status.replace(" ", "_"): statuses[status] for status in STATUSES},
        "problems": sum(row.problems for row in rows),
        "seconds": statistics.median(measured) if measured else None,
    }


def compared(rows: Iterable[ReviewRow]) -> list[ReviewRow]:
    """The rows that count and were compared with the judge."""
    return [row for row in rows if row.counted and row.agreement is not None]


def agreement_figure(rows: Sequence[ReviewRow]) -> Figure:
    """What people say of the judge's answer once they see it."""
    seen = compared(rows)
    counts = Counter(row.agreement for row in seen)
    columns = (
        Column("agreement", "They"),
        Column("reviews", "Reviews", "count"),
        _percent("share", "Share"),
        Column("changed", "Would answer differently", "count"),
        _percent("changed_share", "Of these"),
    )
    changed = Counter(row.agreement for row in seen if row.changed)
    found = [
        {"agreement": name, "reviews": counts[name], "share": share_of(counts[name], len(seen), "")}
        | {"changed": changed[name]}
        | {"changed_share": share_of(changed[name], counts[name], f"no review says {name}")}
        for name in (AGREEMENTS if seen else ())
    ]
    return _of_compared("comparison", "With the judge's answer they", columns, found, len(seen))


def differences_figure(rows: Sequence[ReviewRow]) -> Figure:
    """On what those differ who do not agree with the judge."""
    seen = compared(rows)
    apart = [row for row in seen if row.agreement != "agree"]
    columns = (
        Column("part", "They differ on"),
        Column("reviews", "Reviews", "count"),
        _percent("share", "Of all comparisons"),
        _percent("of_apart", "Of those that do not agree"),
    )
    found = []
    for part in PARTS if seen else ():
        n = sum(part in (row.differs_on or ()) for row in seen)
        found.append(
            {"part": PART_WORDS[part], "reviews": n, "share": share_of(n, len(seen), "")}
            | {"of_apart": share_of(n, len(apart), "every review agrees with the judge")}
        )
    title = "On what they differ from the judge"
    return _of_compared("differences", title, columns, found, len(seen))


def _of_compared(
    name: str, title: str, columns: Sequence[Column], rows: Sequence[Any], n: int
) -> Figure:
    return Figure(
        name,
        title,
        columns,
        rows,
        n,
        note="Given after the blind answer was frozen; Wilson intervals." if rows else "",
        reason="" if rows else NOT_COMPARED,
        drawn=Drawn("bars", columns[0].key, "share"),
    )


def changes_figure(rows: Sequence[ReviewRow]) -> Figure:
    """Of those who changed their mind: whether the second answer is nearer to the judge's."""
    seen = [row for row in compared(rows) if row.changed]
    moved = Counter(row.moved for row in seen)
    answered = len(seen) - moved[""]
    columns = (
        Column("moved", "The second answer"),
        Column("reviews", "Reviews", "count"),
        _percent("share", "Of second answers"),
    )
    found = [
        {"moved": name, "reviews": moved[name]}
        | {"share": share_of(moved[name], answered, "no second answer is there yet")}
        for name in (DIRECTIONS if seen else ())
    ]
    waiting = f" {moved['']} second answers are still to come." if moved[""] else ""
    return Figure(
        "changes",
        "Changed minds",
        columns,
        found,
        answered,
        note=(
            f"{len(seen)} of {len(compared(rows))} would answer differently. Towards: the "
            "same yes or no as the judge now and not before, or else fewer types and places apart "
            f"from it.{waiting}"
        ),
        reason="" if seen else NOBODY_CHANGED,
        drawn=Drawn("bars", "moved", "share"),
    )


def reveal_figure(rows: Sequence[ReviewRow]) -> Figure:
    """Same yes or no as the judge: blind, and with the second answers of changed minds."""
    seen = [row for row in compared(rows) if row.judge and row.label]
    blind = sum(row.label.present == row.judge.present for row in seen)
    after = sum((row.revised or row.label).present == row.judge.present for row in seen)
    columns = (
        Column("when", "Answer"),
        Column("reviews", "Same as the judge", "count"),
        _percent("share", "Share"),
    )
    pairs = (("blind", blind), ("after the judge was seen", after))
    found = [
        {"when": when, "reviews": n, "share": share_of(n, len(seen), NOT_COMPARED)}
        for when, n in (pairs if seen else ())
    ]
    return Figure(
        "reveal",
        "The judge's pull: same yes or no, before and after its answer is seen",
        columns,
        found,
        len(seen),
        note="Answers after the reveal are not blind. They are shown here and nowhere else.",
        reason="" if seen else NOT_COMPARED,
        drawn=Drawn("points", "when", "share"),
    )


def times_figure(rows: Sequence[ReviewRow]) -> Figure:
    """Active seconds per step and in all, over the reviews that count."""
    counted = [row for row in rows if row.counted]
    measured = {step: [r.seconds[step] for r in counted if step in r.seconds] for step in STEPS}
    whole = [r.total_seconds for r in counted if r.status == "finished"]
    measured["all steps"] = [seconds for seconds in whole if seconds is not None]
    columns = (
        Column("step", "Step"),
        Column("reviews", "Reviews", "count"),
        Column("quarter", "First quartile, s", "number"),
        Column("median", "Median, s", "number"),
        Column("three_quarters", "Third quartile, s", "number"),
        Column("longest", "Longest, s", "number"),
    )
    found = [
        {"step": step, "reviews": len(times)} | _spread(times)
        for step, times in measured.items()
        if times
    ]
    return Figure(
        "times",
        "Active time per run",
        columns,
        found,
        len(measured["all steps"]),
        note="Time in which the page was visible and in use. All steps: finished runs.",
        reason="" if found else UNTIMED,
        drawn=Drawn("bars", "step", "median"),
    )


def _spread(times: Sequence[float]) -> dict[str, float]:
    if len(times) > 1:
        low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
    else:
        low = middle = high = times[0]
    return {"quarter": low, "median": middle, "three_quarters": high, "longest": max(times)}


def skips_figure(rows: Sequence[ReviewRow]) -> Figure:
    """Runs that were skipped, by the reason given."""
    live = [row for row in rows if not row.post_reveal]
    reasons = Counter(row.skip for row in live if row.skip)
    columns = (
        Column("reason", "Reason"),
        Column("runs", "Runs", "count"),
        _percent("share", "Of runs finished or skipped"),
    )
    done = sum(row.status in ("finished", "skipped") for row in live)
    found = [
        {"reason": name, "runs": n, "share": share_of(min(n, done), done, "nothing is finished")}
        for name, n in sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    why = "" if found else "nobody has skipped a run"
    return Figure("skips", "Skipped runs", columns, found, sum(reasons.values()), reason=why)


def conduct_figures(rows: Sequence[ReviewRow]) -> list[Figure]:
    """Everything about the comparison and the work, apart from agreement of blind answers."""
    return [
        agreement_figure(rows),
        differences_figure(rows),
        changes_figure(rows),
        reveal_figure(rows),
        times_figure(rows),
        skips_figure(rows),
        progress_figure(rows),
    ]
