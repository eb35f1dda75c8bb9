"""Template tags that name runs."""

from __future__ import annotations

from django import template

from scoring.models import Run
from scoring.views.naming import method_label, settings_words

register = template.Library()


@register.filter
def run_method(run: Run) -> str:
    return method_label(run)


@register.filter
def run_settings(run: Run) -> str:
    """Settings that differ from the defaults; "" when none does."""
    return settings_words(run)
