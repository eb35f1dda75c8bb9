from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.management.named_corpus import named_corpus
from benchmark.releasing import ReleaseRefused, publish


class Command(BaseCommand):
    help = (
        "Freeze a version of a corpus: JSON lines, Parquet, a card and a manifest of checksums. "
        "Publishing the same data again gives the same files."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("corpus", metavar="SLUG")
        parser.add_argument("version", metavar="VERSION", help="For example 1.0 or 1.0.2.")
        parser.add_argument("--out", type=Path, required=True, metavar="DIR")
        parser.add_argument(
            "--reveal", action="store_true", help="Publish although an open study uses the corpus."
        )
        parser.add_argument("--json", action="store_true", help="End with one JSON object.")

    def handle(self, *args: Any, **options: Any) -> None:
        corpus = named_corpus(options["corpus"])
        try:
            manifest = publish(corpus, options["version"], options["out"], reveal=options["reveal"])
        except ReleaseRefused as refused:
            raise CommandError(str(refused)) from refused
        except OSError as error:
            raise CommandError(f"{options['out']} cannot be written: {error.strerror}") from error
        counts = ", ".join(f"{count} {name}" for name, count in manifest["counts"].items())
        self.stdout.write(f"{corpus.slug} {options['version']} in {options['out']}: {counts}.")
        if options["json"]:
            report = {
                "corpus": corpus.slug,
                "version": options["version"],
                "out": str(options["out"]),
            }
            report |= {"counts": manifest["counts"], "files": manifest["files"]}
            self.stdout.write(json.dumps(report, ensure_ascii=False))
