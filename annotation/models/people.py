"""How people come to a seat, what they say about themselves, and what is said to them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from annotation.models.studies import Seat, Study


class Invitation(models.Model):
    """A link that gives seats of a study to whoever has it. Only a hash of its token is stored."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="invitations")
    label = models.CharField(max_length=80, blank=True)
    token_hash = models.CharField(max_length=64, unique=True)
    max_people = models.PositiveIntegerField(default=1)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-created_at", "-id"]


class CrowdIdentity(models.Model):
    """Who a person is on a crowd platform: the only place where that is written.

    It is deleted when the person withdraws, and is in no export.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="crowd_identities")
    seat = models.OneToOneField(
        Seat, null=True, blank=True, on_delete=models.CASCADE, related_name="crowd_identity"
    )
    platform = models.CharField(max_length=20, default="prolific")
    person = models.CharField(max_length=64)
    platform_study = models.CharField(max_length=64, blank=True)
    session = models.CharField(max_length=64, blank=True)
    recorded_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "crowd identities"
        constraints = [
            models.UniqueConstraint(
                fields=["study", "platform", "person"], name="one_identity_per_study_and_person"
            ),
        ]


class QuestionnaireAnswer(models.Model):
    """An answer to a question about the person or the work, never about an item."""

    seat = models.ForeignKey(Seat, on_delete=models.CASCADE, related_name="questionnaire")
    question = models.CharField(max_length=40)
    answer = models.TextField(blank=True)
    recorded_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["seat", "question"], name="one_answer_per_question"),
        ]


class Message(models.Model):
    """A word from the study team to a person; shown on their pages until read."""

    seat = models.ForeignKey(Seat, on_delete=models.CASCADE, related_name="messages")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    text = models.CharField(max_length=1000)
    sent_at = models.DateTimeField(db_default=Now())
    read_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["sent_at", "id"]


class Withdrawal(models.Model):
    """That a person withdrew. Releases name the seat as a tombstone from then on."""

    class Mode(models.TextChoices):
        KEEP = "keep", _("Keep the answers under the pseudonym")
        ERASE = "erase", _("Erase the answers")

    seat = models.OneToOneField(Seat, on_delete=models.PROTECT, related_name="withdrawal")
    mode = models.CharField(max_length=5, choices=Mode.choices)
    receipt = models.CharField(max_length=32, unique=True)
    withdrawn_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(mode__in=["keep", "erase"]), name="withdrawal_mode_is_known"
            ),
        ]
