"""Template tags for what recurs on pages: icons, chips of conditions, numbers with a reason."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django import template
from django.http import QueryDict
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from dialfork_site import icons

register = template.Library()

MESSAGE_ICONS = {"success": "ok", "warning": "warn", "error": "error"}
MESSAGE_CLASSES = {"success": "ok", "warning": "warn", "error": "error"}


@register.simple_tag
def icon(name: str) -> SafeString:
    return mark_safe(icons.line_icon(name))  # noqa: S308  (constants of icons.py)


@register.simple_tag
def chip(condition: str) -> SafeString:
    """A condition as shape and word: a fork type, "conformant", or "unknown"."""
    name = condition.lower()
    if name not in icons.GLYPHS:
        return format_html('<span class="chip soft">{}</span>', condition)
    shape = mark_safe(icons.glyph(name))  # noqa: S308  (constants of icons.py)
    return format_html('<span class="chip">{}{}</span>', shape, condition)


@register.filter
def message_icon(tags: str) -> str:
    return MESSAGE_ICONS.get(tags.split(" ")[-1], "info")


@register.filter
def message_class(tags: str) -> str:
    return MESSAGE_CLASSES.get(tags.split(" ")[-1], "")


@register.filter
def fixed(value: Any, places: int = 2) -> str:
    """A float with `places` decimals; an en dash where there is no value."""
    return "–" if value is None else f"{value:.{places}f}"


@register.filter
def percent(share: float | None, places: int = 0) -> str:
    return "–" if share is None else f"{100 * share:.{places}f} %"


@register.filter
def shown(value: Any) -> str:
    """A cell of a table: whole numbers with commas, others to four decimals, text as it is."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


@register.filter
def get(mapping: Any, key: Any) -> Any:
    """`mapping[key]`, or None where there is no such key."""
    return mapping.get(key)


@register.simple_tag(takes_context=True)
def query(context: template.Context, **changes: Any) -> str:
    """The query string of this page with `changes`; an empty value removes its key."""
    params: QueryDict = context["request"].GET.copy()
    for key, value in changes.items():
        params.pop(key, None)
        if value not in (None, ""):
            params[key] = str(value)
    return "?" + urlencode(sorted(params.lists()), doseq=True)
