"""Writing a run as a folder from which every number of it can be computed again, offline."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from django.db.models import Model, Q, QuerySet

from benchmark.models import Corpus, Dialogue, Turn, Workflow
from scoring import comparisons, label_runs, onsets, reproducers
from scoring.corpora import encoder_of, fitting_turns
from scoring.embeddings import vectors_for
from scoring.exported_agent_runs import line_of
from scoring.models import Run
from scoring.turn_vectors import scored_turns

AT_ONCE = 2000
FORK_FIELDS = ("type", "k", "variant", "fork_turn", "fork_assistant_turn", "source_id")
SCRIPTS = Path(reproducers.__file__).parent
# Relation of a run -> (kind of number, what makes a row the same row, its fields).
STORED: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "scores": ("score", ("dialogue_id",), ("value", "reason", "detail", "turns")),
    "set_distances": ("set", ("workflow_id", "type", "k"), ("value", "reason", "detail")),
    "onset_answers": ("onset", ("dialogue_id",), ("turn", "reason", "detail", "turns")),
    "trajectory_scores": (
        "suspicion",
        ("trajectory_id",),
        ("value", "reason", "detail", "steps"),
    ),
    "flow_graphs": ("graph", ("workflow_id",), ("graph",)),
    "calibrations": ("calibration", ("workflow_id",), ("values", "detail")),
    "results": (
        "result",
        ("statistic", "group", "workflow", "k"),
        ("value", "reason", "n", "skipped", "ci_low", "ci_high", "detail"),
    ),
}


def export_run(run: Run, folder: Path) -> dict[str, int]:
    """Write inputs, parameters, stored numbers and `reproduce.py` of a done run into `folder`.

    Returns how many lines each file has. The folder is made; one that holds anything is refused.
    Raises ValueError with a sentence for that, and for a run that is not done.
    """
    if run.state != Run.State.DONE:
        raise ValueError(
            f"Run {run.pk} is {run.get_state_display().lower()}. Only a run that is done has all "
            "its numbers."
        )
    if "weights" in run.parameters:
        raise ValueError(
            f"Run {run.pk} trained a transformer from {run.parameters['weights']}. Its numbers "
            "hang on the machine that trained it and cannot be computed again from a folder."
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder} is there already and is not an empty folder. Name another one.")
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "run.json", described(run))
    files = inputs_of(run) | {"numbers": numbers(run)}
    counts = {name: write_lines(folder / f"{name}.jsonl", rows) for name, rows in files.items()}
    if "encoder" in run.parameters:
        counts["texts"] = write_vectors(run, folder)
    shutil.copyfile(SCRIPTS / f"{run.kind}.py", folder / "reproduce.py")
    return counts


def described(run: Run) -> dict[str, Any]:
    return {
        "id": run.pk,
        "kind": run.kind,
        "digest": run.digest,
        "code_version": run.code_version,
        "parameters": run.parameters,
    }


def inputs_of(run: Run) -> dict[str, Iterator[Any]]:
    """File name -> its lines: what the numbers of the run were computed from."""
    if run.kind == comparisons.KIND:
        return {"compared": compared(run)}
    if run.kind == label_runs.KIND:
        return {"agent_runs": map(line_of, label_runs.folded_runs(run))}
    return {
        "workflows": workflows(run),
        "fitting": fitting(run),
        "dialogues": dialogues(run),
    }


def compared(run: Run) -> Iterator[dict[str, Any]]:
    """The answers of the runs that are compared: distances by unit, or onset rows for task 3."""
    rows_of = {"task1": set_rows, "task2": fork_rows, "task3": onsets.answer_rows}
    for number in (run.parameters["reference"], *run.parameters["baselines"]):
        member = Run.objects.get(pk=number)
        yield {"run": number, "rows": [list(row) for row in rows_of[member.kind](member)]}


def set_rows(run: Run) -> Iterator[tuple[Any, ...]]:
    """Workflow by outside name, type, k, value and reason of every set."""
    rows = run.set_distances.order_by("pk").values_list(
        "workflow__corpus__slug", "workflow__name", "type", "k", "value", "reason"
    )
    return (("/".join(row[:2]), *row[2:]) for row in rows)


def fork_rows(run: Run) -> Iterator[tuple[Any, ...]]:
    """Source by outside name, type, k, value and reason of every fork."""
    rows = run.scores.filter(dialogue__forks__ordinal=1).order_by("dialogue_id")
    source = "dialogue__forks__source__"
    found = rows.values_list(
        f"{source}corpus__slug",
        f"{source}format",
        f"{source}external_id",
        "dialogue__forks__type",
        "dialogue__forks__k",
        "value",
        "reason",
    )
    return (("/".join(row[:3]), *row[3:]) for row in found.iterator(AT_ONCE))


def read_corpora(run: Run) -> QuerySet[Corpus]:
    return Corpus.objects.filter(slug__in=run.parameters["read"])


def known_workflows(run: Run) -> QuerySet[Workflow]:
    """Workflows of the corpora and of their dialogues."""
    own = Q(corpus__in=read_corpora(run))
    used = Dialogue.objects.filter(corpus__in=read_corpora(run)).values("workflow")
    return Workflow.objects.filter(own | Q(pk__in=used)).order_by("name", "pk")


def fitting(run: Run) -> Iterator[dict[str, Any]]:
    """The conformant train half of each workflow, in the order in which it is fitted on."""
    for workflow in known_workflows(run):
        yield {"workflow": workflow.pk, "dialogues": list(fitting_turns(workflow.pk))}


def dialogues(run: Run) -> Iterator[dict[str, Any]]:
    """Every dialogue of the corpora that the run reads, and all that their workflows are fitted on,
    by id; turns as four columns."""
    read = Dialogue.objects.filter(corpus__in=read_corpora(run))
    fitted = Dialogue.objects.fitting_half().filter(workflow__in=known_workflows(run))
    keys = sorted({*read.values_list("pk", flat=True), *fitted.values_list("pk", flat=True)})
    for start in range(0, len(keys), AT_ONCE):
        part = keys[start : start + AT_ONCE]
        turns = turn_columns(part)
        found = Dialogue.objects.filter(pk__in=part).select_related("corpus")
        for dialogue in found.prefetch_related("forks").order_by("pk"):
            yield {
                "id": dialogue.pk,
                "corpus": dialogue.corpus.slug,
                "format": dialogue.format,
                "external_id": dialogue.external_id,
                "workflow": dialogue.workflow_id,
                "conformant": dialogue.conformant,
                "split": dialogue.split,
                "turns": turns[dialogue.pk],
                "forks": [
                    {name: getattr(fork, name) for name in FORK_FIELDS}
                    for fork in sorted(dialogue.forks.all(), key=lambda fork: fork.ordinal)
                ],
            }


def turn_columns(keys: list[int]) -> dict[int, list[list[Any]]]:
    """Numbers, roles, texts and labels of each dialogue's turns, as four columns."""
    found: dict[int, list[list[Any]]] = {key: [[], [], [], []] for key in keys}
    rows = Turn.objects.filter(dialogue_id__gte=keys[0], dialogue_id__lte=keys[-1])
    for pk, *cells in rows.order_by("dialogue_id", "number").values_list(
        "dialogue_id", "number", "role", "text", "label"
    ):
        if pk in found:
            for column, cell in zip(found[pk], cells, strict=True):
                column.append(cell)
    return found


def workflows(run: Run) -> Iterator[dict[str, Any]]:
    for flow in (
        known_workflows(run)
        .select_related("corpus")
        .prefetch_related("steps", "transitions__source", "transitions__target")
    ):
        yield {
            "id": flow.pk,
            "corpus": flow.corpus.slug,
            "name": flow.name,
            "steps": [
                {
                    "key": step.key,
                    "text": step.text,
                    "kind": step.kind,
                    "is_start": step.is_start,
                    "is_terminal": step.is_terminal,
                }
                for step in flow.steps.all()
            ],
            "moves": [
                [move.source.key, move.target.key, move.observation]
                for move in flow.transitions.all()
            ],
        }


def numbers(run: Run) -> Iterator[dict[str, Any]]:
    """Every stored row of the run: what it is about, and its fields."""
    for relation, (kind, keys, fields) in STORED.items():
        rows: QuerySet[Model] = getattr(run, relation).order_by("pk")
        for row in rows.values(*keys, *fields).iterator(AT_ONCE):
            yield {
                "key": [kind, *(str(row[name]) for name in keys)],
                "fields": {name: row[name] for name in fields},
            }


def write_vectors(run: Run, folder: Path) -> int:
    """`texts.jsonl` and the rows of `vectors.npy`, one per distinct text the run can ask for."""
    encoder = encoder_of(run.parameters)
    if encoder is None:
        raise ValueError(f"Run {run.pk} names an encoder that is not known.")
    texts = list(dict.fromkeys(needed_texts(run)))
    rows = np.lib.format.open_memmap(
        folder / "vectors.npy", mode="w+", dtype="<f4", shape=(len(texts), encoder.dim)
    )
    for start in range(0, len(texts), AT_ONCE):
        part = texts[start : start + AT_ONCE]
        rows[start : start + len(part)] = vectors_for(encoder, part)
    rows.flush()
    return write_lines(folder / "texts.jsonl", iter(texts))


def needed_texts(run: Run) -> Iterator[str]:
    """Scored turns, or whole dialogues for the method `full`; steps where the method knows them."""
    if run.kind == label_runs.KIND:
        yield from sorted(label_runs.texts_read(label_runs.corpora_of(run), run.parameters))
        return
    method = run.parameters.get("method", "")
    whole = method == "full"
    for row in dialogues(run):
        _, roles, texts, _ = row["turns"]
        scored = [texts[i].strip() for i in scored_turns(roles, texts)]
        if not whole:
            yield from scored
        elif scored:
            yield "\n".join(scored)
    for flow in workflows(run) if method.startswith("workflow_") else ():
        yield from (text for step in flow["steps"] if (text := step["text"].strip()))


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, allow_nan=False, indent=1) + "\n", "utf-8")


def write_lines(path: Path, rows: Iterable[Any]) -> int:
    n = 0
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, allow_nan=False) + "\n")
            n += 1
    return n
