"""Runs, their results and their scores as JSON."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from dialfork_site.api_parts import UndefinedMixin, finite
from scoring.models import DialogueScore, Run, RunResult


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
        fields = ["statistic", "group", "value", "status", "reason", "n", "skipped", "ci"]

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
