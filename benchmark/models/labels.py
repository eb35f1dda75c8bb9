"""Who says what of an agent run: raters, their label sets, and the raw answers of judges."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from benchmark.label_records import CAUSES, COMPONENTS, FLAGS, RATER_KINDS, TYPES
from benchmark.models.trajectories import Trajectory, TrajectoryStep


class JudgePrompt(models.Model):
    """A version of the words that a judge is asked with. Never edited: a change is a new version.

    `variant` says where the prompt stands in a set of variants, by axis (Trajel, section 4.1), such
    as {"specificity": "high"}; prompts of one `variant_set` are compared with each other.
    """

    name = models.SlugField(max_length=80)
    version = models.PositiveIntegerField()
    text = models.TextField()
    digest = models.CharField(max_length=64)
    variant_set = models.SlugField(max_length=80, blank=True)
    variant = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["name", "-version"]
        constraints = [
            models.UniqueConstraint(
                fields=["name", "version"], name="one_prompt_per_name_and_version"
            ),
            models.CheckConstraint(condition=Q(version__gte=1), name="prompt_versions_from_one"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


class Rater(models.Model):
    """Who labels runs: a person (by pseudonym), a judge (a model with its prompt), or a publisher.

    A judge asked with another prompt is another rater.
    """

    class Kind(models.TextChoices):
        PERSON = "person", "Person"
        JUDGE = "judge", "Judge"
        PUBLISHED = "published", "Published"

    name = models.CharField(max_length=120, unique=True)
    kind = models.CharField(max_length=9, choices=Kind.choices)
    model = models.CharField(max_length=120, blank=True)
    prompt = models.ForeignKey(
        JudgePrompt, null=True, blank=True, on_delete=models.PROTECT, related_name="raters"
    )
    simulated = models.BooleanField(default=False)
    meta = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["kind", "name"]
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=RATER_KINDS), name="rater_kind_is_known"),
        ]

    def __str__(self) -> str:
        return self.name


class LabelSet(models.Model):
    """What one rater says of one run: is there a hallucination, of which types, why.

    Without a type beside `present` the rater does not say which. Where it happens stands in
    `places`. Blind answers have `post_reveal` false. `stage` is "" but for people in a study, whose
    first answer is a "review" and whose changed mind, a further row, a "revision".
    """

    class Stage(models.TextChoices):
        REVIEW = "review", "Review"
        REVISION = "revision", "Revision"

    trajectory = models.ForeignKey(Trajectory, on_delete=models.CASCADE, related_name="label_sets")
    rater = models.ForeignKey(Rater, on_delete=models.PROTECT, related_name="label_sets")
    trial = models.PositiveSmallIntegerField(default=1)
    post_reveal = models.BooleanField(default=False)
    stage = models.CharField(max_length=8, choices=Stage.choices, blank=True, default="")
    present = models.BooleanField()
    factual = models.BooleanField(default=False)
    referential = models.BooleanField(default=False)
    logical = models.BooleanField(default=False)
    procedural = models.BooleanField(default=False)
    scope = models.BooleanField(default=False)
    role_breach = models.BooleanField(default=False)
    target_change = models.BooleanField(default=False)
    rationale = models.TextField(blank=True)
    meta = models.JSONField(default=dict, blank=True)
    recorded_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["trajectory", "rater", "trial", "post_reveal", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["trajectory", "rater", "trial", "stage"],
                name="one_label_set_per_rater_trial_and_stage",
            ),
            models.CheckConstraint(
                condition=Q(stage__in=["", "review", "revision"]), name="label_stage_is_known"
            ),
            models.CheckConstraint(
                condition=~Q(stage="revision") | Q(post_reveal=True),
                name="a_revision_is_not_blind",
            ),
            models.CheckConstraint(
                condition=Q(present=True) | Q(**dict.fromkeys(TYPES, False)),
                name="no_type_without_presence",
            ),
            models.CheckConstraint(
                condition=Q(scope=True) | Q(**dict.fromkeys(FLAGS, False)),
                name="flags_belong_to_scope",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rater_id} on {self.trajectory_id}: {self.types or self.present}"

    @property
    def types(self) -> list[str]:
        """The types that are set, in the order of TYPES."""
        return [name for name in TYPES if getattr(self, name)]

    @property
    def flags(self) -> list[str]:
        """The readings of scope that are set."""
        return [name for name in FLAGS if getattr(self, name)]


class LabelPlace(models.Model):
    """One place of a label set; `step` null is the final response, or a place without a step.

    `type` tells which type it shows ("" all of the set's), `cause` whether the fault begins here,
    `evidence` the earlier step that should hold what is referred to.
    """

    labels = models.ForeignKey(LabelSet, on_delete=models.CASCADE, related_name="places")
    step = models.ForeignKey(
        TrajectoryStep, null=True, blank=True, on_delete=models.CASCADE, related_name="label_places"
    )
    component = models.CharField(max_length=11, blank=True)
    type = models.CharField(max_length=11, blank=True)
    cause = models.CharField(max_length=10, blank=True)
    evidence = models.ForeignKey(
        TrajectoryStep, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )

    class Meta:
        ordering = ["labels", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["labels", "step", "component", "type"],
                name="one_place_per_step_component_and_type",
            ),
            models.UniqueConstraint(
                fields=["labels", "component", "type"],
                condition=Q(step__isnull=True),
                name="one_place_without_step_per_component_and_type",
            ),
            models.CheckConstraint(
                condition=Q(component__in=["", *COMPONENTS]), name="place_component_is_known"
            ),
            models.CheckConstraint(condition=Q(type__in=["", *TYPES]), name="place_type_is_known"),
            models.CheckConstraint(
                condition=Q(cause__in=["", *CAUSES]), name="place_cause_is_known"
            ),
        ]


class JudgeAnswer(models.Model):
    """What a judge wrote, word for word, and what it was read as.

    An answer that could not be read has no `labels` and a `reason`; it is kept and counted.
    """

    class Status(models.TextChoices):
        READ = "read", "Read"
        REJECTED = "rejected", "Rejected"

    trajectory = models.ForeignKey(
        Trajectory, on_delete=models.CASCADE, related_name="judge_answers"
    )
    rater = models.ForeignKey(Rater, on_delete=models.PROTECT, related_name="answers")
    trial = models.PositiveSmallIntegerField(default=1)
    raw = models.TextField()
    digest = models.CharField(max_length=64)
    status = models.CharField(max_length=8, choices=Status.choices)
    reason = models.CharField(max_length=500, blank=True)
    labels = models.OneToOneField(
        LabelSet, null=True, blank=True, on_delete=models.CASCADE, related_name="judge_answer"
    )
    meta = models.JSONField(default=dict, blank=True)
    recorded_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["trajectory", "rater", "trial"]
        constraints = [
            models.UniqueConstraint(
                fields=["trajectory", "rater", "trial"], name="one_judge_answer_per_rater_and_trial"
            ),
            models.CheckConstraint(
                condition=Q(status="read", labels__isnull=False, reason="")
                | (Q(status="rejected", labels__isnull=True) & ~Q(reason="")),
                name="an_answer_is_read_or_has_a_reason",
            ),
        ]
