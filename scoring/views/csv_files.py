"""Tables as CSV files that a spreadsheet opens without running anything in them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse

from benchmark.spreadsheet_cells import cell


def wanted(request: HttpRequest) -> bool:
    """Whether the page is asked for as CSV; BadRequest for another format than html or csv."""
    name = request.GET.get("format", "")
    if name not in ("", "html", "csv"):
        raise BadRequest(f"format is {name[:40]!r}; it must be one of html, csv.")
    return name == "csv"


def answer(name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> HttpResponse:
    """The table as an attachment `name`.csv; a number that does not exist is an empty cell."""
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    writer = csv.writer(response)
    for row in (columns, *rows):
        writer.writerow([cell(value) for value in row])
    return response
