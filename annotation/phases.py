"""The way a person walks through a study: consent, instructions, practice, items, questions."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Q, Sum, Value
from django.db.models.functions import Least, Length
from django.urls import reverse
from django.utils import timezone

from annotation import practice
from annotation.models import Assignment, Item, Message, Seat, Study
from annotation.models.studies import AssignmentQuerySet
from benchmark.label_records import COMPONENTS
from benchmark.models import Trajectory, TrajectoryStep, Turn

BEFORE = ("consent", "instructions", "practice")
AFTER = ("questionnaire",)
# Silent reading of plain prose, with spaces; and the time that answering an item takes at least.
CHARACTERS_PER_MINUTE = 1200
ANSWERING_MINUTES = 1.0
ANSWERING_RUN_MINUTES = 3.0
# So much of a thought, an action or an observation is read word for word.
READ_OF_A_PART = 1500
FINISHED = Q(finished_at__isnull=False)
# First attempts that were not taken away unfinished: what counts of a person's items.
COUNTED = Q(attempt=1) & (Q(ended="") | FINISHED)


def walk(study: Study) -> list[str]:
    """The phases of `study` in order; the items and the end are always among them."""
    chosen = set(study.phases)
    before = [phase for phase in BEFORE if phase in chosen]
    after = [phase for phase in AFTER if phase in chosen]
    return [*before, Seat.Phase.MAIN, *after, Seat.Phase.DONE]


def first(study: Study) -> str:
    """Where a person begins."""
    return walk(study)[0]


def advance(seat: Seat, done: str, **also: Any) -> bool:
    """Lead on from the phase `done`; False, and nothing changes, when the seat is not there.

    Reaching the end finishes the seat. `also` are fields of the seat that change with it.
    """
    way = walk(seat.study)
    if done not in way or done == Seat.Phase.DONE:
        return False
    following = way[way.index(done) + 1]
    change: dict[str, Any] = {"phase": following, **also}
    if following == Seat.Phase.DONE:
        change |= {"state": Seat.State.FINISHED, "finished_at": timezone.now()}
    return _change(seat, done, change)


def consent(seat: Seat) -> bool:
    """Note that the person agreed, and lead on."""
    return advance(seat, Seat.Phase.CONSENT, consented_at=timezone.now())


def decline(seat: Seat) -> bool:
    """The person does not agree: the seat ends, and nothing of theirs was asked or kept."""
    return _stop(seat, Seat.Phase.CONSENT, Seat.State.DECLINED)


def settle(seat: Seat) -> bool:
    """Lead on where nothing is left to do; True when the seat has moved.

    With all items done it goes on to the questions or the end. With the practice done and too
    little of it right it is screened out; with enough right it stays, so that the person can read
    what was right, until they go on themselves. A second call changes nothing.
    """
    if seat.state != Seat.State.ACTIVE or waiting(seat):
        return False
    if seat.phase == Seat.Phase.PRACTICE and not practice.result(seat).passed:
        return _stop(seat, Seat.Phase.PRACTICE, Seat.State.SCREENED_OUT)
    return seat.phase == Seat.Phase.MAIN and advance(seat, Seat.Phase.MAIN)


def finish_practice(seat: Seat) -> bool:
    """Lead on from a practice that is done and passed; False, and nothing changes, otherwise."""
    if seat.phase != Seat.Phase.PRACTICE or waiting(seat) or not practice.result(seat).passed:
        return False
    return advance(seat, Seat.Phase.PRACTICE)


def items_of(seat: Seat, *, practising: bool) -> AssignmentQuerySet:
    """What a person walks through in one go: practice items, or all others.

    Attention items are among the others; that they are is not to be seen.
    """
    items: AssignmentQuerySet = seat.assignments.all()
    kind = Q(item__kind=Item.Kind.PRACTICE)
    return items.filter(kind) if practising else items.exclude(kind)


def waiting(seat: Seat) -> Assignment | None:
    """The next item of the phase the seat is in; None when none is left, or it has no items."""
    if seat.phase not in (Seat.Phase.MAIN, Seat.Phase.PRACTICE):
        return None
    items = items_of(seat, practising=seat.phase == Seat.Phase.PRACTICE)
    return items.unfinished().order_by("rank").first()


def next_url(seat: Seat) -> str:
    """Where the person of `seat` goes on: the open item, or the page of the phase.

    Call it after an answer: a seat whose items are all done is led on here.
    """
    if assignment := waiting(seat):
        return reverse("annotation:item", args=[assignment.token])
    settle(seat)
    return seat_url(seat)


def seat_url(seat: Seat) -> str:
    return reverse("annotation:seat", args=[seat.pseudonym])


def progress(assignment: Assignment) -> dict[str, int]:
    """`number` of an item among those of its phase, how many are `done`, and `total`; one query.

    A later attempt at a reopened item is no further item, and what was given to somebody else
    unfinished counts no more.
    """
    practising = assignment.item.kind == Item.Kind.PRACTICE
    counts: dict[str, int] = items_of(assignment.seat, practising=practising).aggregate(
        number=Count("pk", filter=COUNTED & Q(rank__lte=assignment.rank)),
        done=Count("pk", filter=COUNTED & FINISHED),
        total=Count("pk", filter=COUNTED),
    )
    return counts


def tally(seat: Seat, *, practising: bool) -> dict[str, int]:
    """How many items of a phase are `done`, of them `skipped`, and how many there are: `total`."""
    counts: dict[str, int] = items_of(seat, practising=practising).aggregate(
        total=Count("pk", filter=COUNTED),
        done=Count("pk", filter=COUNTED & FINISHED),
        skipped=Count("skip", filter=COUNTED),
    )
    return counts


def paused_by_team(seat: Seat) -> bool:
    """Whether somebody else paused this seat: then its person cannot go on by themselves."""
    last = seat.audit.filter(action="seat.paused").order_by("-pk").first()
    return last is not None and last.actor_id != seat.user_id


def may_return(seat: Seat) -> bool:
    """Whether a person who was away too long can have their place back: nobody took it over."""
    idled = seat.state == Seat.State.EXPIRED and seat.expires_at is not None
    open_study = seat.study.state == Study.State.OPEN
    return idled and open_study and not Seat.objects.filter(succeeds=seat).exists()


def minutes(seat: Seat) -> int:
    """How long the items of `seat` take, practice included, to the next five minutes.

    Reading time from the length of the texts, and a while per item for the answers: one minute, or
    three for an agent run, whose places are marked and compared.
    """
    runs = seat.study.kind == Study.Kind.RUNS
    characters = _characters_of_runs(seat) if runs else _characters_said(seat)
    answering = ANSWERING_RUN_MINUTES if runs else ANSWERING_MINUTES
    needed = characters / CHARACTERS_PER_MINUTE + answering * seat.assignments.count()
    return max(5, 5 * -int(-needed // 5))


def _characters_said(seat: Seat) -> int:
    dialogues = seat.assignments.values("item__dialogue")
    shown = Turn.objects.filter(dialogue__in=dialogues).exclude(role=Turn.Role.SYSTEM)
    return shown.aggregate(n=Sum(Length("text")))["n"] or 0


def _characters_of_runs(seat: Seat) -> int:
    """What is read of the runs: a table of readings that a tool returned is looked over only."""
    mine = {"pk__in": seat.assignments.values("item__trajectory")}
    whole = Trajectory.objects.filter(**mine)
    told = whole.aggregate(n=Sum(Length("task") + Length("response")))["n"] or 0
    steps = TrajectoryStep.objects.filter(trajectory__in=whole.values("pk")).order_by()
    parts = [Least(Length(name), Value(READ_OF_A_PART)) for name in COMPONENTS]
    return told + (steps.aggregate(n=Sum(sum(parts[1:], parts[0])))["n"] or 0)


def cards(user: Any) -> list[dict[str, Any]]:
    """The studies of `user`, one dict each, in three queries whatever their number.

    Items that are waited for are those of the phase: in practice `done`, `total`, `left` and
    `skipped` count practice items, else the others. `next_number` and `next_url` (of the open
    item) are None when there is none; `seat_url` shows whatever phase the seat is in.
    """
    seats = list(
        Seat.objects.filter(user=user)
        .exclude(study__state=Study.State.DRAFT)
        .select_related("study")
        .annotate(**_counts("practice", practising=True), **_counts("main", practising=False))
        .order_by("study_id")
    )
    unfinished = Assignment.objects.filter(seat__in=seats).unfinished().select_related("item")
    open_items: dict[tuple[int, bool], Assignment] = {}
    for assignment in unfinished.order_by("seat", "rank"):
        practising = assignment.item.kind == Item.Kind.PRACTICE
        open_items.setdefault((assignment.seat_id, practising), assignment)
    unread: dict[int, list[Message]] = {}
    for message in Message.objects.filter(seat__in=seats, read_at=None):
        unread.setdefault(message.seat_id, []).append(message)
    return [_card(seat, open_items, unread.get(seat.pk, [])) for seat in seats]


def _counts(name: str, *, practising: bool) -> dict[str, Any]:
    """What `progress` counts of a phase, for many seats in one query."""
    kinds = [Item.Kind.PRACTICE] if practising else [Item.Kind.MAIN, Item.Kind.ATTENTION]
    finished = Q(assignments__finished_at__isnull=False)
    counted = Q(assignments__item__kind__in=kinds, assignments__attempt=1)
    counted &= Q(assignments__ended="") | finished
    return {
        f"{name}_total": Count("assignments", filter=counted),
        f"{name}_done": Count("assignments", filter=counted & finished),
        f"{name}_skipped": Count("assignments__skip", filter=counted),
    }


def _card(
    seat: Any, open_items: dict[tuple[int, bool], Assignment], unread: list[Message]
) -> dict[str, Any]:
    practising = seat.phase == Seat.Phase.PRACTICE
    name = "practice" if practising else "main"
    total, done = getattr(seat, f"{name}_total"), getattr(seat, f"{name}_done")
    working = seat.state == Seat.State.ACTIVE and seat.study.state == Study.State.OPEN
    has_items = working and seat.phase in (Seat.Phase.MAIN, Seat.Phase.PRACTICE)
    following = open_items.get((seat.pk, practising)) if has_items else None
    number = done + 1 if practising else following.rank if following else None
    return {
        "title": seat.study.title,
        "study_state": seat.study.state,
        "pseudonym": seat.pseudonym,
        "state": seat.state,
        "phase": seat.phase,
        "phase_name": seat.get_phase_display(),
        "seat_url": seat_url(seat),
        "done": done,
        "skipped": getattr(seat, f"{name}_skipped"),
        "total": total,
        "left": total - done,
        "next_number": number if following else None,
        "next_url": reverse("annotation:item", args=[following.token]) if following else None,
        "started": bool(following and following.opened_at),
        "messages": unread,
    }


def _stop(seat: Seat, phase: str, state: str) -> bool:
    """End a seat before its time."""
    return _change(seat, phase, {"state": state, "finished_at": timezone.now()})


def _change(seat: Seat, phase: str, change: dict[str, Any]) -> bool:
    there = Seat.objects.filter(pk=seat.pk, phase=phase, state=Seat.State.ACTIVE)
    moved = bool(there.update(**change))
    for name, value in change.items() if moved else ():
        setattr(seat, name, value)
    return moved
