"""The bank of assistant turns: labels, and draws that repeat as little as possible."""

from __future__ import annotations

import random
from collections.abc import Iterator

from benchmark.bank_turns import BANK, BANK_VERSION
from benchmark.records import ASSISTANT, BadRecord, TurnRecord

__all__ = ["BANK_VERSION", "PREFIX", "bank_label", "bank_turns", "is_bank_label", "variants_with"]

PREFIX = "bank:"


def bank_label(type_: str, variant: str) -> str:
    """Label of a bank turn: it says what the turn does, and never equals a step's label."""
    return f"{PREFIX}{type_}:{variant}"


def is_bank_label(label: str) -> bool:
    return label.startswith(PREFIX)


def variants_with(type_: str) -> tuple[str, ...]:
    """Keys of the variants of a type that the bank has turns for."""
    return tuple(BANK.get(type_, {}))


def bank_turns(
    type_: str, variant: str, rng: random.Random, *, task: str = ""
) -> Iterator[TurnRecord]:
    """Turns of a variant without end: an opener, then the others, each once before any returns.

    `task` fills the name of the other procedure, where a turn speaks of it.
    """
    try:
        openers, others = BANK[type_][variant]
    except KeyError:
        raise BadRecord("variant", f"the bank has no turns for {type_} {variant}") from None
    label = bank_label(type_, variant)
    pool = [rng.choice(openers)]
    while True:
        for text in pool:
            yield TurnRecord(role=ASSISTANT, text=text.replace("{task}", task), label=label)
        last = pool[-1]
        pool = list(others or openers)
        rng.shuffle(pool)
        if len(pool) > 1 and pool[0] == last:
            pool.append(pool.pop(0))
