"""Events become deliveries to the webhooks that asked for them; sending is a task's work."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from annotation.models import Delivery, Webhook

EVENTS = (
    "annotation.submitted",
    "annotation.withdrawn",
    "study.launched",
    "release.published",
)


def announce(event: str, payload: Mapping[str, Any]) -> list[Delivery]:
    """Queue `event` for every active webhook that listens to it; call it inside the transaction.

    `payload` holds JSON values and no condition of an item, no name of a person. Every webhook
    gets the same event id, so that a receiver can tell a repeat.

    Raises ValueError for an event that is not one of EVENTS.
    """
    if event not in EVENTS:
        raise ValueError(f"{event!r} is no event; the events are {', '.join(EVENTS)}")
    now = timezone.now()
    event_id = uuid.uuid4()
    body = json.dumps(
        {
            "id": str(event_id),
            "event": event,
            "at": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "data": dict(payload),
        },
        sort_keys=True,
        allow_nan=False,
    )
    return Delivery.objects.bulk_create(
        [
            Delivery(webhook=hook, event_id=event_id, event=event, body=body, next_at=now)
            for hook in Webhook.objects.filter(active=True)
            if event in hook.events
        ]
    )
