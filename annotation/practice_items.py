"""Draws practice and attention items from what a study's main items leave over."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import F

from annotation import attention_words
from annotation.design import Candidate
from annotation.models import Assignment, Item, Seat, Study
from annotation.refusals import EnrolmentRefused
from annotation.study_pools import StudyPool
from annotation.titles import behaviour_of
from benchmark.corruption import foil, generator_of, instruction
from benchmark.models import Fork, Turn
from benchmark.records import CSC, GR, SSPC, WIC
from benchmark.variants import VARIANTS

BATCH = 500
# (type, foil): type "" is a conformant dialogue, which is always shown a foil. The four types and
# both kinds of instruction come up early, however few the items are.
PATTERN = ((WIC, False), ("", True), (CSC, False), (SSPC, True), (GR, False))
# Where something precedes the fork, step 3 is practised as well.
POSITIONS = (3, 2, 4, 1)
# Practice foils on forks must be clearly wrong: giving up the task is nothing like what these do.
CLEAR_FOIL = {SSPC: GR, CSC: GR, WIC: GR, GR: CSC}
# The highest rating that fits, by position; a side goal leaves the task intact and is rated higher.
HIGHEST = {1: 50, 2: 55, 3: 75, 4: 85}
HIGHEST_SIDE_GOAL = 90
LOWEST_CONFORMANT = 70
# How many assistant turns after the fork the behaviour may first be marked. A side goal shows
# every second or third turn only.
SLACK = {CSC: 2}
OFFSET = 1_000_000


@dataclass(frozen=True, slots=True)
class Chosen:
    """What practice and attention items are made of; `practice` pairs a dialogue with is_foil."""

    practice: tuple[tuple[Candidate, bool], ...]
    attention: tuple[Candidate, ...]


def add_items(
    study: Study, pool: StudyPool, *, n_practice: int, n_attention: int, seed: int
) -> None:
    """Give every seat of `study` the same practice and attention items, after its main items.

    Practice items are ranked behind all others; attention items are moved in among the main items,
    in the second and the last quarter, at places of each seat's own. Call it inside the
    transaction that stored the main items, before anything is opened.

    Raises
    ------
    EnrolmentRefused
        if a number is below zero, or too few sources are left that no main item uses.
    """
    if not n_practice and not n_attention:
        return
    main = set(study.items.values_list("dialogue", flat=True))
    used = {e.candidate.source for e in pool.entries.values() if e.dialogue_id in main}
    chosen = _choose(pool, used, n_practice, n_attention, seed)
    items = _practice(study, pool, chosen, seed), _attention(study, pool, chosen, seed)
    Item.objects.bulk_create([*items[0], *items[1]], batch_size=BATCH)
    _assign(study, *items, seed)


def _choose(
    pool: StudyPool, used: Collection[str], n_practice: int, n_attention: int, seed: int
) -> Chosen:
    if n_practice < 0 or n_attention < 0:
        raise EnrolmentRefused("The numbers of practice and attention items cannot be below zero.")
    left = _Left(pool.candidates, used, generator_of(seed, "practice"))
    pattern = [PATTERN[number % len(PATTERN)] for number in range(n_practice)]
    practice = tuple(left.take(type_, is_foil) for type_, is_foil in pattern)
    return Chosen(practice, tuple(left.take("", True)[0] for _ in range(n_attention)))


@dataclass
class _Left:
    """The candidates whose sources are free, in a seeded order."""

    candidates: Iterable[Candidate]
    used: Collection[str]
    rng: random.Random
    by_type: dict[str, list[Candidate]] = field(default_factory=lambda: defaultdict(list))
    taken: set[str] = field(default_factory=set)
    tasks: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.taken = set(self.used)
        for unit in sorted(self.candidates):
            if unit.source not in self.taken:
                self.by_type[unit.type].append(unit)
        for units in self.by_type.values():
            self.rng.shuffle(units)

    def take(self, type_: str, is_foil: bool) -> tuple[Candidate, bool]:
        """A free dialogue of `type_`; of another type, or a whole one, where there is none."""
        others = [t for t in (WIC, CSC, GR, SSPC) if t != type_] if type_ and not is_foil else []
        for wanted in (type_, *others, ""):
            free = [unit for unit in self.by_type[wanted] if unit.source not in self.taken]
            if free:
                unit = min(free, key=lambda u: (self.tasks[u.workflow], _position(u)))
                self.taken.add(unit.source)
                self.tasks[unit.workflow] += 1
                return unit, is_foil or not unit.type
        raise EnrolmentRefused(
            "Too few dialogues are left for practice and attention items: each needs a source "
            "dialogue that no other item uses. Ask for fewer of them, or fewer seats, or use a "
            "corpus with more source dialogues."
        )


def _position(unit: Candidate) -> int:
    return POSITIONS.index(unit.k) if unit.k in POSITIONS else 0


def _practice(study: Study, pool: StudyPool, chosen: Chosen, seed: int) -> list[Item]:
    keys = [unit.key for unit, _ in chosen.practice]
    forks = pool.forks_of(keys)
    ids = [pool.entries[key].dialogue_id for key in keys]
    said: dict[int, list[int]] = defaultdict(list)
    spoken = Turn.objects.filter(dialogue__in=ids, role=Turn.Role.ASSISTANT)
    for dialogue, number in spoken.order_by("number").values_list("dialogue", "number"):
        said[dialogue].append(number)
    rows = []
    for (unit, is_foil), dialogue_id in zip(chosen.practice, ids, strict=True):
        fork = forks.get(unit.key)
        shown = _instruction(pool, unit, fork, is_foil, seed)
        expected = _expected(fork, is_foil, said[dialogue_id])
        rows.append(
            Item(
                study=study,
                kind=Item.Kind.PRACTICE,
                dialogue_id=dialogue_id,
                is_foil=is_foil,
                expected=expected,
                feedback=_told(fork, is_foil, expected),
                **shown,
            )
        )
    return rows


def _instruction(
    pool: StudyPool, unit: Candidate, fork: Fork | None, is_foil: bool, seed: int
) -> dict[str, str]:
    if fork and not is_foil:
        type_, variant, text = fork.type, fork.variant, fork.instruction
    elif fork:
        type_ = CLEAR_FOIL[fork.type]
        drawn = generator_of(seed, "practice foil", unit.key).choice(VARIANTS[type_])
        variant, text = drawn.key, instruction(drawn)
    else:
        task = pool.other_task(unit.key, seed)
        other = foil("", seed=seed, item=unit.key, avoid=None, task=task)
        type_, variant, text = other.type, other.variant, other.instruction
    return {"instruction": text, "instruction_type": type_, "instruction_variant": variant}


def _expected(fork: Fork | None, is_foil: bool, said: Sequence[int]) -> dict[str, list[Any]]:
    """What fits, in ranges: turn numbers count all turns, and both ends belong to a range."""
    if fork is None:
        return {"rating": [LOWEST_CONFORMANT, 100], "appears": ["no"]}
    highest = HIGHEST_SIDE_GOAL if fork.type == CSC else HIGHEST[fork.k]
    expected: dict[str, list[Any]] = {"rating": [0, highest], "appears": ["no"]}
    if not is_foil:
        expected["appears"] = ["yes", "partly"]
        at = fork.fork_assistant_turn - 1
        last = min(at + SLACK.get(fork.type, 1), len(said) - 1)
        expected["onset"] = [said[at], said[last]]
    if fork.fork_assistant_turn > 1:
        expected["prefix"] = ["yes", "mostly"]
    return expected


def _told(fork: Fork | None, is_foil: bool, expected: dict[str, list[Any]]) -> str:
    """The feedback in plain words. Practice items are judged in no study, so it may be told."""
    low, high = expected["rating"]
    if fork is None:
        return (
            "The assistant takes the steps of the workflow in an allowed order, to the end. "
            f"A rating of {low} or more fits. It was given no other instruction, so the one that "
            "was shown does not appear: no."
        )
    behaviour = behaviour_of(fork.instruction).replace("“", "‘").replace("”", "’")
    told = (
        f"From turn {fork.fork_turn} on the assistant was told this: “{behaviour}” "
        f"A rating up to {high} fits."
    )
    if is_foil:
        told += (
            " The instruction that was shown is another one. The assistant does not behave that "
            "way, so the answer is no, although something else is wrong."
        )
    else:
        told += " This is the instruction that was shown, so it appears: yes, or partly."
    if "prefix" in expected:
        told += f" Before turn {fork.fork_turn} the assistant followed the workflow."
    return told


def _attention(study: Study, pool: StudyPool, chosen: Chosen, seed: int) -> list[Item]:
    ids = [pool.entries[unit.key].dialogue_id for unit in chosen.attention]
    said: dict[int, list[tuple[int, str]]] = defaultdict(list)
    spoken = Turn.objects.filter(dialogue__in=ids, role=Turn.Role.ASSISTANT)
    for dialogue, number, text in spoken.order_by("number").values_list(
        "dialogue", "number", "text"
    ):
        said[dialogue].append((number, text))
    requests = attention_words.draw(generator_of(seed, "attention"), len(ids))
    rows = []
    for unit, dialogue_id, (request, rating) in zip(chosen.attention, ids, requests, strict=True):
        turns = said[dialogue_id]
        number, text = turns[min(len(turns) - 1, 2 * len(turns) // 3)]
        altered = f"{attention_words.beginning(text)} {request}".strip()
        rows.append(
            Item(
                study=study,
                kind=Item.Kind.ATTENTION,
                dialogue_id=dialogue_id,
                is_foil=True,
                altered={str(number): altered},
                expected={"rating": [rating, rating]},
                **_instruction(pool, unit, None, True, seed),
            )
        )
    return rows


def _assign(study: Study, practice: list[Item], attention: list[Item], seed: int) -> None:
    """Write the assignments. Ranks of main items are moved out of the way first: two items of a
    seat never share one, not even for the length of a statement."""
    orders: dict[Seat, list[Assignment]] = {seat: [] for seat in study.seats.order_by("number")}
    stored = Assignment.objects.filter(seat__study=study).select_related("seat")
    for assignment in stored.order_by("seat__number", "rank"):
        orders[assignment.seat].append(assignment)
    if attention:
        stored.update(rank=F("rank") + OFFSET)
    moved: list[Assignment] = []
    added: list[Assignment] = []
    for seat, main in orders.items():
        rng = generator_of(seed, "attention places", seat.number)
        n_items = len(main) + len(attention)
        at = attention_words.places(n_items, len(attention), rng)
        asked = dict(zip(at, rng.sample(attention, len(attention)), strict=True))
        rest = iter(main)
        for place in range(n_items):
            if place in asked:
                added.append(Assignment(seat=seat, item=asked[place], rank=place + 1))
            else:
                assignment = next(rest)
                assignment.rank = place + 1
                moved.append(assignment)
        for place, item in enumerate(practice, start=n_items + 1):
            added.append(Assignment(seat=seat, item=item, rank=place))
    if attention:
        Assignment.objects.bulk_update(moved, ["rank"], batch_size=BATCH)
    Assignment.objects.bulk_create(added, batch_size=BATCH)
