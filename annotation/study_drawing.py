"""A drawn plan becomes rows: items, seats and assignments, all at once or not at all."""

from __future__ import annotations

import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from annotation import practice_items
from annotation.design import Candidate, DesignError, Plan, PlannedItem, coverage, draw
from annotation.models import (
    Assignment,
    InstructionConfirmation,
    Item,
    OnsetMark,
    PrefixJudgement,
    Seat,
    Skip,
    SliderRating,
    Study,
)
from annotation.refusals import EnrolmentRefused
from annotation.study_pools import StudyPool
from annotation.study_shapes import Shape
from benchmark.corruption import foil
from benchmark.models import Corpus, Fork
from benchmark.records import BadRecord

BATCH = 500
# What of an item is judged, by the kind of its study.
JUDGED = {
    Study.Kind.FORKS: (
        "item__dialogue__digest",
        "item__dialogue__external_id",
        "item__is_foil",
        "item__instruction",
        "item__instruction_variant",
        "item__altered",
        "item__expected",
        "item__feedback",
    ),
    Study.Kind.RUNS: (
        "item__trajectory__digest",
        "item__trajectory__external_id",
        "item__judge_answer__digest",
    ),
}


def fill(study: Study, forks: Corpus, shape: Shape) -> None:
    """Draw items and seats of `study`, which has none, and store the design; in a transaction.

    Raises EnrolmentRefused where a number is out of range or there is too little to judge.
    """
    if problem := shape.problem():
        raise EnrolmentRefused(problem)
    pool = StudyPool(forks, set(shape.workflows))
    if not pool.entries:
        raise EnrolmentRefused(f"The corpus {forks.slug!r} has no forks with a workflow to judge.")
    plan = _draw(pool, shape, study.seed)
    study.corpora.set(pool.corpora)
    items, n_other_length = _store_items(study, plan, pool)
    store_seats(study, plan.seats, items, shape.n_simulated)
    _add_practice(study, pool, shape)
    study.design = {
        **shape.as_dict(),
        "forks": forks.slug,
        "shared_items": plan.n_shared,
        "foils_of_other_length": n_other_length,
        "coverage": [list(row) for row in coverage(plan, pool.candidates)],
    }
    study.save(update_fields=["design"])


def empty(study: Study) -> None:
    """Take items and seats of a draft away, with what a dry run answered in them."""
    mine = {"assignment__seat__study": study}
    of_rating = {f"slider__{name}": value for name, value in mine.items()}
    of_confirmation = {f"confirmation__{name}": value for name, value in of_rating.items()}
    of_onset = {f"onset__{name}": value for name, value in of_confirmation.items()}
    PrefixJudgement.objects.filter(**of_onset).delete()
    OnsetMark.objects.filter(**of_confirmation).delete()
    InstructionConfirmation.objects.filter(**of_rating).delete()
    SliderRating.objects.filter(**mine).delete()
    Skip.objects.filter(**mine).delete()
    study.seats.all().delete()
    study.items.all().delete()


def digest(study: Study) -> str:
    """SHA-256 of what is judged, in what order: items with every text they show, seat by seat.

    Seats that took over and items that were reopened are left out: they come later.
    """
    drawn = Assignment.objects.filter(seat__study=study, seat__succeeds=None, attempt=1)
    rows = drawn.order_by("seat__number", "rank").values_list(
        "seat__number", "item__kind", *JUDGED[study.kind]
    )
    found = hashlib.sha256()
    for row in rows.iterator(chunk_size=2000):
        found.update(json.dumps(row, sort_keys=True, ensure_ascii=True).encode())
    return found.hexdigest()


def _draw(pool: StudyPool, shape: Shape, seed: int) -> Plan:
    kept = _reserved(pool.candidates, shape.n_practice + shape.n_attention, seed)
    try:
        return draw(
            [unit for unit in pool.candidates if unit.source not in kept],
            n_seats=shape.n_seats,
            forks_per_seat=shape.forks_per_seat,
            conformant_per_seat=shape.conformant_per_seat,
            overlap=shape.overlap,
            foil_share=shape.foil_share,
            types=shape.types,
            positions=shape.positions,
            seed=seed,
        )
    except DesignError as error:
        raise EnrolmentRefused(str(error)) from error


def _reserved(candidates: Sequence[Candidate], n: int, seed: int) -> set[str]:
    """Sources that no item proper may use, so that practice and attention items have theirs.

    They are whole themselves and have forks, and come from the workflows in turn.
    """
    if not n:
        return set()
    forked = {unit.source for unit in candidates if unit.type}
    by_workflow: dict[str, list[str]] = defaultdict(list)
    for unit in sorted(candidates):
        if not unit.type and unit.source in forked:
            by_workflow[unit.workflow].append(unit.source)
    rng = random.Random(f"{seed} reserved")
    piles = [by_workflow[name] for name in sorted(by_workflow)]
    for pile in piles:
        rng.shuffle(pile)
    rng.shuffle(piles)
    taken: set[str] = set()
    while len(taken) < n and any(piles):
        taken |= {pile.pop() for pile in [p for p in piles if p][: n - len(taken)]}
    if len(taken) < n:
        raise EnrolmentRefused(
            f"Practice and attention items need {n} source dialogues of their own; "
            f"there are {len(taken)}."
        )
    return taken


def _add_practice(study: Study, pool: StudyPool, shape: Shape) -> None:
    if not shape.n_practice and not shape.n_attention:
        return
    practice_items.add_items(
        study,
        pool,
        n_practice=shape.n_practice,
        n_attention=shape.n_attention,
        seed=study.seed,
    )


def _store_items(
    study: Study, plan: Plan, pool: StudyPool
) -> tuple[Mapping[PlannedItem, Item], int]:
    """Items in shuffled order, so that their ids do not sort by condition either."""
    planned = list(plan.items)
    random.Random(f"{study.seed} items").shuffle(planned)
    forks = pool.forks_of({item.key for item in planned})
    rows, n_other_length = [], 0
    for item in planned:
        task = pool.other_task(item.key, study.seed)
        shown, other_length = _instruction(study.seed, item, forks.get(item.key), task)
        n_other_length += other_length
        dialogue_id = pool.entries[item.key].dialogue_id
        rows.append(Item(study=study, dialogue_id=dialogue_id, is_foil=item.is_foil, **shown))
    Item.objects.bulk_create(rows, batch_size=BATCH)
    return dict(zip(planned, rows, strict=True)), n_other_length


def _instruction(
    seed: int, item: PlannedItem, fork: Fork | None, task: str
) -> tuple[dict[str, str], bool]:
    """What step 2 will show, and whether it is a foil of another length than the true one."""
    if fork and not item.is_foil:
        return _shown(fork.type, fork.variant, fork.instruction), False
    avoid = fork.type if fork else None
    like = fork.instruction if fork else ""
    try:
        drawn = foil(like, seed=seed, item=item.key, avoid=avoid, task=task)
        return _shown(drawn.type, drawn.variant, drawn.instruction), False
    except BadRecord:
        # An instruction written elsewhere may be far longer or shorter than any of ours.
        drawn = foil("", seed=seed, item=item.key, avoid=avoid, task=task)
        return _shown(drawn.type, drawn.variant, drawn.instruction), True


def _shown(type_: str, variant: str, text: str) -> dict[str, str]:
    return {"instruction_type": type_, "instruction_variant": variant, "instruction": text}


def store_seats(
    study: Study, orders: Sequence[Sequence[Any]], items: Mapping[Any, Item], n_simulated: int
) -> None:
    """A seat for each of `orders`, which hold keys of `items`; the last ones are simulated."""
    first_simulated = len(orders) - n_simulated
    seats: Sequence[Seat] = Seat.objects.bulk_create(
        [
            Seat(
                study=study,
                number=number + 1,
                simulated=number >= first_simulated,
                state=Seat.State.ACTIVE if number >= first_simulated else Seat.State.FREE,
            )
            for number in range(len(orders))
        ],
        batch_size=BATCH,
    )
    Assignment.objects.bulk_create(
        [
            Assignment(seat=seat, item=items[planned], rank=rank)
            for seat, order in zip(seats, orders, strict=True)
            for rank, planned in enumerate(order, start=1)
        ],
        batch_size=BATCH,
    )
