"""What every list of the API shares: keyset pages, filters that refuse what they do not know."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers, status
from rest_framework.exceptions import APIException, ParseError
from rest_framework.pagination import CursorPagination
from rest_framework.parsers import JSONParser

DEFINED, UNDEFINED = "defined", "undefined"
# A body that starts a run has some hundred bytes.
LONGEST_BODY = 64 * 1024
Parser = Callable[[str], Any]


class BodyTooLong(APIException):
    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_detail = f"The body is longer than {LONGEST_BODY // 1024} KB."
    default_code = "body_too_long"


class ShortJSONParser(JSONParser):
    """JSON of at most 64 KB; what Python cannot read (nested too deeply) is a refusal too."""

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        body = stream.read(LONGEST_BODY + 1)
        if len(body) > LONGEST_BODY:
            raise BodyTooLong
        try:
            return super().parse(BytesIO(body), media_type, parser_context)
        except RecursionError as error:
            raise ParseError("The JSON is nested too deeply.") from error


class KeysetPages(CursorPagination):
    """Pages by id: no page costs more than the first."""

    ordering = "pk"
    page_size = 50
    max_page_size = 200
    page_size_query_param = "page_size"


def one_of(*allowed: str) -> Parser:
    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"it must be one of {', '.join(allowed)}")
        return text

    parse.allowed = list(allowed)  # type: ignore[attr-defined]
    return parse


def whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise ValueError("it must be a whole number")
    return int(text)


def word(text: str) -> str:
    return text.replace("\x00", "")


def true_false_null(text: str) -> bool | None:
    return {"true": True, "false": False, "null": None}[one_of("true", "false", "null")(text)]


true_false_null.allowed = ["true", "false", "null"]  # type: ignore[attr-defined]


def narrowed(
    rows: QuerySet[Any], query: Mapping[str, str], filters: Mapping[str, tuple[str, Parser]]
) -> QuerySet[Any]:
    """`rows` narrowed by the filters named in `query`; ValidationError (400) says what is wrong."""
    wrong = {}
    for name, (lookup, parse) in filters.items():
        if name not in query:
            continue
        try:
            value = parse(query[name])
        except ValueError as error:
            wrong[name] = [f"{query[name][:60]!r}: {error}."]
            continue
        rows = rows.filter(**({f"{lookup}__isnull": True} if value is None else {lookup: value}))
    if wrong:
        raise serializers.ValidationError(wrong)
    return rows


def described(filters: Mapping[str, tuple[str, Parser]]) -> list[OpenApiParameter]:
    """The filters as parameters of the schema."""
    return [
        OpenApiParameter(name, int if parse is whole else str, enum=getattr(parse, "allowed", None))
        for name, (_, parse) in filters.items()
    ]


def finite(value: float | None) -> float | None:
    """A number that JSON can hold, or None."""
    return value if value is not None and math.isfinite(value) else None


class UndefinedMixin(serializers.Serializer):
    """`value` with its `status` and `reason`: an undefined value is null and says why."""

    value = serializers.SerializerMethodField()
    status = serializers.SerializerMethodField()
    reason = serializers.SerializerMethodField()

    def get_value(self, row: Any) -> float | None:
        return finite(row.value)

    def get_status(self, row: Any) -> str:
        return UNDEFINED if finite(row.value) is None else DEFINED

    def get_reason(self, row: Any) -> str:
        if row.value is not None and finite(row.value) is None:
            return "the stored value is not a finite number"
        return str(row.reason)
