"""Celery tasks: keys in, one service call each. Rows with a lease are the truth, not the queue."""

from __future__ import annotations

import logging
from datetime import timedelta

from celery import shared_task
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from scoring import runs
from scoring.models import Chunk, Run

log = logging.getLogger(__name__)

# A message older than this may be lost with its queue; a second one does no harm.
SEND_AGAIN = timedelta(minutes=10)
AT_ONCE = 500


@shared_task
def plan_run(run_id: int) -> None:
    """Send a message for every waiting part of a run."""
    _send(Chunk.objects.waiting().filter(run_id=run_id, sent_at__isnull=True))


@shared_task
def score_chunk_task(chunk_id: int) -> None:
    runs.score_chunk(chunk_id)


@shared_task
def finish_run(run_id: int) -> None:
    runs.finish(Run.objects.get(pk=run_id))


def hand_over(run: Run) -> None:
    """Tell the workers of an open run now instead of at the next sweep.

    A queue that does not answer costs only time: the rows wait, and the sweep sends them.
    """
    if run.state not in Run.OPEN:
        return
    try:
        plan_run.apply_async((run.pk,), retry=False)
    except (BrokerError, OSError):
        log.exception("Run %s waits for the next sweep: the queue did not answer", run.pk)


def send_waiting() -> int:
    """Send messages for parts that wait without one, and for runs left before their summary.

    Called after each sweep; returns the number of messages.
    """
    for run in (left := runs.unfinished()):
        finish_run.delay(run.pk)
    before = timezone.now() - SEND_AGAIN
    waiting = Chunk.objects.waiting().filter(Q(sent_at__isnull=True) | Q(sent_at__lt=before))
    return _send(waiting.order_by("run_id", "ordinal")[:AT_ONCE]) + len(left)


def _send(chunks) -> int:
    ids = list(chunks.values_list("pk", flat=True))
    for chunk_id in ids:
        score_chunk_task.delay(chunk_id)
    for start in range(0, len(ids), AT_ONCE):
        Chunk.objects.filter(pk__in=ids[start : start + AT_ONCE]).update(sent_at=Now())
    return len(ids)
