from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandError

from scoring import encoders
from scoring.vector_files import BadVectors, read_texts


class Command(BaseCommand):
    help = (
        "Encode a file of texts into a .npy file, without a database: for a machine with a GPU. "
        "Prints the revision that import_vectors wants to know."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("encoder", help=f"one of: {', '.join(encoders.names())}")
        parser.add_argument("texts", type=Path, help="a .jsonl or .txt file, see export_texts")
        parser.add_argument("out", type=Path, help="the .npy file to write")
        parser.add_argument("--half", action="store_true", help="write float16, not float32")

    def handle(self, *args: Any, **options: Any) -> None:
        out: Path = options["out"]
        if out.suffix != ".npy":
            raise CommandError(f"{out.name} must end with .npy")
        try:
            texts = read_texts(options["texts"])
            encoder = encoders.get(options["encoder"])
            revision = encoder.revision
            rows = encoder.encode(texts)
            np.save(out, rows.astype(np.float16) if options["half"] else rows)
        except (BadVectors, encoders.UnknownEncoder, encoders.EncoderUnavailable) as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{out} cannot be written: {error.strerror}") from error
        self.stdout.write(
            f"{len(texts):,} vectors are in {out}. Store them with: manage.py import_vectors "
            f"{encoder.name} {out.name} {options['texts'].name} --revision {revision}"
        )
