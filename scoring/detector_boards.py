"""All detectors of one corpus of agent runs beside each other, read from stored results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmark.models import Corpus
from scoring.label_summaries import AUC, AUC_BY_MODEL, AUC_BY_TYPE, STEP_AUC
from scoring.leaderboard_tables import Cell
from scoring.leaderboards import cell_of
from scoring.methods import BEYOND, CONTROL, Method
from scoring.models import Run, RunResult
from scoring.step_rankings import DETECTOR, FIRST, HIT, LAST, MRR, RANDOM
from scoring.trajectory_methods import KIND, LABEL_METHODS

COLUMNS = (
    (AUC, "all", "AUC, runs"),
    (STEP_AUC, "all", "AUC, steps"),
    (HIT, DETECTOR, "Named step first"),
    (MRR, DETECTOR, "Mean 1 / rank"),
)
ORDERS = (FIRST, LAST, RANDOM)
Cells = Mapping[tuple[str, str], Cell]


@dataclass(frozen=True, slots=True)
class Detector:
    """A done run: its method, what it was told, and its figures by (statistic, group)."""

    run: int
    method: str
    label: str
    origin: str
    encoder: str
    judge: str
    settings: tuple[str, ...]
    cells: Cells

    @property
    def control(self) -> bool:
        return self.origin == CONTROL

    def cell(self, statistic: str, group: str = "all") -> Cell | None:
        return self.cells.get((statistic, group))


@dataclass(frozen=True, slots=True)
class DetectorBoard:
    """The detectors of one truth, best first, controls apart; `orders` rank steps by place alone.

    `older` counts runs over an earlier state of the runs or labels, `several` runs over more than
    this corpus: neither is comparable, so neither is shown.
    """

    truths: Sequence[str]
    truth: str
    detectors: Sequence[Detector] = ()
    controls: Sequence[Detector] = ()
    orders: Mapping[str, Cells] = field(default_factory=dict)
    types: Sequence[str] = ()
    models: Sequence[str] = ()
    older: int = 0
    several: int = 0

    @property
    def everything(self) -> list[Detector]:
        return [*self.detectors, *self.controls]


def corpora_with_detectors() -> set[str]:
    """Slugs of the corpora that a done run of a detector is about. One statement."""
    done = Run.objects.filter(kind=KIND, state=Run.State.DONE).order_by()
    return set(done.values_list("corpus__slug", flat=True).distinct())


def detector_board(corpus: Corpus, truth: str = "") -> DetectorBoard:
    """The board of one truth, that of the newest run where none is named; two statements.

    Of the runs with one judge (or none) the newest says which state of runs and labels is shown.
    """
    done = list(Run.objects.filter(kind=KIND, state=Run.State.DONE, corpus=corpus).order_by("-pk"))
    alone = [run for run in done if run.parameters["corpora"] == [corpus.slug]]
    truths = list(dict.fromkeys(run.parameters["truth"] for run in alone))
    truth = truth or next(iter(truths), "")
    asked = [run for run in alone if run.parameters["truth"] == truth]
    states: dict[str, Any] = {}
    runs = [run for run in asked if _state(run) == states.setdefault(_judge(run), _state(run))]
    cells = _cells(runs)
    rows = sorted(
        (_detector(run, cells.get(run.pk, {})) for run in runs),
        key=_rank,
    )
    groups = {key for row in rows for key in row.cells}
    return DetectorBoard(
        truths=sorted(truths),
        truth=truth,
        detectors=[row for row in rows if not row.control],
        controls=[row for row in rows if row.control],
        orders=_orders(rows),
        types=sorted(group for statistic, group in groups if statistic == AUC_BY_TYPE),
        models=sorted(group for statistic, group in groups if statistic == AUC_BY_MODEL),
        older=len(asked) - len(runs),
        several=len(done) - len(alone),
    )


def told(method: Method | None, given: Mapping[str, Any]) -> tuple[str, ...]:
    """The settings of a run that are not the defaults, as "name value"."""
    if method is None:
        return ()
    return tuple(
        f"{setting.label[0].lower()}{setting.label[1:]} {str(value).replace('_', ' ')}"
        for setting in method.settings
        if (value := given.get(setting.name, setting.default)) != setting.default
    )


def _detector(run: Run, cells: Cells) -> Detector:
    name = run.parameters["method"]
    method = LABEL_METHODS.get(name)
    return Detector(
        run=run.pk,
        method=name,
        label=method.label if method else name,
        origin=method.origin if method else BEYOND,
        encoder=run.parameters.get("encoder", ""),
        judge=_judge(run),
        settings=told(method, run.parameters["settings"]) + _signals_only(run),
        cells=cells,
    )


def _signals_only(run: Run) -> tuple[str, ...]:
    hybrid = run.parameters["method"] == "judge_hybrid"
    return ("signals only",) if hybrid and not _judge(run) else ()


def _rank(row: Detector) -> tuple[Any, ...]:
    """Best area first, then best ranking of steps; what has neither is last."""
    values = [
        cell.value if (cell := row.cell(statistic, group)) else None
        for statistic, group, _ in (COLUMNS[0], COLUMNS[2], COLUMNS[1])
    ]
    return (*(-value if value is not None else 1.0 for value in values), row.label, row.run)


def _orders(rows: Sequence[Detector]) -> dict[str, Cells]:
    """Figures of orders by place alone: they are the same in every run that ranks steps."""
    for row in rows:
        if (HIT, FIRST) in row.cells:
            return {name: {(s, name): row.cells[s, name] for s in (HIT, MRR)} for name in ORDERS}
    return {}


def _cells(runs: Sequence[Run]) -> dict[int, dict[tuple[str, str], Cell]]:
    found: dict[int, dict[tuple[str, str], Cell]] = {}
    for row in RunResult.objects.filter(run__in=[run.pk for run in runs]):
        found.setdefault(row.run_id, {})[row.statistic, row.group] = cell_of(row)
    return found


def _state(run: Run) -> tuple[Any, Any]:
    return run.parameters.get("content"), run.parameters.get("version")


def _judge(run: Run) -> str:
    return str(run.parameters.get("judge", ""))
