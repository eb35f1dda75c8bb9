from __future__ import annotations

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.urls import reverse


class Corpus(models.Model):
    """A named collection of workflows, dialogues, their forks and agent trajectories."""

    slug = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=200, blank=True)
    description = models.TextField(blank=True)
    licence = models.CharField(max_length=120, blank=True)
    split_seed = models.BigIntegerField(default=0)
    is_demo = models.BooleanField(default=False)
    meta = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "corpora"
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.title or self.slug

    def get_absolute_url(self) -> str:
        return reverse("benchmark:corpus", args=[self.slug])


class Workflow(models.Model):
    """A procedure: states and actions, allowed moves, an objective, start and terminal steps."""

    corpus = models.ForeignKey(Corpus, on_delete=models.CASCADE, related_name="workflows")
    name = models.CharField(
        max_length=120,
        validators=[
            RegexValidator(r"^[\w.-]+\Z", "Use letters, digits, dots, hyphens and underscores.")
        ],
    )
    domain = models.CharField(max_length=120, blank=True)
    objective = models.TextField(blank=True)
    system_instruction = models.TextField(blank=True)
    user_instruction = models.TextField(blank=True)
    digest = models.CharField(max_length=64)
    meta = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["corpus", "domain", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["corpus", "name"], name="one_workflow_per_corpus_and_name"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("benchmark:workflow", args=[self.corpus.slug, self.name])


class WorkflowStep(models.Model):
    class Kind(models.TextChoices):
        ACTION = "action", "said or done by the assistant"
        STATE = "state", "reached, never uttered"
        REPLY = "reply", "allowed utterance outside the graph"

    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="steps")
    position = models.PositiveIntegerField()
    key = models.CharField(max_length=200)
    text = models.TextField(blank=True)
    kind = models.CharField(max_length=12, choices=Kind.choices, default=Kind.ACTION)
    is_start = models.BooleanField(default=False)
    is_terminal = models.BooleanField(default=False)

    class Meta:
        ordering = ["workflow", "position"]
        constraints = [
            models.UniqueConstraint(fields=["workflow", "key"], name="one_step_per_key"),
            models.UniqueConstraint(fields=["workflow", "position"], name="one_step_per_position"),
            models.UniqueConstraint(
                fields=["workflow"], condition=Q(is_start=True), name="at_most_one_start_step"
            ),
        ]

    def __str__(self) -> str:
        return self.key


class WorkflowTransition(models.Model):
    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="transitions")
    position = models.PositiveIntegerField()
    source = models.ForeignKey(WorkflowStep, on_delete=models.CASCADE, related_name="moves_out")
    target = models.ForeignKey(WorkflowStep, on_delete=models.CASCADE, related_name="moves_in")
    observation = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering = ["workflow", "position"]
        constraints = [
            models.UniqueConstraint(
                fields=["workflow", "source", "target", "observation"],
                name="one_transition_per_move_and_observation",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"
