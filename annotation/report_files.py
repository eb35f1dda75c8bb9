"""The tables of a study report as columns and rows for files, one group after the other.

Numbers are written as they are, not rounded; the first column names the group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation import report_tables
from annotation.condition_tables import Cell
from annotation.group_reports import GroupReport
from annotation.judgement_rows import COLUMNS, CONFORMANT
from annotation.report_tables import Row
from scoring.estimates import Estimate

Cells = tuple[Any, ...]
NOTHING = (None, None)
STATISTIC_COLUMNS = (
    "part",
    "statistic",
    "value",
    "low",
    "high",
    "low_over_people",
    "high_over_people",
    "observations",
    "n",
    "reason",
)


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the name of its columns after "group", and the rows of one group."""

    columns: Sequence[str]
    rows: Callable[[GroupReport], Iterator[Cells]]


def table(name: str, groups: Sequence[GroupReport]) -> tuple[list[str], list[Cells]]:
    """Columns and rows of the table `name` of all groups. Raises KeyError for an unknown name."""
    found = TABLES[name]
    rows = [(group.name, *cells) for group in groups for cells in found.rows(group)]
    return ["group", *found.columns], rows


def _figures(listed: Callable[[Mapping[str, Any]], Sequence[Row]]) -> Table:
    def rows(group: GroupReport) -> Iterator[Cells]:
        for row in listed(group.statistics) if group.statistics else ():
            intervals = (*(row.ci or NOTHING), *(row.people or NOTHING))
            figure = (row.group, row.measure, row.value, *intervals)
            yield (*figure, row.count, row.n, row.reason)

    return Table(STATISTIC_COLUMNS, rows)


def _judgements(group: GroupReport) -> Iterator[Cells]:
    for row in group.rows:
        yield row.cells()[1:]


def _pairs(group: GroupReport) -> Iterator[Cells]:
    for question, pairs in group.pairs.items():
        for pair in pairs:
            yield (
                question,
                pair.one,
                pair.other,
                pair.n,
                pair.agreeing,
                pair.share,
                pair.low,
                pair.high,
                pair.distance,
                pair.kappa,
            )


def _items(group: GroupReport) -> Iterator[Cells]:
    for item in group.items:
        yield (
            int(item.item),
            item.external_id,
            *_cell((item.type, item.k, item.is_foil)),
            len(item.judges),
            *(_listed(part) for part in (item.judges, item.ratings, item.confirmed)),
            *(_listed(part) for part in (item.onsets, item.prefixes)),
            item.rating_range,
            " ".join(item.differ),
        )


def _listed(values: Sequence[Any]) -> str:
    return " ".join("none" if value is None else str(value) for value in values)


def _profiles(group: GroupReport) -> Iterator[Cells]:
    for found in group.profiles:
        statuses = [found.statuses.get(status, 0) for status in PROFILE_STATUSES]
        passed, asked = found.attention or (None, None)
        yield (
            found.judge,
            found.total,
            *statuses,
            found.rated,
            found.seconds,
            found.timed,
            found.same_rating,
            found.spread,
            found.run,
            found.same_answer,
            passed,
            asked,
        )


PROFILE_STATUSES = ("finished", "skipped", "in progress", "waiting", "expired", "withdrawn")


def _conditions(group: GroupReport) -> Iterator[Cells]:
    for found in group.conditions:
        estimates = (found.rating, found.confirmed, found.exact, found.followed)
        cells = [part for estimate in estimates for part in _estimate(estimate)]
        yield (*_cell(found.cell), found.judgements, *cells)


def _estimate(found: Estimate) -> Cells:
    low, high = found.ci or (None, None)
    return found.value, low, high, found.n


def _cell(cell: Cell) -> Cells:
    type_, k, is_foil = cell
    return type_ or CONFORMANT, k or None, "foil" if is_foil else "true"


def _coverage(group: GroupReport) -> Iterator[Cells]:
    for found in group.coverage:
        yield (
            *_cell(found.cell),
            found.planned,
            found.finished,
            found.skipped,
            found.started,
            found.waiting,
            found.expired,
            found.withdrawn,
            found.reopened,
        )


def _parts(*names: str) -> tuple[str, ...]:
    return tuple(f"{n}{end}" for n in names for end in ("", "_low", "_high", "_n"))


CONDITION = ("type", "k", "instruction")
TABLES: Mapping[str, Table] = {
    "questions": _figures(report_tables.questions),
    "agreement": _figures(report_tables.agreements),
    "means": _figures(report_tables.means),
    "conditions": Table(
        (
            *CONDITION,
            "judgements",
            *_parts("mean_rating", "confirmed", "onset_exact", "prefix_followed"),
        ),
        _conditions,
    ),
    "pairs": Table(
        (
            "question",
            "judge",
            "other_judge",
            "shared_items",
            "agreeing",
            "share",
            "low",
            "high",
            "mean_distance",
            "kappa",
        ),
        _pairs,
    ),
    "items": Table(
        (
            "item",
            "dialogue",
            *CONDITION,
            "judges",
            "judge_names",
            "ratings",
            "appears",
            "onsets",
            "prefixes",
            "rating_range",
            "differ",
        ),
        _items,
    ),
    "judges": Table(
        (
            "judge",
            "assigned",
            *(status.replace(" ", "_") for status in PROFILE_STATUSES),
            "rated",
            "median_active_seconds",
            "timed_items",
            "same_rating_share",
            "rating_standard_deviation",
            "longest_run_of_one_rating",
            "same_step_2_answer_share",
            "attention_passed",
            "attention_answered",
        ),
        _profiles,
    ),
    "coverage": Table(
        (
            *CONDITION,
            "planned",
            "finished",
            "skipped",
            "in_progress",
            "waiting",
            "expired",
            "withdrawn",
            "reopened",
        ),
        _coverage,
    ),
    "rows": Table(COLUMNS[1:], _judgements),
}
