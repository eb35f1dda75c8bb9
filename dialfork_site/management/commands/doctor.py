"""Say in words what works and what does not. Exit code 1 when something does not."""

from __future__ import annotations

import json
import sys
from typing import Any

from django.core.checks import run_checks
from django.core.management.base import BaseCommand, CommandParser

from dialfork_site.health import Finding, findings


class Command(BaseCommand):
    help = "Look at database, broker, worker, encoder and static files, and say what to mend."
    # Bad settings are findings here, not a reason to stop before saying anything.
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="end with one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        found = [*settings_findings(), *findings()]
        for one in found:
            mark = "ok  " if one.ok else "MEND"
            self.stdout.write(f"{mark}  {one.name}: {one.sentence}")
        broken = [one.name for one in found if not one.ok]
        self.stdout.write(f"To mend: {', '.join(broken)}." if broken else "Everything works.")
        if options["json"]:
            rows = [{"name": f.name, "ok": f.ok, "sentence": f.sentence} for f in found]
            self.stdout.write(json.dumps({"ok": not broken, "findings": rows}))
        if broken:
            sys.exit(1)


def settings_findings() -> list[Finding]:
    """Failed start-up checks; a warning is said, but does not count as broken."""
    messages = [message for message in run_checks() if not message.is_silenced()]
    return [
        Finding("settings", not message.is_serious(), f"{message.msg} ({message.id})")
        for message in messages
    ]
