from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from benchmark.judge_answer_files import AnswerRow, read_answers
from benchmark.judge_answer_imports import AnswerReport, Import, import_answers
from benchmark.judge_locations import BY_POSITION, NUMBERINGS
from benchmark.judge_prompts import Prompt, read_prompts
from benchmark.judge_raters import check_judge, find_prompt, forget_unused, judge_name, judge_rater
from benchmark.management.named_corpus import named_corpus
from benchmark.models import Rater
from benchmark.records import BadRecord

NOTHING_STORED, PARTLY_LEFT_OUT = 1, 3
SHOWN = 20
NICENESS = 10


class Command(BaseCommand):
    help = (
        "Import what a judge wrote about agent runs: JSON lines, a JSON document, or a folder with "
        "a file for each run. Every answer is kept word for word; one that cannot be read is kept "
        "with the reason. Importing twice changes nothing. Exit code 1: nothing stored; 3: some "
        "answers could not be stored."
    )
    # They would load every page, and numpy with them.
    requires_system_checks = []

    def run_from_argv(self, argv: list[str]) -> None:
        # From a shell only, where the process is the command's own: people who judge on the same
        # machine go first.
        os.nice(NICENESS)
        super().run_from_argv(argv)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, help="A file or folder (see docs/judges.md).")
        parser.add_argument("--corpus", required=True, metavar="SLUG")
        parser.add_argument(
            "--judge", default="", metavar="NAME", help='By default "MODEL / PROMPT@VERSION".'
        )
        parser.add_argument("--model", default="", help="The language model that judged.")
        parser.add_argument("--prompt", default="", metavar="NAME@VERSION")
        parser.add_argument(
            "--prompt-file", type=Path, metavar="TOML", help="Where a prompt of your own is."
        )
        parser.add_argument(
            "--trial", type=int, default=1, help="Which time of asking, where the file is silent."
        )
        parser.add_argument(
            "--numbering",
            choices=NUMBERINGS,
            default=BY_POSITION,
            help='What "Step 3" counts: positions, or the numbers the run gives its steps.',
        )
        parser.add_argument("--dry-run", action="store_true", help="Compare, write nothing.")
        parser.add_argument("--json", action="store_true", help="End with one JSON object.")

    def handle(self, *args: Any, **options: Any) -> None:
        if not 1 <= options["trial"] <= 32_767:
            raise CommandError("--trial must be a whole number from 1 to 32,767")
        corpus = named_corpus(options["corpus"])
        try:
            rows = begun(read_answers(options["path"]))
            rater = self.rater(options)
            how = Import(corpus, rater, options["trial"], options["numbering"], options["dry_run"])
            report = import_answers(how, progress(rows))
        except BadRecord as bad:
            raise CommandError(str(bad)) from bad
        self.say(report, rater, dry_run=options["dry_run"])
        if options["json"]:
            about = {"corpus": corpus.slug, "judge": rater.name, "dry_run": options["dry_run"]}
            self.stdout.write(json.dumps(about | report.to_json(), ensure_ascii=False))
        if not report.stored:
            if rater.pk:
                forget_unused(rater)
            sys.exit(NOTHING_STORED)
        if report.left_out:
            sys.exit(PARTLY_LEFT_OUT)

    def rater(self, options: dict[str, Any]) -> Rater:
        """The judge, made when it is new; in a dry run an unsaved one stands for it."""
        prompt = prompt_from(options["prompt"], options["prompt_file"])
        model = options["model"]
        name = options["judge"] or judge_name(model, prompt)
        if not options["judge"] and not model:
            raise CommandError("Say who judged: --judge NAME, or --model M with --prompt NAME@V.")
        if not options["dry_run"]:
            return judge_rater(name, model=model, prompt=prompt)
        held = check_judge(name, model=model, prompt=prompt)
        return held or Rater(name=name, kind=Rater.Kind.JUDGE, model=model)

    def say(self, report: AnswerReport, rater: Rater, *, dry_run: bool) -> None:
        would = " (nothing written)" if dry_run else ""
        self.stdout.write(
            f"{rater.name}: {report.read} read, {report.rejected} kept but not readable, "
            f"{report.unchanged} unchanged, {len(report.left_out)} left out{would}."
        )
        for what, counts in (("not readable", report.reasons), ("note", report.notes)):
            for words, n in counts.most_common(SHOWN):
                self.stdout.write(f"  {n:>6}  {what}: {words}")
        for bad in report.left_out[:SHOWN]:
            self.stderr.write(f"left out: {bad}")
        if len(report.left_out) > SHOWN:
            self.stderr.write(f"... and {len(report.left_out) - SHOWN} more left out")
        if not report.stored:
            self.stderr.write("Nothing could be stored.")


def begun(rows: Iterator[AnswerRow | BadRecord]) -> Iterator[AnswerRow | BadRecord]:
    """`rows`, of which the first has been read: a path that cannot be opened ends the command
    before anything is written."""
    first = list(islice(rows, 1))
    return chain(first, rows)


def progress(rows: Iterator[AnswerRow | BadRecord]) -> Iterator[AnswerRow | BadRecord]:
    """`rows` with a bar on a terminal, as they are otherwise."""
    yield from tqdm(rows, unit=" answers", disable=not sys.stderr.isatty(), file=sys.stderr)


def prompt_from(text: str, file: Path | None) -> Prompt | None:
    """The prompt that NAME@VERSION names, None where none is; raises BadRecord."""
    own = read_prompts(file) if file else []
    if not text:
        if file:
            known = ", ".join(map(str, own))
            raise BadRecord("--prompt", f"say which of {file.name} was asked: {known}")
        return None
    name, _, version = text.rpartition("@")
    if not name or not (version.isascii() and version.isdigit() and len(version) < 10):
        raise BadRecord("--prompt", f"{text} must be NAME@VERSION, such as whole-run@1")
    return find_prompt(name, int(version), own)
