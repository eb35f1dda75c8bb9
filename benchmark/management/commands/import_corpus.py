from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from benchmark.formats import AS_RUNS, FORMATS, Reader
from benchmark.formats.release import is_release
from benchmark.importing import ImportReport, import_records, import_release
from benchmark.models import Corpus
from benchmark.records import ROLES, BadRecord, Record

NOTHING_READABLE, PARTLY_REJECTED = 1, 3
REJECTED_SHOWN = 20
NICENESS = 10


class Command(BaseCommand):
    help = (
        "Import workflows, dialogues and trajectories. Importing twice changes nothing. "
        "Exit code 1: nothing readable; 3: some of it rejected."
    )
    # They would load every page, and numpy with them: half of the memory an import needs.
    requires_system_checks = []

    def run_from_argv(self, argv: list[str]) -> None:
        # From a shell only, where the process is the command's own: people who judge on the same
        # machine go first.
        os.nice(NICENESS)
        super().run_from_argv(argv)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("format", choices=sorted(FORMATS))
        parser.add_argument("path", type=Path, help="A file or folder (see docs/formats.md).")
        parser.add_argument("--corpus", required=True, metavar="SLUG")
        parser.add_argument("--workflows", type=Path, metavar="DIR")
        parser.add_argument(
            "--roles",
            nargs="+",
            default=[],
            metavar="NAME=ROLE",
            help=f"Which role a speaker name has ({', '.join(ROLES)}).",
        )
        parser.add_argument(
            "--as",
            dest="as_",
            choices=["dialogues", "runs"],
            help=f"What the records become, for {', '.join(AS_RUNS)} (default: dialogues).",
        )
        parser.add_argument("--dry-run", action="store_true", help="Compare, write nothing.")
        parser.add_argument("--update", action="store_true", help="Replace what has changed.")
        parser.add_argument("--json", action="store_true", help="End with one JSON object.")

    def handle(self, *args: Any, **options: Any) -> None:
        roles_from(options["roles"])
        reader_for(options["format"], options["as_"])
        existed = Corpus.objects.filter(slug=options["corpus"]).exists()
        corpus = corpus_for(options["corpus"], create=not options["dry_run"])
        try:
            report = self.report_of(corpus, options)
        except BadRecord as bad:
            report = ImportReport(format=options["format"], corpus=corpus.slug, rejected=[bad])
        if not report.read and not report.rejected:
            reason = f"holds nothing in the format {options['format']}"
            report.rejected.append(BadRecord(options["path"].name, reason))
        self.say(report, dry_run=options["dry_run"])
        if options["json"]:
            self.stdout.write(json.dumps(report.to_json(), ensure_ascii=False))
        if not report.read:
            if not existed and corpus.pk and is_empty(corpus):
                corpus.delete()
            sys.exit(NOTHING_READABLE)
        if report.rejected:
            sys.exit(PARTLY_REJECTED)

    def report_of(self, corpus: Corpus, options: dict[str, Any]) -> ImportReport:
        format_, path, roles = options["format"], options["path"], roles_from(options["roles"])
        if not path.exists():
            raise BadRecord(str(path), "no such file or folder")
        how = {"update": options["update"], "dry_run": options["dry_run"]}
        if format_ == "dialfork" and is_release(path):
            return import_release(corpus, path, **how)
        read = reader_for(format_, options["as_"])
        records = read(path, workflows=options["workflows"], roles=roles)
        return import_records(corpus, format_, progress(records), **how)

    def say(self, report: ImportReport, *, dry_run: bool) -> None:
        would = " (nothing written)" if dry_run else ""
        self.stdout.write(
            f"{report.new} new, {report.unchanged} unchanged, {report.updated} updated, "
            f"{len(report.rejected)} rejected{would}; {report.turns} turns, "
            f"{report.steps} steps of runs, {sum(report.workflows.values())} workflows."
        )
        for name, count in sorted(report.labels.items()):
            what = "" if name.startswith("signals:") else "labels by "
            self.stdout.write(f"  {count:>6}  {what}{name}")
        for name, count in sorted(report.warnings.items()):
            self.stdout.write(f"  {count:>6}  {name} (first: {report.places[name][0]})")
        for bad in report.rejected[:REJECTED_SHOWN]:
            self.stderr.write(f"rejected: {bad}")
        if len(report.rejected) > REJECTED_SHOWN:
            self.stderr.write(f"... and {len(report.rejected) - REJECTED_SHOWN} more rejected")
        if not report.read:
            self.stderr.write("Nothing could be read.")


def is_empty(corpus: Corpus) -> bool:
    """Whether nothing was stored: an input that breaks off midway leaves its whole batches."""
    held = (corpus.workflows, corpus.dialogues, corpus.trajectories)
    return not any(rows.exists() for rows in held)


def corpus_for(slug: str, *, create: bool) -> Corpus:
    """The corpus `slug`; made when `create`, else an unsaved one stands for it."""
    found = Corpus.objects.filter(slug=slug).first()
    if found:
        return found
    corpus = Corpus(slug=slug)
    try:
        corpus.full_clean(exclude=["title"])
    except ValidationError as error:
        raise CommandError(f"--corpus {slug}: {' '.join(error.messages)}") from error
    return Corpus.objects.get_or_create(slug=slug)[0] if create else corpus


def reader_for(format_: str, kind: str | None) -> Reader:
    """How `format_` is read into `kind`; CommandError where it cannot become that."""
    if kind is None or (kind == "dialogues" and format_ in AS_RUNS):
        return FORMATS[format_]
    if format_ not in AS_RUNS:
        raise CommandError(f"--as {kind}: only {', '.join(AS_RUNS)} can be read in two ways")
    return AS_RUNS[format_]


def roles_from(pairs: Iterable[str]) -> dict[str, str]:
    """{"Agent 007": "assistant"} from ["Agent 007=assistant"]; CommandError for anything else."""
    roles = {}
    for pair in pairs:
        name, _, role = pair.rpartition("=")
        if role not in ROLES:
            raise CommandError(
                f"--roles {pair}: write NAME=ROLE with one of the roles {', '.join(ROLES)}"
            )
        roles[name] = role
    return roles


def progress(records: Iterable[Record | BadRecord]) -> Iterator[Record | BadRecord]:
    """`records` with a bar on a terminal, as they are otherwise."""
    yield from tqdm(records, unit=" records", disable=not sys.stderr.isatty(), file=sys.stderr)
