from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.urls import reverse

from benchmark.models.workflows import Corpus, Workflow


class DialogueQuerySet(models.QuerySet["Dialogue"]):
    def conformant(self) -> DialogueQuerySet:
        """Dialogues known to follow their workflow; those that do not say are left out."""
        return self.filter(conformant=True)

    def forked(self) -> DialogueQuerySet:
        return self.filter(forks__isnull=False).distinct()

    def scorable(self) -> DialogueQuerySet:
        """Dialogues with at least one turn; the others are counted, never scored."""
        return self.filter(n_turns__gt=0)

    def fitting_half(self) -> DialogueQuerySet:
        """The conformant train half: flow graphs and thresholds are fitted on these only."""
        return self.filter(conformant=True, split=Dialogue.Split.TRAIN, n_turns__gt=0)


class Dialogue(models.Model):
    """A conversation. One with a fork is a forked dialogue; `conformant` is null when unknown."""

    class Split(models.TextChoices):
        NONE = "", "not split"
        TRAIN = "train", "train"
        TEST = "test", "test"

    corpus = models.ForeignKey(Corpus, on_delete=models.CASCADE, related_name="dialogues")
    workflow = models.ForeignKey(
        Workflow, null=True, blank=True, on_delete=models.PROTECT, related_name="dialogues"
    )
    format = models.CharField(max_length=24)
    external_id = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)
    conformant = models.BooleanField(null=True)
    split = models.CharField(max_length=5, choices=Split.choices, blank=True, default=Split.NONE)
    n_turns = models.PositiveIntegerField(default=0)
    n_assistant_turns = models.PositiveIntegerField(default=0)
    warnings = models.JSONField(default=dict, blank=True)
    meta = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    objects = DialogueQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["corpus", "format", "external_id"],
                name="one_dialogue_per_corpus_format_and_external_id",
            ),
            models.CheckConstraint(
                condition=Q(n_assistant_turns__lte=F("n_turns")),
                name="assistant_turns_are_turns",
            ),
        ]
        indexes = [
            models.Index(fields=["corpus", "id"], name="dialogue_list"),
            models.Index(fields=["workflow", "conformant", "split"], name="dialogue_fitting"),
        ]

    def __str__(self) -> str:
        return self.external_id

    def get_absolute_url(self) -> str:
        return reverse("benchmark:dialogue", args=[self.pk])


class Turn(models.Model):
    """One turn. `number` counts all turns from 1; `assistant_number` assistant turns, else null."""

    class Role(models.TextChoices):
        USER = "user", "User"
        ASSISTANT = "assistant", "Assistant"
        SYSTEM = "system", "System"
        ACTION = "action", "Action"
        OBSERVATION = "observation", "Observation"

    dialogue = models.ForeignKey(Dialogue, on_delete=models.CASCADE, related_name="turns")
    number = models.PositiveIntegerField()
    assistant_number = models.PositiveIntegerField(null=True, blank=True)
    role = models.CharField(max_length=12, choices=Role.choices)
    name = models.CharField(max_length=200, blank=True)
    text = models.TextField(blank=True)
    label = models.CharField(max_length=200, blank=True)
    meta = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["dialogue", "number"]
        constraints = [
            models.UniqueConstraint(fields=["dialogue", "number"], name="one_turn_per_number"),
            models.UniqueConstraint(
                fields=["dialogue", "assistant_number"], name="one_turn_per_assistant_number"
            ),
            models.CheckConstraint(condition=Q(number__gte=1), name="turn_numbers_start_at_one"),
            models.CheckConstraint(
                condition=Q(role="assistant", assistant_number__isnull=False)
                | (~Q(role="assistant") & Q(assistant_number__isnull=True)),
                name="assistant_number_iff_assistant",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.number} {self.role}"


class ForkQuerySet(models.QuerySet["Fork"]):
    def single(self) -> ForkQuerySet:
        """One row per forked dialogue with exactly one injection: with more, k orders nothing."""
        return self.filter(ordinal=1).exclude(dialogue_id__in=self._composite())

    def composite(self) -> ForkQuerySet:
        """One row per forked dialogue with several injections."""
        return self.filter(ordinal=1, dialogue_id__in=self._composite())

    def _composite(self) -> models.QuerySet[Fork]:
        return Fork.objects.filter(ordinal=2).values("dialogue_id")


class Fork(models.Model):
    """One injection into a dialogue, with its source. Usually one per forked dialogue.

    `fork_assistant_turn` counts assistant turns and `fork_turn` counts all turns: never mixed.
    """

    class Type(models.TextChoices):
        WIC = "WIC", "Workflow identity confusion"
        SSPC = "SSPC", "Step selection and progression corruption"
        GR = "GR", "Goal replacement"
        CSC = "CSC", "Conflicting side goal"

    class Replay(models.TextChoices):
        EXACT = "exact", "prefix identical"
        EDITED = "edited", "prefix reworded"
        FORCED = "forced", "prefix forced"

    dialogue = models.ForeignKey(Dialogue, on_delete=models.CASCADE, related_name="forks")
    ordinal = models.PositiveSmallIntegerField(default=1)
    source = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="forked_into")
    type = models.CharField(max_length=4, choices=Type.choices)
    variant = models.CharField(max_length=80)
    k = models.PositiveSmallIntegerField()
    fork_assistant_turn = models.PositiveIntegerField()
    fork_turn = models.PositiveIntegerField()
    rule = models.CharField(max_length=24, default="half_even")
    instruction = models.TextField()
    seed = models.BigIntegerField()
    replay = models.CharField(max_length=8, choices=Replay.choices)
    generator = models.CharField(max_length=80)
    witness = models.JSONField(default=dict, blank=True)

    objects = ForkQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["dialogue", "ordinal"], name="one_fork_per_ordinal"),
            models.CheckConstraint(condition=Q(k__gte=1, k__lte=4), name="fork_k_from_1_to_4"),
            models.CheckConstraint(
                condition=Q(fork_assistant_turn__gte=1)
                & Q(fork_turn__gte=F("fork_assistant_turn")),
                name="fork_turn_not_before_its_assistant_turn",
            ),
            models.CheckConstraint(
                condition=~Q(dialogue=F("source")), name="fork_is_not_its_own_source"
            ),
            models.CheckConstraint(
                condition=~Q(instruction=""), name="fork_carries_its_instruction"
            ),
            models.CheckConstraint(
                condition=Q(type__in=["WIC", "SSPC", "GR", "CSC"]), name="fork_type_is_known"
            ),
        ]
        indexes = [models.Index(fields=["source", "type", "k"], name="fork_by_source")]

    def __str__(self) -> str:
        return f"{self.type} k={self.k} of {self.source_id}"
