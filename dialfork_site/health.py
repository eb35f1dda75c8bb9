"""What works and what does not, in sentences: `doctor` prints them, /healthz sums them up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.staticfiles import finders
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from kombu.exceptions import OperationalError as BrokerError

from annotation import webhook_sending
from annotation.models import Delivery, Export
from dialfork_site import schema
from dialfork_site.celery import app
from scoring import encoders
from scoring.models import Chunk, WorkerBeat

WORKER_SILENT = timedelta(seconds=15)
EVENT_LATE = timedelta(minutes=5)
STATIC_SAMPLE = "css/base.css"


@dataclass(frozen=True)
class Finding:
    """One thing looked at: whether it works, and what to know or do, as a sentence."""

    name: str
    ok: bool
    sentence: str


def findings() -> list[Finding]:
    """Everything looked at, in the order in which to mend it. Never raises for a broken service."""
    found = list(database())
    if all(one.ok for one in found):
        found += worker()
        found.append(webhooks())
    return [*found, broker(), encoder(), static_files()]


def database() -> Iterator[Finding]:
    """Kind and journal mode, then waiting migrations."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        waiting, too_new = schema.waiting(), schema.too_new()
    except DatabaseError as error:
        yield Finding("database", False, f"The database does not answer: {first_line(error)}.")
        return
    yield (
        journal()
        if connection.vendor == "sqlite"
        else Finding("database", True, f"PostgreSQL answers ({connection.settings_dict['NAME']}).")
    )
    if too_new:
        yield Finding("migrations", False, too_new)
    elif waiting:
        yield Finding("migrations", False, f"{waiting} migrations wait: run 'manage.py migrate'.")
    else:
        yield Finding("migrations", True, "All migrations are applied.")


def journal() -> Finding:
    with connection.cursor() as cursor:
        mode = cursor.execute("PRAGMA journal_mode").fetchone()[0]
    where = connection.settings_dict["NAME"]
    # A database in memory (tests) has no journal file.
    if mode in {"wal", "memory"}:
        return Finding("database", True, f"SQLite answers ({where}, journal {mode}).")
    return Finding(
        "database",
        False,
        f"SQLite at {where} has journal mode {mode} instead of WAL: readers and writers block each "
        "other. Put the file on a local disk.",
    )


def broker() -> Finding:
    """The embedded queue, or whether the server answers within two seconds."""
    if settings.CELERY_BROKER_URL.startswith("memory"):
        return Finding("broker", True, "The queue is inside the serving process (memory://).")
    try:
        with app.connection_for_read() as broker_connection:
            broker_connection.ensure_connection(max_retries=1, timeout=2, interval_start=0)
            where = broker_connection.as_uri()
    except (BrokerError, OSError) as error:
        return Finding(
            "broker",
            False,
            f"The broker does not answer: {first_line(error)}. Start Redis, or mend BROKER_URL. "
            "Work that is queued stays in the table and is sent again.",
        )
    return Finding("broker", True, f"The broker answers ({where}).")


def worker() -> list[Finding]:
    """Silent for over 15 seconds matters only while parts of a run or exports wait."""
    last = WorkerBeat.objects.order_by("-seen_at").first()
    waiting = Chunk.objects.waiting().count()
    parts = "1 part of a run waits" if waiting == 1 else f"{waiting} parts of runs wait"
    if exports := Export.objects.filter(state=Export.State.WAITING).count():
        parts += ", 1 export waits" if exports == 1 else f", {exports} exports wait"
        waiting += exports
    age = timezone.now() - last.seen_at if last else None
    seen = "No worker has been seen yet" if age is None else f"A worker was seen {ago(age)} ago"
    if age is not None and age <= WORKER_SILENT:
        return [Finding("worker", True, f"{seen} ({last.worker}); {parts}.")]
    if not waiting:
        return [Finding("worker", True, f"{seen}; nothing waits.")]
    return [
        Finding(
            "worker",
            False,
            f"{parts}. {seen}. Start one: 'manage.py serve' carries it, "
            "teams run 'celery -A dialfork_site worker'.",
        )
    ]


def webhooks() -> Finding:
    """Events that should have been sent minutes ago; the sweep of a worker sends them."""
    late = webhook_sending.due(timezone.now() - EVENT_LATE).count()
    waiting = Delivery.objects.filter(next_at__isnull=False, webhook__active=True).count()
    given_up = Delivery.objects.filter(next_at=None, delivered_at=None).count()
    if late:
        events = "1 event is" if late == 1 else f"{late} events are"
        return Finding("webhooks", False, f"{events} late: no worker has sent them. Start one.")
    rest = f" {given_up} could not be delivered; /admin/ lists why." if given_up else ""
    wait = "1 delivery waits" if waiting == 1 else f"{waiting} deliveries wait"
    return Finding("webhooks", True, f"{wait} for the next try.{rest}")


def encoder() -> Finding:
    try:
        encoders.check(settings.ENCODER)
    except encoders.UnknownEncoder as error:
        return Finding("encoder", False, str(error))
    note = encoders.fallback_note(settings.ENCODER)
    return Finding("encoder", True, f"The default encoder is {settings.ENCODER}. {note}".strip())


def static_files() -> Finding:
    if (Path(settings.STATIC_ROOT) / STATIC_SAMPLE).is_file():
        return Finding("static files", True, f"Static files are in {settings.STATIC_ROOT}.")
    if settings.WHITENOISE_USE_FINDERS and finders.find(STATIC_SAMPLE):
        return Finding("static files", True, "Static files are served from the source folders.")
    return Finding(
        "static files",
        False,
        f"{settings.STATIC_ROOT} holds no static files: run 'manage.py collectstatic'.",
    )


def ago(age: timedelta) -> str:
    seconds = int(age.total_seconds())
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")


@login_not_required
@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """200 or 503 with one word; the sentences name paths and hosts, so only admins see them."""
    found = findings()
    ok = all(one.ok for one in found)
    body: dict[str, object] = {"status": "ok" if ok else "degraded"}
    if is_admin(request):
        body["details"] = [
            {"name": one.name, "ok": one.ok, "sentence": one.sentence} for one in found
        ]
    return JsonResponse(body, status=200 if ok else 503)


def is_admin(request: HttpRequest) -> bool:
    try:
        return bool(request.user.is_authenticated and request.user.is_superuser)
    except DatabaseError:
        # Without a database nobody can be known to be an admin.
        return False
