from __future__ import annotations

import secrets

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.urls import reverse


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
        DRAFT = "draft", "Draft"
        OPEN = "open", "Open"
        CLOSED = "closed", "Closed"

    slug = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=120)
    state = models.CharField(max_length=8, choices=State.choices, default=State.DRAFT)
    seed = models.BigIntegerField()
    protocol_version = models.PositiveSmallIntegerField(default=1)
    design = models.JSONField(default=dict, blank=True)
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
    """A place in a study. `user` is null for a free or simulated seat."""

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
    taken_at = models.DateTimeField(null=True, blank=True)

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
        ]

    def __str__(self) -> str:
        return self.pseudonym


class Item(models.Model):
    """One conversation to judge, with the instruction that step 2 will show.

    A fork is shown its own instruction (`is_foil` false) or one of another type (true); a
    conformant dialogue is always shown a foil.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="items")
    dialogue = models.ForeignKey(
        "benchmark.Dialogue", on_delete=models.PROTECT, related_name="items"
    )
    instruction = models.TextField()
    instruction_type = models.CharField(max_length=4)
    instruction_variant = models.CharField(max_length=80)
    is_foil = models.BooleanField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "dialogue", "is_foil"], name="one_item_per_dialogue_and_foil"
            ),
        ]


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    def of(self, user: object) -> AssignmentQuerySet:
        """What belongs to `user` in open studies, whether done or not."""
        return self.filter(seat__user=user, seat__study__state=Study.State.OPEN)

    def unfinished(self) -> AssignmentQuerySet:
        """Not finished: the last applicable step has no answer yet, and it was not skipped."""
        return self.filter(finished_at__isnull=True)

    def next_for(self, user: object) -> Assignment | None:
        """The next item `user` has to judge, in the order drawn for them."""
        return self.of(user).unfinished().order_by("seat__study_id", "rank").first()


class Assignment(models.Model):
    """One item for one seat. `token` is the only name of it that a browser ever sees.

    `finished_at` is written with the last applicable answer, in the same transaction.
    """

    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="assignments")
    seat = models.ForeignKey(Seat, on_delete=models.CASCADE, related_name="assignments")
    rank = models.PositiveIntegerField()
    token = models.CharField(max_length=32, unique=True, default=random_token)
    opened_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        ordering = ["seat", "rank"]
        constraints = [
            models.UniqueConstraint(fields=["seat", "item"], name="one_assignment_per_seat_item"),
            models.UniqueConstraint(fields=["seat", "rank"], name="one_assignment_per_seat_rank"),
        ]

    def get_absolute_url(self) -> str:
        return reverse("annotation:item", args=[self.token])
