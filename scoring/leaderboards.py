"""Leaderboards read from stored results: a fixed number of statements, whatever the corpus."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmark.models import Corpus
from scoring import leaderboard_tables as tables
from scoring.leaderboard_tables import Cell, Column, Difference, Entry
from scoring.methods import BEYOND, METHODS
from scoring.models import DialogueScore, Run, RunResult

COMPARISON = "comparison"
FLOW_METHODS = ("flow_kl", "flow_kl_compat")
NGRAM_METHODS = ("ngram_ss", "ngram_it")


@dataclass(frozen=True, slots=True)
class Choice:
    """What a board shows: "" and 0 stand for all."""

    task: str
    encoder: str = ""
    workflow: str = ""
    fork_type: str = ""
    k: int = 0
    sort: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A done comparison: its reference run, and the reference minus each other run, by run."""

    run: int
    reference: int
    differences: Mapping[int, Difference]


@dataclass(frozen=True, slots=True)
class Board:
    """The runs of one task over one corpus. `entries` and `controls` are in the order asked for.

    `older` counts runs over an earlier state of the dialogues or of the scoring, `several` runs
    over more than this corpus: neither is comparable, so neither is shown.
    """

    columns: list[Column]
    main: Column
    sort: str
    entries: list[Entry]
    controls: list[Entry]
    best: Entry | None
    comparison: Comparison | None
    encoders: list[str]
    workflows: list[str]
    older: int = 0
    several: int = 0
    all_entries: list[Entry] = field(default_factory=list)


def corpora_with_runs() -> dict[str, list[str]]:
    """Task -> slugs of the corpora that a done run of it is about, by slug. One statement."""
    rows = (
        Run.objects.filter(kind__in=METHODS, state=Run.State.DONE)
        .order_by("kind", "corpus__slug")
        .values_list("kind", "corpus__slug")
        .distinct()
    )
    found: dict[str, list[str]] = {task: [] for task in METHODS}
    for kind, slug in rows:
        found[kind].append(slug)
    return found


def board(corpus: Corpus, choice: Choice) -> Board:
    """The board of `choice`. Raises ValueError where it names what no run has."""
    runs, older, several = _comparable(corpus, choice.task)
    shown = tables.columns(choice.task, fork_type=choice.fork_type, k=choice.k)
    entries = _entries(choice, runs, shown)
    shown = tables.occurring(shown, entries)
    main = tables.main_column(shown, fork_type=choice.fork_type)
    sort = _sort(choice, shown) or tables.best_first(main)
    chosen = [e for e in entries if choice.encoder in ("", e.encoder) or not e.encoder]
    rows = tables.ordered(chosen, sort, shown)
    top = tables.best([e for e in rows if not e.control], main)
    return Board(
        columns=shown,
        main=main,
        sort=sort,
        entries=[entry for entry in rows if not entry.control],
        controls=[entry for entry in rows if entry.control],
        best=top,
        comparison=_comparison(choice, {run.pk for run in runs}, top),
        encoders=sorted({entry.encoder for entry in entries if entry.encoder}),
        workflows=_workflows(runs),
        older=older,
        several=several,
        all_entries=entries,
    )


def _sort(choice: Choice, shown: Sequence[Column]) -> str:
    """The order asked for; "" where its column is hidden by the filters of the moment.

    Raises ValueError for a column that the task never has.
    """
    key = choice.sort.removeprefix("-")
    if key and key not in tables.known_keys(choice.task):
        raise ValueError(f"task {choice.task} has no column {key!r}")
    there = ("method", "encoder", *(column.key for column in shown))
    return choice.sort if key in there else ""


def _comparable(corpus: Corpus, task: str) -> tuple[list[Run], int, int]:
    """The done runs of `task` over `corpus` alone that saw its latest state, and two counts."""
    done = Run.objects.filter(kind=task, state=Run.State.DONE, corpus=corpus).order_by("-pk")
    alone = [run for run in done if run.parameters.get("corpora") == [corpus.slug]]
    several = len(done) - len(alone)
    if not alone:
        return [], 0, several
    latest = _state_of(alone[0])
    runs = [run for run in alone if _state_of(run) == latest]
    return runs, len(alone) - len(runs), several


def _state_of(run: Run) -> tuple[Any, Any]:
    return run.parameters.get("content"), run.parameters.get("version")


def _entries(choice: Choice, runs: Sequence[Run], shown: Sequence[Column]) -> list[Entry]:
    cells = _cells(choice, runs, shown)
    said = tables.settings_words(
        choice.task,
        [(run.parameters.get("method", ""), run.parameters.get("settings") or {}) for run in runs],
    )
    return [
        _entry(choice.task, run, tuple(settings), cells.get(run.pk, {}))
        for run, settings in zip(runs, said, strict=True)
    ]


def _entry(task: str, run: Run, settings: tuple[str, ...], cells: dict[str, Cell]) -> Entry:
    name = run.parameters.get("method", "")
    method = METHODS[task].get(name)
    return Entry(
        run=run.pk,
        method=name,
        label=method.label if method else name,
        origin=method.origin if method else BEYOND,
        encoder=run.parameters.get("encoder", ""),
        settings=settings,
        parameters=run.parameters,
        cells=cells,
    )


def _cells(
    choice: Choice, runs: Sequence[Run], shown: Sequence[Column]
) -> dict[int, dict[str, Cell]]:
    """The results of the runs that the columns show, by run and key of the column."""
    keys = {(column.statistic, column.group): column.key for column in shown}
    rows = RunResult.objects.filter(
        run__in=runs,
        statistic__in={column.statistic for column in shown},
        workflow=choice.workflow,
        k__in={0, choice.k},
    )
    found: dict[int, dict[str, Cell]] = defaultdict(dict)
    for row in rows:
        key = keys.get((row.statistic, row.group))
        # Conformant dialogues have no k: their rows hold for every choice of it.
        if key and row.k == (0 if row.group == tables.CONFORMANT else choice.k):
            found[row.run_id][key] = cell_of(row)
    for cells in found.values():
        _take_out(cells, choice.fork_type or tables.AVERAGE)
    return found


def _take_out(cells: dict[str, Cell], group: str) -> None:
    """Task 2 keeps two figures in the detail of its tau: they get cells of their own."""
    tau = cells.get(f"tau-{group}")
    if tau is None:
        return
    share, every = tau.detail.get("exact_recovery"), tau.detail.get("sixteen")
    if share is not None:
        cells.setdefault(f"exact_recovery-{group}", Cell(share, n=tau.n, skipped=tau.skipped))
    if every:
        cells["sixteen-all"] = Cell(every["value"], every["reason"], every["n"])


def cell_of(row: RunResult) -> Cell:
    return Cell(row.value, row.reason, row.n, row.skipped, row.ci_low, row.ci_high, row.detail)


def _workflows(runs: Sequence[Run]) -> list[str]:
    """Names of the workflows that a run has results for by itself."""
    rows = RunResult.objects.filter(run__in=runs).exclude(workflow="").order_by("workflow")
    return list(rows.values_list("workflow", flat=True).distinct())


def _comparison(choice: Choice, runs: set[int], top: Entry | None) -> Comparison | None:
    """The comparison to show: one whose reference is the best run, else the newest; or None."""
    done = Run.objects.filter(kind=COMPARISON, state=Run.State.DONE).order_by("-pk")
    fitting = [
        run
        for run in done.only("pk", "parameters")
        if run.parameters.get("task") == choice.task and run.parameters.get("reference") in runs
    ]
    if not fitting:
        return None
    first = next((r for r in fitting if top and r.parameters["reference"] == top.run), fitting[0])
    # The Score of task 3 is one number over all types.
    group = tables.AVERAGE if choice.task == "task3" else choice.fork_type or tables.AVERAGE
    rows = first.results.filter(statistic="difference", group__startswith=f"{group}|", workflow="")
    differences = {int(row.group.rpartition("|")[2]): difference_of(row) for row in rows}
    return Comparison(first.pk, first.parameters["reference"], differences)


def difference_of(row: RunResult) -> Difference:
    """With the interval over whole sources (task 1: workflows) where there is one: the types of a
    source are not independent."""
    low, high = row.detail.get("cluster_ci") or (row.ci_low, row.ci_high)
    return Difference(
        value=row.value,
        reason=row.reason,
        n=row.n,
        low=low,
        high=high,
        p=row.detail.get("holm_p"),
    )


def detectors(corpus: Corpus) -> tuple[list[Column], list[Entry]]:
    """Table 9: the N-gram detectors by encoder, detector and settings, without node confidence
    before with."""
    found = board(corpus, Choice("task3"))
    rows = [entry for entry in found.all_entries if entry.method in NGRAM_METHODS]

    def place(entry: Entry) -> tuple[Any, ...]:
        chosen = entry.parameters.get("settings") or {}
        return (
            entry.encoder,
            NGRAM_METHODS.index(entry.method),
            str(chosen.get("calibration")),
            chosen.get("order") or 0,
            bool(chosen.get("node_confidence")),
            entry.run,
        )

    return found.columns, sorted(rows, key=place)


def likelihoods(run: int, workflow: str) -> dict[str, dict[int, list[float | None]]]:
    """Likelihoods of the dialogues of a workflow in a FlowKL run, by condition and k.

    Conformant dialogues stand under "conformant" and k = 0. None is a dialogue without a score.
    One statement.
    """
    rows = (
        DialogueScore.objects.filter(run_id=run, dialogue__workflow__name=workflow)
        .order_by("dialogue_id")
        .values_list("dialogue__forks__type", "dialogue__forks__k", "value")
    )
    found: dict[str, dict[int, list[float | None]]] = defaultdict(lambda: defaultdict(list))
    for type_, k, value in rows:
        found[type_ or tables.CONFORMANT][k or 0].append(value)
    return {name: dict(by_k) for name, by_k in found.items()}
