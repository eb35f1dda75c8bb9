"""Invented runs with results for leaderboards, as the kinds of run write them."""

from __future__ import annotations

from typing import Any

from benchmark.models import Corpus
from benchmark.records import FORK_TYPES
from scoring.models import Run, RunResult

GROUPS = (*FORK_TYPES, "all")


def make_run(
    corpus: Corpus,
    kind: str,
    method: str,
    encoder: str = "",
    *,
    settings: dict[str, Any] | None = None,
    content: str = "now",
    corpora: list[str] | None = None,
) -> Run:
    """A done run; its digest is its number, so that two never meet."""
    parameters = {
        "method": method,
        "settings": settings or {},
        "corpora": corpora or [corpus.slug],
        "content": content,
        "version": 2,
    }
    if encoder:
        parameters["encoder"] = encoder
    return Run.objects.create(
        kind=kind,
        corpus=corpus,
        parameters=parameters,
        digest=f"{Run.objects.count():064d}",
        state="done",
    )


def results(run: Run, statistic: str, values: dict[str, float | None], **more: Any) -> list:
    """Rows of one statistic by group; a None is undefined with a reason. `half` is the half width
    of the intervals, other keywords are fields of the rows."""
    half = more.pop("half", 0.05)
    return [
        RunResult(
            run=run,
            statistic=statistic,
            group=group,
            value=value,
            reason="no unit has all four forks" if value is None else "",
            n=0 if value is None else 8,
            skipped=8 if value is None else 1,
            ci_low=None if value is None else value - half,
            ci_high=None if value is None else value + half,
            **more,
        )
        for group, value in values.items()
    ]


def add_order_run(
    corpus: Corpus, kind: str, method: str, tau: float | None, encoder: str = "", **more: Any
) -> Run:
    """A run of task 1 or 2 whose types differ a little around `tau`."""
    run = make_run(corpus, kind, method, encoder, **more)
    taus = {
        name: None if tau is None else round(tau + 0.01 * place, 3)
        for place, name in enumerate(GROUPS, start=-2)
    }
    taus["all"] = tau
    rows = []
    for workflow in ("", "table_book"):
        rows += results(run, "tau", taus, workflow=workflow)
        rows += results(run, "exact_recovery", {"all": tau}, workflow=workflow)
    RunResult.objects.bulk_create(rows)
    return run


def add_onset_run(corpus: Corpus, method: str, score: float, encoder: str = "", **more: Any) -> Run:
    run = make_run(corpus, "task3", method, encoder, **more)
    curve = [
        {
            "alpha": alpha,
            "false_alarms": 100 * alpha,
            "coverage": 50 + alpha,
            "error": 3 - alpha,
            "conformant_error": 4.0,
            "score": round(score - 40 * abs(alpha - 0.1), 3),
        }
        for alpha in (0.02, 0.05, 0.1, 0.2, 0.4)
    ]
    histogram = {name: {"-2": 3, "0": 20, "1": 5, "30": 2} for name in FORK_TYPES}
    rows = []
    for workflow, ks in (("", (0, 1, 2, 3, 4)), ("table_book", (0,))):
        for k in ks:
            place = {"workflow": workflow, "k": k}
            rows += results(run, "error", dict.fromkeys(GROUPS, 5 - score / 20 + k), **place)
            rows += results(run, "coverage", dict.fromkeys(GROUPS, score), **place)
            rows += results(run, "exact_hit", dict.fromkeys(GROUPS, score / 2), **place)
        rows += results(run, "conformant_error", {"conformant": 5.0}, workflow=workflow)
        promise = {"alpha": 0.1, "expectation": 9.4, "silent_workflows": 1}
        alarms = {"conformant": 10.0}
        rows += results(run, "false_alarms", alarms, half=2.0, workflow=workflow, detail=promise)
        more = {"curve": curve, "histogram": histogram}
        rows += results(run, "score", {"all": score}, half=4.0, workflow=workflow, detail=more)
    RunResult.objects.bulk_create(rows)
    return run


def compare(task: str, reference: Run, others: dict[Run, tuple[float, float]]) -> Run:
    """A done comparison; `others` holds the mean difference and p after Holm by run."""
    run = Run.objects.create(
        kind="comparison",
        corpus=reference.corpus,
        parameters={
            "task": task,
            "reference": reference.pk,
            "baselines": [other.pk for other in others],
            "corpora": reference.parameters["corpora"],
        },
        digest=f"{Run.objects.count():064d}",
        state="done",
    )
    rows = []
    for other, (value, p) in others.items():
        groups = {f"{name}|{other.pk}": value for name in GROUPS}
        rows += results(run, "difference", groups, detail={"holm_p": p})
    RunResult.objects.bulk_create(rows)
    return run


def make_boards(corpus: Corpus) -> dict[str, list[Run]]:
    """Runs of all three tasks over `corpus`, with a comparison of those of task 2."""
    sets = [
        add_order_run(corpus, "task1", "fbd", 0.9, "wordllama"),
        add_order_run(corpus, "task1", "flow_kl", 0.8, "wordllama"),
        add_order_run(corpus, "task1", "turn_count", -0.1),
    ]
    best = add_order_run(corpus, "task2", "discounted_alignment", 0.94, "wordllama")
    distances = [
        best,
        add_order_run(corpus, "task2", "flow_score", 0.92, "wordllama"),
        add_order_run(corpus, "task2", "flow_score", 0.76, "minilm"),
        add_order_run(corpus, "task2", "mean", None, "wordllama"),
        add_order_run(corpus, "task2", "random", 0.02, settings={"seed": 3}),
    ]
    compare(
        "task2",
        best,
        {distances[1]: (0.02, 0.2), distances[2]: (0.18, 0.0001), distances[4]: (0.92, 0.0)},
    )
    onsets = [
        add_onset_run(
            corpus, "novelty", 74.0, "wordllama", settings={"form": "exact", "alpha": 0.1}
        ),
        *(
            add_onset_run(
                corpus,
                method,
                score,
                encoder,
                settings={"order": 6, "node_confidence": confidence},
            )
            for method, score in (("ngram_it", 61.0), ("ngram_ss", 55.0))
            for encoder in ("wordllama", "minilm")
            for confidence in (False, True)
        ),
        add_onset_run(corpus, "first_turn", 0.01),
    ]
    return {"task1": sets, "task2": distances, "task3": onsets}
