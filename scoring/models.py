from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.urls import reverse


class Embedding(models.Model):
    """One vector per (encoder revision, sha256 of the text): little-endian float32 bytes."""

    encoder = models.CharField(max_length=200)
    text_digest = models.BinaryField(max_length=32)
    vector = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["encoder", "text_digest"], name="one_vector_per_encoder_and_text"
            ),
        ]


class Run(models.Model):
    """A scoring run is its parameters: the digest over kind and parameters is unique.

    `parameters` names everything that can change a score (corpus slugs, encoder revision, method
    and its settings, digest of the dialogues read).
    """

    class State(models.TextChoices):
        QUEUED = "queued", "Waiting"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"

    kind = models.CharField(max_length=40)
    corpus = models.ForeignKey("benchmark.Corpus", on_delete=models.CASCADE, related_name="runs")
    parameters = models.JSONField()
    digest = models.CharField(max_length=64, unique=True)
    state = models.CharField(max_length=8, choices=State.choices, default=State.QUEUED)
    failure = models.TextField(blank=True)
    started_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["queued", "running", "done", "failed"]),
                name="run_state_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"run {self.pk} {self.kind}"

    def get_absolute_url(self) -> str:
        return reverse("scoring:run", args=[self.pk])

    def remaining(self) -> ChunkQuerySet:
        """The parts still to be scored: progress is this query, never a stored counter."""
        return self.chunks.unfinished()


class ChunkQuerySet(models.QuerySet["Chunk"]):
    def unfinished(self) -> ChunkQuerySet:
        return self.exclude(state__in=[Chunk.State.DONE, Chunk.State.FAILED])

    def waiting(self) -> ChunkQuerySet:
        """Parts a worker may claim: queued, of a run that has not failed."""
        return self.filter(
            state=Chunk.State.QUEUED, run__state__in=[Run.State.QUEUED, Run.State.RUNNING]
        )

    def held(self) -> ChunkQuerySet:
        """Parts under a lease that has not run out."""
        return self.filter(state=Chunk.State.RUNNING, lease_until__gte=Now())


class Chunk(models.Model):
    """A part of a run, worked on by one task. The row with its lease is the truth, not the queue.

    A worker claims a chunk by one UPDATE from queued to running with its token and lease; only the
    holder of the token can finish it. `keys` are the dialogue ids of the part, `size` is the number
    of scores it will write, `sent_at` when a message for it last went to the queue.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="chunks")
    ordinal = models.PositiveIntegerField()
    keys = models.JSONField()
    size = models.PositiveIntegerField()
    state = models.CharField(max_length=8, choices=State.choices, default=State.QUEUED)
    sent_at = models.DateTimeField(null=True, blank=True)
    token = models.CharField(max_length=80, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    failure = models.TextField(blank=True)

    objects = ChunkQuerySet.as_manager()

    class Meta:
        ordering = ["run", "ordinal"]
        constraints = [
            models.UniqueConstraint(fields=["run", "ordinal"], name="one_chunk_per_ordinal"),
            models.CheckConstraint(
                condition=~Q(state="running") | (~Q(token="") & Q(lease_until__isnull=False)),
                name="running_chunk_has_token_and_lease",
            ),
        ]
        indexes = [models.Index(fields=["state", "lease_until"], name="chunk_sweep")]


class FlowGraph(models.Model):
    """The flow graph of a workflow as fitted in a run on the conformant train half."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="flow_graphs")
    workflow = models.ForeignKey(
        "benchmark.Workflow", on_delete=models.CASCADE, related_name="flow_graphs"
    )
    graph = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "workflow"], name="one_flow_graph_per_run_and_workflow"
            ),
        ]


class DialogueScore(models.Model):
    """What a run says of one dialogue: a value, or null with the reason.

    `turns` holds per-turn values where the method has them, one object per turn number.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="scores")
    dialogue = models.ForeignKey(
        "benchmark.Dialogue", on_delete=models.CASCADE, related_name="scores"
    )
    value = models.FloatField(null=True)
    reason = models.CharField(max_length=200, blank=True)
    detail = models.JSONField(default=dict, blank=True)
    turns = models.JSONField(default=list, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "dialogue"], name="one_score_per_run_and_dialogue"
            ),
            models.CheckConstraint(
                condition=Q(value__isnull=False, reason="")
                | (Q(value__isnull=True) & ~Q(reason="")),
                name="undefined_score_has_a_reason",
            ),
        ]


class RunResult(models.Model):
    """A summary row of a run (for example Kendall's tau of one fork type), with n and interval."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="results")
    statistic = models.CharField(max_length=60)
    group = models.CharField(max_length=80)
    value = models.FloatField(null=True)
    reason = models.CharField(max_length=200, blank=True)
    n = models.PositiveIntegerField()
    skipped = models.PositiveIntegerField(default=0)
    ci_low = models.FloatField(null=True)
    ci_high = models.FloatField(null=True)
    detail = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["run", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "statistic", "group"], name="one_result_per_statistic_and_group"
            ),
            models.CheckConstraint(
                condition=Q(value__isnull=False, reason="")
                | (Q(value__isnull=True) & ~Q(reason="")),
                name="undefined_result_has_a_reason",
            ),
        ]


class WorkerBeat(models.Model):
    """When a worker was last seen: the health page and `doctor` read it."""

    worker = models.CharField(max_length=200, unique=True)
    seen_at = models.DateTimeField()
