"""How far runs are, asked of their parts each time: no counter is stored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Any

from django.db.models import Count, Max, Q, QuerySet, Sum
from django.utils import timezone

from scoring.models import Chunk, Run, WorkerBeat

SILENT_AFTER = timedelta(seconds=15)
# Parts that finished last: old ones say little about the pace of now.
RECENT_PARTS = 20
LEAST_PARTS = 3
# Which rows of each relation could not be judged.
UNDEFINED = {
    "scores": Q(value__isnull=True),
    "set_distances": Q(value__isnull=True),
    "onset_answers": ~Q(reason=""),
    "trajectory_scores": Q(value__isnull=True),
}


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` planned scores; `silent_for` is set when nothing works on an open run.

    `left` is the time left in words, "" where it is not known (no run at work, too few parts done).
    """

    done: int
    total: int
    failed_parts: int
    scored: int
    undefined: int
    open: bool
    silent_for: timedelta | None
    ever_seen: bool
    left: str


def with_progress(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Runs with `n_total` planned scores and `n_done` of them."""
    return runs.annotate(
        n_total=Sum("chunks__size", default=0),
        n_done=Sum("chunks__size", filter=Q(chunks__state=Chunk.State.DONE), default=0),
    )


def is_open(run: Run) -> bool:
    return run.state in Run.OPEN


def progress(run: Run) -> Progress:
    """The state of `run` now, in at most six statements."""
    parts = run.chunks.aggregate(
        total=Sum("size", default=0),
        done=Sum("size", filter=Q(state=Chunk.State.DONE), default=0),
        failed_parts=Count("id", filter=Q(state=Chunk.State.FAILED)),
    )
    silent, seen = silence(run) if is_open(run) else (None, True)
    left = "" if silent or not is_open(run) else in_words(time_left(run, parts))
    return Progress(
        **parts, **rows(run), open=is_open(run), silent_for=silent, ever_seen=seen, left=left
    )


def rows(run: Run) -> dict[str, int]:
    """{"scored", "undefined"}: rows the run wrote, and those of them that could not be judged."""
    found = {"scored": 0, "undefined": 0}
    for name in row_sets(run):
        counts = getattr(run, name).aggregate(
            scored=Count("id"), undefined=Count("id", filter=UNDEFINED[name])
        )
        found = {key: found[key] + counts[key] for key in found}
    return found


def row_sets(run: Run) -> tuple[str, ...]:
    """Names of the relations that hold the rows of a run of this kind."""
    return {
        "task1": ("set_distances", "scores"),
        "task3": ("onset_answers",),
        "comparison": (),
        "labels": ("trajectory_scores",),
    }.get(run.kind, ("scores",))


def silence(run: Run) -> tuple[timedelta | None, bool]:
    """How long no worker was heard (None when one works), and whether one ever was.

    A part held under a running lease counts as a sign of life: the foreground command needs no
    worker.
    """
    now = timezone.now()
    if run.chunks.filter(state=Chunk.State.RUNNING, lease_until__gt=now).exists():
        return None, True
    seen: Any = WorkerBeat.objects.aggregate(at=Max("seen_at"))["at"]
    since = now - max(filter(None, (seen, run.created_at)))
    return (since if since > SILENT_AFTER else None), seen is not None


def time_left(run: Run, parts: dict[str, int]) -> float | None:
    """Seconds until the planned scores are written, at the pace of the parts that finished last."""
    finished = run.chunks.filter(state=Chunk.State.DONE, finished_at__isnull=False)
    recent = list(
        finished.order_by("-finished_at").values_list("finished_at", "size")[: RECENT_PARTS + 1]
    )
    pace = seconds_per_score(recent[::-1])
    return None if pace is None else pace * (parts["total"] - parts["done"])


def seconds_per_score(finished: Sequence[tuple[datetime, int]]) -> float | None:
    """The median, over parts in the order of their end, of the time since the end before it per
    score written. A pause without a worker is one part among many; None below three parts.

    Several workers together shorten the gaps, so this is the pace of the run, not of one worker.
    """
    gaps = [
        (end - before).total_seconds() / size
        for (before, _), (end, size) in pairwise(finished)
        if size
    ]
    return median(gaps) if len(gaps) >= LEAST_PARTS - 1 else None


def in_words(seconds: float | None) -> str:
    """A time left as people say it; "" when it is not known."""
    if seconds is None:
        return ""
    if seconds < 50:
        return "less than a minute left"
    minutes = math.ceil(seconds / 60 - 1 / 6)
    if minutes < 60:
        return f"about {minutes} minute{'s' if minutes > 1 else ''} left"
    hours = round(minutes / 60)
    return f"about {hours} hour{'s' if hours > 1 else ''} left"
