"""Links that let people in: made by a researcher, shown once, claimed by pressing a button.

The database holds a digest of a link's token, and of the code with which a person comes back:
whoever reads a backup can open nothing with it.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _

from annotation import auditing, seating
from annotation.models import Invitation, Seat, Study

MAX_DAYS, MAX_PEOPLE, MAX_LABEL = 365, 1000, 80
# Easy to read aloud and to write down: no 0 and O, no 1, I and L.
CODE_LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
CODE_GROUPS, CODE_GROUP = 4, 4


class InvitationRefused(ValueError):
    """A field of a new invitation that is not allowed; `field` names it."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


class LinkRefused(ValueError):
    """A link that lets nobody in. `gone` says whether that is for good."""

    def __init__(self, message: str, *, gone: bool) -> None:
        self.gone = gone
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Joined:
    """Who came in, to which seat, and the code to come back with (None when they have one)."""

    user: Any
    seat: Seat
    code: str | None


def create(
    study: Study, *, label: str, days: int, people: int, actor: Any
) -> tuple[Invitation, str]:
    """Make an invitation; returns it with its token, which is stored nowhere.

    Raises InvitationRefused, naming the field.
    """
    label = label.strip()
    if len(label) > MAX_LABEL:
        raise InvitationRefused("label", _("Keep the label under %d characters.") % MAX_LABEL)
    if not 1 <= days <= MAX_DAYS:
        raise InvitationRefused("days", _("Give a number of days from 1 to %d.") % MAX_DAYS)
    if not 1 <= people <= MAX_PEOPLE:
        raise InvitationRefused("people", _("Give a number of people from 1 to %d.") % MAX_PEOPLE)
    token = secrets.token_urlsafe(32)
    with transaction.atomic():
        invitation = Invitation.objects.create(
            study=study,
            label=label,
            token_hash=digest(token),
            max_people=people,
            expires_at=timezone.now() + timedelta(days=days),
            created_by=actor,
        )
        auditing.record(
            "invitation.created",
            actor=actor,
            study=study,
            invitation=invitation.pk,
            people=people,
            days=days,
        )
    return invitation, token


def revoke(invitation: Invitation, *, actor: Any) -> bool:
    """Let nobody in with this link from now on; who came in stays. False when it was revoked."""
    now = timezone.now()
    with transaction.atomic():
        mine = Invitation.objects.filter(pk=invitation.pk, revoked_at=None)
        if not mine.update(revoked_at=now):
            return False
        auditing.record(
            "invitation.revoked", actor=actor, study=invitation.study, invitation=invitation.pk
        )
    invitation.revoked_at = now
    return True


def of_study(study: Study) -> QuerySet[Invitation]:
    """The invitations of a study, newest first, with `n_people` who came in by each."""
    return study.invitations.select_related("created_by").annotate(n_people=Count("seats"))


def find(token: str) -> Invitation:
    """The invitation of a link, whether it still lets people in or not.

    Raises Invitation.DoesNotExist for a link that never was one.
    """
    return Invitation.objects.select_related("study").get(token_hash=digest(token))


def require_usable(invitation: Invitation) -> None:
    """Raise LinkRefused, or StudyNotOpen, when the link lets nobody in."""
    if invitation.revoked_at:
        raise LinkRefused(_("This link was withdrawn by the study team."), gone=True)
    if invitation.expires_at <= timezone.now():
        raise LinkRefused(_("This link has expired."), gone=True)
    seating.require_open(invitation.study)
    if invitation.seats.count() >= invitation.max_people:
        raise LinkRefused(_("Everybody this link was made for has come in."), gone=False)


def claim(invitation: Invitation, user: Any = None) -> Joined:
    """Let `user` in, or a new account without password and with a drawn name.

    Who has a seat of the study already gets that one, whatever became of the link. Refusals leave
    nothing behind, no account either.

    Raises LinkRefused or seating.EnrolmentRefused.
    """
    with transaction.atomic():
        if user is not None and (mine := invitation.study.seats.filter(user=user).first()):
            return Joined(user, seating.take(mine.study, user), None)
        # One claim of a link at a time: its head count is a promise.
        links = Invitation.objects.select_for_update(of=("self",), no_key=True)
        invitation = links.select_related("study").get(pk=invitation.pk)
        require_usable(invitation)
        return admit(invitation.study, user, invitation)


def admit(study: Study, user: Any = None, invitation: Invitation | None = None) -> Joined:
    """Give a seat to `user`, or to a new account; call it inside a transaction."""
    user = user or new_account()
    seat = seating.take(study, user, invitation=invitation)
    code = None if user.has_usable_password() else new_code(seat)
    return Joined(user, seat, code)


def new_account() -> Any:
    """An account that nobody can name and no password opens."""
    accounts = get_user_model().objects
    name = f"p-{secrets.token_hex(4)}"
    while accounts.filter(username=name).exists():
        name = f"p-{secrets.token_hex(4)}"
    return accounts.create_user(name)


def new_code(seat: Seat) -> str:
    """Draw the code with which the person of `seat` comes back; an earlier one ends.

    About 79 bits, in four groups of four letters.
    """
    groups = [
        "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_GROUP)) for _ in range(CODE_GROUPS)
    ]
    code = "-".join(groups)
    seat.resume_hash = _code_digest(seat.pseudonym, code)
    Seat.objects.filter(pk=seat.pk).update(resume_hash=seat.resume_hash)
    return code


def resume(pseudonym: str, code: str) -> Seat | None:
    """The seat that `pseudonym` and `code` open together, or None.

    None does not tell which of the two is wrong, nor how much of it.
    """
    pseudonym = pseudonym.strip()
    pseudonym = f"A-{pseudonym[2:].lower()}" if pseudonym[:2].lower() == "a-" else pseudonym
    seats = Seat.objects.select_related("study", "user").exclude(resume_hash="")
    seat = seats.filter(pseudonym=pseudonym, user__is_active=True).first()
    expected = seat.resume_hash if seat else digest("")
    right = constant_time_compare(expected, _code_digest(pseudonym, code))
    return seat if seat and right else None


def digest(text: str) -> str:
    """SHA-256 in 64 hexadecimal digits; for texts with so much chance that none can be guessed."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _code_digest(pseudonym: str, code: str) -> str:
    """Small letters, spaces and missing hyphens do not matter."""
    letters = "".join(letter for letter in code.upper() if letter in CODE_LETTERS)
    return digest(f"{pseudonym} {letters}")
