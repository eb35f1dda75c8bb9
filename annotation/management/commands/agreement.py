"""`manage.py agreement STUDY [--simulated] [--json]`: how far the judges of a study agree."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.agreement_report import RESAMPLES, agreement_report
from annotation.figure_lines import lines_of, plain_of
from annotation.judgement_rows import PEOPLE, SIMULATED, counted
from annotation.models import Study
from annotation.report_rows import read_all
from annotation.report_tables import in_words
from annotation.run_reports import study_reviews
from annotation.run_summary import REVIEWS, study_sections

MOST_RESAMPLES = 100_000


class Command(BaseCommand):
    help = (
        "Agreement of a study: by question, condition, answer, person, pair and item; of a study "
        "of agent runs the figures of its report."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the study")
        parser.add_argument(
            "--simulated", action="store_true", help="the simulated seats; without it, people"
        )
        parser.add_argument(
            "--resamples",
            type=int,
            help=f"draws of each interval (default {RESAMPLES:,}, at most {MOST_RESAMPLES:,}); "
            "a study of agent runs has the draws of its report",
        )
        parser.add_argument("--json", action="store_true", help="one JSON object with all tables")

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(slug=options["slug"]).first()
        if study is None:
            raise CommandError(f"There is no study {options['slug']!r}.")
        group = SIMULATED if options["simulated"] else PEOPLE
        if study.kind == Study.Kind.RUNS:
            self.tell_runs(study, group, options)
        else:
            self.tell_forks(study, group, options)

    def tell_runs(self, study: Study, group: str, options: Mapping[str, Any]) -> None:
        """The figures of the report's page, each review for itself."""
        if options["resamples"] is not None:
            raise CommandError(
                f"{study.slug!r} is a study of agent runs: its intervals are those of its report, "
                "and --resamples does not change them."
            )
        reviews = study_reviews(study)
        rows = reviews.of(group)
        sections = study_sections(rows, reviews.agents, seed=study.seed, views=[REVIEWS])
        if options["json"]:
            head = {"study": study.slug, "group": group, "seed": study.seed}
            tables = {
                name: plain_of(each) for one in sections for name, each in one.named().items()
            }
            self.stdout.write(json.dumps(head | {"figures": tables}))
            return
        counted = sum(row.counted for row in rows)
        self.stdout.write(f"{study.slug}, {group}: {counted} blind reviews")
        for section in sections:
            self.stdout.write(f"\n{section.title}" + (f". {section.note}" if section.note else ""))
            for figure in section.figures:
                for line in lines_of(figure):
                    self.stdout.write(line)

    def tell_forks(self, study: Study, group: str, options: Mapping[str, Any]) -> None:
        resamples = RESAMPLES if options["resamples"] is None else options["resamples"]
        if not 1 <= resamples <= MOST_RESAMPLES:
            raise CommandError(f"--resamples is {resamples}; 1 to {MOST_RESAMPLES:,} are allowed.")
        judgements = counted([row for row in read_all(study) if row.group == group])
        found = agreement_report(judgements, seed=study.seed, resamples=resamples)
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
