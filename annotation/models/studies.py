from __future__ import annotations

import secrets

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

SEAT_STATES = [
    "free",
    "active",
    "paused",
    "screened_out",
    "declined",
    "finished",
    "expired",
    "withdrawn",
]
SEAT_PHASES = ["consent", "instructions", "practice", "main", "questionnaire", "done"]


def random_token() -> str:
    """22 URL-safe characters that carry no order and no condition."""
    return secrets.token_urlsafe(16)


def random_pseudonym() -> str:
    """Drawn, never derived: a pseudonym cannot be computed from a person."""
    return f"A-{secrets.token_hex(4)}"


class Study(models.Model):
    """A set of items, drawn once with a stored seed, and the seats that judge them.

    `title` is shown to annotators, so it must say nothing about the design.
    """

    class State(models.TextChoices):
        DRAFT = "draft", _("Draft")
        OPEN = "open", _("Open")
        PAUSED = "paused", _("Paused")
        CLOSED = "closed", _("Closed")

    class Kind(models.TextChoices):
        FORKS = "forks", _("Conversations")
        RUNS = "runs", _("Agent runs")

    slug = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=120)
    kind = models.CharField(max_length=5, choices=Kind.choices, default=Kind.FORKS)
    judge = models.ForeignKey(
        "benchmark.Rater",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="studies",
        help_text="Whose answer people see after their own; agent runs only.",
    )
    state = models.CharField(max_length=8, choices=State.choices, default=State.DRAFT)
    seed = models.BigIntegerField()
    protocol_version = models.PositiveSmallIntegerField(default=1)
    design = models.JSONField(default=dict, blank=True)
    phases = models.JSONField(
        default=list,
        blank=True,
        help_text="What a person walks besides the items: consent, instructions, practice, "
        "questionnaire. Empty: the items at once.",
    )
    consent = models.TextField(blank=True, help_text="What people agree to; empty: our own text.")
    pass_mark = models.PositiveSmallIntegerField(
        default=0, help_text="How many practice items must be right to go on."
    )
    idle_hours = models.PositiveSmallIntegerField(
        default=48, help_text="A seat without activity for so long is given to the next person."
    )
    rate_per_hour = models.DecimalField(
        max_digits=7, decimal_places=2, null=True, blank=True, help_text="The promised pay."
    )
    currency = models.CharField(max_length=3, blank=True)
    codes = models.JSONField(
        default=dict,
        blank=True,
        help_text="Completion codes: complete, screened_out, no_consent, partial.",
    )
    version_of = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="later_versions"
    )
    launched_at = models.DateTimeField(null=True, blank=True)
    corpora = models.ManyToManyField("benchmark.Corpus", related_name="studies", blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "studies"
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("annotation:report", args=[self.slug])


class Seat(models.Model):
    """A person's place in a study. `user` is null for a free, simulated or erased seat.

    Who takes over a seat that was left gets a new one, which `succeeds` it: what the first person
    finished stays theirs.
    """

    class State(models.TextChoices):
        FREE = "free", _("Free")
        ACTIVE = "active", _("Active")
        PAUSED = "paused", _("Paused")
        SCREENED_OUT = "screened_out", _("Screened out")
        DECLINED = "declined", _("No consent")
        FINISHED = "finished", _("Finished")
        EXPIRED = "expired", _("Expired")
        WITHDRAWN = "withdrawn", _("Withdrawn")

    class Phase(models.TextChoices):
        CONSENT = "consent", _("Consent")
        INSTRUCTIONS = "instructions", _("Instructions")
        PRACTICE = "practice", _("Practice")
        MAIN = "main", _("Items")
        QUESTIONNAIRE = "questionnaire", _("Questionnaire")
        DONE = "done", _("Done")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="seats")
    number = models.PositiveIntegerField()
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="seats",
    )
    pseudonym = models.CharField(
        max_length=24,
        unique=True,
        default=random_pseudonym,
        validators=[RegexValidator(r"^A-[0-9a-f]{8}\Z")],
    )
    simulated = models.BooleanField(default=False)
    state = models.CharField(max_length=12, choices=State.choices, default=State.FREE)
    phase = models.CharField(max_length=13, choices=Phase.choices, default=Phase.MAIN)
    invitation = models.ForeignKey(
        "annotation.Invitation",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="seats",
    )
    succeeds = models.OneToOneField(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="successor"
    )
    resume_hash = models.CharField(max_length=64, blank=True)
    taken_at = models.DateTimeField(null=True, blank=True)
    consented_at = models.DateTimeField(null=True, blank=True)
    last_active_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["study", "number"]
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="one_seat_per_number"),
            models.UniqueConstraint(
                fields=["study", "user"],
                condition=Q(user__isnull=False),
                name="one_seat_per_person_and_study",
            ),
            models.CheckConstraint(
                condition=Q(simulated=False) | Q(user__isnull=True),
                name="simulated_seat_has_no_person",
            ),
            models.CheckConstraint(condition=Q(state__in=SEAT_STATES), name="seat_state_is_known"),
            models.CheckConstraint(condition=Q(phase__in=SEAT_PHASES), name="seat_phase_is_known"),
        ]

    def __str__(self) -> str:
        return self.pseudonym


class Item(models.Model):
    """One conversation to judge with the instruction that step 2 will show, or one agent run.

    A run is reviewed blind, then against `judge_answer`, where there is one.

    A fork is shown its own instruction (`is_foil` false) or one of another type (true); a
    conformant dialogue is always shown a foil. Only items of kind "main" are judgements; practice
    and attention items have an `expected` answer. `altered` holds texts of turns, by number, that
    are shown instead of the dialogue's own.
    """

    class Kind(models.TextChoices):
        MAIN = "main", _("Main")
        PRACTICE = "practice", _("Practice")
        ATTENTION = "attention", _("Attention")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="items")
    kind = models.CharField(max_length=9, choices=Kind.choices, default=Kind.MAIN)
    dialogue = models.ForeignKey(
        "benchmark.Dialogue", null=True, blank=True, on_delete=models.PROTECT, related_name="items"
    )
    trajectory = models.ForeignKey(
        "benchmark.Trajectory",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="items",
    )
    judge_answer = models.ForeignKey(
        "benchmark.JudgeAnswer",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="items",
    )
    instruction = models.TextField(blank=True)
    instruction_type = models.CharField(max_length=4, blank=True)
    instruction_variant = models.CharField(max_length=80, blank=True)
    is_foil = models.BooleanField(default=False)
    altered = models.JSONField(default=dict, blank=True)
    expected = models.JSONField(default=dict, blank=True)
    feedback = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "dialogue", "is_foil", "kind"],
                name="one_item_per_dialogue_foil_and_kind",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["main", "practice", "attention"]), name="item_kind_is_known"
            ),
            models.CheckConstraint(
                condition=Q(dialogue__isnull=False, trajectory__isnull=True)
                | Q(dialogue__isnull=True, trajectory__isnull=False),
                name="item_is_a_dialogue_or_a_run",
            ),
            models.CheckConstraint(
                condition=Q(judge_answer__isnull=True) | Q(trajectory__isnull=False),
                name="only_runs_have_a_judge_answer",
            ),
            models.UniqueConstraint(
                fields=["study", "trajectory", "kind"],
                condition=Q(trajectory__isnull=False),
                name="one_item_per_run_and_kind",
            ),
        ]


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    def of(self, user: object) -> AssignmentQuerySet:
        """What belongs to `user` in open studies, whether done or not."""
        return self.filter(seat__user=user, seat__study__state=Study.State.OPEN)

    def unfinished(self) -> AssignmentQuerySet:
        """To be done: the last applicable step has no answer yet, it was not skipped, and it was
        not given to somebody else."""
        return self.filter(finished_at__isnull=True, ended="")

    def main(self) -> AssignmentQuerySet:
        """Judgements proper: no practice, no attention items."""
        return self.filter(item__kind=Item.Kind.MAIN)

    def blind(self) -> AssignmentQuerySet:
        """First attempts: a reopened item has been seen in full before."""
        return self.filter(post_reveal=False)

    def next_for(self, user: object) -> Assignment | None:
        """The next item `user` has to judge, in the order drawn for them."""
        return self.of(user).unfinished().order_by("seat__study_id", "rank").first()


class Assignment(models.Model):
    """One item for one seat. `token` is the only name of it that a browser ever sees.

    `finished_at` is written with the last applicable answer, in the same transaction. `ended` says
    that it takes no more answers for another reason; what was answered until then stays. A
    reopened item is a new attempt, marked `post_reveal`: it is no blind judgement.
    """

    class Ended(models.TextChoices):
        EXPIRED = "expired", _("Expired")
        WITHDRAWN = "withdrawn", _("Withdrawn")

    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="assignments")
    seat = models.ForeignKey(Seat, on_delete=models.CASCADE, related_name="assignments")
    rank = models.PositiveIntegerField()
    token = models.CharField(max_length=32, unique=True, default=random_token)
    opened_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    ended = models.CharField(max_length=9, choices=Ended.choices, blank=True, default="")
    ended_at = models.DateTimeField(null=True, blank=True)
    attempt = models.PositiveSmallIntegerField(default=1)
    post_reveal = models.BooleanField(default=False)

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        ordering = ["seat", "rank"]
        constraints = [
            models.UniqueConstraint(
                fields=["seat", "item", "attempt"], name="one_assignment_per_seat_item_attempt"
            ),
            models.CheckConstraint(
                condition=Q(ended__in=["", "expired", "withdrawn"]), name="ended_is_known"
            ),
            models.UniqueConstraint(fields=["seat", "rank"], name="one_assignment_per_seat_rank"),
        ]

    def get_absolute_url(self) -> str:
        return reverse("annotation:item", args=[self.token])
