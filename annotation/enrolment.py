"""Studies are drawn here, and people take their seats."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Count, Q
from django.urls import reverse
from django.utils import timezone

from annotation import phases
from annotation.design import DesignError, Plan, PlannedItem, coverage, draw
from annotation.models import Assignment, Item, Seat, Study
from annotation.study_pools import StudyPool
from annotation.titles import revealing_word
from benchmark.corruption import foil
from benchmark.models import Corpus, Fork
from benchmark.records import BadRecord

BATCH = 500
RESEARCHERS = "researchers"


class EnrolmentRefused(ValueError):
    """A study that cannot be drawn, or a seat that cannot be taken; the message says why."""


def knows_conditions(user: Any) -> bool:
    """Whether `user` can see which conversations were forked: then they cannot judge blind."""
    return bool(user.is_superuser or user.is_staff or user.groups.filter(name=RESEARCHERS).exists())


@transaction.atomic
def create_study(
    *,
    slug: str,
    title: str,
    forks: Corpus,
    seed: int,
    n_seats: int,
    n_simulated: int = 0,
    forks_per_seat: int = 16,
    conformant_per_seat: int = 2,
    overlap: float = 0.2,
    workflows: Iterable[str] = (),
    state: str = Study.State.OPEN,
    created_by: Any = None,
) -> Study:
    """Draw a study over the forks of `forks` and the conformant dialogues they come from.

    The last `n_simulated` of the `n_seats` seats are marked as simulated: no person can take them.
    `workflows` restricts the study to workflows of these names. Same corpora and seed, same items,
    same order; only tokens and pseudonyms are drawn anew.

    Raises
    ------
    EnrolmentRefused
        if the slug is taken, the title gives the design away, or there is too little to judge.
    """
    _check(slug, title, n_seats, n_simulated)
    pool = StudyPool(forks, set(workflows))
    if not pool.entries:
        raise EnrolmentRefused(f"The corpus {forks.slug!r} has no forks with a workflow to judge.")
    try:
        plan = draw(
            pool.candidates,
            n_seats=n_seats,
            forks_per_seat=forks_per_seat,
            conformant_per_seat=conformant_per_seat,
            overlap=overlap,
            seed=seed,
        )
    except DesignError as error:
        raise EnrolmentRefused(str(error)) from error
    study = Study.objects.create(
        slug=slug, title=title, seed=seed, state=state, created_by=created_by
    )
    study.corpora.set(pool.corpora)
    items, n_other_length = _store_items(study, plan, pool)
    _store_seats(study, plan, items, n_simulated)
    study.design = {
        "forks": forks.slug,
        "forks_per_seat": forks_per_seat,
        "conformant_per_seat": conformant_per_seat,
        "overlap": overlap,
        "shared_items": plan.n_shared,
        "foils_of_other_length": n_other_length,
        "coverage": [list(row) for row in coverage(plan, pool.candidates)],
    }
    study.save(update_fields=["design"])
    return study


def assign_seat(study: Study, user: Any) -> Seat:
    """Give `user` the first free seat of `study`; the seat they have, if they have one.

    Raises
    ------
    EnrolmentRefused
        if they know the conditions, the study is closed, or every seat is taken.
    """
    if knows_conditions(user):
        raise EnrolmentRefused(
            f"{user.get_username()} can see the conditions of the study and so cannot annotate "
            "in it. Use an account without the researcher role."
        )
    if study.state == Study.State.CLOSED:
        raise EnrolmentRefused(f"The study “{study.title}” is closed.")
    with transaction.atomic():
        mine = study.seats.filter(user=user).first()
        if mine:
            return mine
        free = study.seats.filter(user=None, simulated=False, taken_at=None).order_by("number")
        for number in free.values_list("number", flat=True):
            seat = study.seats.filter(number=number, user=None, taken_at=None)
            now = timezone.now()
            if seat.update(
                user=user,
                taken_at=now,
                last_active_at=now,
                state=Seat.State.ACTIVE,
                phase=phases.first(study),
            ):
                return study.seats.get(number=number)
    raise EnrolmentRefused(f"Every seat of the study “{study.title}” is taken.")


def overview(user: Any) -> list[dict[str, Any]]:
    """The open studies of `user`, one dict each: title, done, skipped, total, left, next item.

    `next_number` and `next_url` are None when nothing is left; `started` says whether the next
    item has been opened before.
    """
    if knows_conditions(user):
        return []
    seats = (
        Seat.objects.filter(user=user, study__state=Study.State.OPEN)
        .select_related("study")
        .annotate(
            total=Count("assignments"),
            done=Count("assignments", filter=Q(assignments__finished_at__isnull=False)),
            skipped=Count("assignments__skip"),
        )
        .order_by("study_id")
    )
    waiting: dict[int, Assignment] = {}
    for assignment in Assignment.objects.of(user).unfinished().order_by("seat", "rank"):
        waiting.setdefault(assignment.seat_id, assignment)
    return [_card(seat, waiting.get(seat.pk)) for seat in seats]


def _card(seat: Any, following: Assignment | None) -> dict[str, Any]:
    return {
        "title": seat.study.title,
        "pseudonym": seat.pseudonym,
        "done": seat.done,
        "skipped": seat.skipped,
        "total": seat.total,
        "left": seat.total - seat.done,
        "next_number": following.rank if following else None,
        "next_url": reverse("annotation:item", args=[following.token]) if following else None,
        "started": bool(following and following.opened_at),
    }


def _check(slug: str, title: str, n_seats: int, n_simulated: int) -> None:
    if Study.objects.filter(slug=slug).exists():
        raise EnrolmentRefused(f"There is a study {slug!r} already. Choose another slug.")
    if word := revealing_word(title):
        raise EnrolmentRefused(
            f"The title is shown to annotators and says {word!r}, which tells them about the "
            "design. Choose a neutral one, such as “Winter round”."
        )
    if not 0 <= n_simulated <= n_seats:
        raise EnrolmentRefused(f"Of {n_seats} seats {n_simulated} cannot be simulated.")


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


def _store_seats(
    study: Study, plan: Plan, items: Mapping[PlannedItem, Item], n_simulated: int
) -> None:
    first_simulated = len(plan.seats) - n_simulated
    seats: Sequence[Seat] = Seat.objects.bulk_create(
        [
            Seat(
                study=study,
                number=number + 1,
                simulated=number >= first_simulated,
                state=Seat.State.ACTIVE if number >= first_simulated else Seat.State.FREE,
            )
            for number in range(len(plan.seats))
        ],
        batch_size=BATCH,
    )
    Assignment.objects.bulk_create(
        [
            Assignment(seat=seat, item=items[planned], rank=rank)
            for seat, order in zip(seats, plan.seats, strict=True)
            for rank, planned in enumerate(order, start=1)
        ],
        batch_size=BATCH,
    )
