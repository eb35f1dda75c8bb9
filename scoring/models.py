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
    and its settings, digest of the dialogues read). `code_version` is the release of this software
    that planned it: it is told, not compared.
    """

    class State(models.TextChoices):
        QUEUED = "queued", "Waiting"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"
        CANCELLED = "cancelled", "Cancelled"

    OPEN = (State.QUEUED, State.RUNNING)

    kind = models.CharField(max_length=40)
    corpus = models.ForeignKey("benchmark.Corpus", on_delete=models.CASCADE, related_name="runs")
    parameters = models.JSONField()
    digest = models.CharField(max_length=64, unique=True)
    code_version = models.CharField(max_length=40, blank=True)
    state = models.CharField(max_length=9, choices=State.choices, default=State.QUEUED)
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
                condition=Q(state__in=["queued", "running", "done", "failed", "cancelled"]),
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
        """Parts a worker may claim: queued, of a run that has neither failed nor been cancelled."""
        return self.filter(state=Chunk.State.QUEUED, run__state__in=Run.OPEN)

    def held(self) -> ChunkQuerySet:
        """Parts under a lease that has not run out."""
        return self.filter(state=Chunk.State.RUNNING, lease_until__gte=Now())


class Chunk(models.Model):
    """A part of a run, worked on by one task. The row with its lease is the truth, not the queue.

    A worker claims a chunk by one UPDATE from queued to running with its token and lease; only the
    holder of the token can finish it. `keys` are the ids the part is about (dialogues or workflows,
    as the kind of run has it), `size` is the number of rows it will write, `sent_at` when a message
    for it last went to the queue.
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
    finished_at = models.DateTimeField(null=True, blank=True)

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
    """The flow graph of a workflow as fitted in a run.

    Detectors and surprisal fit on the conformant train half; task 1 on the set it compares with,
    the conformant sources of the forks.
    """

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


class Calibration(models.Model):
    """What a run measured on the conformant train half of a workflow before it scored.

    `values` holds one number per training dialogue (the most suspicious turn of each, say),
    `detail` what was set by them: thresholds, the cosine of unrelated turns, why there is none.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="calibrations")
    workflow = models.ForeignKey(
        "benchmark.Workflow", on_delete=models.CASCADE, related_name="calibrations"
    )
    values = models.JSONField(default=list, blank=True)
    detail = models.JSONField(default=dict, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "workflow"], name="one_calibration_per_run_and_workflow"
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


class SetDistance(models.Model):
    """The distance of the forks of one workflow, type and k from the workflow's conformant set."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="set_distances")
    workflow = models.ForeignKey(
        "benchmark.Workflow", on_delete=models.CASCADE, related_name="set_distances"
    )
    type = models.CharField(max_length=4)
    k = models.PositiveSmallIntegerField()
    value = models.FloatField(null=True)
    reason = models.CharField(max_length=200, blank=True)
    detail = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["run", "workflow", "type", "k"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "workflow", "type", "k"], name="one_distance_per_run_and_set"
            ),
            models.CheckConstraint(
                condition=Q(value__isnull=False, reason="")
                | (Q(value__isnull=True) & ~Q(reason="")),
                name="undefined_set_distance_has_a_reason",
            ),
        ]


class OnsetAnswer(models.Model):
    """Where a detector says that a dialogue leaves its workflow.

    `turn` is a number among all turns from 1; null with an empty `reason` is the answer "nowhere",
    null with a reason means that the dialogue could not be judged. `turns` holds
    [turn number, value] of every judged turn, where the method measures turns.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="onset_answers")
    dialogue = models.ForeignKey(
        "benchmark.Dialogue", on_delete=models.CASCADE, related_name="onset_answers"
    )
    turn = models.PositiveIntegerField(null=True)
    reason = models.CharField(max_length=200, blank=True)
    detail = models.JSONField(default=dict, blank=True)
    turns = models.JSONField(default=list, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "dialogue"], name="one_onset_answer_per_run_and_dialogue"
            ),
            models.CheckConstraint(
                condition=Q(turn__isnull=True) | Q(turn__gte=1, reason=""),
                name="onset_is_a_turn_or_has_a_reason",
            ),
        ]


class TrajectoryScore(models.Model):
    """What a detector says of one agent run: a value, or null with the reason.

    `steps` holds [position, value] of every step it measures, `detail` what was chosen in the
    training, which never saw the question of the run.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="trajectory_scores")
    trajectory = models.ForeignKey(
        "benchmark.Trajectory", on_delete=models.CASCADE, related_name="scores"
    )
    value = models.FloatField(null=True)
    reason = models.CharField(max_length=200, blank=True)
    detail = models.JSONField(default=dict, blank=True)
    steps = models.JSONField(default=list, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "trajectory"], name="one_score_per_run_and_trajectory"
            ),
            models.CheckConstraint(
                condition=Q(value__isnull=False, reason="")
                | (Q(value__isnull=True) & ~Q(reason="")),
                name="undefined_trajectory_score_has_a_reason",
            ),
        ]


class RunResult(models.Model):
    """A summary row of a run (for example Kendall's tau of one fork type), with n and interval.

    `workflow` names the workflow the row is about, "" for all; `k` the fork position, 0 for all.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="results")
    statistic = models.CharField(max_length=60)
    group = models.CharField(max_length=80)
    workflow = models.CharField(max_length=200, blank=True, default="")
    k = models.PositiveSmallIntegerField(default=0)
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
                fields=["run", "statistic", "group", "workflow", "k"],
                name="one_result_per_statistic_and_place",
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


class EncodingClaim(models.Model):
    """A text that a worker is encoding now, so that no other worker encodes it as well."""

    encoder = models.CharField(max_length=200)
    text_digest = models.BinaryField(max_length=32)
    token = models.CharField(max_length=80, db_index=True)
    claimed_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["encoder", "text_digest"], name="one_claim_per_encoder_and_text"
            ),
        ]
