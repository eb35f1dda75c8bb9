"""Template filters that name runs and their figures."""

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


@register.filter
def p_value(value: float | None) -> str:
    """A p with three decimals, "< .001" below that; an en dash where there is none."""
    if value is None:
        return "–"
    return "< .001" if value < 0.001 else f"{value:.3f}"
