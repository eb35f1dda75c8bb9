"""Seats: taken, kept alive by activity, given up when left, and passed on.

A seat is a place for one person. Who leaves it keeps what they finished; what they left unfinished
goes to a new seat, which `succeeds` theirs. Rows are locked in one order everywhere (study, seat,
items), as an answer locks them too, so that nobody waits in a circle.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation import auditing, phases
from annotation.models import Assignment, Invitation, Item, Seat, Study
from annotation.refusals import (
    EnrolmentRefused,
    KnowsConditions,
    NoSeatLeft,
    SeatRefused,
    StudyNotOpen,
)

__all__ = [
    "EnrolmentRefused",
    "KnowsConditions",
    "NoSeatLeft",
    "SeatRefused",
    "StudyNotOpen",
    "expire",
    "knows_conditions",
    "pause",
    "reassign",
    "require_open",
    "resume",
    "revive",
    "sweep",
    "take",
    "touch",
]

RESEARCHERS = "researchers"
BATCH = 500
# Activity is written down once a minute at most: saving a draft costs no second write.
TOUCH_AFTER = timedelta(minutes=1)
# Who says that they rest is waited for longer, but not for ever: their items wait as well.
PAUSE_TIMES = 7
HELD = (Seat.State.ACTIVE, Seat.State.PAUSED)
# Left by their person: what is unfinished there waits for somebody else.
LEFT = (Seat.State.EXPIRED, Seat.State.SCREENED_OUT, Seat.State.DECLINED)


def knows_conditions(user: Any) -> bool:
    """Whether `user` can see which conversations were forked: then they cannot judge blind."""
    return bool(user.is_superuser or user.is_staff or user.groups.filter(name=RESEARCHERS).exists())


def require_open(study: Study) -> None:
    """Raise StudyNotOpen unless people can join `study` now."""
    sentences = {
        Study.State.DRAFT: _("The study “%s” has not begun yet."),
        Study.State.PAUSED: _("The study “%s” is paused. Try again later."),
        Study.State.CLOSED: _("The study “%s” is closed."),
    }
    if sentence := sentences.get(Study.State(study.state)):
        raise StudyNotOpen(sentence % study.title, study.state)


def take(study: Study, user: Any, *, invitation: Invitation | None = None) -> Seat:
    """Give `user` a seat of `study`: the one they have, a free one, or what somebody left.

    A seat of their own that expired by idling comes back to them as long as nobody took it over.
    Any number of people may ask at once: a seat goes to one of them.

    Raises
    ------
    EnrolmentRefused
        as KnowsConditions, StudyNotOpen (only when closed: seats are given out before the launch
        too) or NoSeatLeft.
    """
    # Who made the study has seen how it was drawn, with a role or without.
    if knows_conditions(user) or study.created_by_id == user.pk:
        raise KnowsConditions(
            _(
                "%s can see the conditions of the study and so cannot annotate in it. Use an "
                "account without the researcher role."
            )
            % user.get_username()
        )
    if study.state == Study.State.CLOSED:
        require_open(study)
    try:
        with transaction.atomic():
            return (
                _mine(study, user)
                or _free(study, user, invitation)
                or _left(study, user, invitation)
            )
    except IntegrityError:
        # The same person asked twice at once, and the other request was first.
        if mine := study.seats.filter(user=user).first():
            return mine
        raise


def touch(seat: Seat, *, now: datetime | None = None) -> bool:
    """Note that the person of `seat` is at work; False when the seat is no longer theirs to use.

    Call it with every save; it writes at most once a minute. `seat.study` should be loaded.
    """
    now = now or timezone.now()
    if seat.state != Seat.State.ACTIVE:
        return False
    renewed = seat.expires_at or not seat.study.idle_hours
    if seat.last_active_at and renewed and now - seat.last_active_at < TOUCH_AFTER:
        return True
    change = _renewal(seat.study, now)
    until = change["expires_at"]
    # The study team may have given more time than activity does.
    later = until and Greatest(Coalesce("expires_at", Value(until)), Value(until))
    mine = Seat.objects.filter(pk=seat.pk, state=Seat.State.ACTIVE)
    held = mine.update(last_active_at=now, expires_at=later)
    if held:
        seat.last_active_at = now
        seat.expires_at = until and max(until, seat.expires_at or until)
    return bool(held)


def sweep(now: datetime | None = None, *, study: Study | None = None) -> int:
    """Expire every seat that was left for too long, of one study or of all; return how many.

    Doing it twice changes nothing the second time. A seat whose items are all finished stays.
    """
    now = now or timezone.now()
    seats = Seat.objects.filter(state__in=HELD, expires_at__lte=now, user__isnull=False)
    if study is not None:
        seats = seats.filter(study=study)
    due = seats.filter(Exists(_unfinished_of_seat())).select_related("study").order_by("pk")
    return sum(_expire_idle(seat, now) for seat in due)


def expire(seat: Seat, *, actor: Any = None, reason: str = "given up") -> bool:
    """Take a seat from its person now: returned on the crowd platform, blocked, or left.

    Unfinished items end and can be taken over; finished ones stay. Unlike a seat that idled, it
    does not come back to the person by itself (see `revive`). False when it was not in use.
    """
    return _give_up(seat, Seat.objects.filter(state__in=HELD), actor, reason, {"expires_at": None})


def pause(seat: Seat, *, actor: Any = None) -> bool:
    """Stop an active seat without taking it away.

    Paused by its own person it is kept PAUSE_TIMES as long as without activity; paused by the study
    team it does not expire.
    """
    kept = None
    if actor is not None and actor.pk == seat.user_id:
        kept = _renewal(seat.study, timezone.now(), times=PAUSE_TIMES)["expires_at"]
    change = {"state": Seat.State.PAUSED, "expires_at": kept}
    return _switch(seat, [Seat.State.ACTIVE], change, "seat.paused", actor)


def resume(seat: Seat, *, actor: Any = None) -> bool:
    """Let a paused seat go on, with its full time."""
    change = {"state": Seat.State.ACTIVE, **_renewal(seat.study, timezone.now())}
    return _switch(seat, [Seat.State.PAUSED], change, "seat.resumed", actor)


def revive(seat: Seat, *, actor: Any = None) -> bool:
    """Give a seat that was left back to its person, with the items it had.

    False when somebody took it over, or there is nobody to give it to.
    """
    with transaction.atomic():
        _lock(seat.study)
        if seat.user_id is None or Seat.objects.filter(succeeds=seat).exists():
            return False
        change = {"state": Seat.State.ACTIVE, **_renewal(seat.study, timezone.now())}
        ended = seat.assignments.filter(ended=Assignment.Ended.EXPIRED)
        if not _switch(seat, LEFT, change, "seat.revived", actor):
            return False
        ended.update(ended="", ended_at=None)
        return True


def reassign(seat: Seat, *, actor: Any = None) -> Seat:
    """Open a free seat for what `seat` left unfinished; whoever comes next takes it.

    Raises SeatRefused when the seat is in use, was passed on before, or left nothing unfinished.
    """
    with transaction.atomic():
        _lock(seat.study)
        seat.refresh_from_db(fields=["state"])
        if seat.state not in (*LEFT, Seat.State.WITHDRAWN):
            raise SeatRefused(
                f"Seat {seat.pseudonym} is {seat.get_state_display().lower()}: only a seat that "
                "its person left can be passed on."
            )
        if Seat.objects.filter(succeeds=seat).exists():
            raise SeatRefused(f"Seat {seat.pseudonym} was passed on before.")
        if not _judged_unfinished(seat).exists():
            raise SeatRefused(f"Seat {seat.pseudonym} has no unfinished items to pass on.")
        successor = _succeed(seat)
        auditing.record("seat.reassigned", actor=actor, seat=seat, to=successor.pseudonym)
        return successor


def _mine(study: Study, user: Any) -> Seat | None:
    mine = study.seats.select_related("study").filter(user=user).first()
    # A seat that a researcher took away has no expiry date: it does not come back by itself.
    if mine and mine.state == Seat.State.EXPIRED and mine.expires_at:
        revive(mine)
    return mine


def _free(study: Study, user: Any, invitation: Invitation | None) -> Seat | None:
    free = study.seats.filter(user=None, simulated=False, taken_at=None, state=Seat.State.FREE)
    for pk in free.order_by("number").values_list("pk", flat=True):
        if free.filter(pk=pk).update(**_taking(study, user, invitation)):
            return study.seats.select_related("study").get(pk=pk)
    return None


def _left(study: Study, user: Any, invitation: Invitation | None) -> Seat:
    """A new seat for the unfinished items of one that was left."""
    _lock(study)
    sweep(study=study)
    left = study.seats.filter(
        Exists(_unfinished_of_seat(ended=("", Assignment.Ended.EXPIRED))),
        state__in=LEFT,
        simulated=False,
        successor__isnull=True,
    )
    old = left.order_by("number").first()
    if old is None:
        raise NoSeatLeft(_("Every seat of the study “%s” is taken.") % study.title)
    seat = _succeed(old, **_taking(study, user, invitation))
    auditing.record("seat.taken_over", seat=old, to=seat.pseudonym)
    return seat


def _succeed(old: Seat, **taking: Any) -> Seat:
    """The seat after `old`, with fresh assignments; call it with the study locked."""
    _end(old, Assignment.Ended.EXPIRED, timezone.now())
    number = old.study.seats.aggregate(last=Max("number"))["last"] + 1
    seat = Seat.objects.create(study=old.study, number=number, succeeds=old, **taking)
    unfinished = Q(finished_at__isnull=True) | ~Q(item__kind=Item.Kind.MAIN)
    items = old.assignments.filter(unfinished, attempt=1).order_by("rank")
    Assignment.objects.bulk_create(
        [
            Assignment(seat=seat, item_id=item_id, rank=rank)
            for rank, item_id in enumerate(items.values_list("item_id", flat=True), start=1)
        ],
        batch_size=BATCH,
    )
    return seat


def _judged_unfinished(seat: Seat) -> QuerySet[Assignment]:
    """Main items the seat was given and did not finish; a reopened item was finished once."""
    return seat.assignments.main().filter(attempt=1, finished_at__isnull=True)


def _unfinished_of_seat(ended: tuple[str, ...] = ("",)) -> QuerySet[Assignment]:
    mine = Assignment.objects.main().filter(seat=OuterRef("pk"), attempt=1)
    return mine.filter(finished_at__isnull=True, ended__in=ended)


def _expire_idle(seat: Seat, now: datetime) -> bool:
    # Asked again in the update: the person may have come back a moment ago.
    due = Seat.objects.filter(state__in=HELD, expires_at__lte=now)
    return _give_up(seat, due, None, "idle", {})


def _give_up(
    seat: Seat, where: QuerySet[Seat], actor: Any, reason: str, change: dict[str, Any]
) -> bool:
    change = {"state": Seat.State.EXPIRED, **change}
    with transaction.atomic():
        if not where.filter(pk=seat.pk).update(**change):
            return False
        n_items = _end(seat, Assignment.Ended.EXPIRED, timezone.now())
        auditing.record("seat.expired", actor=actor, seat=seat, reason=reason, items=n_items)
    _apply(seat, change)
    return True


def _end(seat: Seat, how: str, now: datetime) -> int:
    return seat.assignments.unfinished().update(ended=how, ended_at=now)


def _switch(seat: Seat, states: Any, change: dict[str, Any], action: str, actor: Any) -> bool:
    with transaction.atomic():
        if not Seat.objects.filter(pk=seat.pk, state__in=states).update(**change):
            return False
        auditing.record(action, actor=actor, seat=seat)
    _apply(seat, change)
    return True


def _taking(study: Study, user: Any, invitation: Invitation | None) -> dict[str, Any]:
    now = timezone.now()
    return {
        "user": user,
        "invitation": invitation,
        "taken_at": now,
        "state": Seat.State.ACTIVE,
        "phase": phases.first(study),
        **_renewal(study, now),
    }


def _renewal(study: Study, now: datetime, *, times: int = 1) -> dict[str, Any]:
    """Activity now; with `idle_hours` 0 a seat never expires."""
    hours = study.idle_hours * times
    return {
        "last_active_at": now,
        "expires_at": now + timedelta(hours=hours) if hours else None,
    }


def _lock(study: Study) -> None:
    """One at a time makes seats of a study. The weaker lock lets rows refer to the study."""
    list(Study.objects.select_for_update(no_key=True).filter(pk=study.pk).values_list("pk"))


def _apply(seat: Seat, change: dict[str, Any]) -> None:
    for name, value in change.items():
        setattr(seat, name, value)
