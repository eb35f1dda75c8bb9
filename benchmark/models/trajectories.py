from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.urls import reverse

from benchmark.models.workflows import Corpus


class Trajectory(models.Model):
    """An agent run: a task and its ordered steps (Trajel, section 3.1).

    `question` is the id of what was asked, by which runs of several models are grouped; `expected`
    the answer it should have had, `response` the one it gave.
    """

    corpus = models.ForeignKey(Corpus, on_delete=models.CASCADE, related_name="trajectories")
    format = models.CharField(max_length=24)
    external_id = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)
    task = models.TextField(blank=True)
    model = models.CharField(max_length=200, blank=True)
    question = models.CharField(max_length=200, blank=True)
    expected = models.TextField(blank=True)
    response = models.TextField(blank=True)
    n_steps = models.PositiveIntegerField(default=0)
    warnings = models.JSONField(default=dict, blank=True)
    meta = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "trajectories"
        constraints = [
            models.UniqueConstraint(
                fields=["corpus", "format", "external_id"],
                name="one_trajectory_per_corpus_format_and_external_id",
            ),
        ]
        indexes = [
            models.Index(fields=["corpus", "model"], name="trajectory_by_model"),
            models.Index(fields=["corpus", "question"], name="trajectory_by_question"),
        ]

    def __str__(self) -> str:
        return self.external_id

    def get_absolute_url(self) -> str:
        return reverse("benchmark:trajectory", args=[self.pk])


class TrajectoryStep(models.Model):
    """`position` is the place in the run, from 1; `number` is as given and may repeat."""

    trajectory = models.ForeignKey(Trajectory, on_delete=models.CASCADE, related_name="steps")
    position = models.PositiveIntegerField()
    number = models.IntegerField()
    agent = models.CharField(max_length=200, blank=True)
    thought = models.TextField(blank=True)
    action = models.TextField(blank=True)
    observation = models.TextField(blank=True)
    response = models.TextField(blank=True)
    meta = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["trajectory", "position"]
        constraints = [
            models.UniqueConstraint(
                fields=["trajectory", "position"], name="one_step_per_trajectory_position"
            ),
            models.CheckConstraint(
                condition=Q(position__gte=1), name="step_positions_start_at_one"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.position} {self.agent}"


class TrajectorySignal(models.Model):
    """A yes or no about a whole run, such as "task_completion", by whoever computed it.

    A `value` of null was computed and left undecided; a signal without a row was not computed.
    """

    trajectory = models.ForeignKey(Trajectory, on_delete=models.CASCADE, related_name="signals")
    name = models.CharField(max_length=80)
    value = models.BooleanField(null=True)
    source = models.CharField(max_length=120, blank=True)

    class Meta:
        ordering = ["trajectory", "source", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["trajectory", "name", "source"],
                name="one_signal_per_trajectory_name_and_source",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name}: {self.value}"
