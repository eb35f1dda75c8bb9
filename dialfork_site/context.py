from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from dialfork_site.roles import is_researcher

THEMES = ("light", "dark")


def shell(request: HttpRequest) -> dict[str, Any]:
    """What the base layout needs: theme from a cookie (no flash), role, demo mark."""
    theme = request.COOKIES.get("theme", "")
    user = getattr(request, "user", None)
    return {
        "theme": theme if theme in THEMES else "",
        "researcher": bool(user and is_researcher(user)),
        "demo": settings.DEMO,
        "encoder_name": settings.ENCODER,
    }
