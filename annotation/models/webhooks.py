"""Who is told of what happens, and how the telling went."""

from __future__ import annotations

import secrets
import uuid

from django.db import models
from django.db.models.functions import Now


def random_nonce() -> str:
    return secrets.token_hex(16)


class Webhook(models.Model):
    """An address that is told of events. Its signing key is derived from `nonce` and the site's
    secret key; it is stored nowhere."""

    url = models.URLField(max_length=500)
    events = models.JSONField(default=list, help_text="Names of events, such as study.launched.")
    nonce = models.CharField(max_length=32, default=random_nonce, editable=False)
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.url


class Delivery(models.Model):
    """One event for one webhook; `body` is sent as it is, with every try."""

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event_id = models.UUIDField(default=uuid.uuid4)
    event = models.CharField(max_length=40)
    body = models.TextField()
    attempts = models.PositiveSmallIntegerField(default=0)
    next_at = models.DateTimeField(null=True, blank=True, db_index=True)
    delivered_at = models.DateTimeField(null=True, blank=True)
    last_status = models.PositiveSmallIntegerField(null=True, blank=True)
    last_error = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "deliveries"
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["webhook", "event_id"], name="one_delivery_per_event"),
        ]
