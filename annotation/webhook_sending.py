"""Deliveries that are due are sent, and what came of it is written down.

A delivery is claimed by moving its next try into the future: who moves it sends it, and one whose
sender died is tried again then. So an event can arrive twice, never not at all within eight tries;
receivers tell a repeat by its id.
"""

from __future__ import annotations

import base64
import json
import uuid
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac

from annotation.models import Delivery, Webhook
from annotation.webhook_requests import AddressRefused, SendFailed, post, signature

TEST_EVENT = "webhook.test"
# Minutes until the next try after the first, the second, and so on: eight tries in about 30 hours.
WAITS = (1, 5, 15, 60, 180, 480, 1080)
TRIES = len(WAITS) + 1
AT_ONCE = 100
KEPT = timedelta(days=30)
GONE = 410


def signing_key(webhook: Webhook) -> bytes:
    """The key of a webhook: it follows from its nonce and SECRET_KEY, and is stored nowhere."""
    return salted_hmac("dialfork.webhook", webhook.nonce, algorithm="sha256").digest()


def shown_key(webhook: Webhook) -> str:
    """The key as libraries for Standard Webhooks read it."""
    return f"whsec_{base64.b64encode(signing_key(webhook)).decode()}"


def due(now: datetime | None = None) -> QuerySet[Delivery]:
    """What is to be sent now, the longest waiting first."""
    return Delivery.objects.filter(
        delivered_at=None, next_at__lte=now or timezone.now(), webhook__active=True
    ).order_by("next_at", "id")


def send_due(now: datetime | None = None) -> int:
    """Try what is due, at most 100 deliveries; returns how many arrived.

    A receiver that failed is asked no more in this round: one that is slow delays the others once.
    """
    now = now or timezone.now()
    failed: set[int] = set()
    arrived = 0
    for delivery in due(now).select_related("webhook")[:AT_ONCE]:
        if delivery.webhook_id in failed:
            continue
        if send(delivery, now):
            arrived += 1
        else:
            failed.add(delivery.webhook_id)
            _postpone(delivery.webhook_id, now)
    return arrived


def send(delivery: Delivery, now: datetime | None = None) -> bool:
    """Try one delivery, unless somebody else does; True when it arrived.

    It has arrived with any status from 200 to 299. After eight tries, or when the answer is 410
    (gone), it is not tried again.
    """
    now = now or timezone.now()
    if not _claim(delivery, now):
        return False
    status, problem = None, ""
    try:
        status = _post(delivery, now)
    except (AddressRefused, SendFailed) as error:
        problem = str(error)
    arrived = status is not None and 200 <= status < 300
    if status is not None and not arrived:
        problem = f"The answer had status {status}."
    done = {"delivered_at": now, "next_at": None} if arrived else {}
    if status == GONE:
        done = {"next_at": None}
    Delivery.objects.filter(pk=delivery.pk).update(
        last_status=status, last_error=problem[:300], **done
    )
    return arrived


def queue_test(webhook: Webhook) -> Delivery:
    """A delivery that says only that it is a test; it is tried with the next ones that are due."""
    now, event_id = timezone.now(), uuid.uuid4()
    at = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    body = {"id": str(event_id), "event": TEST_EVENT, "at": at, "data": {}}
    return Delivery.objects.create(
        webhook=webhook,
        event_id=event_id,
        event=TEST_EVENT,
        body=json.dumps(body, sort_keys=True),
        next_at=now,
    )


def forget_old(now: datetime | None = None) -> int:
    """Delete what arrived more than 30 days ago; returns how many."""
    before = (now or timezone.now()) - KEPT
    return Delivery.objects.filter(delivered_at__lt=before).delete()[0]


def _postpone(webhook_id: int, now: datetime) -> None:
    """What else waits for a receiver that failed waits a minute more; no try is counted."""
    others = due(now).filter(webhook_id=webhook_id).order_by()
    others.update(next_at=now + timedelta(minutes=WAITS[0]))


def _claim(delivery: Delivery, now: datetime) -> bool:
    tries = delivery.attempts + 1
    wait = timedelta(minutes=WAITS[tries - 1]) if tries < TRIES else None
    mine = Delivery.objects.filter(
        pk=delivery.pk, attempts=delivery.attempts, delivered_at=None, next_at__lte=now
    )
    return bool(mine.update(attempts=F("attempts") + 1, next_at=now + wait if wait else None))


def _post(delivery: Delivery, now: datetime) -> int:
    message_id, timestamp = str(delivery.event_id), int(now.timestamp())
    key = signing_key(delivery.webhook)
    headers = {
        "User-Agent": "DialFork",
        "Webhook-Id": message_id,
        "Webhook-Timestamp": str(timestamp),
        "Webhook-Signature": signature(key, message_id, timestamp, delivery.body),
        "X-DialFork-Event": delivery.event,
    }
    return post(delivery.webhook.url, delivery.body, headers, settings.WEBHOOK_PRIVATE_HOSTS)
