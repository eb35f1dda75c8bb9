"""What researchers do to a seat. Every act is written down with who did it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation import auditing, commitments, crowd, seating
from annotation.models import Message, ProblemReport, Seat
from annotation.titles import revealing_word

State = Seat.State
MOST_HOURS = 24 * 90
LONGEST_MESSAGE = 1000
# In which states an act makes sense, and what its button says.
ACTS: dict[str, tuple[tuple[str, ...], Any]] = {
    "pause": ((State.ACTIVE,), gettext_lazy("Pause")),
    "resume": ((State.PAUSED,), gettext_lazy("Resume")),
    "close": ((State.ACTIVE, State.PAUSED), gettext_lazy("Close and free the rest")),
    "returned": (
        (State.ACTIVE, State.PAUSED),
        gettext_lazy("Mark as returned"),
    ),
    "revive": (
        (State.EXPIRED, State.SCREENED_OUT, State.DECLINED),
        gettext_lazy("Give it back"),
    ),
    "reassign": (
        (State.EXPIRED, State.SCREENED_OUT, State.DECLINED, State.WITHDRAWN),
        gettext_lazy("Open a seat for the rest"),
    ),
}


class ActRefused(ValueError):
    """An act that does not fit the seat as it is now; the message says why."""


class BadField(ValueError):
    """A value that is not allowed; `field` names it."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


def offered(seat: Seat) -> list[tuple[str, Any]]:
    """Names and labels of the acts that fit the state of `seat`."""
    return [(name, label) for name, (states, label) in ACTS.items() if seat.state in states]


def act(seat: Seat, name: str, actor: Any) -> str:
    """Do one of ACTS; returns a sentence that says what was done.

    Raises KeyError (no such act), ActRefused (it does not fit any more).
    """
    states, _label = ACTS[name]
    if seat.simulated or seat.state not in states or not _do(seat, name, actor):
        seat.refresh_from_db(fields=["state"])
        raise ActRefused(
            _("The seat %(seat)s is %(state)s: that is not possible now.")
            % {"seat": seat.pseudonym, "state": seat.get_state_display().lower()}
        )
    if name == "reassign":
        return _("A free seat waits for what %s left unfinished.") % seat.pseudonym
    return _("The seat %(seat)s is %(state)s now.") % {
        "seat": seat.pseudonym,
        "state": seat.get_state_display().lower(),
    }


def extend(seat: Seat, hours: int, actor: Any) -> str:
    """Give the person of an active seat `hours` more before it expires.

    Raises BadField, ActRefused (the seat is not active, or does not expire).
    """
    if not 1 <= hours <= MOST_HOURS:
        raise BadField("hours", _("Give a whole number of hours from 1 to %d.") % MOST_HOURS)
    with transaction.atomic():
        held = commitments.lock(seat.pk)
        if held.state != State.ACTIVE or held.expires_at is None:
            raise ActRefused(_("Only an active seat that expires can be given more time."))
        until = max(held.expires_at, timezone.now()) + timedelta(hours=hours)
        Seat.objects.filter(pk=seat.pk).update(expires_at=until)
        auditing.record("seat.extended", actor=actor, seat=seat, hours=hours)
    return _("The seat %(seat)s does not expire before %(until)s UTC.") % {
        "seat": seat.pseudonym,
        "until": until.strftime("%Y-%m-%d %H:%M"),
    }


def message(seat: Seat, text: str, actor: Any) -> Message:
    """Leave a word for the person; it is on their pages until they have read it.

    Raises BadField (empty, too long, or it speaks of the design), ActRefused (nobody sits there).
    """
    words = text.strip()
    if not words or len(words) > LONGEST_MESSAGE:
        raise BadField("text", _("Write from 1 to %d characters.") % LONGEST_MESSAGE)
    if word := revealing_word(words):
        raise BadField("text", _("The person would read “%s”, which tells of the design.") % word)
    if seat.user_id is None:
        raise ActRefused(_("Nobody sits in the seat %s.") % seat.pseudonym)
    with transaction.atomic():
        sent = Message.objects.create(seat=seat, author=actor, text=words)
        # The words are in the message; a person who withdraws takes them along.
        auditing.record("message.sent", actor=actor, seat=seat, message=sent.pk)
    return sent


def resolve(report: ProblemReport, actor: Any) -> bool:
    """Note that a reported problem was looked after; False when it was before."""
    open_ = ProblemReport.objects.filter(pk=report.pk, resolved_at=None)
    with transaction.atomic():
        if not open_.update(resolved_at=timezone.now(), resolved_by=actor):
            return False
        seat = report.assignment.seat
        auditing.record("problem.resolved", actor=actor, seat=seat, problem=report.pk)
    return True


def _do(seat: Seat, name: str, actor: Any) -> bool:
    if name == "pause":
        return seating.pause(seat, actor=actor)
    if name == "resume":
        return seating.resume(seat, actor=actor)
    if name == "close":
        return seating.expire(seat, actor=actor, reason="closed by the study team")
    if name == "returned":
        return crowd.returned(seat, actor=actor)
    if name == "revive":
        return seating.revive(seat, actor=actor)
    try:
        seating.reassign(seat, actor=actor)
    except seating.SeatRefused as refused:
        raise ActRefused(str(refused)) from refused
    return True
