from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from scoring import encoders


class Command(BaseCommand):
    help = "Fetch the weights of a sentence-transformers encoder once, so that runs work offline."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="one of: " + ", ".join(encoders.names()))

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            revision = encoders.pull(options["name"])
        except (encoders.UnknownEncoder, encoders.EncoderUnavailable) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{options['name']} is ready: {revision}")
