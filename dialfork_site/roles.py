"""Who may see what. Three roles: admin (superuser), researcher (group), annotator (everyone else).

Closed by default: a page that an annotator may open says so with `annotator_may_see`; every other
page, the API included, is not there (404) for them, so that nothing about a study's conditions can
reach the person who judges it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from django.http import Http404, HttpRequest, HttpResponse
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

RESEARCHERS, ANNOTATORS = "researchers", "annotators"
# Accounts made by the demo; their log-in works on the machine that runs it only.
DEMO_ACCOUNTS = "demo accounts"

View = TypeVar("View", bound=Callable[..., Any])


def is_researcher(user: Any) -> bool:
    """Admins and active members of the group `researchers`."""
    if not user.is_authenticated or not user.is_active:
        return False
    if not hasattr(user, "_is_researcher"):
        user._is_researcher = user.is_superuser or user.groups.filter(name=RESEARCHERS).exists()
    return bool(user._is_researcher)


def annotator_may_see(view: View) -> View:
    """Mark a view as open to annotators."""
    view.annotator_may_see = True  # type: ignore[attr-defined]
    return view


class AnnotatorGate:
    """404 for a signed-in person without the researcher role, on every page not marked."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, *args: Any) -> None:
        user = request.user
        # The mark first: asking for the role is a query.
        if getattr(view, "annotator_may_see", False) or not user.is_authenticated:
            return
        if not is_researcher(user):
            raise Http404("No such page.")


class IsResearcher(BasePermission):
    def has_permission(self, request: Request, view: Any) -> bool:
        return is_researcher(request.user)
