from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from scoring.models import Chunk, Run, RunResult, WorkerBeat


class ReadOnly(admin.ModelAdmin):
    """Scores come from runs alone; the admin shows them."""

    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Run)
class RunAdmin(ReadOnly):
    list_display = ("id", "kind", "corpus", "state", "created_at", "finished_at")
    list_filter = ("kind", "state")
    list_select_related = ("corpus",)


@admin.register(Chunk)
class ChunkAdmin(ReadOnly):
    list_display = ("id", "run", "ordinal", "state", "attempts", "lease_until")
    list_filter = ("state",)
    list_select_related = ("run",)


@admin.register(RunResult)
class RunResultAdmin(ReadOnly):
    list_display = ("id", "run", "statistic", "group", "value", "n", "skipped")
    list_select_related = ("run",)


@admin.register(WorkerBeat)
class WorkerBeatAdmin(ReadOnly):
    list_display = ("worker", "seen_at")
