"""Figures of the detectors of a corpus: who orders the runs, for which type, whose named step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from annotation.figure_tables import Column, Drawn, Figure
from scoring.detector_boards import Detector, DetectorBoard
from scoring.estimates import Estimate
from scoring.label_summaries import AUC, AUC_BY_MODEL, AUC_BY_TYPE
from scoring.leaderboard_tables import Cell
from scoring.step_rankings import DETECTOR, HIT

NAME = Column("name", "Detector")


def figures_of(board: DetectorBoard) -> list[Figure]:
    """The figures that have something to show."""
    names = names_of(board.everything)
    found = [
        areas(board, names),
        steps(board, names),
        by_group(board, names, "by-type", AUC_BY_TYPE, board.types),
        by_group(board, names, "by-model", AUC_BY_MODEL, board.models),
    ]
    return [figure for figure in found if any(_told(row) for row in figure.rows)]


def names_of(detectors: Sequence[Detector]) -> dict[int, str]:
    """A name of its own for each run: its method, and only where others have the same, its encoder,
    its settings, its number."""
    found = {each.run: each.label for each in detectors}
    for more in (
        lambda each: (each.encoder,),
        lambda each: (each.encoder, *each.settings),
        lambda each: (each.encoder, *each.settings, f"run {each.run}"),
    ):
        counts = Counter(found.values())
        for each in detectors:
            if counts[found[each.run]] > 1:
                found[each.run] = _joined(each.label, *more(each))
    return found


def areas(board: DetectorBoard, names: dict[int, str]) -> Figure:
    rows = [
        {"name": names[each.run], "value": estimate(cell)}
        for each in board.everything
        if (cell := each.cell(AUC))
    ]
    return Figure(
        "areas",
        _("Which detector puts the runs in order"),
        (NAME, _area()),
        rows,
        n=_most(rows),
        note=_("ROC-AUC over runs; interval (95 %) over whole questions; .5 is chance."),
        drawn=Drawn("points", x="name", y="value"),
    )


def steps(board: DetectorBoard, names: dict[int, str]) -> Figure:
    cells = [(names[each.run], each.cell(HIT, DETECTOR)) for each in board.everything]
    cells += [(name.capitalize(), held.get((HIT, name))) for name, held in board.orders.items()]
    rows = [{"name": name, "value": estimate(cell)} for name, cell in cells if cell]
    return Figure(
        "named-step",
        _("Which detector ranks the named step first"),
        (NAME, Column("value", _("Named step first"), "estimate", percent=True)),
        rows,
        n=_most(rows),
        note=_("Share of runs whose first named step scores highest, with its interval (95 %)."),
        drawn=Drawn("points", x="name", y="value"),
    )


def by_group(
    board: DetectorBoard, names: dict[int, str], key: str, statistic: str, groups: Sequence[str]
) -> Figure:
    rows = [
        {"name": names[each.run], "group": group, "value": estimate(cell)}
        for each in board.everything
        for group in groups
        if (cell := each.cell(statistic, group))
    ]
    types = statistic == AUC_BY_TYPE
    return Figure(
        key,
        _("Which type each detector finds") if types else _("How each detector does per model"),
        (NAME, Column("group", _("Type") if types else _("Model")), _area()),
        rows,
        n=_most(rows),
        note=_("ROC-AUC of the runs with one type against the runs without a hallucination.")
        if types
        else _("ROC-AUC within the runs of one model."),
        drawn=Drawn("heat", x="group", y="value", group="name"),
    )


def estimate(cell: Cell) -> Estimate:
    ends = None if cell.low is None or cell.high is None else (cell.low, cell.high)
    return Estimate(cell.value, cell.reason, n=cell.n, ci=ends)


def _area() -> Column:
    return Column("value", "ROC-AUC", "estimate")


def _joined(label: str, *more: str) -> str:
    return f"{label} ({', '.join(words)})" if (words := [each for each in more if each]) else label


def _told(row: Any) -> bool:
    return row["value"].value is not None


def _most(rows: Sequence[Any]) -> int:
    return max((row["value"].n for row in rows), default=0)
