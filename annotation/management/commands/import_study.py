"""Answers given in another tool become a closed study."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_slug
from django.db import transaction

from annotation import auditing
from annotation.foreign_answers import READERS
from annotation.foreign_values import WORDS, Meaning
from annotation.models import Study
from annotation.study_imports import StudyImport, StudyImportRefused, import_study
from benchmark.management.commands.import_corpus import corpus_for, roles_from

NOTHING_STORED, PARTLY_REJECTED = 1, 3
REJECTED_SHOWN = 20


class Command(BaseCommand):
    help = (
        "Import slider and choice answers of Label Studio or Potato as a closed study. Importing "
        "twice changes nothing. Exit code 1: nothing stored; 3: some of it rejected."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("format", choices=sorted(READERS))
        parser.add_argument("path", type=Path)
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--title", default="", help="Shown to people; the slug if absent.")
        parser.add_argument("--corpus", required=True, metavar="SLUG", help="Where items go.")
        parser.add_argument("--items", type=Path, help="Potato: the data file with the texts.")
        parser.add_argument("--text", default="", metavar="FIELD", help="The field with the text.")
        parser.add_argument("--instruction", default="", metavar="FIELD")
        parser.add_argument("--rating", default="rating", metavar="QUESTION")
        parser.add_argument("--appears", default="", metavar="QUESTION")
        parser.add_argument("--onset", default="", metavar="QUESTION")
        parser.add_argument("--prefix", default="", metavar="QUESTION")
        parser.add_argument(
            "--scale", metavar="LOW:HIGH", help="Spread the rating from this scale over 0 to 100."
        )
        parser.add_argument("--map", action="append", default=[], metavar="LABEL=WORD")
        parser.add_argument("--roles", nargs="+", default=[], metavar="NAME=ROLE")
        parser.add_argument("--json", action="store_true", help="End with one JSON object.")

    def handle(self, *args: Any, **options: Any) -> None:
        meaning = meaning_of(options)
        for path in filter(None, (options["path"], options["items"])):
            if not path.exists():
                raise CommandError(f"{path}: no such file or folder.")
        try:
            validate_slug(options["study"])
        except ValidationError as error:
            raise CommandError(f"--study {options['study']}: {' '.join(error.messages)}") from error
        try:
            found = READERS[options["format"]](options["path"], options["items"])
            with transaction.atomic():
                report = import_study(
                    slug=options["study"],
                    title=options["title"] or options["study"],
                    corpus=corpus_for(options["corpus"], create=True),
                    format=options["format"],
                    found=found,
                    meaning=meaning,
                )
                study = Study.objects.get(slug=options["study"])
                auditing.record("study.imported", study=study, new=report.new)
                if not report.new and not report.unchanged:
                    transaction.set_rollback(True)
        except (StudyImportRefused, ValueError) as error:
            raise CommandError(str(error)) from error
        self.say(report)
        if options["json"]:
            self.stdout.write(json.dumps(report.to_json(), ensure_ascii=False))
        if not report.new and not report.unchanged:
            self.stderr.write("Nothing was stored.")
            sys.exit(NOTHING_STORED)
        if report.rejected:
            sys.exit(PARTLY_REJECTED)

    def say(self, report: StudyImport) -> None:
        self.stdout.write(
            f"{report.new} new, {report.unchanged} unchanged, {len(report.rejected)} rejected; "
            f"{report.items} items, {report.seats} seats."
        )
        for name, count in sorted(report.ignored.items()):
            self.stdout.write(f"  {count:>6}  answers to {name} have no place and were left out")
        for bad in report.rejected[:REJECTED_SHOWN]:
            self.stderr.write(f"rejected: {bad}")
        if len(report.rejected) > REJECTED_SHOWN:
            self.stderr.write(f"... and {len(report.rejected) - REJECTED_SHOWN} more rejected")


def meaning_of(options: dict[str, Any]) -> Meaning:
    """The options as a meaning; CommandError for one that is malformed."""
    words = {}
    allowed = sorted({word for known in WORDS.values() for word in known})
    for pair in options["map"]:
        label, _, word = pair.rpartition("=")
        if not label or word not in allowed:
            raise CommandError(f"--map {pair}: write LABEL=WORD with one of {', '.join(allowed)}.")
        words[label] = word
    names = ("rating", "appears", "onset", "prefix", "text", "instruction")
    return Meaning(
        **{name: options[name] for name in names},
        scale=scale_of(options["scale"]),
        words=words,
        roles=roles_from(options["roles"]),
    )


def scale_of(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    low, _, high = text.partition(":")
    try:
        scale = float(low), float(high)
    except ValueError:
        scale = (0.0, 0.0)
    if not -1e9 <= scale[0] < scale[1] <= 1e9:
        raise CommandError(f"--scale {text}: write LOW:HIGH with two numbers, such as 1:5.")
    return scale
