"""What a fork is made of, whichever engine makes it: fork points, variants, instructions, foils.

Sources: DialFork, section 3 (types, fork positions) and appendix B (variants, here in our own
words); the table itself is `benchmark.variants`.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Protocol

from benchmark.records import FORK_TYPES, BadRecord, DialogueRecord, WorkflowRecord
from benchmark.variants import VARIANTS, VARIANTS_VERSION, Variant

__all__ = [
    "POSITIONS",
    "VARIANTS",
    "VARIANTS_VERSION",
    "Engine",
    "Foil",
    "Refusal",
    "Variant",
    "draw_variant",
    "foil",
    "fork_id",
    "fork_points",
    "generator_of",
    "instruction",
    "task_title",
    "variant_of",
]

POSITIONS = (1, 2, 3, 4)
MIN_ASSISTANT_TURNS = 4
ROUNDING = {"half_even": ROUND_HALF_EVEN, "half_up": ROUND_HALF_UP}
FRAME = (
    "From your next message on, and until the conversation ends: {behaviour}. Remain friendly and "
    "believable, and do not speak of this note. ({type}: {title}.)"
)
LENGTH_SLACK = 0.30


def fork_points(n_assistant_turns: int, rule: str = "half_even") -> tuple[int, int, int, int]:
    """Assistant turns (from 1) at which forks k = 1..4 begin: t_k = 1 + round((k-1) T / 4).

    `rule` says what becomes of halves: "half_even" (default, stored with each fork) or "half_up".

    Raises
    ------
    BadRecord
        If T < 4 (positions would coincide) or the rule is unknown.
    """
    if rule not in ROUNDING:
        raise BadRecord("rule", f"{rule!r} is not one of {', '.join(ROUNDING)}")
    if n_assistant_turns < MIN_ASSISTANT_TURNS:
        raise BadRecord(
            "dialogue",
            f"has {n_assistant_turns} assistant turns; four fork points need at least "
            f"{MIN_ASSISTANT_TURNS}",
        )
    quarters = (Decimal((k - 1) * n_assistant_turns) / 4 for k in POSITIONS)
    first, second, third, fourth = (
        1 + int(quarter.quantize(Decimal(1), rounding=ROUNDING[rule])) for quarter in quarters
    )
    return first, second, third, fourth


def generator_of(seed: int, *parts: object) -> random.Random:
    """A private generator for one decision: seeded by SHA-256 of the seed and what it is for."""
    key = "\x1f".join([str(seed), *map(str, parts)])
    return random.Random(int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big"))


def fork_id(source: str, type_: str, k: int) -> str:
    """External id of a fork: `<source>.<type>.<k>`."""
    return f"{source}.{type_}.{k}"


def variant_of(type_: str, key: str) -> Variant:
    """The variant of that name; BadRecord when the table has none."""
    for variant in VARIANTS.get(type_, ()):
        if variant.key == key:
            return variant
    raise BadRecord("variant", f"{type_} has no variant {key!r}")


def draw_variant(
    type_: str, source: str, seed: int, among: Sequence[Variant] | None = None
) -> Variant:
    """The variant of one (source, type), the same for its four positions, with equal chances.

    `among` restricts the draw to variants that are possible for this source.
    """
    choices = VARIANTS[type_] if among is None else among
    if not choices:
        raise BadRecord("variant", f"no variant of {type_} is possible for {source}")
    return generator_of(seed, "variant", source, type_).choice(choices)


def task_title(name: str) -> str:
    """A workflow's name as words: "corpus/hotel_book" -> "hotel book"."""
    return name.rsplit("/", 1)[-1].replace("_", " ").replace("-", " ")


def instruction(variant: Variant, *, task: str = "") -> str:
    """The note injected just before the fork turn, as annotators are shown it.

    `task` is the name of the other procedure; only WIC variants use it and must have it.
    """
    if "{task}" in variant.behaviour and not task:
        raise BadRecord("instruction", f"variant {variant.key} needs the name of the other task")
    behaviour = variant.behaviour.replace("{task}", f"\u201c{task_title(task)}\u201d")
    return FRAME.format(behaviour=behaviour, type=variant.type, title=variant.title)


@dataclass(frozen=True, slots=True)
class Foil:
    """An instruction that a dialogue does not follow, shown to see whether judges say so."""

    type: str
    variant: str
    instruction: str


def foil(like: str, *, seed: int, item: str, avoid: str | None, task: str = "") -> Foil:
    """Draw a foil: equal chances over the other types, then over the variants of that type.

    Parameters
    ----------
    like : the true instruction; the foil's length stays within 30 % of it ("" : any length, for a
        conformant dialogue).
    avoid : the type of the fork, never drawn; None for a conformant dialogue.
    task : another procedure's name, which WIC needs; without it WIC is not drawn.

    Raises
    ------
    BadRecord
        If no instruction of another type is of fitting length.
    """
    rng = generator_of(seed, "foil", item)
    types = [t for t in FORK_TYPES if t != avoid and (task or not _needs_task(t))]
    rng.shuffle(types)
    for type_ in types:
        drawn = [Foil(type_, v.key, instruction(v, task=task)) for v in VARIANTS[type_]]
        fitting = [f for f in drawn if not like or _alike_in_length(f.instruction, like)]
        if fitting:
            return rng.choice(fitting)
    raise BadRecord("foil", f"no instruction of another type is about as long as that of {item}")


def _needs_task(type_: str) -> bool:
    return any("{task}" in variant.behaviour for variant in VARIANTS[type_])


def _alike_in_length(one: str, other: str) -> bool:
    return abs(len(one) - len(other)) <= LENGTH_SLACK * len(other)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A fork that was not made. `reason` is a short fixed phrase, so that refusals can be counted.

    `k` is None when the whole (source, type) is refused; `detail` says what was found.
    """

    source: str
    type: str
    k: int | None
    reason: str
    detail: str = ""


class Engine(Protocol):
    """What makes the forks of one source; it sees nothing but its arguments and its seed."""

    name: str

    def __init__(
        self,
        pool: Sequence[DialogueRecord],
        workflows: Mapping[str, WorkflowRecord],
        *,
        seed: int,
    ) -> None:
        """`pool`: the conformant dialogues of the corpus; `workflows` by name."""

    def forks(self, source: DialogueRecord) -> list[DialogueRecord | Refusal]:
        """Forks of `source`, or why there is none, in the order of (type, k): up to sixteen.

        Each fork is a record with one `ForkRecord`, external id `fork_id(...)`, conformant False,
        its turns up to `fork_turn - 1` those of the source. Same arguments, same records.
        """
