"""Scripted conversations: an assistant that walks a workflow, a user with slots and moods.

Replay is exact: every wording and choice has a generator of its own, seeded by the dialogue's seed
and the turn it is for, so that the turns before a fork are the same whatever happens after it
(DialFork, section 3). From the fork on the generators are named by type, variant and position too.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from benchmark.corruption import fork_points, generator_of
from benchmark.progressions import Standing
from benchmark.records import (
    ASSISTANT,
    CSC,
    GR,
    SSPC,
    USER,
    WIC,
    BadRecord,
    DialogueRecord,
    TurnRecord,
    WorkflowRecord,
)
from benchmark.scripted_agents import (
    TASK,
    Assistant,
    Behaviour,
    Corruption,
    begin,
    corrupt,
    enter,
    standing,
)
from benchmark.scripted_users import User
from benchmark.scripts import draw_scenario

HARD_STOP = 40
SURPLUS = {WIC: (0, 1, 2, 3), SSPC: (-1, 0, 0, 1, 1), GR: (0, 1, 2, 3, 4), CSC: (0, 1, 2, 3)}
SELF_FILLING = {"repeat", "stall", "close_early"}
OVERRIDE_RATE = 0.4


def simulate(
    workflow: WorkflowRecord,
    *,
    seed: int,
    external_id: str = "",
    corruption: Corruption | None = None,
    fork_assistant_turn: int | None = None,
    length: int | None = None,
) -> DialogueRecord:
    """One conversation, conformant or corrupted from assistant turn `fork_assistant_turn` on.

    Parameters
    ----------
    length : for a corrupted conversation, the number of assistant turns at which the assistant is
        made to close, whatever is open (default: as long as the workflow lasts, or `HARD_STOP`).

    Raises
    ------
    BadRecord
        If only one of `corruption` and `fork_assistant_turn` is given, the workflow has no usable
        script, or the conversation ends before the fork turn.
    """
    if (corruption is None) != (fork_assistant_turn is None):
        raise BadRecord("simulation", "needs both a corruption and its assistant turn, or neither")
    talk = begin(workflow, draw_scenario(workflow, seed))
    user, assistant = User(workflow, talk), Assistant(Behaviour(workflow), talk)
    turns = [TurnRecord(USER, user.open(_generator(seed, USER, 0)))]
    number, key = 0, ()
    while True:
        number += 1
        forked = corruption is not None and number >= (fork_assistant_turn or 0)
        if corruption and number == fork_assistant_turn:
            key = (corruption.type, corruption.variant, number)
            user, assistant = _take_over(assistant, user, corruption, seed)
        left = (length or HARD_STOP) - number + 1 if forked else None
        rng = _generator(seed, ASSISTANT, number, *key)
        said = assistant.act(rng, left=left, first=number == 1)
        turns.append(TurnRecord(ASSISTANT, said.text, label=said.label))
        wander = _wander(assistant, left - 1) if left is not None else None
        answer = user.answer(said, _generator(seed, USER, number, *key), wander=wander)
        turns.append(TurnRecord(USER, answer))
        if said.ends or number >= HARD_STOP:
            break
    if corruption and not key:
        raise BadRecord(external_id or workflow.name, f"ends before turn {fork_assistant_turn}")
    return DialogueRecord(
        external_id=external_id or f"{workflow.name}-{seed}",
        turns=tuple(turns),
        workflow=workflow.name,
        conformant=corruption is None,
        meta={"seed": seed, "mood": talk.scenario.mood},
        where=f"simulation of {workflow.name}",
    )


def standings(workflow: WorkflowRecord, *, seed: int, turns: Sequence[int]) -> list[Standing]:
    """Where the conformant conversation stands before each of the assistant turns `turns`."""
    talk = begin(workflow, draw_scenario(workflow, seed))
    user, assistant = User(workflow, talk), Assistant(Behaviour(workflow), talk)
    user.open(_generator(seed, USER, 0))
    found = []
    for number in range(1, max(turns) + 1):
        if number in turns:
            found.append(standing(workflow, talk, 0))
        said = assistant.act(_generator(seed, ASSISTANT, number), left=None, first=number == 1)
        user.answer(said, _generator(seed, USER, number))
    return found


def draw_length(type_: str, n_assistant_turns: int, *, source: str, k: int, seed: int) -> int:
    """Assistant turns of a fork: the source's number and a surplus that does not depend on k.

    At least one turn follows the fork turn of every position, so that the least length is that of
    the last position for all four.
    """
    rng = generator_of(seed, "length", source, type_, k)
    least = fork_points(n_assistant_turns)[-1] + 1
    return max(n_assistant_turns + rng.choice(SURPLUS[type_]), least)


def _generator(seed: int, *parts: object) -> random.Random:
    return generator_of(seed, "turn", *parts)


def _take_over(
    assistant: Assistant, user: User, corruption: Corruption, seed: int
) -> tuple[User, Assistant]:
    """The corrupted assistant, and the user as they face it."""
    behaviour = corrupt(assistant.behaviour, corruption)
    if behaviour.workflow is assistant.behaviour.workflow:
        return user, Assistant(behaviour, assistant.talk)
    native = assistant.behaviour.workflow
    talk = enter(behaviour.workflow, assistant.talk, seed=seed, native=native)
    return User(behaviour.workflow, talk), Assistant(behaviour, talk, native=False)


def _wander(assistant: Assistant, left: int) -> float:
    """Chance of a side question after a forked turn: what spreads the spare turns evenly."""
    behaviour = assistant.behaviour
    if left <= 1:
        return 0.0
    if behaviour.objective != TASK or behaviour.delta in SELF_FILLING:
        return 0.05
    spare = left - len(assistant.talk.pending)
    if behaviour.side_goal:
        spare -= round(OVERRIDE_RATE * left)
    return min(1.0, max(0.0, spare / left))
