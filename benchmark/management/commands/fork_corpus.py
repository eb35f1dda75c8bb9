"""`manage.py fork_corpus`: sixteen forks of every eligible dialogue of a corpus."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from benchmark.generating import ENGINES, ForkReport, fork_corpus
from benchmark.models import Corpus
from benchmark.records import BadRecord


class Command(BaseCommand):
    help = (
        "Fork every conformant dialogue with four or more assistant turns: four types at four "
        "positions. Started again, it goes on where it stopped."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("corpus", metavar="SLUG", help="the corpus that holds the sources")
        parser.add_argument("--into", required=True, metavar="SLUG2", help="corpus for the forks")
        parser.add_argument("--engine", required=True, choices=sorted(ENGINES))
        parser.add_argument("--seed", required=True, type=int)
        parser.add_argument(
            "--reword-prefix",
            action="store_true",
            help="splice only: say about 30 %% of the turns before the fork in other words",
        )
        parser.add_argument("--limit", type=int, metavar="N", help="only the first N sources")
        parser.add_argument("--json", action="store_true", help="end with one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["limit"] is not None and options["limit"] < 1:
            raise CommandError("--limit must be 1 or more")
        source = Corpus.objects.filter(slug=options["corpus"]).first()
        if source is None:
            raise CommandError(f"there is no corpus {options['corpus']!r}; import one first")
        existed = Corpus.objects.filter(slug=options["into"]).exists()
        into = self._target(options["into"], source)
        begin = time.monotonic()
        try:
            report = fork_corpus(
                source,
                into,
                options["engine"],
                options["seed"],
                reword_prefix=options["reword_prefix"],
                limit=options["limit"],
                progress=lambda sources: tqdm(
                    sources, desc="sources", unit="dialogue", disable=None
                ),
            )
        except BadRecord as bad:
            if not existed and not into.dialogues.exists():
                into.delete()
            raise CommandError(str(bad)) from bad
        self._say(report)
        if options["json"]:
            seconds = round(time.monotonic() - begin, 1)
            self.stdout.write(json.dumps(report.to_json() | {"seconds": seconds}))

    def _target(self, slug: str, source: Corpus) -> Corpus:
        held = Corpus.objects.filter(slug=slug).first()
        if held:
            return held
        corpus = Corpus(
            slug=slug,
            title=f"{source.title or source.slug}, forks",
            licence=source.licence,
            is_demo=source.is_demo,
        )
        try:
            corpus.full_clean()
        except ValidationError as error:
            raise CommandError(f"--into {slug!r}: {'; '.join(error.messages)}") from error
        corpus.save()
        return corpus

    def _say(self, report: ForkReport) -> None:
        say = self.stdout.write
        say(
            f"{report.sources} sources ({report.too_short} more are too short), "
            f"{report.new} new forks, {report.unchanged} unchanged, {report.forks} in all"
        )
        for type_, reasons in sorted(report.refused.items()):
            for reason, n in sorted(reasons.items()):
                say(f"  refused {type_}: {n}, {reason}")
        for bad in report.rejected[:20]:
            say(f"  rejected {bad}")
        if report.wic_other_domain:
            say(f"  {report.wic_other_domain} WIC forks turn to a task of another domain")
        if report.reword_prefix:
            say(f"  {report.identical_prefix} forks kept their prefix word for word")
