"""Network addresses: which are this machine, and whose request it is behind a proxy."""

from __future__ import annotations

import ipaddress

from django.conf import settings
from django.http import HttpRequest


def is_loopback(host: str) -> bool:
    """True for localhost, 127.0.0.0/8 and ::1; false for every name and address else."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def client_address(request: HttpRequest) -> str:
    """The address the request came from.

    With TRUSTED_PROXIES = n the n-th address from the right of X-Forwarded-For, the one written by
    the outermost proxy of our own; what stands further left is the visitor's word.
    """
    direct = request.META.get("REMOTE_ADDR", "")
    if settings.TRUSTED_PROXIES == 0:
        return direct
    forwarded = [part.strip() for part in request.headers.get("X-Forwarded-For", "").split(",")]
    forwarded = [part for part in forwarded if part]
    if len(forwarded) < settings.TRUSTED_PROXIES:
        return direct
    return forwarded[-settings.TRUSTED_PROXIES]
