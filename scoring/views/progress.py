"""How far runs are, asked of their parts each time: no counter is stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Count, Max, Q, QuerySet, Sum
from django.utils import timezone

from scoring.models import Chunk, Run, WorkerBeat

SILENT_AFTER = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` planned scores; `silent_for` is set when nothing works on an open run."""

    done: int
    total: int
    failed_parts: int
    scored: int
    undefined: int
    open: bool
    silent_for: timedelta | None
    ever_seen: bool


def with_progress(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Runs with `n_total` planned scores and `n_done` of them."""
    return runs.annotate(
        n_total=Sum("chunks__size", default=0),
        n_done=Sum("chunks__size", filter=Q(chunks__state=Chunk.State.DONE), default=0),
    )


def is_open(run: Run) -> bool:
    return run.state in (Run.State.QUEUED, Run.State.RUNNING)


def progress(run: Run) -> Progress:
    """The state of `run` now, in four statements."""
    parts = run.chunks.aggregate(
        total=Sum("size", default=0),
        done=Sum("size", filter=Q(state=Chunk.State.DONE), default=0),
        failed_parts=Count("id", filter=Q(state=Chunk.State.FAILED)),
    )
    scores = run.scores.aggregate(
        scored=Count("id"), undefined=Count("id", filter=Q(value__isnull=True))
    )
    silent, seen = silence(run) if is_open(run) else (None, True)
    return Progress(**parts, **scores, open=is_open(run), silent_for=silent, ever_seen=seen)


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
