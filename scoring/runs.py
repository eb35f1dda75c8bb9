"""Scoring runs: started once per set of parameters, scored part by part, summed up at the end.

A run is its parameters: starting it twice gives the same run, and changed dialogues make another.
What kinds of run there are, and what each reads, stands in `run_kinds`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.db import IntegrityError, OperationalError, transaction
from django.db.models import Count, Exists, OuterRef, Q, Sum
from django.db.models.functions import Now
from django.utils import timezone

from benchmark.models import Corpus
from benchmark.records import digest_of
from dialfork_site import __version__
from scoring import encoders, leases, run_kinds
from scoring.corpora import Scope
from scoring.embeddings import encoder_for
from scoring.models import (
    Chunk,
    DialogueScore,
    OnsetAnswer,
    Run,
    RunResult,
    SetDistance,
    TrajectoryScore,
    WorkerBeat,
)

KINDS = run_kinds.KINDS
log = logging.getLogger(__name__)

# Raised when the way of scoring changes, so that older runs are not taken for the same.
SCORING_VERSION = 2
CHUNK_DIALOGUES = 200
SEEN_WITHIN = 15.0
WAIT_SECONDS = 0.5
Row = DialogueScore | SetDistance | OnsetAnswer | TrajectoryScore
# What makes a row the same row, and what scoring again replaces.
UPSERTS: dict[type[Row], tuple[list[str], list[str]]] = {
    DialogueScore: (["run", "dialogue"], ["value", "reason", "detail", "turns"]),
    SetDistance: (["run", "workflow", "type", "k"], ["value", "reason", "detail"]),
    OnsetAnswer: (["run", "dialogue"], ["turn", "reason", "detail", "turns"]),
    TrajectoryScore: (["run", "trajectory"], ["value", "reason", "detail", "steps"]),
}


class RunFailed(RuntimeError):
    """A run that failed or was cancelled; the message is the reason."""


def start(
    kind: str,
    corpora: Sequence[Corpus],
    parameters: Mapping[str, Any],
    by: Any = None,
    *,
    chunk_dialogues: int = CHUNK_DIALOGUES,
    scope: Scope | None = None,
) -> Run:
    """The run of `kind` over `corpora` with these parameters, planned into parts.

    An existing run with the same parameters over the same content is returned; one that failed or
    was cancelled is taken up again where it stopped. Nothing is scored here and no encoder is
    loaded. Runs started together over the same corpora share a `scope`. Raises ValueError with a
    sentence for unknown parameters or corpora with nothing to score, and EncoderUnavailable when
    the encoder's weights are not on this machine.
    """
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(KINDS)}")
    if not corpora:
        raise ValueError("a run needs at least one corpus")
    module = KINDS[kind]
    chosen = module.parameters(parameters)
    scope = run_kinds.scope_of(kind, corpora, chosen, scope)
    described = {
        **chosen,
        **_encoder_parameters(chosen.get("encoder")),
        "corpora": sorted(corpus.slug for corpus in corpora),
        "read": list(scope.read),
        "content": scope.content,
        "version": SCORING_VERSION,
    }
    digest = digest_of([kind, described])
    known = Run.objects.filter(digest=digest).first()
    if known is None:
        plan = run_kinds.planned(kind, corpora, chunk_dialogues, chosen)
        known = _create(kind, corpora[0], described, digest, plan, by)
    if known.state in (Run.State.FAILED, Run.State.CANCELLED):
        take_up(known)
    return known


def score_chunk(chunk_id: int) -> bool:
    """Claim one part, score it and store the scores; False when it was not to be had.

    The scores and the completion are one transaction under the lease. A part that cannot be scored
    fails with its run, with the reason; a database that is away puts it back into the queue.
    """
    lease = leases.claim(chunk_id)
    if lease is None:
        return False
    chunk = Chunk.objects.select_related("run").get(pk=chunk_id)
    try:
        with leases.kept(lease):
            scores = KINDS[chunk.run.kind].score(chunk.run, chunk.keys)
        with leases.finishing(lease):
            store(scores)
    except leases.LostLease:
        log.warning("Chunk %s was taken over by another worker; its scores stand", chunk_id)
        return False
    except OperationalError:
        leases.release(lease)
        raise
    except Exception as error:
        log.exception("Chunk %s of run %s failed", chunk_id, chunk.run_id)
        leases.fail(lease, _sentence(error))
        return False
    if not chunk.run.remaining().exists():
        finish(chunk.run)
    return True


def store(rows: Sequence[Row]) -> None:
    """Upsert the rows of a part: scoring again replaces a row."""
    by_model: dict[type[Row], list[Row]] = {}
    for row in rows:
        by_model.setdefault(type(row), []).append(row)
    for model, members in by_model.items():
        unique, updated = UPSERTS[model]
        model._default_manager.bulk_create(
            members,  # type: ignore[arg-type]
            update_conflicts=True,
            unique_fields=unique,
            update_fields=updated,
            batch_size=500,
        )


def finish(run: Run) -> None:
    """Write the summary rows and close the run, once all its parts are done.

    Doing it twice writes the same rows. A run whose dialogues changed while it was scored fails:
    its scores would mix two states of the corpus.
    """
    if run.remaining().exists() or run.chunks.filter(state=Chunk.State.FAILED).exists():
        return
    if run_kinds.content_now(run) != run.parameters["content"]:
        _close(run, Run.State.FAILED, run_kinds.changed_words(run.kind))
        return
    rows = KINDS[run.kind].results(run)
    with transaction.atomic():
        RunResult.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["run", "statistic", "group", "workflow", "k"],
            update_fields=["value", "reason", "n", "skipped", "ci_low", "ci_high", "detail"],
        )
        _close(run, Run.State.DONE)


def unfinished() -> list[Run]:
    """Runs whose parts are all done but whose summary is not written: a worker ended in between."""
    left = Chunk.objects.filter(run=OuterRef("pk")).exclude(state=Chunk.State.DONE)
    return list(Run.objects.filter(~Exists(left), state__in=Run.OPEN))


def cancel(run: Run) -> bool:
    """Stop an open run: parts being scored end, no further one begins. False when it had ended.

    What is scored stays; `take_up`, or starting the same run again, goes on from there.
    """
    stopped = Run.objects.filter(pk=run.pk, state__in=Run.OPEN).update(
        state=Run.State.CANCELLED, finished_at=Now()
    )
    run.refresh_from_db()
    return bool(stopped)


def work_through(run: Run, on_progress: Callable[[int], None] | None = None) -> Run:
    """Score every part of `run` in this process and finish it; resumes where it stopped.

    Parts that another worker holds are left to it and taken up if it ends. Raises RunFailed with
    the reason.
    """
    while not _ended(run):
        chunk = run.chunks.waiting().first()
        if chunk is None:
            if not run.remaining().exists():
                finish(run)
            elif not leases.sweep():
                time.sleep(WAIT_SECONDS)
        elif score_chunk(chunk.pk) and on_progress:
            on_progress(chunk.size)
    if run.state == Run.State.FAILED:
        raise RunFailed(run.failure)
    if run.state == Run.State.CANCELLED:
        raise RunFailed(f"Run {run.pk} was cancelled. Start it again to go on.")
    return run


def progress(run: Run) -> dict[str, Any]:
    """{"done", "total", "state", "failed", "worker_seen"}: scores written and planned, the reason
    of a failure, and whether a worker was heard in the last 15 s or holds a part now."""
    sums = run.chunks.aggregate(
        done=Sum("size", filter=Q(state=Chunk.State.DONE), default=0),
        total=Sum("size", default=0),
        held=Count("id", filter=Q(state=Chunk.State.RUNNING, lease_until__gte=Now())),
    )
    held = bool(sums.pop("held"))
    since = timezone.now() - timezone.timedelta(seconds=SEEN_WITHIN)
    return {
        **sums,
        "state": run.state,
        "failed": run.failure,
        "worker_seen": held or WorkerBeat.objects.filter(seen_at__gte=since).exists(),
    }


def _encoder_parameters(name: str | None) -> dict[str, str]:
    if not name:
        return {}
    encoder = encoder_for(name)
    found = {"encoder": encoder.name, "encoder_revision": encoder.revision}
    note = encoders.fallback_note(name)
    return {**found, "encoder_note": note} if note else found


def _create(
    kind: str,
    corpus: Corpus,
    parameters: Mapping[str, Any],
    digest: str,
    plan: Iterable[tuple[list[int], int]],
    by: Any,
) -> Run:
    try:
        with transaction.atomic():
            run = Run.objects.create(
                kind=kind,
                corpus=corpus,
                parameters=parameters,
                digest=digest,
                started_by=by,
                code_version=__version__,
            )
            Chunk.objects.bulk_create(
                [
                    Chunk(run=run, ordinal=ordinal, keys=keys, size=size)
                    for ordinal, (keys, size) in enumerate(plan, start=1)
                ]
            )
            return run
    except IntegrityError:
        # Someone started the same run in this moment; theirs is as good.
        known = Run.objects.filter(digest=digest).first()
        if known is None:
            raise
        return known


def take_up(run: Run) -> None:
    """Queue what is left of a run that failed or was cancelled."""
    again = run.chunks.filter(state=Chunk.State.FAILED)
    with transaction.atomic():
        if run.state == Run.State.FAILED and not again.exists():
            # The dialogues changed under the run, so nothing it scored or fitted can stay.
            again = run.chunks.all()
            run.flow_graphs.all().delete()
            run.calibrations.all().delete()
        again.order_by().update(state=Chunk.State.QUEUED, attempts=0, failure="", sent_at=None)
        run.chunks.filter(state=Chunk.State.QUEUED).order_by().update(sent_at=None)
        Run.objects.filter(pk=run.pk, state__in=[Run.State.FAILED, Run.State.CANCELLED]).update(
            state=Run.State.QUEUED, failure="", finished_at=None
        )
    run.refresh_from_db()


def _close(run: Run, state: str, failure: str = "") -> None:
    Run.objects.filter(pk=run.pk, state__in=Run.OPEN).update(
        state=state, failure=failure, finished_at=Now()
    )


def _ended(run: Run) -> bool:
    run.refresh_from_db(fields=["state", "failure", "finished_at"])
    return run.state not in Run.OPEN


def _sentence(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:500]
