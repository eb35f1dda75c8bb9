"""`manage.py agreement STUDY [--simulated] [--json]`: how far the judges of a study agree."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.agreement_report import RESAMPLES, agreement_report
from annotation.judgement_rows import PEOPLE, SIMULATED, counted
from annotation.models import Study
from annotation.report_rows import read_all
from annotation.report_tables import in_words

MOST_RESAMPLES = 100_000


class Command(BaseCommand):
    help = "Agreement of a study's judges: by question, condition, answer, person, pair and item."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the study")
        parser.add_argument(
            "--simulated", action="store_true", help="the simulated seats; without it, people"
        )
        parser.add_argument(
            "--resamples",
            type=int,
            default=RESAMPLES,
            help=f"draws of each interval (default {RESAMPLES:,}, at most {MOST_RESAMPLES:,})",
        )
        parser.add_argument("--json", action="store_true", help="one JSON object with all tables")

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(slug=options["slug"]).first()
        if study is None:
            raise CommandError(f"There is no study {options['slug']!r}.")
        if study.kind == Study.Kind.RUNS:
            raise CommandError(
                f"{study.slug!r} is a study of agent runs: its report page has the agreement."
            )
        if not 1 <= options["resamples"] <= MOST_RESAMPLES:
            raise CommandError(
                f"--resamples is {options['resamples']}; 1 to {MOST_RESAMPLES:,} are allowed."
            )
        group = SIMULATED if options["simulated"] else PEOPLE
        judgements = counted([row for row in read_all(study) if row.group == group])
        found = agreement_report(judgements, seed=study.seed, resamples=options["resamples"])
        if options["json"]:
            head = {"study": study.slug, "group": group, "seed": study.seed}
            self.stdout.write(json.dumps(head | found))
            return
        self.stdout.write(f"{study.slug}, {group}: {len(judgements)} judgements")
        for name, tables in found["questions"].items():
            for line in _lines(name, tables["panel"]):
                self.stdout.write(line)


def _lines(name: str, panel: Mapping[str, Any]) -> Iterator[str]:
    yield f"{name}: {panel['units']} shared items, {panel['pairs']} pairs"
    if panel["prevalence"]:
        shares = (f"{label} {share:.0%}" for label, share in panel["prevalence"].items())
        note = f" ({in_words(panel['note'])})" if panel["note"] else ""
        yield f"  answers: {', '.join(shares)}{note}"
    for figure, found in panel["figures"].items():
        yield f"  {figure}: {_shown(found)}"


def _shown(found: Mapping[str, Any]) -> str:
    if found["value"] is None:
        return f"undefined, {in_words(found['reason'])}"
    interval = found["ci"] and f" [{found['ci'][0]:.3f}, {found['ci'][1]:.3f}]"
    return f"{found['value']:.3f}{interval or ''}, n = {found['n']}"
