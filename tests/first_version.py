"""Makes a database as the first version did, with one judged item: `python -m tests.first_version`.

Only the first migration of each app runs, and rows are written with the models of that time.
"""

from __future__ import annotations

from typing import Any

import django
from django.utils import timezone

APPS = ("benchmark", "scoring", "annotation")
# Tables that hold a row when this is done.
TABLES = {
    "auth_user",
    *(f"benchmark_{name}" for name in ("corpus", "workflow", "dialogue", "turn", "fork")),
    *(f"scoring_{name}" for name in ("run", "chunk", "embedding", "dialoguescore")),
    *(f"annotation_{name}" for name in ("study", "study_corpora", "item", "seat", "assignment")),
    *(f"annotation_{name}" for name in ("sliderrating", "instructionconfirmation", "onsetmark")),
    "annotation_prefixjudgement",
}


def first_apps() -> Any:
    """Migrate an empty database as far as the first version did; its models."""
    from django.core.management import call_command
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    for app in ("contenttypes", "auth", "admin", "sessions"):
        call_command("migrate", app, verbosity=0)
    first = [(app, "0001_initial") for app in APPS]
    executor = MigrationExecutor(connection)
    executor.migrate(first)
    users = [key for key in executor.loader.graph.leaf_nodes() if key[0] == "auth"]
    return executor.loader.project_state([*first, *users]).apps


def fill(apps: Any) -> None:
    """One study with one finished judgement, and one run that scored its dialogue."""

    def add(model: str, /, **values: Any) -> Any:
        return apps.get_model(model).objects.create(**values)

    person = add("auth.User", username="ann", password="!")
    corpus = add("benchmark.Corpus", slug="old", title="Old", split_seed=1)
    flow = add("benchmark.Workflow", corpus=corpus, name="book", digest="0" * 64)
    fields = {"corpus": corpus, "workflow": flow, "format": "star", "n_assistant_turns": 1}
    source, said = (
        add("benchmark.Dialogue", external_id=f"d{n}", digest=f"{n}" * 64, n_turns=2, **fields)
        for n in (1, 2)
    )
    asked = add("benchmark.Turn", dialogue=said, number=1, role="user", text="مرحبا")
    turn = add(
        "benchmark.Turn",
        dialogue=said,
        number=2,
        assistant_number=1,
        role="assistant",
        text="=1+1 \U0001f600",
    )
    add(
        "benchmark.Fork",
        **{"dialogue": said, "source": source, "ordinal": 1, "type": "GR", "variant": "v", "k": 1},
        **{"fork_assistant_turn": 1, "fork_turn": 2, "instruction": "Ask.", "seed": 1},
    )
    assert asked.pk != turn.pk
    judge(add, person, corpus, said, turn)
    run = add("scoring.Run", kind="task2", corpus=corpus, parameters={"a": 1}, digest="r")
    add("scoring.Chunk", run=run, ordinal=1, keys=[said.pk], size=1)
    add("scoring.Embedding", encoder="lexical", text_digest=b"d" * 32, vector=b"\x00\x01")
    add("scoring.DialogueScore", run=run, dialogue=said, value=0.25)


def judge(add: Any, person: Any, corpus: Any, dialogue: Any, turn: Any) -> None:
    """All three steps of one item."""
    now = timezone.now()
    study = add("annotation.Study", slug="first", title="First round", seed=7, state="open")
    study.corpora.add(corpus)
    item = add(
        "annotation.Item",
        **{"study": study, "dialogue": dialogue, "instruction": "Ask.", "is_foil": False},
        **{"instruction_type": "GR", "instruction_variant": "v"},
    )
    seat = add(
        "annotation.Seat", study=study, number=1, pseudonym="A1B2C3", user=person, taken_at=now
    )
    assignment = add(
        "annotation.Assignment",
        **{"seat": seat, "item": item, "rank": 1, "token": "t" * 22, "finished_at": now},
    )
    rating = add("annotation.SliderRating", assignment=assignment, value=37)
    confirmed = add("annotation.InstructionConfirmation", slider=rating, answer="yes")
    onset = add("annotation.OnsetMark", confirmation=confirmed, turn=turn)
    add("annotation.PrefixJudgement", onset=onset, answer="mostly")


if __name__ == "__main__":
    django.setup()
    fill(first_apps())
