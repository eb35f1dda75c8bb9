"""Celery tasks: keys in, one service call each. Rows with a lease are the truth, not the queue."""

from __future__ import annotations

import logging

from celery import shared_task
from kombu.exceptions import OperationalError as BrokerError

from annotation import exporting
from annotation.models import Export

log = logging.getLogger(__name__)


@shared_task
def write_export(export_id: int) -> None:
    exporting.write(export_id)


def hand_over(export: Export) -> None:
    """Tell the workers of a waiting export now instead of at the next sweep.

    A queue that does not answer costs only time: the row waits, and the sweep sends it.
    """
    if export.state != Export.State.WAITING:
        return
    try:
        write_export.apply_async((export.pk,), retry=False)
    except (BrokerError, OSError):
        log.exception("Export %s waits for the next sweep: the queue did not answer", export.pk)


def send_waiting() -> int:
    """Send a message for every export that waits or was left; a second message does no harm.

    Called after each sweep; returns the number of messages.
    """
    left = exporting.left_over()
    for export_id in left:
        write_export.delay(export_id)
    return len(left)
