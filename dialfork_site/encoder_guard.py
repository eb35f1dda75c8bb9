from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from scoring.encoders import no_loading


class NoEncoderLoading:
    """No web request waits for an encoder's weights: loading is for workers and commands."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with no_loading():
            return self.get_response(request)
