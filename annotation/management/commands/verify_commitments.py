"""Check the chains of a study: exit code 1 when one does not hold."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation import commitments
from annotation.models import Study
from benchmark.formats import release
from benchmark.records import BadRecord

IMPORTED = "imported"


class Command(BaseCommand):
    help = (
        "Check that every answer of a study was committed in order and is as it was, one line "
        "per seat. Prints the head of each chain: publish these lines while the study runs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="the study's short name")
        parser.add_argument(
            "--release",
            type=Path,
            metavar="DIR",
            help="a release of the study: its heads must be on the chains of today",
        )
        parser.add_argument("--json", action="store_true", help="one JSON object per seat")

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(slug=options["study"]).first()
        if study is None:
            raise CommandError(f"There is no study {options['study']!r}.")
        if study.design.get(IMPORTED):
            raise CommandError(
                f"The study {study.slug!r} came from a release: its chains are where it was made."
            )
        published = heads_in(options["release"], study.slug) if options["release"] else {}
        found = commitments.compare(study, commitments.verify(study), published)
        for one in found:
            self.stdout.write(as_json(one) if options["json"] else in_words(one))
        broken = sum(not one.ok for one in found)
        if not options["json"]:
            seats = "1 seat" if len(found) == 1 else f"{len(found)} seats"
            self.stdout.write(
                f"{seats}, {broken} with a break." if found else "No seat of a person."
            )
        if broken:
            sys.exit(1)


def in_words(one: commitments.Finding) -> str:
    links = "1 link" if one.links == 1 else f"{one.links} links"
    line = f"{one.pseudonym}  {'ok' if one.ok else 'BREAK'}  {links}  head {one.head}"
    return line if one.ok else f"{line}\n    {one.sentence}"


def as_json(one: commitments.Finding) -> str:
    return json.dumps(
        {
            "annotator": one.pseudonym,
            "ok": one.ok,
            "links": one.links,
            "head": one.head,
            "first_break": one.place,
            "reason": one.sentence or None,
        }
    )


def heads_in(folder: Path, study: str) -> dict[str, str]:
    """The heads that a release published for `study`, by pseudonym."""
    try:
        studies = release.manifest_of(folder)["studies"]
    except BadRecord as bad:
        raise CommandError(f"{folder} is no release that can be read: {bad}") from bad
    for entry in studies:
        if entry["study"] == study and entry.get("commitments"):
            return {name: head_of(value) for name, value in entry["commitments"].items()}
    raise CommandError(f"{folder} publishes no heads of the study {study!r}.")


def head_of(value: Any) -> str:
    """The head as a text, or beside the number of links."""
    return str(value.get("head", "")) if isinstance(value, dict) else str(value)
