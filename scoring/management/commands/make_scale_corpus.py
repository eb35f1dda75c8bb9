from __future__ import annotations

import json
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from benchmark.demo import full_size
from benchmark.formats import dialfork
from benchmark.importing import ImportReport, import_records
from benchmark.models import Corpus
from benchmark.records import BadRecord, DialogueRecord

FORMAT = "dialfork"
SOURCES, FORKS = "dialogues.jsonl", "forks.jsonl"


class Command(BaseCommand):
    help = (
        "Make a synthetic corpus of DialFork's size, for measuring speed: 24 workflows, 2,134 "
        "scripted dialogues in SLUG and sixteen forks of each in SLUG-forks. The same seed gives "
        "the same corpus; a second time changes nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="the corpus of the conformant dialogues")
        parser.add_argument("--dialogues", type=int, default=full_size.DIALOGUES)
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument(
            "--out", type=Path, help="keep the two .jsonl files in this folder, import nothing"
        )
        parser.add_argument("--json", action="store_true", help="one JSON object as the last line")

    def handle(self, *args: Any, **options: Any) -> None:
        slug, out = options["slug"], options["out"]
        try:
            Corpus(slug=f"{slug}-forks").clean_fields(exclude=["title"])
        except ValidationError as error:
            raise CommandError(f"{slug}: {' '.join(error.messages)}") from error
        try:
            with ExitStack() as stack:
                folder = out or Path(stack.enter_context(tempfile.TemporaryDirectory()))
                folder.mkdir(parents=True, exist_ok=True)
                found = self._write(folder, slug, options["dialogues"], options["seed"])
                if out is None:
                    found |= self._import(folder, slug)
        except BadRecord as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}") from error
        if options["json"]:
            self.stdout.write(json.dumps(found))

    def _write(self, folder: Path, slug: str, dialogues: int, seed: int) -> dict[str, Any]:
        """Both files, family by family: memory does not grow with the corpus."""
        began = time.monotonic()
        counts = {"dialogues": 0, "forks": 0, "turns": 0}
        families = tqdm(
            full_size.families(dialogues, seed),
            total=dialogues,
            unit=" sources",
            disable=not sys.stderr.isatty(),
        )
        with (
            (folder / SOURCES).open("w", encoding="utf-8") as sources,
            (folder / FORKS).open("w", encoding="utf-8") as forks,
        ):
            dialfork.write(full_size.branch_workflows(), sources)
            for source, made in families:
                dialfork.write([source], sources)
                dialfork.write(full_size.stored_elsewhere(made, slug, FORMAT), forks)
                counts["dialogues"] += 1
                counts["forks"] += len(made)
                counts["turns"] += sum(len(dialogue.turns) for dialogue in [source, *made])
        took = round(time.monotonic() - began, 1)
        self.stdout.write(
            f"{counts['dialogues']:,} dialogues, {counts['forks']:,} forks and "
            f"{counts['turns']:,} turns made in {took} s"
        )
        return {**counts, "seed": seed, "made_seconds": took}

    def _import(self, folder: Path, slug: str) -> dict[str, Any]:
        began = time.monotonic()
        new = 0
        for name, own, title in (
            (SOURCES, slug, "Synthetic dialogues for measuring speed"),
            (FORKS, f"{slug}-forks", "Synthetic forks for measuring speed"),
        ):
            corpus, _ = Corpus.objects.get_or_create(slug=own, defaults={"title": title})
            report = import_records(corpus, FORMAT, self._records(folder / name))
            _refuse_rejected(report)
            new += report.new
        took = round(time.monotonic() - began, 1)
        self.stdout.write(f"{new:,} new dialogues imported in {took} s")
        return {"new": new, "imported_seconds": took}

    def _records(self, path: Path) -> Iterator[DialogueRecord | BadRecord]:
        return tqdm(
            dialfork.read(path), unit=" dialogues", desc=path.name, disable=not sys.stderr.isatty()
        )


def _refuse_rejected(report: ImportReport) -> None:
    if report.rejected:
        raise CommandError(
            f"{report.corpus} holds another corpus: {report.rejected[0]}. Choose another slug."
        )
