from __future__ import annotations

from django.contrib import admin

from dialfork_site.read_only_admin import ReadOnly
from scoring.models import Chunk, Run, RunResult, WorkerBeat


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
