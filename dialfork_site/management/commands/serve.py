"""Serve the site with waitress and, with the broker memory://, the worker in the same process."""

from __future__ import annotations

import signal
import sys
from typing import Any

import waitress
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.wsgi import get_wsgi_application

from dialfork_site import schema
from dialfork_site.addresses import is_loopback
from dialfork_site.embedded import AlreadyServed, EmbeddedWorker

# Pure-Python work in a worker thread would otherwise hold the interpreter 5 ms at a time, and
# pages wait several turns: measured p95 of a page 285-520 ms, with this 82-109 ms.
SWITCH_SECONDS = 0.0005
SERVER_THREADS = 8


class Command(BaseCommand):
    help = "Serve the site. With BROKER_URL=memory:// the worker runs in the same process."
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--no-worker", action="store_true", help="serve pages only")

    def handle(self, *args: Any, host: str, port: int, no_worker: bool, **options: Any) -> None:
        if settings.DEMO and not is_loopback(host):
            raise CommandError(
                f"The demo is served on this machine only; {host} is reachable from others. "
                "Use 127.0.0.1, or unset DEMO and make accounts of your own."
            )
        schema.refuse_unfit()
        server = self.bind(host, port)
        worker = None if no_worker or not embedded() else EmbeddedWorker()
        signal.signal(signal.SIGTERM, interrupt)
        signal.signal(signal.SIGINT, interrupt)
        sys.setswitchinterval(SWITCH_SECONDS)
        try:
            if worker is not None:
                worker.start()
            shown = f"[{host}]" if ":" in host else host
            self.stdout.write(f"DialFork is at http://{shown}:{port} (Ctrl-C stops it).")
            self.stdout.flush()
            server.run()
        except AlreadyServed as error:
            worker = None
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            # Between the start of the worker and that of the server, which catches it itself.
            self.stdout.write("Stopped before the first page.")
        finally:
            self.stop(server, worker)

    def stop(self, server: Any, worker: EmbeddedWorker | None) -> None:
        # A second Ctrl-C ends it at once: what runs is taken up again by its lease.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        server.close()
        if worker is not None:
            self.stdout.write("Stopping. Running work finishes first; the rest waits in the table.")
            self.stdout.flush()
            worker.stop()

    def bind(self, host: str, port: int) -> Any:
        if not 1 <= port <= 65535:
            # The system would take the remainder, another port than the one that is printed.
            raise CommandError(f"Port {port} is none: it must be a number from 1 to 65535.")
        try:
            return waitress.create_server(
                get_wsgi_application(), host=host, port=port, threads=SERVER_THREADS, ident=None
            )
        except (OSError, ValueError) as error:
            raise CommandError(
                f"Port {port} on {host} cannot be opened "
                f"({getattr(error, 'strerror', None) or error}). "
                "Stop what uses it, or choose another with --port."
            ) from error


def embedded() -> bool:
    return settings.CELERY_BROKER_URL.startswith("memory")


def interrupt(signum: int, frame: Any) -> None:
    raise KeyboardInterrupt
