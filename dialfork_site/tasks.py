"""Tasks of the site as a whole: each is one service call."""

from __future__ import annotations

from celery import shared_task

from annotation import webhook_sending


@shared_task
def send_webhooks() -> None:
    """In a task and not in housekeeping: a slow receiver must not hold up a worker's beat."""
    webhook_sending.send_due()
