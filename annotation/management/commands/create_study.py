"""Draw a study over the forks of a corpus."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from annotation.design import POSITIONS, TYPES
from annotation.enrolment import assign_seat
from annotation.launching import create_study
from annotation.models import Study
from annotation.refusals import EnrolmentRefused
from annotation.study_checks import CODES, PHASES
from benchmark.management.named_corpus import named_corpus

PASSED_ON = (
    "slug",
    "title",
    "seed",
    "forks_per_seat",
    "conformant_per_seat",
    "overlap",
    "foil_share",
    "n_practice",
    "n_attention",
    "pass_mark",
    "idle_hours",
    "rate_per_hour",
    "currency",
)


class Command(BaseCommand):
    help = "Draw a study: who judges which conversations, from a seed. It is launched at once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the study's name in addresses")
        parser.add_argument("--title", required=True, help="what annotators see; keep it neutral")
        parser.add_argument("--forks", required=True, help="slug of the corpus of forks")
        parser.add_argument("--seed", type=int, required=True)
        parser.add_argument("--draft", action="store_true", help="do not launch it yet")
        parser.add_argument("--annotator", action="append", default=[], help="user who gets a seat")
        parser.add_argument("--json", action="store_true", help="end with one JSON object")
        self.add_design(parser)
        self.add_way(parser)

    def add_design(self, parser: CommandParser) -> None:
        parser.add_argument("--seats", type=int, default=10)
        parser.add_argument("--simulated", type=int, default=0, help="how many of the seats")
        parser.add_argument("--forks-per-seat", type=int, default=16)
        parser.add_argument("--conformant-per-seat", type=int, default=2)
        parser.add_argument(
            "--overlap", type=float, default=0.2, help="share of judgements of shared items, 0 to 1"
        )
        parser.add_argument(
            "--foil-share", type=float, default=0.5, help="share of forks shown a foil, 0 to 1"
        )
        parser.add_argument("--workflow", action="append", default=[], help="may be repeated")
        parser.add_argument(
            "--type", action="append", default=[], choices=TYPES, help="may be repeated"
        )
        parser.add_argument(
            "--position",
            action="append",
            default=[],
            type=int,
            choices=POSITIONS,
            help="may be repeated",
        )

    def add_way(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--phase", action="append", default=[], choices=PHASES, help="may be repeated"
        )
        parser.add_argument("--consent", type=Path, help="file with the text people agree to")
        parser.add_argument("--practice", dest="n_practice", type=int, default=0, metavar="N")
        parser.add_argument("--attention", dest="n_attention", type=int, default=0, metavar="N")
        parser.add_argument("--pass-mark", type=int, default=0, help="practice items to get right")
        parser.add_argument(
            "--idle-hours", type=int, default=48, help="then a seat is passed on; 0: never"
        )
        parser.add_argument("--rate-per-hour", help="the promised pay, such as 12.00")
        parser.add_argument("--currency", default="", help="three letters, such as GBP")
        parser.add_argument(
            "--code",
            action="append",
            default=[],
            metavar="OUTCOME=CODE",
            help=f"completion code; outcomes are {', '.join(CODES)}; may be repeated",
        )

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        forks = named_corpus(options["forks"])
        people = [self.person(name) for name in options["annotator"]]
        try:
            study = create_study(
                forks=forks,
                n_seats=options["seats"],
                n_simulated=options["simulated"],
                workflows=options["workflow"],
                types=options["type"] or TYPES,
                positions=options["position"] or POSITIONS,
                phases=options["phase"],
                consent=self.text(options["consent"]),
                codes=self.codes(options["code"]),
                state=Study.State.DRAFT if options["draft"] else Study.State.OPEN,
                **{name: options[name] for name in PASSED_ON},
            )
            for person in people:
                assign_seat(study, person)
        except EnrolmentRefused as error:
            raise CommandError(str(error)) from error
        self.tell(study, options)

    def tell(self, study: Study, options: Any) -> None:
        items = study.items.count()
        shared = study.design["shared_items"]
        draft = " It is a draft: launch it on its plan page." if options["draft"] else ""
        self.stdout.write(
            f"{study.slug}: {items} items on {options['seats']} seats, {shared} judged twice."
            f"{draft}"
        )
        if options["json"]:
            result = {"study": study.slug, "state": study.state, "items": items, "shared": shared}
            self.stdout.write(json.dumps(result))

    def person(self, name: str) -> Any:
        user = get_user_model().objects.filter(username=name).first()
        if user is None:
            raise CommandError(f"There is no user {name!r}.")
        return user

    def text(self, path: Path | None) -> str:
        if path is None:
            return ""
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"The consent text {str(path)!r} cannot be read: {error}") from error

    def codes(self, pairs: list[str]) -> dict[str, str]:
        found = dict(pair.partition("=")[::2] for pair in pairs)
        if any("=" not in pair for pair in pairs):
            raise CommandError("A code is given as OUTCOME=CODE, such as complete=C1A2B3.")
        return found
