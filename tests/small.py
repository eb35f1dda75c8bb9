"""A small corpus for tests, made row by row so that no test depends on an importer or an engine."""

from __future__ import annotations

import itertools

from benchmark.models import (
    Corpus,
    Dialogue,
    Fork,
    Trajectory,
    TrajectoryStep,
    Turn,
    Workflow,
    WorkflowStep,
    WorkflowTransition,
)
from benchmark.records import FORK_TYPES

STEPS = (
    ("greet", "Greet and ask what is needed"),
    ("ask_name", "Ask for the name"),
    ("ask_day", "Ask for the day"),
    ("offer", "Offer a free table"),
    ("confirm", "Read the booking back"),
    ("close", "Say goodbye"),
)
SAYS = (
    ("Hello, this is the {place}.", "Hi, a table please."),
    ("May I have your name?", "It is {name}."),
    ("Which day suits you?", "On {day}."),
    ("There is a table at eight.", "Eight is fine."),
    ("So {day} at eight for {name}?", "Yes, right."),
    ("It is booked. Goodbye.", "Bye."),
)
PLACES = ("Olive Tree", "Blue Door", "Corner House", "Harbour Room")
NAMES = ("Ada Moss", "Ben Lund", "Cleo Marsh", "Dov Quill")
DAYS = ("Monday", "Tuesday", "Friday", "Sunday")
OFF = {
    "WIC": "Your parcel leaves the depot today.",
    "SSPC": "May I have your name once more?",
    "GR": "Would you answer a short survey about music?",
    "CSC": "Our loyalty card saves you a tenth of the price.",
}


def make_corpus(slug: str = "small", *, n: int = 4, workflow: str = "table_book") -> Corpus:
    """`n` conformant dialogues of twelve turns (six by the assistant) over one workflow."""
    corpus, _ = Corpus.objects.get_or_create(slug=slug, defaults={"title": slug.title()})
    flow = Workflow.objects.create(
        corpus=corpus,
        name=workflow,
        domain="restaurant",
        objective="Book a table",
        digest=f"{workflow:0<64}"[:64],
    )
    steps = [
        WorkflowStep.objects.create(
            workflow=flow,
            position=i,
            key=key,
            text=text,
            is_start=i == 1,
            is_terminal=i == len(STEPS),
        )
        for i, (key, text) in enumerate(STEPS, start=1)
    ]
    for i, (a, b) in enumerate(itertools.pairwise(steps), start=1):
        WorkflowTransition.objects.create(workflow=flow, position=i, source=a, target=b)
    for i in range(n):
        add_dialogue(corpus, flow, f"{workflow}-{i}", said(i), conformant=True, split=half(i, n))
    return corpus


def half(i: int, n: int) -> str:
    return "train" if i < n // 2 else "test"


def said(i: int) -> list[tuple[str, str, str]]:
    """(role, text, label) of the i-th dialogue."""
    words = {
        "place": PLACES[i % 4],
        "name": NAMES[(i // 4 + i) % 4],
        "day": DAYS[(i // 16 + i) % 4],
    }
    turns = []
    for (system, user), (key, _) in zip(SAYS, STEPS, strict=True):
        turns.append(("assistant", system.format(**words), key))
        turns.append(("user", user.format(**words), ""))
    return turns


def add_dialogue(
    corpus, workflow, external_id, turns, *, conformant=None, split="", fmt="dialfork"
):
    roles = [role for role, _, _ in turns]
    dialogue = Dialogue.objects.create(
        corpus=corpus,
        workflow=workflow,
        format=fmt,
        external_id=external_id,
        digest=f"{external_id:0<64}"[:64],
        conformant=conformant,
        split=split,
        n_turns=len(turns),
        n_assistant_turns=roles.count("assistant"),
    )
    seen = 0
    rows = []
    for number, (role, text, label) in enumerate(turns, start=1):
        seen += role == "assistant"
        rows.append(
            Turn(
                dialogue=dialogue,
                number=number,
                assistant_number=seen if role == "assistant" else None,
                role=role,
                text=text,
                label=label,
            )
        )
    Turn.objects.bulk_create(rows)
    return dialogue


def make_forks(source: Corpus, into: str = "small-forks") -> Corpus:
    """Sixteen forks of every conformant dialogue of `source`: four types at k = 1..4."""
    corpus = Corpus.objects.create(slug=into, title=into.title())
    dialogues, turns, forks = [], [], []
    for origin in source.dialogues.filter(conformant=True).order_by("id"):
        said = list(origin.turns.order_by("number"))
        for type_ in FORK_TYPES:
            for k in (1, 2, 3, 4):
                fork = fork_row(origin, said, type_, k)
                dialogue = Dialogue(
                    corpus=corpus,
                    workflow_id=origin.workflow_id,
                    format="splice",
                    external_id=f"{origin.external_id}.{type_}.{k}",
                    digest=f"{origin.external_id}.{type_}.{k}:".ljust(64, "0")[:64],
                    conformant=False,
                    n_turns=origin.n_turns,
                    n_assistant_turns=origin.n_assistant_turns,
                )
                fork.dialogue = dialogue
                dialogues.append(dialogue)
                forks.append(fork)
                turns += [
                    Turn(
                        dialogue=dialogue,
                        number=t.number,
                        assistant_number=t.assistant_number,
                        role=t.role,
                        text=OFF[type_]
                        if t.role == "assistant" and t.number >= fork.fork_turn
                        else t.text,
                        label=t.label,
                    )
                    for t in said
                ]
    Dialogue.objects.bulk_create(dialogues)
    Turn.objects.bulk_create(turns)
    Fork.objects.bulk_create(forks)
    return corpus


def fork_row(source, said, type_, k) -> Fork:
    """The fork of `source` at position `k`, without its dialogue."""
    at = 1 + round((k - 1) * source.n_assistant_turns / 4)
    return Fork(
        source=source,
        type=type_,
        variant="test",
        k=k,
        fork_assistant_turn=at,
        fork_turn=[t.number for t in said if t.role == "assistant"][at - 1],
        instruction=f"From now on: {OFF[type_]}",
        seed=k,
        replay="exact",
        generator="tests",
    )


def make_trajectory(corpus: Corpus, external_id: str = "run-1") -> Trajectory:
    trajectory = Trajectory.objects.create(
        corpus=corpus,
        format="trajel",
        external_id=external_id,
        digest=f"{external_id:0<64}"[:64],
        task="Find the pump that needs service first.",
        n_steps=2,
    )
    for position in (1, 2):
        TrajectoryStep.objects.create(
            trajectory=trajectory,
            position=position,
            number=position,
            agent="sensor agent",
            thought="I read the list of pumps.",
            action="list_pumps()",
            observation="pump 1, pump 2",
        )
    return trajectory
