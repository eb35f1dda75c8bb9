"""What is kept about the work itself: commitments, the audit log, adjudications, exports."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from annotation.models.studies import Assignment, Item, Seat, Study


class Commitment(models.Model):
    """A link of a seat's chain: what was answered before what was shown.

    `leaf` is a digest of salt and payload, `head` one of the head before and the leaf. Erasing a
    person deletes salt and payload; the chain of heads still verifies.
    """

    seat = models.ForeignKey(Seat, on_delete=models.CASCADE, related_name="commitments")
    ordinal = models.PositiveIntegerField()
    assignment = models.ForeignKey(
        Assignment, null=True, blank=True, on_delete=models.SET_NULL, related_name="commitments"
    )
    salt = models.CharField(max_length=64, blank=True)
    payload = models.TextField(blank=True)
    leaf = models.CharField(max_length=64)
    head = models.CharField(max_length=64)
    recorded_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["seat", "ordinal"]
        constraints = [
            models.UniqueConstraint(fields=["seat", "ordinal"], name="one_link_per_place"),
        ]


class AuditEntry(models.Model):
    """Who did what. Rows are added, never changed; names of erased people are removed."""

    at = models.DateTimeField(db_default=Now(), db_index=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    action = models.CharField(max_length=60)
    study = models.ForeignKey(
        Study, null=True, blank=True, on_delete=models.SET_NULL, related_name="audit"
    )
    seat = models.ForeignKey(
        Seat, null=True, blank=True, on_delete=models.SET_NULL, related_name="audit"
    )
    detail = models.JSONField(default=dict, blank=True)

    class Meta:
        verbose_name_plural = "audit entries"
        ordering = ["-at", "-id"]


class Adjudication(models.Model):
    """A third look at an item whose judges differ: a new row, never an edit of theirs."""

    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="adjudications")
    adjudicator = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    rating = models.PositiveSmallIntegerField(null=True, blank=True)
    appears = models.CharField(max_length=6, blank=True)
    onset = models.ForeignKey(
        "benchmark.Turn", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    prefix = models.CharField(max_length=6, blank=True)
    note = models.CharField(max_length=1000, blank=True)
    recorded_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-recorded_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(rating__isnull=True) | Q(rating__gte=0, rating__lte=100),
                name="adjudicated_rating_from_0_to_100",
            ),
        ]


class Export(models.Model):
    """A file of a study's answers, written in the background."""

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        RUNNING = "running", _("Running")
        DONE = "done", _("Done")
        FAILED = "failed", _("Failed")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="exports")
    format = models.CharField(max_length=20)
    parameters = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    n_rows = models.PositiveIntegerField(default=0)
    counts = models.JSONField(default=dict, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    file = models.CharField(max_length=200, blank=True)
    error = models.CharField(max_length=500, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
