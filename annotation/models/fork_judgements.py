"""The answers to one item. Keys carry the protocol: no later answer exists before the blind one."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from annotation.models.studies import Assignment


class SliderRating(models.Model):
    """Step 1, blind: how closely the assistant followed the workflow, 0 to 100."""

    assignment = models.OneToOneField(Assignment, on_delete=models.PROTECT, related_name="slider")
    value = models.PositiveSmallIntegerField()
    recorded_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(value__gte=0, value__lte=100), name="rating_from_0_to_100"
            ),
        ]


class InstructionConfirmation(models.Model):
    """Step 2: does the shown instruction appear? Hangs on the rating: no rating, no reveal."""

    class Answer(models.TextChoices):
        YES = "yes", _("Yes")
        PARTLY = "partly", _("Partly")
        NO = "no", _("No")

    slider = models.OneToOneField(
        SliderRating, on_delete=models.PROTECT, related_name="confirmation"
    )
    answer = models.CharField(max_length=6, choices=Answer.choices)
    recorded_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(answer__in=["yes", "partly", "no"]), name="confirmation_is_known"
            ),
        ]


class OnsetMark(models.Model):
    """Where the instruction starts: an assistant turn. A 'no' writes a row with no turn."""

    confirmation = models.OneToOneField(
        InstructionConfirmation, on_delete=models.PROTECT, related_name="onset"
    )
    turn = models.ForeignKey(
        "benchmark.Turn", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    recorded_at = models.DateTimeField(db_default=Now())


class PrefixJudgement(models.Model):
    """Step 3, only where the fork turn is not the first assistant turn: did the prefix follow?"""

    class Answer(models.TextChoices):
        YES = "yes", _("Yes")
        MOSTLY = "mostly", _("Mostly")
        NO = "no", _("No")

    onset = models.OneToOneField(OnsetMark, on_delete=models.PROTECT, related_name="prefix")
    answer = models.CharField(max_length=6, choices=Answer.choices)
    recorded_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(answer__in=["yes", "mostly", "no"]), name="prefix_is_known"
            ),
        ]


class Skip(models.Model):
    """An item a person could not judge, with the reason. It is finished, and counted apart."""

    class Reason(models.TextChoices):
        CUT_OFF = "cut_off", _("The conversation is cut off or broken")
        LANGUAGE = "language", _("I cannot follow the language or the subject")
        DISTRESSING = "distressing", _("I would rather not read it")
        KNOWN = "known", _("I know this conversation from elsewhere")
        OTHER = "other", _("Another reason")

    assignment = models.OneToOneField(Assignment, on_delete=models.PROTECT, related_name="skip")
    reason = models.CharField(max_length=12, choices=Reason.choices)
    note = models.CharField(max_length=500, blank=True)
    recorded_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(reason__in=["cut_off", "language", "distressing", "known", "other"]),
                name="skip_reason_is_known",
            ),
        ]
