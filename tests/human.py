"""A small set of dialogues as people might have them, for tests of the splice engine."""

from __future__ import annotations

import random

from benchmark.records import DialogueRecord, StepSpec, TurnRecord, WorkflowRecord

NAMES = ("Ada Moss", "Ben Lund", "Cleo Marsh", "Dov Quill", "Eve Hart", "Finn Oak")
DAYS = ("Monday", "Tuesday", "Friday", "Sunday")
TASKS: dict[str, tuple[str, list[tuple[str, str, str]]]] = {
    "table_book": (
        "restaurant",
        [
            ("greet", "Hello, how can I help?", "I would like a table, please."),
            ("ask_name", "May I have your name?", "My name is {name}."),
            ("ask_day", "Which day suits you?", "{day} would suit me."),
            ("ask_guests", "How many guests will there be?", "There will be {n} of us."),
            ("table_offer", "There is a table for {n} on {day}.", "Yes please."),
            ("table_confirm", "So {day}, {n} guests, for {name}?", "Yes, right."),
            ("table_done", "Your table on {day} is booked.", "Great, thanks."),
            ("bye", "Thank you and goodbye.", "Bye."),
        ],
    ),
    "meal_order": (
        "restaurant",
        [
            ("greet", "Hello, how can I help?", "I want to order food."),
            ("meal_ask_dish", "Which dish would you like?", "The soup for {n}."),
            ("meal_ask_street", "What is your address?", "{n} Mill Lane."),
            ("ask_name", "May I have your name?", "It is {name}."),
            ("meal_ask_pay", "Will you pay by card?", "Okay."),
            ("meal_done", "Your meal comes in {n} minutes.", "Perfect, thank you."),
            ("bye", "Enjoy, and goodbye.", "Bye."),
        ],
    ),
    "parcel_track": (
        "post",
        [
            ("greet", "Hello, how can I help?", "Where is my parcel?"),
            ("parcel_ask_number", "What is the parcel number?", "It is {n}{n}7."),
            ("parcel_ask_code", "And your postal code?", "{n}0{n}."),
            ("parcel_found", "It left the depot on {day}.", "Good."),
            ("bye", "Goodbye.", "Bye."),
        ],
    ),
}


def workflows() -> dict[str, WorkflowRecord]:
    return {
        name: WorkflowRecord(
            name, domain, steps=[StepSpec(key, said) for key, said, _ in lines], start="greet"
        )
        for name, (domain, lines) in TASKS.items()
    }


def dialogue(task: str, number: int, *, drop: int = 0, blank: float = 0.1) -> DialogueRecord:
    """One dialogue: the user opens, the assistant closes; `blank` of the labels are missing."""
    rng = random.Random(f"{task} {number}")
    words = {"name": rng.choice(NAMES), "day": rng.choice(DAYS), "n": rng.randint(2, 9)}
    lines = TASKS[task][1]
    for _ in range(drop):
        out = rng.choice(lines[1:-1])
        lines = [line for line in lines if line is not out]
    turns = [TurnRecord("user", f"Hi, this is {words['name']}.")]
    for key, said, heard in lines:
        label = "" if rng.random() < blank else key
        turns.append(TurnRecord("assistant", said.format(**words), label=label, meta={"time": 1}))
        turns.append(TurnRecord("user", heard.format(**words)))
    return DialogueRecord(
        f"{task}-{number}{'-short' * drop}", turns[:-1], workflow=task, conformant=True
    )


def pool(each: int = 12, **settings) -> list[DialogueRecord]:
    return [dialogue(task, i, **settings) for task in TASKS for i in range(each)]
