"""The worker inside the serving process: threads, no server, one process per database."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import IO, Any

from celery.worker import state
from django.conf import settings
from django.db import connection

from dialfork_site.celery import app
from dialfork_site.housekeeping import Housekeeper
from scoring.models import Chunk

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
    import msvcrt

NAME = "embedded@localhost"
THREADS = 2
STOP_SECONDS = 20


class AlreadyServed(RuntimeError):
    """Another process with an embedded worker holds this database."""


class ServingLock:
    """One embedded process per database: the start sweep frees every lease of other processes.

    The lock is the operating system's, so a killed process leaves nothing to clean up.
    """

    def __init__(self) -> None:
        self.path = lock_path()
        self._file: IO[str] | None = None

    def take(self) -> None:
        """Raise AlreadyServed, naming the holder's process id, when the lock is held."""
        file = open(self.path, "a+")  # noqa: SIM115  (held until release)
        try:
            _lock(file)
        except OSError as error:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            file.close()
            raise AlreadyServed(
                f"Process {holder} already serves this database with its embedded worker. "
                "Stop it first, or start this one with --no-worker."
            ) from error
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()))
        file.flush()
        self._file = file

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def lock_path() -> Path:
    """Beside the SQLite file; for PostgreSQL in VAR_DIR, by the database's name."""
    if connection.vendor == "sqlite":
        return Path(f"{settings.DATABASES['default']['NAME']}.serving")
    settings.VAR_DIR.mkdir(parents=True, exist_ok=True)
    return settings.VAR_DIR / f"{connection.settings_dict['NAME']}.serving"


def _lock(file: IO[str]) -> None:
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        # A byte far behind the text, so that the holder's id stays readable.
        file.seek(1 << 20)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)


class EmbeddedWorker:
    """A Celery worker on two threads, and its housekeeping. Running tasks finish on stop."""

    def __init__(self) -> None:
        self._lock = ServingLock()
        # Only a SQLite file is certain to have no second process on another machine.
        self._housekeeper = Housekeeper(NAME, fresh=connection.vendor == "sqlite")
        self._controller: Any = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Raise AlreadyServed when another process works on this database."""
        self._lock.take()
        app.finalize()
        app.loader.import_default_modules()
        # The flag that stops a worker is global: clear what an earlier one left.
        state.should_stop = None
        self._controller = app.WorkController(
            pool="threads",
            concurrency=THREADS,
            hostname=NAME,
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
            quiet=True,
        )
        self._thread = threading.Thread(
            target=self._controller.start, name="embedded worker", daemon=True
        )
        self._thread.start()
        # The queue of an earlier process died with it: what it had sent is sent again.
        Chunk.objects.filter(state=Chunk.State.QUEUED).update(sent_at=None)
        self._housekeeper.start()

    def stop(self) -> None:
        self._housekeeper.stop()
        state.should_stop = 0
        if self._thread is not None:
            self._thread.join(timeout=STOP_SECONDS)
        state.should_stop = None
        self._lock.release()
