"""Claiming the parts of a run: rows with a lease are the truth, the queue only carries their keys.

Claim, effect and completion are compare-and-set UPDATEs on the chunk's token, so they behave alike
on SQLite and PostgreSQL, and a part is scored once however often its message arrives. Times are the
database's, so that workers on several machines read one clock.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import DateTimeField, Exists, ExpressionWrapper, F, OuterRef, QuerySet, Value
from django.db.models.functions import Now

from scoring.models import Chunk, Run, WorkerBeat

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 6
# Names host, process and this start of it; every token of the process begins with it.
BOOT = f"{socket.gethostname()[:30]}.{os.getpid()}.{uuid.uuid4().hex[:8]}"


class LostLease(RuntimeError):
    """The part was taken from this worker meanwhile; what it computed is not stored."""


@dataclass(frozen=True, slots=True)
class Lease:
    chunk_id: int
    token: str

    def rows(self) -> QuerySet[Chunk]:
        """The chunk as long as this lease holds it; no row once it does not."""
        return Chunk.objects.filter(
            pk=self.chunk_id, token=self.token, state=Chunk.State.RUNNING
        ).order_by()


def claim(chunk_id: int) -> Lease | None:
    """Take a waiting part; None when it is not waiting (someone else has it, or it is done)."""
    lease = Lease(chunk_id, f"{BOOT}:{uuid.uuid4().hex[:16]}")
    # The state is compared in the row itself, not through a join: PostgreSQL asks only the row
    # again when another worker's claim was first.
    open_runs = Run.objects.filter(state__in=Run.OPEN)
    taken = (
        Chunk.objects.filter(pk=chunk_id, state=Chunk.State.QUEUED)
        .filter(Exists(open_runs.filter(pk=OuterRef("run_id"))))
        .order_by()
        .update(
            state=Chunk.State.RUNNING,
            token=lease.token,
            lease_until=_lease_end(),
            attempts=F("attempts") + 1,
            failure="",
        )
    )
    if not taken:
        return None
    _run_of(chunk_id).filter(state=Run.State.QUEUED).update(state=Run.State.RUNNING)
    return lease


def renew(lease: Lease) -> bool:
    """Extend the lease; False when it was lost."""
    return bool(lease.rows().update(lease_until=_lease_end()))


@contextmanager
def kept(lease: Lease) -> Iterator[None]:
    """Renew the lease from a thread of its own while the work goes on."""
    stop = threading.Event()
    thread = threading.Thread(target=_renewing, args=(lease, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def finishing(lease: Lease) -> Iterator[None]:
    """One transaction for the effects and the completion: both happen or neither.

    Raises LostLease, with the effects rolled back, when the lease was lost.
    """
    with transaction.atomic():
        yield
        if not lease.rows().update(
            state=Chunk.State.DONE, token="", lease_until=None, finished_at=Now()
        ):
            raise LostLease(f"chunk {lease.chunk_id} was taken over by another worker")


def release(lease: Lease) -> None:
    """Give the part back to the queue, for another try."""
    lease.rows().update(state=Chunk.State.QUEUED, token="", lease_until=None, sent_at=None)


def fail(lease: Lease, reason: str) -> None:
    """The part cannot be scored: it fails, and its run with it, with the reason."""
    with transaction.atomic():
        failed = lease.rows().update(
            state=Chunk.State.FAILED, token="", lease_until=None, failure=reason
        )
        if failed:
            _fail_run(lease.chunk_id, reason)


def sweep(*, boot: str | None = None) -> int:
    """Free the parts whose worker is gone; returns how many.

    Gone is a worker whose lease ran out or whose process on this host has ended. With `boot`, every
    worker whose token does not start with it: for a process that knows it is alone on its
    database, at its start. A part tried MAX_ATTEMPTS times fails with its run.
    """
    lapsed = set(
        Chunk.objects.filter(state=Chunk.State.RUNNING, lease_until__lt=Now()).values_list(
            "pk", flat=True
        )
    )
    freed = 0
    running = Chunk.objects.filter(state=Chunk.State.RUNNING).values_list("pk", "token", "attempts")
    for pk, token, attempts in list(running):
        other_boot = boot is not None and not token.startswith(f"{boot}:")
        if pk in lapsed or other_boot or process_ended(token):
            freed += _free(Lease(pk, token), attempts)
    return freed


def beat(worker: str) -> None:
    """Note that `worker` is alive now."""
    WorkerBeat.objects.update_or_create(worker=worker[:200], defaults={"seen_at": Now()})


def _free(lease: Lease, attempts: int) -> int:
    if attempts < MAX_ATTEMPTS:
        return lease.rows().update(
            state=Chunk.State.QUEUED, token="", lease_until=None, sent_at=None
        )
    fail(lease, f"Given up after {attempts} tries: the worker ended each time before it was done.")
    return 1


def _fail_run(chunk_id: int, reason: str) -> None:
    _run_of(chunk_id).filter(state__in=Run.OPEN).update(
        state=Run.State.FAILED, failure=reason, finished_at=Now()
    )


def _run_of(chunk_id: int) -> QuerySet[Run]:
    owner = Chunk.objects.filter(pk=chunk_id).order_by().values("run_id")
    return Run.objects.filter(pk__in=owner).order_by()


def _lease_end() -> ExpressionWrapper:
    length = timedelta(seconds=settings.CHUNK_LEASE_SECONDS)
    return ExpressionWrapper(Now() + Value(length), output_field=DateTimeField())


def _renewing(lease: Lease, stop: threading.Event) -> None:
    try:
        while not stop.wait(settings.CHUNK_LEASE_SECONDS / 3):
            try:
                if not renew(lease):
                    return
            except DatabaseError:
                log.exception("The lease of chunk %s could not be renewed yet", lease.chunk_id)
    finally:
        connection.close()


def process_ended(token: str) -> bool:
    """Whether the token's process ran on this host and has ended. A wrong guess costs double work
    only: completion still asks for the token."""
    host, _, rest = token.rpartition(":")[0].rpartition(".")[0].rpartition(".")
    if os.name != "posix" or host != socket.gethostname()[:30] or not rest.isdigit():
        return False
    try:
        os.kill(int(rest), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
