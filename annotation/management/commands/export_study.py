"""Write the answers of a study to a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation import auditing, exporting
from annotation.export_rows import CHOICES, Filter
from annotation.models import Study


class Command(BaseCommand):
    help = (
        "Write the answers of a study to a folder: the answers, the history of each item, and a "
        "manifest with filter, counts and checksums. The same answers give the same bytes."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the study")
        parser.add_argument("--format", choices=sorted(exporting.FORMATS), default="csv")
        parser.add_argument("--out", type=Path, required=True, metavar="DIR")
        for name, allowed in CHOICES.items():
            parser.add_argument(f"--{name}", choices=allowed, default=getattr(Filter(), name))
        parser.add_argument(
            "--questionnaire",
            action="store_true",
            help="Add what people said about themselves, in a file that joins to nothing.",
        )
        parser.add_argument("--json", action="store_true", help="End with one JSON object.")

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(slug=options["slug"]).first()
        if study is None:
            raise CommandError(f"There is no study {options['slug']!r}.")
        out: Path = options["out"].resolve()
        refuse_foreign(out)
        only = Filter(**{name: options[name] for name in (*CHOICES, "questionnaire")})
        try:
            manifest = exporting.write_folder(study, options["format"], only, out)
        except OSError as error:
            raise CommandError(f"{out} cannot be written: {error.strerror or error}") from error
        auditing.record(
            "export.written", study=study, format=options["format"], filter=only.to_json()
        )
        shown = ", ".join(f"{n} {status}" for status, n in manifest["assignments"].items() if n)
        self.stdout.write(f"{study.slug} in {out}: {shown or 'nothing'}.")
        if manifest["changed_meanwhile"]:
            self.stdout.write("Answers came in while it was written; export again for one state.")
        if options["json"]:
            self.stdout.write(json.dumps({"out": str(out), **manifest}, ensure_ascii=False))


def refuse_foreign(out: Path) -> None:
    """CommandError when `out` holds anything but an export: it would be replaced."""
    if not out.exists():
        return
    if not out.is_dir():
        raise CommandError(f"{out} is a file; --out must be a folder.")
    names = {path.name for path in out.iterdir()}
    try:
        held = json.loads((out / exporting.MANIFEST).read_text(encoding="utf-8"))
        own = {exporting.MANIFEST, *held["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        own = set()
    if Path.cwd().is_relative_to(out):
        raise CommandError(f"{out} is the folder you are in; name another.")
    if foreign := sorted(names - own):
        raise CommandError(f"{out} holds {foreign[0]}, which is no file of an export.")
