from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from scoring import encoders, vector_exchange
from scoring.vector_files import BadVectors


class Command(BaseCommand):
    help = (
        "Store vectors that were computed elsewhere, all or none. A second time changes nothing. "
        "An encoder whose weights are not on this machine can then score those texts."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("encoder", help=f"one of: {', '.join(encoders.names())}")
        parser.add_argument("vectors", type=Path, help="a .npy file, one row per text")
        parser.add_argument("texts", type=Path, help="a .jsonl or .txt file, in the same order")
        parser.add_argument(
            "--revision",
            default="",
            help="commit or version of the weights that made them, as encode_texts prints it",
        )
        parser.add_argument("--json", action="store_true", help="one JSON object as the last line")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            found = vector_exchange.import_vectors(
                options["encoder"], options["vectors"], options["texts"], options["revision"]
            )
        except (BadVectors, encoders.UnknownEncoder) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"{found.stored:,} vectors stored under {found.revision}; {found.known:,} were there, "
            f"{found.repeated:,} rows repeat a text, {found.blank:,} texts are blank"
        )
        if options["json"]:
            self.stdout.write(json.dumps(found._asdict()))
