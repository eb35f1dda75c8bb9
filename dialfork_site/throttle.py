"""Guessing passwords is slow: a few failures, then a wait. Counted in the database, so that it
holds over several serving processes and restarts."""

from __future__ import annotations

import math
from datetime import timedelta

from django.utils import timezone
from django.utils.crypto import salted_hmac

from dialfork_site.models import FailedLogin

WINDOW = timedelta(minutes=5)
PER_ACCOUNT_AND_ADDRESS = 5
PER_ADDRESS = 50
ADDRESS_LENGTH = FailedLogin._meta.get_field("address").max_length


class TooManyAttempts(Exception):
    """Carries the seconds after which the next attempt is heard."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"Too many failed attempts; the next is heard in {seconds} seconds.")
        self.seconds = seconds


def account_key(username: str) -> str:
    name = username.strip().casefold()
    return salted_hmac("dialfork.failed_login", name, algorithm="sha256").hexdigest()


def enter(username: str, address: str) -> None:
    """Count an attempt before the password is looked at, so that parallel guesses count too.

    Raises TooManyAttempts, and forgets the refused attempt: refusals do not lengthen the wait.
    """
    now, address = timezone.now(), storable(address)
    FailedLogin.objects.filter(at__lte=now - WINDOW).delete()
    attempt = FailedLogin.objects.create(account=account_key(username), address=address, at=now)
    of_address = FailedLogin.objects.filter(address=address)
    of_account = of_address.filter(account=attempt.account)
    for attempts, limit in ((of_account, PER_ACCOUNT_AND_ADDRESS), (of_address, PER_ADDRESS)):
        times = list(attempts.order_by("-at").values_list("at", flat=True)[: limit + 1])
        if len(times) > limit:
            attempt.delete()
            # Heard again when the oldest of the `limit` attempts that count leaves the window.
            wait = times[-1] + WINDOW - now
            raise TooManyAttempts(max(1, math.ceil(wait.total_seconds())))


def forget(username: str, address: str) -> None:
    """After a success: the failures of this account from this address no longer count."""
    attempts = FailedLogin.objects.filter(account=account_key(username))
    attempts.filter(address=storable(address)).delete()


def storable(address: str) -> str:
    """Behind a proxy the address is a header, which may hold anything."""
    return address.replace("\x00", "")[:ADDRESS_LENGTH]
