"""People who come from a crowd platform: who they are there, and the code they take back.

Their ids are written in one row, `CrowdIdentity`, and nowhere else: no address, no log, no export.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation import invitations, seating
from annotation.invitations import Joined
from annotation.models import CrowdIdentity, Seat, Study

PLATFORM = "prolific"
COMPLETION = "https://app.prolific.com/submissions/complete"
PARAMETERS = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
IDENTIFIER = re.compile(r"[0-9A-Fa-f]{24}\Z")
KEPT_WITHOUT_SEAT = timedelta(days=7)
# Which code a person takes back; None while they are still at it.
KINDS = {
    Seat.State.FINISHED: "complete",
    Seat.State.SCREENED_OUT: "screened_out",
    Seat.State.DECLINED: "no_consent",
    Seat.State.EXPIRED: "partial",
    Seat.State.WITHDRAWN: "partial",
}


class BadArrival(ValueError):
    """An address without the ids the platform sends; `field` names the one at fault."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


class ArrivalRefused(ValueError):
    """Ids that do not fit what was there before. `needs_code`: the resume code lets them in."""

    def __init__(self, message: str, *, needs_code: bool = False) -> None:
        self.needs_code = needs_code
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Arrival:
    """The ids of a visit; each 24 hexadecimal digits, in small letters."""

    person: str
    platform_study: str
    session: str


@dataclass(frozen=True, slots=True)
class Completion:
    """What to take back to the platform: the `kind` of end, its `code`, and a link with it."""

    kind: str
    code: str
    url: str


def arrival(parameters: Mapping[str, str]) -> Arrival:
    """Read the ids of an address. Raises BadArrival, naming the parameter."""
    found = []
    for name in PARAMETERS:
        text = parameters.get(name, "")
        if not IDENTIFIER.match(text):
            raise BadArrival(
                name, _("%s must be 24 hexadecimal digits, as Prolific sends it.") % name
            )
        found.append(text.lower())
    return Arrival(*found)


def remember(study: Study, came: Arrival, user: Any = None) -> CrowdIdentity:
    """Write down who came, once; the same person in the same session finds their row again.

    `user` is who is signed in now. Another person in the middle of their session is refused, and
    so is the same person in another session once they have a seat: they have a code for that. Ids
    of people who looked and took no seat are forgotten after a week.

    Raises ArrivalRefused.
    """
    if user is not None:
        _refuse_another_person(study, came, user)
    only_looked = CrowdIdentity.objects.filter(study=study, seat=None)
    only_looked.filter(recorded_at__lt=timezone.now() - KEPT_WITHOUT_SEAT).delete()
    identity, new = CrowdIdentity.objects.get_or_create(
        study=study,
        platform=PLATFORM,
        person=came.person,
        defaults={"session": came.session, "platform_study": came.platform_study},
    )
    if new or identity.session == came.session:
        return identity
    waiting = CrowdIdentity.objects.filter(pk=identity.pk, seat=None)
    if waiting.update(session=came.session, platform_study=came.platform_study):
        identity.refresh_from_db()
        return identity
    raise ArrivalRefused(
        _(
            "You were here before in another session. To go on where you were, enter your "
            "pseudonym and the code you wrote down."
        ),
        needs_code=True,
    )


def begin(identity: CrowdIdentity) -> Joined:
    """Give the person a seat with an account of its own; the one they have, if they have one.

    Refusals leave no account behind. Raises seating.EnrolmentRefused.
    """
    with transaction.atomic():
        rows = CrowdIdentity.objects.select_for_update(of=("self",), no_key=True)
        identity = rows.select_related("study", "seat__user").get(pk=identity.pk)
        if identity.seat and identity.seat.user:
            user = identity.seat.user
            return Joined(user, seating.take(identity.study, user), None)
        seating.require_open(identity.study)
        joined = invitations.admit(identity.study)
        CrowdIdentity.objects.filter(pk=identity.pk).update(seat=joined.seat)
        return joined


def completion(seat: Seat) -> Completion | None:
    """The code for how the seat ended; the same on every call.

    None while the person is at work, when they came from no platform, or when the study has no
    such code.
    """
    kind = KINDS.get(Seat.State(seat.state))
    if kind is None or not CrowdIdentity.objects.filter(seat=seat).exists():
        return None
    return completion_of(seat.study, kind)


def completion_of(study: Study, kind: str) -> Completion | None:
    """The code of `study` for a `kind` of end, with its link; None when it has none."""
    code = str(study.codes.get(kind) or "")
    if not code:
        return None
    return Completion(kind, code, f"{COMPLETION}?{urlencode({'cc': code})}")


def returned(seat: Seat, *, actor: Any) -> bool:
    """The person gave the submission back on the platform: what is unfinished is free again."""
    return seating.expire(seat, actor=actor, reason="returned")


def _refuse_another_person(study: Study, came: Arrival, user: Any) -> None:
    seat = study.seats.filter(user=user).select_related("crowd_identity").first()
    if seat is None:
        return
    known = getattr(seat, "crowd_identity", None)
    if known is None or known.person != came.person:
        raise ArrivalRefused(
            _(
                "This browser is in the study as somebody else. Go on there, or sign out before "
                "you come with another id."
            )
        )
