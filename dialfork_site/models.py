from __future__ import annotations

from django.db import models


class FailedLogin(models.Model):
    """A log-in attempt that has not succeeded: what the throttle counts.

    The account is kept as a keyed digest: people type passwords into the wrong field.
    """

    account = models.CharField(max_length=64)
    address = models.CharField(max_length=45)
    at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["account", "address", "at"], name="failed_login_of_account"),
            models.Index(fields=["address", "at"], name="failed_login_of_address"),
        ]
