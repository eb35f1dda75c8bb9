"""Exports of a study: asked for, written at once or in the background, and found again.

A row of `Export` with a lease is the truth. Whoever holds the lease writes the files beside their
place and moves them there when they are complete, so nobody ever sees half an export; a writer
that was killed is followed by one that starts again and writes the same bytes.
"""

from __future__ import annotations

import json
import logging
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError
from django.db.models import Q, QuerySet
from django.utils import timezone

from annotation import auditing, export_items, export_rows
from annotation.export_formats import JsonLines, Row, Writer
from annotation.export_kinds import FORMATS, KINDS
from annotation.export_rows import ExportRefused, Filter
from annotation.models import Export, Study
from benchmark.release_tables import sha256_of
from benchmark.releasing import code_version

log = logging.getLogger(__name__)

MANIFEST, HISTORY, QUESTIONNAIRE = "manifest.json", "history.jsonl", "questionnaire.jsonl"
AT_ONCE_ROWS = 5_000
LEASE = timedelta(seconds=120)
RENEW = timedelta(seconds=5)
MOST_TRIES = 5

Progress = Callable[[int], None]


class LostLease(RuntimeError):
    """Somebody else writes this export now; what was written here is thrown away."""


def start(study: Study, format: str, parameters: Mapping[str, Any], user: Any) -> Export:
    """An export of `study`: written when this returns if it is small, else it waits for a worker.

    `parameters` are those of `export_rows.Filter`.

    Raises ExportRefused for a format or a filter there is not.
    """
    if format not in FORMATS:
        raise ExportRefused(f"format must be one of {', '.join(FORMATS)}.")
    only = Filter.of(parameters)
    export = Export.objects.create(
        study=study, format=format, parameters=only.to_json(), created_by=user
    )
    auditing.record(
        "export.requested",
        actor=user,
        study=study,
        export=export.pk,
        format=format,
        filter=only.to_json(),
    )
    lines = export_rows.chosen(study, only).count() * KINDS[study.kind].lines.get(format, 1)
    if lines <= AT_ONCE_ROWS:
        write(export.pk)
        export.refresh_from_db()
    return export


def write(export_id: int) -> bool:
    """Write the files of an export that waits or was left; False when it is not to be had."""
    claimed = _claim(export_id)
    if claimed is None:
        return False
    export, lease = claimed
    try:
        _write_and_finish(export, lease)
    except LostLease:
        log.warning("Export %s was taken over or deleted meanwhile", export_id)
        if not Export.objects.filter(pk=export_id).exists():
            shutil.rmtree(folder_of(export), ignore_errors=True)
        return False
    except DatabaseError:
        log.exception("Export %s waits for another try: the database did not answer", export_id)
        lease.release()
        return False
    except (OSError, ExportRefused) as error:
        log.exception("Export %s cannot be written", export_id)
        lease.fail(f"It could not be written: {getattr(error, 'strerror', None) or error}.")
    except Exception as error:
        log.exception("Export %s failed", export_id)
        lease.fail(f"The program failed ({type(error).__name__}); the log tells more.")
    return True


class _Lease:
    """The right to write an export: `until` is both its end and its name."""

    def __init__(self, export_id: int, until: datetime) -> None:
        self.export_id, self.until = export_id, until
        self._renewed = timezone.now()

    def rows(self) -> QuerySet[Export]:
        return Export.objects.filter(
            pk=self.export_id, state=Export.State.RUNNING, lease_until=self.until
        )

    def progress(self, n_rows: int) -> None:
        """Renew every few seconds, telling how far it is; raises LostLease."""
        now = timezone.now()
        if now - self._renewed < RENEW:
            return
        until = now + LEASE
        if not self.rows().update(lease_until=until, n_rows=n_rows):
            raise LostLease
        self.until, self._renewed = until, now

    def finish(self, **values: Any) -> None:
        """Write the outcome; raises LostLease when it is no longer ours."""
        if not self.rows().update(lease_until=None, finished_at=timezone.now(), **values):
            raise LostLease

    def release(self) -> None:
        self.rows().update(lease_until=None, state=Export.State.WAITING)

    def fail(self, reason: str) -> None:
        self.rows().update(
            lease_until=None,
            state=Export.State.FAILED,
            error=reason[:500],
            finished_at=timezone.now(),
        )


def _claim(export_id: int) -> tuple[Export, _Lease] | None:
    now = timezone.now()
    export = Export.objects.select_related("study").filter(pk=export_id).filter(_takeable(now))
    found = export.first()
    if found is None:
        return None
    tries = found.counts.get("tries", 0) + 1
    until = now + LEASE
    taken = Export.objects.filter(pk=export_id, lease_until=found.lease_until, state=found.state)
    if not taken.update(
        state=Export.State.RUNNING, lease_until=until, n_rows=0, counts={"tries": tries}
    ):
        return None
    lease = _Lease(export_id, until)
    if tries > MOST_TRIES:
        lease.fail(f"Given up after {MOST_TRIES} tries: the worker ended each time.")
        return None
    return found, lease


def _takeable(now: datetime) -> Q:
    left = Q(state=Export.State.RUNNING, lease_until__lt=now)
    return left | Q(state=Export.State.WAITING)


def left_over() -> list[int]:
    """Keys of the exports that wait or whose worker is gone, oldest first."""
    rows = Export.objects.filter(_takeable(timezone.now()))
    return list(rows.order_by("pk").values_list("pk", flat=True))


def _write_and_finish(export: Export, lease: _Lease) -> None:
    out = folder_of(export)
    manifest = write_folder(
        export.study, export.format, Filter.of(export.parameters), out, progress=lease.progress
    )
    name = FORMATS[export.format][0]
    main = manifest["files"][name]
    lease.finish(
        state=Export.State.DONE,
        n_rows=main["rows"],
        sha256=main["sha256"],
        file=f"{out.name}/{name}",
        counts={key: manifest[key] for key in ("assignments", "changed_meanwhile", "files")},
    )


def write_folder(
    study: Study,
    format: str,
    only: Filter,
    out: Path,
    *,
    progress: Progress = lambda n_rows: None,
) -> dict[str, Any]:
    """Write an export to the folder `out`, in one piece; the manifest.

    The same answers give the same bytes. `out` is replaced if it is there.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        manifest = _written(study, format, only, work, progress)
        text = json.dumps(manifest, ensure_ascii=False, indent=2, sort_keys=True)
        (work / MANIFEST).write_text(text + "\n", encoding="utf-8", newline="\n")
        if out.exists():
            shutil.rmtree(out)
        work.chmod(0o750)
        work.rename(out)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return manifest


def _written(
    study: Study, format: str, only: Filter, work: Path, progress: Progress
) -> dict[str, Any]:
    assignments = export_rows.chosen(study, only)
    counts = export_rows.status_counts(assignments)
    kind = KINDS[study.kind]
    name, writer = kind.formats[format]
    items = export_rows.item_keys(assignments)
    if format == "label-studio":
        batches: Iterable[list[Row]] = kind.tasks(study, only, items)
    else:
        keys = export_rows.seat_keys(assignments)
        batches = kind.tables(study, keys)
    files = {
        name: _file(work / name, writer, batches, progress),
        HISTORY: _file(work / HISTORY, JsonLines, kind.history(study, only, items), progress),
    }
    if only.questionnaire:
        people = export_rows.questionnaire_rows(study)
        files[QUESTIONNAIRE] = _file(work / QUESTIONNAIRE, JsonLines, [people], progress)
    return {
        "kind": "answers of a study",
        "study": study.slug,
        "protocol_version": study.protocol_version,
        "guideline_version": export_rows.guideline_version(study),
        "format": format,
        "filter": only.to_json(),
        "assignments": counts,
        # A study may go on while it is written out.
        "changed_meanwhile": counts != export_rows.status_counts(assignments),
        "times": "UTC, ISO 8601, with Z",
        "local_ids": list(export_items.LOCAL_IDS) if format == "label-studio" else [],
        "files": dict(sorted(files.items())),
        "code": {"name": "dialfork", "version": code_version()},
    }


def _file(
    path: Path,
    writer: Callable[[Path], Writer],
    batches: Iterable[list[Row]],
    progress: Progress,
) -> dict[str, Any]:
    out = writer(path)
    try:
        for rows in batches:
            out.add(rows)
            progress(out.rows)
    finally:
        out.close()
    return {"rows": out.rows, "bytes": path.stat().st_size, "sha256": sha256_of(path)}


def root() -> Path:
    return Path(settings.VAR_DIR) / "exports"


def folder_of(export: Export) -> Path:
    """Where the files of `export` lie, or will."""
    return root() / str(export.pk)


def path_of(export: Export, name: str) -> Path | None:
    """The file `name` of a finished export; None for a name it does not have."""
    known = {*export.counts.get("files", {}), MANIFEST}
    if export.state != Export.State.DONE or name not in known:
        return None
    path = folder_of(export) / name
    return path if path.is_file() else None


def discard(export: Export, user: Any) -> None:
    """Delete an export and its files."""
    auditing.record("export.deleted", actor=user, study=export.study, export=export.pk)
    shutil.rmtree(folder_of(export), ignore_errors=True)
    export.delete()


def forget(study: Study) -> int:
    """Delete every export of `study`: somebody's answers in them were erased. How many."""
    exports = list(Export.objects.filter(study=study))
    for export in exports:
        discard(export, None)
    return len(exports)
