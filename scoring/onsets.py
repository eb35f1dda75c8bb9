"""Task 3 of DialFork as a run: the first off-track turn of test dialogues, and the figures.

The test set is the other half of the conformant dialogues of the forked workflows, and the forks
of that half. Detectors are fitted, and thresholds set, once per run and workflow on the conformant
train half only; both are stored with the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from benchmark.models import Corpus, Dialogue, Fork
from scoring import methods, onset_fitters
from scoring.corpora import encoder_of, with_sources
from scoring.models import OnsetAnswer, Run, RunResult
from scoring.onset_fits import fitted_on, observed_turns
from scoring.onset_fitters import TRIVIAL
from scoring.onset_methods import first_alarm
from scoring.onset_summaries import RESAMPLES, SummaryRow, Thresholds, summarise
from scoring.onset_sums import OnsetRow

KIND = "task3"
NO_ASSISTANT_TURN = "the dialogue has no assistant turn that says something"


def parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """The full parameters of a run: method, its settings, encoder where it needs one, seed.

    Raises ValueError with a sentence for a method or setting that does not exist.
    """
    chosen = methods.chosen(KIND, {"method": "ngram_it", **given}, shared={"bootstrap_seed": 0})
    return {**chosen, "bootstrap_resamples": RESAMPLES}


def plan(corpora: Sequence[Corpus], chunk_dialogues: int) -> Iterator[tuple[list[int], int]]:
    """Parts of test dialogues of one workflow; size is the number of dialogues.

    Raises ValueError when no test dialogue has a fork.
    """
    forks = list(_forks(corpora).values_list("source__workflow_id", "dialogue_id"))
    if not forks:
        slugs = ", ".join(corpus.slug for corpus in corpora)
        raise ValueError(
            f"There is no fork of a test dialogue in {slugs}. Task 3 looks for the fork turn in "
            "forks of the test half of the conformant dialogues."
        )
    calm = Dialogue.objects.filter(
        corpus__in=with_sources(corpora),
        workflow__in={workflow for workflow, _ in forks},
        conformant=True,
        split=Dialogue.Split.TEST,
        forks__isnull=True,
    ).scorable()
    return _parts(sorted([*forks, *calm.values_list("workflow_id", "pk")]), chunk_dialogues)


def score(run: Run, keys: Sequence[int]) -> list[OnsetAnswer]:
    """Where the run's method says that each dialogue leaves its workflow."""
    method, settings = run.parameters["method"], run.parameters["settings"]
    encoder = encoder_of(run.parameters)
    observed = observed_turns(keys, encoder)
    names = dict(Dialogue.objects.filter(pk__in=keys).values_list("pk", "external_id"))
    numbers = {pk: onset_fitters.assistant_turns(observed[pk]) for pk in keys}
    judged = [pk for pk in keys if numbers[pk]]
    if method in TRIVIAL:
        answers = {
            pk: (onset_fitters.trivial_answer(method, numbers[pk], names[pk], settings), [])
            for pk in judged
        }
        return [_row(run, pk, numbers[pk], answers.get(pk), "") for pk in keys]
    fitted, calibration = fitted_on(run, _workflow_of(keys[0]), encoder)
    if fitted is None:
        return [_row(run, pk, numbers[pk], None, calibration.detail["reason"]) for pk in keys]
    cut = dict(map(tuple, calibration.detail["cuts"]))[settings["alpha"]]
    seen = onset_fitters.suspicions(fitted, [observed[pk] for pk in judged])
    answers = {
        pk: (first_alarm(row, cut), [list(each) for each in row])
        for pk, row in zip(judged, seen, strict=True)
    }
    return [_row(run, pk, numbers[pk], answers.get(pk), "") for pk in keys]


def results(run: Run) -> list[RunResult]:
    """Every figure of `onset_summaries.summarise`, one row each."""
    rows = summarise(
        answer_rows(run),
        thresholds_of(run),
        seed=run.parameters["bootstrap_seed"],
        resamples=run.parameters["bootstrap_resamples"],
        several_injections=_several(run),
    )
    return [_result(run, row) for row in rows]


def answer_rows(run: Run) -> list[OnsetRow]:
    """The answers of a run with their truth, for `onset_sums` and `onset_summaries`.

    Sources are named "corpus/format/external id", the same wherever the corpus is imported.
    """
    forks = {
        pk: ("/".join(source), *rest)
        for pk, *source, workflow, type_, k, turn in _forks(_corpora(run)).values_list(
            "dialogue_id",
            "source__corpus__slug",
            "source__format",
            "source__external_id",
            "source__workflow__name",
            "type",
            "k",
            "fork_turn",
        )
        for rest in [(workflow, type_, k, turn)]
    }
    answers = run.onset_answers.order_by("dialogue_id").values_list(
        "dialogue_id",
        "dialogue__corpus__slug",
        "dialogue__format",
        "dialogue__external_id",
        "dialogue__workflow__name",
        "turn",
        "reason",
        "detail",
        "turns",
    )
    found = []
    for pk, *name, workflow, turn, reason, detail, turns in answers.iterator(chunk_size=2000):
        first, last = detail.get("first", 0), detail.get("last", 0)
        # The truth of a conformant dialogue is one past its last assistant turn.
        place = forks.get(pk, ("/".join(name), workflow, "", 0, last + 1))
        found.append(OnsetRow(*place, first, last, turn, reason, turns))
    return found


def thresholds_of(run: Run) -> dict[str, Thresholds]:
    """What a run set on the train half of each workflow, by name; empty for a trivial baseline."""
    settings = run.parameters["settings"]
    rows = run.calibrations.order_by("workflow__name").values_list(
        "workflow__name", "values", "detail"
    )
    return {
        name: Thresholds(
            len(values),
            onset_fitters.form_of(settings),
            settings["alpha"],
            [tuple(pair) for pair in detail["cuts"]],
        )
        for name, values, detail in rows
        if "cuts" in detail
    }


def _row(
    run: Run,
    pk: int,
    numbers: Sequence[int],
    answer: tuple[int | None, list[list[float]]] | None,
    reason: str,
) -> OnsetAnswer:
    detail = {"first": numbers[0], "last": numbers[-1]} if numbers else {}
    if answer is None:
        why = reason if numbers else NO_ASSISTANT_TURN
        return OnsetAnswer(run=run, dialogue_id=pk, reason=why, detail=detail)
    turn, values = answer
    return OnsetAnswer(run=run, dialogue_id=pk, turn=turn, detail=detail, turns=values)


def _result(run: Run, row: SummaryRow) -> RunResult:
    return RunResult(
        run=run,
        statistic=row.statistic,
        group=row.group,
        workflow=row.workflow,
        k=row.k,
        **row.estimate.as_row(),
    )


def _forks(corpora: Sequence[Corpus]) -> Any:
    """Forks of test dialogues, one row each; with several injections there is no one truth."""
    return _tested(corpora).single()


def _several(run: Run) -> int:
    return _tested(_corpora(run)).composite().count()


def _tested(corpora: Sequence[Corpus]) -> Any:
    return Fork.objects.filter(
        dialogue__corpus__in=corpora,
        dialogue__n_turns__gt=0,
        source__conformant=True,
        source__split=Dialogue.Split.TEST,
        source__workflow__isnull=False,
    )


def _corpora(run: Run) -> Any:
    return Corpus.objects.filter(slug__in=run.parameters["corpora"])


def _workflow_of(dialogue_id: int) -> int:
    """The workflow of a conformant dialogue, or of the source of a fork."""
    source = Fork.objects.filter(dialogue_id=dialogue_id, ordinal=1).values_list(
        "source__workflow_id", flat=True
    )
    own = Dialogue.objects.filter(pk=dialogue_id).values_list("workflow_id", flat=True)
    return next(iter(source), None) or own.get()


def _parts(rows: Sequence[tuple[int, int]], dialogues: int) -> Iterator[tuple[list[int], int]]:
    for _, group in groupby(rows, key=lambda row: row[0]):
        ids = [pk for _, pk in group]
        for start in range(0, len(ids), dialogues):
            part = ids[start : start + dialogues]
            yield part, len(part)
