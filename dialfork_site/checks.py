"""Start-up checks: a combination of settings that cannot work is refused with a sentence."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register


@register()
def secret_key(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    if settings.SECRET_KEY or settings.DEBUG:
        return []
    return [
        Error(
            "SECRET_KEY is empty. Set it in the environment or in .env; "
            "'make setup' writes a random one.",
            id="dialfork.E001",
        )
    ]
