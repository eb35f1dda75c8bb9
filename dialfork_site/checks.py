"""Start-up checks: a combination of settings that cannot work is refused with a sentence."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.http.request import validate_host

from dialfork_site.addresses import is_loopback
from dialfork_site.environment import origin_and_path
from scoring import encoders

SQLITE = "django.db.backends.sqlite3"


@register()
def secret_key(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    if not settings.SECRET_KEY_MISSING:
        return []
    return [
        Error(
            "SECRET_KEY is empty. Set it in the environment or in .env; "
            "'make setup' writes a random one.",
            id="dialfork.E001",
        )
    ]


@register()
def database_and_broker(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    sqlite = settings.DATABASES["default"]["ENGINE"] == SQLITE
    if not sqlite or settings.CELERY_BROKER_URL.startswith("memory"):
        return []
    return [
        Error(
            "DATABASE_URL is SQLite and BROKER_URL is a server. Workers of their own need a "
            "database that takes many writers: set DATABASE_URL to PostgreSQL, or leave "
            "BROKER_URL at memory://.",
            id="dialfork.E002",
        )
    ]


@register()
def known_encoder(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    try:
        encoders.check(settings.ENCODER)
    except encoders.UnknownEncoder as error:
        return [Error(f"ENCODER: {error}", id="dialfork.E003")]
    return []


@register()
def public_url(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    scheme, host = scheme_and_host(settings.PUBLIC_URL)
    origin, _ = origin_and_path(settings.PUBLIC_URL)
    # Browsers send the origin alone: anything more in it would make every form fail.
    bare = origin.count("/") == 2 and not set(origin) & set("?#")
    if scheme not in {"http", "https"} or not host or not bare:
        return [
            Error(
                f"PUBLIC_URL is {settings.PUBLIC_URL!r}. Give the full address, for example "
                "https://dialfork.example.org or https://example.org/dialfork.",
                id="dialfork.E004",
            )
        ]
    if validate_host(host, settings.ALLOWED_HOSTS):
        return []
    return [
        Warning(
            f"PUBLIC_URL names {host}, but ALLOWED_HOSTS does not: "
            "pages opened there answer 400. Add it to ALLOWED_HOSTS.",
            id="dialfork.W001",
        )
    ]


@register()
def demo_stays_here(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    _, host = scheme_and_host(settings.PUBLIC_URL)
    if not settings.DEMO or is_loopback(host):
        return []
    return [
        Error(
            f"DEMO is set and PUBLIC_URL names {host}. The demo's accounts have passwords in a "
            "file, so it is served on this machine only: unset DEMO, or set PUBLIC_URL to "
            "http://127.0.0.1:8000.",
            id="dialfork.E005",
        )
    ]


def scheme_and_host(url: str) -> tuple[str, str]:
    """Both empty where the address cannot be read."""
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname or ""
    except ValueError:
        return "", ""
