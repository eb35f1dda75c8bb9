"""Recompute every number of this run, without a database: the first off-track turn (task 3).

Run it with the project on the path: PYTHONPATH=/path/to/dialfork python reproduce.py
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from scoring import onset_fitters
from scoring.onset_methods import first_alarm
from scoring.onset_summaries import Thresholds, summarise
from scoring.onset_sums import OnsetRow
from scoring.reproducing import ExportedDialogue, ExportedRun, Numbers, report
from scoring.workflow_steps import KnownStep, WorkflowKnowledge

NO_ASSISTANT_TURN = "the dialogue has no assistant turn that says something"
NOTHING_FITTED = "the workflow has no conformant dialogue in its train half to learn from"


def main(folder: Path) -> int:
    run = ExportedRun(folder)
    found = Numbers()
    tested, several = test_set(run)
    rows: dict[int, OnsetRow] = {}
    thresholds: dict[str, Thresholds] = {}
    for workflow, dialogues in tested.items():
        answers, threshold = answered(run, found, workflow, dialogues)
        if threshold:
            thresholds[run.workflows[workflow]["name"]] = threshold
        for dialogue in dialogues:
            rows[dialogue.id] = row_of(run, found, dialogue, answers[dialogue.id])
    summary = summarise(
        [rows[key] for key in sorted(rows)],
        thresholds,
        seed=run.parameters["bootstrap_seed"],
        resamples=run.parameters["bootstrap_resamples"],
        several_injections=several,
    )
    for row in summary:
        found.add_estimate(row.estimate, row.statistic, row.group, row.workflow, row.k)
    return report(run, found)


def test_set(run: ExportedRun) -> tuple[dict[int, list[ExportedDialogue]], int]:
    """Forks of conformant test dialogues and these dialogues, by workflow of the source; and how
    many forks are left out because they leave their workflow more than once."""
    tested: dict[int, list[ExportedDialogue]] = defaultdict(list)
    several = 0
    for dialogue in run.read():
        if not dialogue.forks or not dialogue.numbers:
            continue
        source = run.dialogues[dialogue.forks[0]["source_id"]]
        ours = dialogue.corpus in run.parameters["corpora"] and source.workflow is not None
        if ours and source.conformant and source.split == "test":
            if dialogue.fork:
                tested[source.workflow].append(dialogue)
            else:
                several += 1
    for dialogue in run.read():
        calm = dialogue.conformant and dialogue.split == "test" and not dialogue.forks
        if calm and dialogue.workflow in tested and dialogue.numbers:
            tested[dialogue.workflow].append(dialogue)
    return tested, several


def answered(
    run: ExportedRun, found: Numbers, workflow: int, dialogues: list[ExportedDialogue]
) -> tuple[dict[int, tuple[int | None, str, list[Any]]], Thresholds | None]:
    """(turn, reason, values) of each dialogue, and the thresholds of the workflow."""
    method, settings = run.parameters["method"], run.parameters["settings"]
    observed = {each.id: run.observed(each) for each in dialogues}
    numbers = {key: onset_fitters.assistant_turns(turns) for key, turns in observed.items()}
    answers = {key: (None, NO_ASSISTANT_TURN, []) for key in observed}
    judged = [each for each in dialogues if numbers[each.id]]
    if method in onset_fitters.TRIVIAL:
        for each in judged:
            turn = onset_fitters.trivial_answer(
                method, numbers[each.id], each.external_id, settings
            )
            answers[each.id] = (turn, "", [])
        return answers, None
    fitted, reason = fit(run, workflow)
    if fitted is None:
        found.add("calibration", workflow, values=[], detail={"reason": reason})
        answers |= {each.id: (None, reason, []) for each in judged}
        return answers, None
    cuts = onset_fitters.cuts_of(fitted, settings["alpha"])
    form = onset_fitters.form_of(settings)
    detail: dict[str, Any] = {"cuts": cuts, "form": form}
    if hasattr(fitted, "promise"):
        detail["promise"] = fitted.promise(settings["alpha"])
    found.add("calibration", workflow, values=list(fitted.calibration), detail=detail)
    if method in onset_fitters.WITH_GRAPH:
        found.add("graph", workflow, graph=fitted.graph.to_dict())
    seen = onset_fitters.suspicions(fitted, [observed[each.id] for each in judged])
    for each, values in zip(judged, seen, strict=True):
        turn = first_alarm(values, dict(cuts)[settings["alpha"]])
        answers[each.id] = (turn, "", [list(value) for value in values])
    return answers, Thresholds(len(fitted.calibration), form, settings["alpha"], cuts)


def fit(run: ExportedRun, workflow: int) -> tuple[Any, str]:
    """The method fitted on the conformant train half, or None and the reason."""
    method, settings = run.parameters["method"], run.parameters["settings"]
    dialogues = run.fitting_half(workflow)
    if not dialogues:
        return None, NOTHING_FITTED
    known = None
    if method in onset_fitters.WITH_WORKFLOW:
        known = knowledge(run, workflow, dialogues, others=settings["other_workflows"])
    try:
        train = [run.observed(each) for each in dialogues]
        return onset_fitters.fit(method, train, settings, known), ""
    except ValueError as error:
        return None, str(error)[:200]


def knowledge(
    run: ExportedRun, workflow: int, train: list[ExportedDialogue], *, others: bool
) -> WorkflowKnowledge:
    """Steps, moves and training labels of the workflow, and steps of the corpus's others."""
    own = run.workflows[workflow]
    rest = [flow for flow in run.workflows.values() if flow["corpus"] == own["corpus"]]
    foreign = [
        step
        for flow in rest
        if others and flow is not own
        for step in flow["steps"]
        if step["kind"] != "state"
    ]
    return WorkflowKnowledge(
        steps=tuple(known_step(run, step) for step in own["steps"]),
        labels=tuple(tuple(each.labels[i] for i in each.scored) for each in train),
        moves=tuple(dict.fromkeys((a, b) for a, b, _ in own["moves"])),
        start=next((step["key"] for step in own["steps"] if step["is_start"]), ""),
        terminals=frozenset(step["key"] for step in own["steps"] if step["is_terminal"]),
        others=tuple(known_step(run, step) for step in foreign),
    )


def known_step(run: ExportedRun, step: dict[str, Any]) -> KnownStep:
    vector = run.vectors_for([step["text"]])[0] if step["text"].strip() else None
    return KnownStep(step["key"], step["text"], vector, step["kind"] != "state")


def row_of(
    run: ExportedRun,
    found: Numbers,
    dialogue: ExportedDialogue,
    answer: tuple[int | None, str, list[Any]],
) -> OnsetRow:
    """The answer with its truth; the truth of a conformant dialogue is one past its last turn."""
    turn, reason, values = answer
    numbers = onset_fitters.assistant_turns(run.observed(dialogue))
    first, last = (numbers[0], numbers[-1]) if numbers else (0, 0)
    detail = {"first": first, "last": last} if numbers else {}
    found.add("onset", dialogue.id, turn=turn, reason=reason, detail=detail, turns=values)
    place = dialogue.fork
    source = run.dialogues[place["source_id"]] if place else dialogue
    return OnsetRow(
        source="/".join((source.corpus, source.format, source.external_id)),
        workflow=run.workflows[source.workflow]["name"],
        type=place["type"] if place else "",
        k=place["k"] if place else 0,
        truth=place["fork_turn"] if place else last + 1,
        first=first,
        last=last,
        answer=turn,
        reason=reason,
        turns=values,
    )


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parent))
