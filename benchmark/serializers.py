"""Rows of the benchmark as JSON. Field names are those of the models."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from benchmark.labelling import records_of
from benchmark.models import (
    Corpus,
    Dialogue,
    Fork,
    JudgeAnswer,
    Trajectory,
    TrajectorySignal,
    TrajectoryStep,
    Turn,
    Workflow,
    WorkflowStep,
    WorkflowTransition,
)


class CorpusSerializer(serializers.ModelSerializer):
    n_workflows = serializers.IntegerField(read_only=True)
    n_dialogues = serializers.IntegerField(read_only=True)
    n_conformant = serializers.IntegerField(read_only=True)
    n_forks = serializers.IntegerField(read_only=True)
    n_trajectories = serializers.IntegerField(read_only=True)

    class Meta:
        model = Corpus
        fields = [
            "slug",
            "title",
            "description",
            "licence",
            "split_seed",
            "is_demo",
            "n_workflows",
            "n_dialogues",
            "n_conformant",
            "n_forks",
            "n_trajectories",
        ]


class StepSerializer(serializers.ModelSerializer):
    class Meta:
        model = WorkflowStep
        fields = ["position", "key", "text", "kind", "is_start", "is_terminal"]


class TransitionSerializer(serializers.ModelSerializer):
    source = serializers.CharField(source="source.key")
    target = serializers.CharField(source="target.key")

    class Meta:
        model = WorkflowTransition
        fields = ["position", "source", "target", "observation"]


class WorkflowSerializer(serializers.ModelSerializer):
    corpus = serializers.CharField(source="corpus.slug")

    class Meta:
        model = Workflow
        fields = ["id", "corpus", "name", "domain", "objective", "digest"]


class WorkflowDetailSerializer(WorkflowSerializer):
    steps = StepSerializer(many=True)
    transitions = TransitionSerializer(many=True)

    class Meta:
        model = Workflow
        fields = [
            *WorkflowSerializer.Meta.fields,
            "system_instruction",
            "user_instruction",
            "steps",
            "transitions",
        ]


class ForkSerializer(serializers.ModelSerializer):
    dialogue = serializers.IntegerField(source="dialogue_id")
    source = serializers.IntegerField(source="source_id")

    class Meta:
        model = Fork
        fields = [
            "id",
            "dialogue",
            "ordinal",
            "source",
            "type",
            "variant",
            "k",
            "fork_assistant_turn",
            "fork_turn",
            "rule",
            "instruction",
            "seed",
            "replay",
            "generator",
            "witness",
        ]


class TurnSerializer(serializers.ModelSerializer):
    class Meta:
        model = Turn
        fields = ["number", "assistant_number", "role", "name", "text", "label"]


class DialogueSerializer(serializers.ModelSerializer):
    corpus = serializers.CharField(source="corpus.slug")
    workflow = serializers.IntegerField(source="workflow_id", allow_null=True)
    conformant = serializers.BooleanField(allow_null=True)
    forks = ForkSerializer(many=True)

    class Meta:
        model = Dialogue
        fields = [
            "id",
            "corpus",
            "workflow",
            "format",
            "external_id",
            "digest",
            "conformant",
            "split",
            "n_turns",
            "n_assistant_turns",
            "warnings",
            "forks",
        ]


class DialogueDetailSerializer(DialogueSerializer):
    turns = TurnSerializer(many=True)

    class Meta:
        model = Dialogue
        fields = [*DialogueSerializer.Meta.fields, "turns"]


class TrajectorySerializer(serializers.ModelSerializer):
    corpus = serializers.CharField(source="corpus.slug")

    class Meta:
        model = Trajectory
        fields = [
            "id",
            "corpus",
            "format",
            "external_id",
            "digest",
            "task",
            "model",
            "question",
            "n_steps",
            "warnings",
        ]


class TrajectoryStepSerializer(serializers.ModelSerializer):
    class Meta:
        model = TrajectoryStep
        fields = ["position", "number", "agent", "thought", "action", "observation", "response"]


class SignalSerializer(serializers.ModelSerializer):
    value = serializers.BooleanField(allow_null=True)

    class Meta:
        model = TrajectorySignal
        fields = ["name", "value", "source"]


class JudgeAnswerSerializer(serializers.ModelSerializer):
    rater = serializers.CharField(source="rater.name")

    class Meta:
        model = JudgeAnswer
        fields = ["rater", "trial", "status", "reason", "raw", "meta"]


class LabelPlaceSchema(serializers.Serializer):
    """A place as PlaceRecord has it; here for the schema."""

    step = serializers.IntegerField(allow_null=True)
    component = serializers.CharField(allow_blank=True)
    type = serializers.CharField(allow_blank=True)
    cause = serializers.CharField(allow_blank=True)
    evidence = serializers.IntegerField(allow_null=True)


class LabelSchema(serializers.Serializer):
    """A label as LabelRecord.to_json writes it; here for the schema."""

    rater = serializers.CharField()
    kind = serializers.CharField()
    model = serializers.CharField(allow_blank=True)
    trial = serializers.IntegerField()
    post_reveal = serializers.BooleanField()
    stage = serializers.CharField(allow_blank=True)
    present = serializers.BooleanField()
    types = serializers.ListField(child=serializers.CharField())
    flags = serializers.ListField(child=serializers.CharField())
    places = LabelPlaceSchema(many=True)
    rationale = serializers.CharField(allow_blank=True)
    meta = serializers.DictField()


class TrajectoryDetailSerializer(TrajectorySerializer):
    steps = TrajectoryStepSerializer(many=True)
    labels = serializers.SerializerMethodField()
    signals = SignalSerializer(many=True)
    judge_answers = JudgeAnswerSerializer(many=True)

    class Meta:
        model = Trajectory
        fields = [
            *TrajectorySerializer.Meta.fields,
            "expected",
            "response",
            "steps",
            "labels",
            "signals",
            "judge_answers",
        ]

    @extend_schema_field(LabelSchema(many=True))
    def get_labels(self, run: Trajectory) -> list[dict[str, Any]]:
        return [label.to_json() for label in records_of(run.label_sets.all()).values()]
