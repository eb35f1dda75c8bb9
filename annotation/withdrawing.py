"""Leaving a study for good: the answers stay under the pseudonym, or they are erased.

Either way the person is taken out of the study: the seat names no account any more, and who they
were on a crowd platform is deleted. What remains is a tombstone: that this seat withdrew, and when.
"""

from __future__ import annotations

import secrets
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation import announcing, auditing, commitments, exporting
from annotation.models import (
    Assignment,
    AuditEntry,
    CrowdIdentity,
    Draft,
    InstructionConfirmation,
    JudgeComparison,
    Message,
    OnsetMark,
    PrefixJudgement,
    ProblemReport,
    QuestionnaireAnswer,
    Review,
    RevisedReview,
    Seat,
    Skip,
    SliderRating,
    StepTime,
    Withdrawal,
)
from annotation.seating import knows_conditions
from benchmark.label_records import PERSON
from benchmark.models import LabelSet, Rater

KEEP, ERASE = Withdrawal.Mode.KEEP, Withdrawal.Mode.ERASE
# Children before parents: an answer cannot go while a later one hangs on it.
ANSWERS = (
    (RevisedReview, "comparison__review__assignment__seat"),
    (JudgeComparison, "review__assignment__seat"),
    (Review, "assignment__seat"),
    (PrefixJudgement, "onset__confirmation__slider__assignment__seat"),
    (OnsetMark, "confirmation__slider__assignment__seat"),
    (InstructionConfirmation, "slider__assignment__seat"),
    (SliderRating, "assignment__seat"),
    (Skip, "assignment__seat"),
    (Draft, "assignment__seat"),
    (StepTime, "assignment__seat"),
    (ProblemReport, "assignment__seat"),
    (QuestionnaireAnswer, "seat"),
    (Message, "seat"),
)


class WithdrawalRefused(ValueError):
    """A withdrawal that cannot be; the message says why."""


def withdraw(seat: Seat, mode: str) -> Withdrawal:
    """Take the person of `seat` out of the study; asked again, the first withdrawal stands.

    "keep" leaves confirmed answers under the pseudonym. "erase" deletes answers, drafts, times,
    problem reports, questionnaire and messages, the files of exports made so far, and empties the
    chain of commitments, which still verifies. Unfinished items end in both; so do all items of an
    erased seat. The account is closed and emptied unless it has another seat or a role.

    Raises WithdrawalRefused for an unknown mode or a seat that nobody has.
    """
    if mode not in Withdrawal.Mode.values:
        raise WithdrawalRefused(_("Choose whether the answers are kept or erased."))
    with transaction.atomic():
        locked = commitments.lock(seat.pk)
        if earlier := Withdrawal.objects.filter(seat=locked).first():
            return earlier
        if locked.user_id is None:
            raise WithdrawalRefused(_("Nobody has this seat."))
        user = get_user_model().objects.get(pk=locked.user_id)
        if mode == ERASE:
            _erase_answers(locked)
            # After the commit: files that were deleted do not come back with a rollback.
            transaction.on_commit(lambda: exporting.forget(locked.study))
        _end_items(locked, mode)
        _leave(locked)
        _close_account(user, erase=mode == ERASE)
        withdrawal = Withdrawal.objects.create(
            seat=locked, mode=mode, receipt=secrets.token_hex(16)
        )
        auditing.record("seat.withdrawn", seat=locked, mode=mode)
        announcing.announce(
            "annotation.withdrawn",
            {"study": locked.study.slug, "seat": locked.pseudonym, "mode": mode},
        )
    seat.refresh_from_db()
    return withdrawal


def closes_account(seat: Seat) -> bool:
    """Whether withdrawing closes the account as well: it has no other seat and no role."""
    if seat.user is None or knows_conditions(seat.user):
        return False
    return not Seat.objects.filter(user=seat.user).exclude(pk=seat.pk).exists()


def _erase_answers(seat: Seat) -> None:
    for model, path in ANSWERS:
        model._default_manager.filter(**{path: seat}).delete()
    # Labels of runs lie beside those of judges, under the pseudonym.
    LabelSet.objects.filter(rater__name=seat.pseudonym, rater__kind=PERSON).delete()
    Rater.objects.filter(name=seat.pseudonym, kind=PERSON).delete()
    commitments.erase(seat)


def _end_items(seat: Seat, mode: str) -> None:
    """What is erased was never finished, as far as any count goes."""
    ended = {"ended": Assignment.Ended.WITHDRAWN, "ended_at": timezone.now()}
    if mode == ERASE:
        seat.assignments.update(**ended, opened_at=None, finished_at=None)
    else:
        seat.assignments.unfinished().update(**ended)
        Draft.objects.filter(assignment__seat=seat).delete()


def _leave(seat: Seat) -> None:
    CrowdIdentity.objects.filter(seat=seat).delete()
    Seat.objects.filter(pk=seat.pk).update(
        user=None, state=Seat.State.WITHDRAWN, resume_hash="", expires_at=None
    )


def _close_account(user: Any, *, erase: bool) -> None:
    """Empty an account that nothing else needs. Its row stays: other rows may point at it."""
    if knows_conditions(user) or Seat.objects.filter(user=user).exists():
        return
    user.username = f"gone-{secrets.token_hex(8)}"
    user.first_name = user.last_name = user.email = ""
    user.is_active = False
    user.last_login = None
    user.set_unusable_password()
    user.save()
    user.groups.clear()
    user.user_permissions.clear()
    if erase:
        AuditEntry.objects.filter(actor=user).update(actor=None)
    LogEntry.objects.filter(user=user).delete()
    about = ContentType.objects.get_for_model(user)
    LogEntry.objects.filter(content_type=about, object_id=str(user.pk)).delete()
