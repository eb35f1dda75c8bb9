from __future__ import annotations

from collections.abc import Callable

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse


class NoNulBytes:
    """400 for a NUL in the address or in a cookie: names and session keys are looked up in the
    database, and PostgreSQL has no text with a NUL. Forms and filters look at their own fields."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if any("\x00" in text for text in (request.path_info, *request.COOKIES.values())):
            raise BadRequest("The address or a cookie holds a NUL character.")
        return self.get_response(request)
