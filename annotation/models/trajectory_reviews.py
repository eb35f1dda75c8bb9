"""The answers to an agent run. Keys carry the protocol, as they do for conversations.

The labels themselves lie beside those of judges (`benchmark.models.LabelSet`); what stands here
says when they were given, and after what.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from annotation.models.studies import Assignment


class Review(models.Model):
    """Step 1, blind: presence, types, places and why. Frozen once it is there."""

    assignment = models.OneToOneField(Assignment, on_delete=models.PROTECT, related_name="review")
    labels = models.OneToOneField(
        "benchmark.LabelSet", on_delete=models.PROTECT, related_name="review"
    )
    recorded_at = models.DateTimeField(db_default=Now())


class JudgeComparison(models.Model):
    """Step 2: the judge's answer beside one's own. Hangs on the review: no review, no reveal.

    What the two differ on is marked by part. `changed` says that the person would answer
    differently now: then the item has a third step.
    """

    class Agreement(models.TextChoices):
        AGREE = "agree", _("Agree")
        PARTLY = "partly", _("Partly agree")
        DISAGREE = "disagree", _("Disagree")

    review = models.OneToOneField(Review, on_delete=models.PROTECT, related_name="comparison")
    answer = models.ForeignKey(
        "benchmark.JudgeAnswer", on_delete=models.PROTECT, related_name="comparisons"
    )
    agreement = models.CharField(max_length=8, choices=Agreement.choices)
    on_presence = models.BooleanField(default=False)
    on_type = models.BooleanField(default=False)
    on_step = models.BooleanField(default=False)
    on_component = models.BooleanField(default=False)
    note = models.CharField(max_length=1000, blank=True)
    changed = models.BooleanField(default=False)
    recorded_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(agreement__in=["agree", "partly", "disagree"]),
                name="comparison_is_known",
            ),
            models.CheckConstraint(
                condition=~Q(agreement="agree")
                | Q(on_presence=False, on_type=False, on_step=False, on_component=False),
                name="who_agrees_differs_on_nothing",
            ),
        ]


class RevisedReview(models.Model):
    """Step 3, only after a changed mind: another answer, which is not blind (`post_reveal`)."""

    comparison = models.OneToOneField(
        JudgeComparison, on_delete=models.PROTECT, related_name="revision"
    )
    labels = models.OneToOneField(
        "benchmark.LabelSet", on_delete=models.PROTECT, related_name="revised_review"
    )
    recorded_at = models.DateTimeField(db_default=Now())
