"""How the answers of each kind of study are read and written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from annotation import export_formats, export_items, export_rows, run_export_formats
from annotation import run_export_rows as run_rows
from annotation.export_formats import JsonArray, JsonLines, LongCsv, ParquetFile, Row, Writer
from annotation.export_rows import Filter
from annotation.models import Study
from annotation.run_export_formats import RunCsv, RunParquet

Formats = Mapping[str, tuple[str, Callable[[Path], Writer]]]
# Name of the format -> the file it makes, and what writes it.
FORMATS: Formats = {
    "csv": ("answers.csv", LongCsv),
    "jsonl": ("answers.jsonl", JsonLines),
    "parquet": ("answers.parquet", ParquetFile),
    "label-studio": ("tasks.json", JsonArray),
}
Items = Callable[[Study, Filter, Sequence[int]], Iterator[list[Row]]]


class Kind(NamedTuple):
    """`tables` yields rows of assignments, `tasks` and `history` those of items, in batches.

    `lines` says how many lines of a format an assignment takes, where it is not one.
    """

    formats: Formats
    lines: Mapping[str, int]
    tables: Callable[[Study, Sequence[int]], Iterator[list[Row]]]
    tasks: Items
    history: Items


def _tables(study: Study, keys: Sequence[int]) -> Iterator[list[Row]]:
    for rows in export_rows.answer_rows(study, keys):
        yield [export_formats.columns(row) for row in rows]


def _run_tables(study: Study, keys: Sequence[int]) -> Iterator[list[Row]]:
    for rows in run_rows.answer_rows(study, keys):
        yield [run_export_formats.columns(row) for row in rows]


KINDS: Mapping[str, Kind] = {
    Study.Kind.FORKS: Kind(
        FORMATS, {"csv": 4}, _tables, export_items.label_studio_tasks, export_items.history
    ),
    Study.Kind.RUNS: Kind(
        {**FORMATS, "csv": ("answers.csv", RunCsv), "parquet": ("answers.parquet", RunParquet)},
        {"csv": len(run_export_formats.QUESTIONS)},
        _run_tables,
        run_rows.label_studio_tasks,
        run_rows.history,
    ),
}
