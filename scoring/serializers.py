"""Runs, their results, scores and onset answers as JSON; and what may be asked for."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from dialfork_site.api_parts import UndefinedMixin, finite
from scoring.models import DialogueScore, OnsetAnswer, Run, RunResult, SetDistance, TrajectoryScore
from scoring.views.starting import KIND_LABELS, storable

MOST_CORPORA = 20
MOST_PARAMETERS = 40
NOT_STORABLE = (
    "It holds a NUL character, half of a surrogate pair, a number beyond 64 bits, or lists in "
    "lists in lists."
)


@extend_schema_field({"type": "object", "additionalProperties": {}})
class ParametersField(serializers.DictField):
    """Names and values of parameters, as JSON has them."""


class RunRequestSerializer(serializers.Serializer):
    """A run somebody asks for: the kind, the corpora by slug, and the parameters that are not the
    defaults ("method", "encoder", settings of the method, "bootstrap_seed")."""

    kind = serializers.ChoiceField(choices=list(KIND_LABELS))
    corpora = serializers.ListField(
        child=serializers.SlugField(max_length=80), min_length=1, max_length=MOST_CORPORA
    )
    parameters = ParametersField(default=dict)

    def validate_parameters(self, given: dict[str, Any]) -> dict[str, Any]:
        if len(given) > MOST_PARAMETERS:
            raise serializers.ValidationError(f"At most {MOST_PARAMETERS} parameters are allowed.")
        if not storable(given):
            raise serializers.ValidationError(NOT_STORABLE)
        if not isinstance(given.get("encoder", ""), str):
            raise serializers.ValidationError("encoder must be a text.")
        return given

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        unknown = sorted(set(self.initial_data) - set(self.fields))
        if unknown:
            known = ", ".join(self.fields)
            raise serializers.ValidationError(
                {name[:60]: [f"This field does not exist; there are {known}."] for name in unknown}
            )
        return data


class RunSerializer(serializers.ModelSerializer):
    corpus = serializers.CharField(source="corpus.slug")
    total = serializers.IntegerField(source="n_total")
    done = serializers.IntegerField(source="n_done")

    class Meta:
        model = Run
        fields = [
            "id",
            "kind",
            "corpus",
            "parameters",
            "digest",
            "code_version",
            "state",
            "failure",
            "created_at",
            "finished_at",
            "total",
            "done",
        ]


class ResultSerializer(UndefinedMixin, serializers.ModelSerializer):
    ci = serializers.SerializerMethodField()

    class Meta:
        model = RunResult
        fields = [
            "statistic",
            "group",
            "workflow",
            "k",
            "value",
            "status",
            "reason",
            "n",
            "skipped",
            "ci",
            "detail",
        ]

    def get_ci(self, row: Any) -> list[float] | None:
        low, high = finite(row.ci_low), finite(row.ci_high)
        return None if low is None or high is None else [low, high]


class RunDetailSerializer(RunSerializer):
    results = ResultSerializer(many=True)

    class Meta:
        model = Run
        fields = [*RunSerializer.Meta.fields, "results"]


class ScoreSerializer(UndefinedMixin, serializers.ModelSerializer):
    dialogue = serializers.IntegerField(source="dialogue_id")
    external_id = serializers.CharField(source="dialogue.external_id")

    class Meta:
        model = DialogueScore
        fields = ["dialogue", "external_id", "value", "status", "reason", "detail", "turns"]


class SetDistanceSerializer(UndefinedMixin, serializers.ModelSerializer):
    workflow = serializers.CharField(source="workflow.name")

    class Meta:
        model = SetDistance
        fields = ["workflow", "type", "k", "value", "status", "reason", "detail"]


class TrajectoryScoreSerializer(UndefinedMixin, serializers.ModelSerializer):
    """The higher the value, the more suspicious; `steps` holds [position, value]."""

    trajectory = serializers.IntegerField(source="trajectory_id")
    external_id = serializers.CharField(source="trajectory.external_id")

    class Meta:
        model = TrajectoryScore
        fields = ["trajectory", "external_id", "value", "status", "reason", "detail", "steps"]


class OnsetAnswerSerializer(serializers.ModelSerializer):
    """`turn` is the number of the first alarm among all turns; null with an empty reason means no
    alarm, null with a reason that the dialogue could not be judged."""

    dialogue = serializers.IntegerField(source="dialogue_id")
    external_id = serializers.CharField(source="dialogue.external_id")

    class Meta:
        model = OnsetAnswer
        fields = ["dialogue", "external_id", "turn", "reason", "detail", "turns"]
