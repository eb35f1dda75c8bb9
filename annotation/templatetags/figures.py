"""The tag that shows a `figure_tables.Figure` whole: chart, words, table and its files."""

from __future__ import annotations

import re
from typing import Any

from django import template

from annotation.figure_charts import chart
from annotation.figure_tables import Figure
from annotation.figure_words import column_named, described, is_share, shown_table

register = template.Library()
MOST_BESIDE = 6


@register.inclusion_tag("annotation/_figure.html")
def show_figure(figure: Figure, csv: str = "", prefix: str = "", level: int = 3) -> dict[str, Any]:
    """`figure` as a card. `csv` is the address of its file, "" where there is none; `prefix` tells
    figures of one name on one page apart; `level` is that of its heading.

    A page with it needs `scoring/_chart_head.html` in its head.
    """
    drawing = chart(figure)
    units, note = _units(figure)
    id_ = f"{prefix}-{figure.name}" if prefix else figure.name
    return {
        "figure": figure,
        "units": units,
        "note": note,
        "id": id_,
        "data": f"figure-{id_}",
        "csv": csv,
        "level": level,
        "drawing": drawing,
        # A table of many columns stands open and has the whole width.
        "wide": drawing is None and bool(figure.rows) and len(figure.columns) > MOST_BESIDE,
        "cells": _cells(figure) if drawing else "",
        "label": described(figure),
        "table": shown_table(figure),
    }


def _units(figure: Figure) -> tuple[str, str]:
    """What n counts, where the note says so at its head, and the rest of the note."""
    found = re.match(r"n counts ([^.]+)\.\s*", figure.note)
    return (found[1], figure.note[found.end() :]) if found else ("", figure.note)


def _cells(figure: Figure) -> str:
    """What the numbers in a heat map are, which has no axis that says so."""
    if figure.drawn is None or figure.drawn.kind != "heat":
        return ""
    column = column_named(figure, figure.drawn.y)
    return f"{column.title}, %" if is_share(column) else column.title
