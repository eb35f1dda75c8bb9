"""What happens while an item is open: drafts, time spent, problems reported."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from annotation.models.studies import Assignment

STEPS = ["rate", "instruction", "prefix", "review", "compare", "revise"]


class Draft(models.Model):
    """What has been entered and not confirmed, one row per step. Never an answer."""

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="drafts")
    step = models.CharField(max_length=11)
    values = models.JSONField(default=dict)
    revision = models.PositiveIntegerField(default=0)
    saved_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["assignment", "step"], name="one_draft_per_step"),
            models.CheckConstraint(condition=Q(step__in=STEPS), name="draft_step_is_known"),
        ]


class StepTime(models.Model):
    """Time on a step, by the server's clock; `active_ms` counts only a visible, used page."""

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="times")
    step = models.CharField(max_length=11)
    opened_at = models.DateTimeField(db_default=Now())
    first_input_at = models.DateTimeField(null=True, blank=True)
    beat_at = models.DateTimeField(null=True, blank=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    active_ms = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["assignment", "step"], name="one_time_per_step"),
            models.CheckConstraint(condition=Q(step__in=STEPS), name="time_step_is_known"),
        ]


class ProblemReport(models.Model):
    """Something is wrong with an item, in the words of who judges it."""

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="problems")
    turn = models.ForeignKey(
        "benchmark.Turn", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    step = models.ForeignKey(
        "benchmark.TrajectoryStep",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
    )
    text = models.CharField(max_length=1000)
    recorded_at = models.DateTimeField(db_default=Now())
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        ordering = ["-recorded_at", "-id"]
