"""Corpora and what they hold, to look at. Records come by import and are never edited by hand."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from benchmark.models import (
    Corpus,
    Dialogue,
    Fork,
    JudgeAnswer,
    JudgePrompt,
    LabelSet,
    Rater,
    Release,
    Trajectory,
    TrajectorySignal,
    Workflow,
)
from dialfork_site.read_only_admin import ReadOnly


@admin.register(Corpus)
class CorpusAdmin(ReadOnly):
    """Title, description and licence may be written; they go into the next release."""

    list_display = ("slug", "title", "licence", "split_seed", "is_demo")
    search_fields = ("slug", "title")
    fields = ("slug", "title", "description", "licence", "split_seed", "is_demo", "meta")
    readonly_fields = ("slug", "split_seed", "is_demo", "meta")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return admin.ModelAdmin.has_change_permission(self, request, obj)


@admin.register(Workflow)
class WorkflowAdmin(ReadOnly):
    list_display = ("name", "domain", "corpus")
    list_filter = ("corpus", "domain")
    list_select_related = ("corpus",)
    search_fields = ("name",)


@admin.register(Dialogue)
class DialogueAdmin(ReadOnly):
    list_display = ("external_id", "corpus", "format", "workflow", "conformant", "split", "n_turns")
    list_filter = ("corpus", "format", "conformant", "split")
    list_select_related = ("corpus", "workflow")
    search_fields = ("external_id",)


@admin.register(Fork)
class ForkAdmin(ReadOnly):
    list_display = ("dialogue", "type", "variant", "k", "fork_turn", "replay", "generator")
    list_filter = ("type", "k", "replay")
    list_select_related = ("dialogue",)
    raw_id_fields = ("dialogue", "source")


@admin.register(Trajectory)
class TrajectoryAdmin(ReadOnly):
    list_display = ("external_id", "corpus", "format", "model", "question", "n_steps")
    list_filter = ("corpus", "format", "model")
    list_select_related = ("corpus",)
    search_fields = ("external_id",)


@admin.register(Release)
class ReleaseAdmin(ReadOnly):
    list_display = ("corpus", "version", "digest", "published_at")
    list_filter = ("corpus",)
    list_select_related = ("corpus",)


@admin.register(TrajectorySignal)
class TrajectorySignalAdmin(ReadOnly):
    list_display = ("trajectory", "name", "value", "source")
    list_filter = ("name", "value", "source")
    list_select_related = ("trajectory",)
    raw_id_fields = ("trajectory",)


@admin.register(JudgePrompt)
class JudgePromptAdmin(ReadOnly):
    list_display = ("name", "version", "variant_set", "digest", "created_at")
    list_filter = ("variant_set",)
    search_fields = ("name",)


@admin.register(Rater)
class RaterAdmin(ReadOnly):
    list_display = ("name", "kind", "model", "prompt", "simulated")
    list_filter = ("kind", "simulated")
    list_select_related = ("prompt",)
    search_fields = ("name", "model")


@admin.register(LabelSet)
class LabelSetAdmin(ReadOnly):
    list_display = ("trajectory", "rater", "trial", "stage", "post_reveal", "present", "said")
    list_filter = ("rater__kind", "present", "post_reveal", "stage")
    list_select_related = ("trajectory", "rater")
    raw_id_fields = ("trajectory",)
    search_fields = ("trajectory__external_id", "rater__name")

    @admin.display(description="types")
    def said(self, row: LabelSet) -> str:
        return ", ".join(row.types)


@admin.register(JudgeAnswer)
class JudgeAnswerAdmin(ReadOnly):
    list_display = ("trajectory", "rater", "trial", "status", "reason", "recorded_at")
    list_filter = ("status",)
    list_select_related = ("trajectory", "rater")
    raw_id_fields = ("trajectory", "labels")
    search_fields = ("trajectory__external_id", "rater__name")
