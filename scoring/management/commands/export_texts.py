from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from benchmark.management.named_corpus import named_corpus
from scoring import encoders, vector_exchange
from scoring.vector_files import write_texts


class Command(BaseCommand):
    help = (
        "Write the distinct texts of a corpus, and of the sources of its forks, that have no "
        "stored vector yet: for a machine that computes them (encode_texts, then import_vectors)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="the corpus")
        parser.add_argument("out", type=Path, help="the .jsonl file to write")
        parser.add_argument("--encoder", help=f"one of: {', '.join(encoders.names())}")
        parser.add_argument(
            "--whole-dialogues",
            action="store_true",
            help="also each dialogue as one text, for the method full",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        corpus = named_corpus(options["slug"])
        out: Path = options["out"]
        if out.suffix != ".jsonl":
            raise CommandError(f"{out.name} must end with .jsonl")
        name = options["encoder"] or settings.ENCODER
        try:
            texts = vector_exchange.texts_to_encode(corpus, name, whole=options["whole_dialogues"])
            n = write_texts(texts, out)
        except encoders.UnknownEncoder as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{out} cannot be written: {error.strerror}") from error
        self.stdout.write(f"{n:,} texts without a vector of {name} are in {out}")
