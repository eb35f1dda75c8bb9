"""The thread beside every worker: it says that the worker lives and takes up what others left.

Redelivery by the broker is not enough: a task that comes back while its dead predecessor's lease
still runs is refused and forgotten. The sweep after the lease has run out finishes such parts, with
and without a broker.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from django.db import DatabaseError, close_old_connections
from kombu.exceptions import OperationalError as BrokerError

from annotation import seating, webhook_sending
from annotation import tasks as annotation_tasks
from dialfork_site import tasks as site_tasks
from scoring import leases, tasks

log = logging.getLogger(__name__)
BEAT_SECONDS = 5.0
SWEEP_SECONDS = 60.0


def send_webhooks() -> None:
    """Hand what is due to a worker; a slow receiver then holds up no beat."""
    if webhook_sending.due().exists():
        site_tasks.send_webhooks.apply_async(retry=False)


class Housekeeper:
    """Beats every five seconds and sweeps every minute until it is stopped.

    `fresh` says that no other process can hold a lease on this database: the first sweep then frees
    every running part of an earlier process at once, without waiting for its lease.
    """

    def __init__(self, worker: str, *, fresh: bool = False) -> None:
        self.worker = worker
        self.fresh = fresh
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="housekeeping", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        since_sweep = SWEEP_SECONDS
        while not self._stop.is_set():
            self._try(lambda: leases.beat(self.worker))
            if since_sweep >= SWEEP_SECONDS and self._try(self._sweep):
                since_sweep = 0.0
            self._stop.wait(BEAT_SECONDS)
            since_sweep += BEAT_SECONDS

    def _sweep(self) -> None:
        leases.sweep(boot=leases.BOOT if self.fresh else None)
        self.fresh = False
        seating.sweep()
        webhook_sending.forget_old()
        send_webhooks()
        tasks.send_waiting()
        annotation_tasks.send_waiting()

    def _try(self, work: Callable[[], object]) -> bool:
        """Run `work`; what is away for a moment, database or queue, is logged and tried again."""
        close_old_connections()
        try:
            work()
        except DatabaseError:
            log.exception("Housekeeping of %s: the database did not answer", self.worker)
            return False
        except (BrokerError, OSError):
            log.exception("Housekeeping of %s: the queue did not answer", self.worker)
            return False
        finally:
            close_old_connections()
        return True
