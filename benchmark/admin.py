"""Corpora and what they hold, to look at. Records come by import and are never edited by hand."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from benchmark.models import Corpus, Dialogue, Fork, Release, Trajectory, Workflow
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
    list_display = ("external_id", "corpus", "format", "n_steps")
    list_filter = ("corpus",)
    list_select_related = ("corpus",)
    search_fields = ("external_id",)


@admin.register(Release)
class ReleaseAdmin(ReadOnly):
    list_display = ("corpus", "version", "digest", "published_at")
    list_filter = ("corpus",)
    list_select_related = ("corpus",)
