"""For researchers: ask for an export of a study, see how far it is, take its files along."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.contrib import messages
from django.db.models import Max
from django.http import (
    FileResponse,
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    StreamingHttpResponse,
)
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from annotation import auditing, byte_ranges, exporting, tasks
from annotation.export_rows import CHOICES, ExportRefused, Filter
from annotation.models import Export, Study
from scoring.models import WorkerBeat

CONTENT_TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".json": "application/json",
    ".jsonl": "application/jsonl; charset=utf-8",
}
SHOWN = 50
BLOCK = 1 << 16
SILENT_AFTER = timedelta(seconds=15)
WORDS = {
    "judges": {
        "all": gettext_lazy("people and simulated seats"),
        "people": gettext_lazy("people only"),
        "simulated": gettext_lazy("simulated seats only"),
    },
    "attempts": {
        "first": gettext_lazy("first attempts, the blind ones"),
        "last": gettext_lazy("last attempts, the current answers"),
        "all": gettext_lazy("all attempts"),
    },
    "items": {
        "main": gettext_lazy("main items"),
        "all": gettext_lazy("main, practice and attention items"),
    },
}
ASKED = {
    "judges": gettext_lazy("Whose answers"),
    "attempts": gettext_lazy("Which attempts"),
    "items": gettext_lazy("Which items"),
}
FORMATS = {
    "csv": gettext_lazy("CSV, one line per question"),
    "jsonl": gettext_lazy("JSON lines, one per judgement"),
    "parquet": gettext_lazy("Parquet, one row per judgement"),
    "label-studio": gettext_lazy("JSON in the shape of Label Studio"),
}


@vary_on_headers("HX-Request")
@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """The exports of a study, newest first; POST asks for another one."""
    study = get_object_or_404(Study, slug=slug)
    if request.method != "POST":
        return _page(request, study, {"format": "csv", **Filter().to_json()})
    given = {name: request.POST.get(name, "") for name in CHOICES if name in _asked(study)}
    asked: dict[str, Any] = {**given, "questionnaire": "questionnaire" in request.POST}
    format = request.POST.get("format", "")
    try:
        export = exporting.start(study, format, asked, request.user)
    except ExportRefused as refused:
        return _page(request, study, asked | {"format": format}, error=str(refused), status=400)
    tasks.hand_over(export)
    if export.state == Export.State.DONE:
        messages.success(request, _("Export %s is ready.") % export.pk)
    return redirect("annotation:exports", study.slug)


def _page(
    request: HttpRequest, study: Study, asked: dict[str, Any], *, error: str = "", status: int = 200
) -> HttpResponse:
    exports = list(study.exports.select_related("created_by")[:SHOWN])
    context = {
        "study": study,
        "rows": [_row(export) for export in exports],
        "open": any(_is_open(export) for export in exports),
        "silent": any(map(_is_open, exports)) and _worker_is_silent(exports),
        "formats": FORMATS,
        "choices": [
            {"name": name, "label": ASKED[name], "options": WORDS[name], "chosen": asked.get(name)}
            for name in _asked(study)
        ],
        "asked": asked,
        "error": error,
    }
    part = request.headers.get("HX-Request") and request.method == "GET"
    template = "annotation/_exports.html" if part else "annotation/exports.html"
    return render(request, template, context, status=status)


def _asked(study: Study) -> list[str]:
    """The choices there are: agent runs have main items only."""
    runs = study.kind == Study.Kind.RUNS
    return [name for name in WORDS if not (runs and name == "items")]


def _is_open(export: Export) -> bool:
    return export.state in (Export.State.WAITING, Export.State.RUNNING)


def _worker_is_silent(exports: list[Export]) -> bool:
    """Whether something waits and no worker was heard from for a while, nor writes one now."""
    now = timezone.now()
    if any(export.lease_until and export.lease_until > now for export in exports):
        return False
    asked = min(export.created_at for export in exports if _is_open(export))
    seen = WorkerBeat.objects.aggregate(at=Max("seen_at"))["at"]
    return bool(now - max(filter(None, (seen, asked))) > SILENT_AFTER)


def _row(export: Export) -> dict[str, Any]:
    chosen = {**Filter().to_json(), **export.parameters}
    words = [WORDS[name].get(chosen[name], chosen[name]) for name in WORDS]
    main = export.file.rpartition("/")[2]
    files = dict(sorted(export.counts.get("files", {}).items(), key=lambda f: f[0] != main))
    counts = export.counts.get("assignments", {})
    return {
        "export": export,
        "format": FORMATS.get(export.format, export.format),
        "words": [*words, *([_("with the questionnaire")] if chosen["questionnaire"] else [])],
        "files": [*files.items(), *([(exporting.MANIFEST, None)] if files else [])],
        "counts": [(name.replace("_", " "), n) for name, n in counts.items() if n],
        "changed": export.counts.get("changed_meanwhile", False),
        "open": _is_open(export),
    }


@cache_control(private=True, no_store=True)
@require_safe
def download(request: HttpRequest, slug: str, pk: int, name: str) -> HttpResponseBase:
    """A file of a finished export, whole or from where a download broke off."""
    export = get_object_or_404(Export.objects.select_related("study"), pk=pk, study__slug=slug)
    path = exporting.path_of(export, name)
    if path is None:
        raise Http404("No such file.")
    tag = f'"{export.counts["files"].get(name, {}).get("sha256", export.sha256)}"'
    size = path.stat().st_size
    try:
        part = byte_ranges.wanted(request.headers.get("Range", ""), size)
    except byte_ranges.Unsatisfiable:
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    if request.headers.get("If-Range", tag) != tag:
        part = None
    if not part or part[0] == 0:
        auditing.record(
            "export.downloaded", actor=request.user, study=export.study, export=pk, file=name
        )
    response: HttpResponseBase
    if part is None:
        response = FileResponse(path.open("rb"))
    else:
        response = StreamingHttpResponse(_bytes(path, *part), status=206)
        response["Content-Range"] = f"bytes {part[0]}-{part[1]}/{size}"
        response["Content-Length"] = str(part[1] - part[0] + 1)
    response["Content-Type"] = CONTENT_TYPES.get(path.suffix, "application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{export.study.slug}-{name}"'
    response["Accept-Ranges"] = "bytes"
    response["ETag"] = tag
    return response


def _bytes(path: Path, first: int, last: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(first)
        left = last - first + 1
        while left and (block := file.read(min(BLOCK, left))):
            left -= len(block)
            yield block


@require_POST
def delete(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Delete an export and its files; the answers themselves stay."""
    export = get_object_or_404(Export.objects.select_related("study"), pk=pk, study__slug=slug)
    exporting.discard(export, request.user)
    messages.success(request, _("Export %s is deleted. The answers themselves stay.") % pk)
    return redirect("annotation:exports", slug)
