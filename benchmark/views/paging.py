"""Keyset pages: the cost of a page does not grow with its distance from the first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.exceptions import BadRequest
from django.db.models import QuerySet
from django.http import HttpRequest

LARGEST_KEY = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows in order, and the keys from which the neighbouring pages start (or None)."""

    rows: list[Any]
    before: int | None
    after: int | None


def number(request: HttpRequest, name: str, *, highest: int = LARGEST_KEY) -> int | None:
    """The whole number from 1 in the query string under `name`; None when absent.

    Raises BadRequest naming the parameter and what is allowed.
    """
    text = request.GET.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 19) or not 1 <= int(text) <= highest:
        raise BadRequest(f"{name} is {text[:40]!r}; it must be a whole number from 1 to {highest}.")
    return int(text)


def choice(request: HttpRequest, name: str, allowed: Any) -> str:
    """The word in the query string under `name`, "" when absent; BadRequest for another word."""
    text = request.GET.get(name, "")
    if text and text not in allowed:
        raise BadRequest(f"{name} is {text[:40]!r}; it must be one of {', '.join(allowed)}.")
    return text


def keyset(request: HttpRequest, rows: QuerySet[Any], *, size: int = 50) -> Page:
    """The page of `rows` (by id) that `?after=ID` or `?before=ID` names; the first by default."""
    after, before = number(request, "after"), number(request, "before")
    if before is not None:
        found = list(rows.filter(pk__lt=before).order_by("-pk")[: size + 1])
        more, shown = len(found) > size, found[:size][::-1]
        return Page(
            shown,
            before=shown[0].pk if more and shown else None,
            after=shown[-1].pk if shown else None,
        )
    found = list((rows.filter(pk__gt=after) if after else rows).order_by("pk")[: size + 1])
    more, shown = len(found) > size, found[:size]
    return Page(
        shown,
        before=shown[0].pk if after and shown else None,
        after=shown[-1].pk if more else None,
    )
