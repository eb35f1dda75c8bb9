"""Draw a study over the forks of a corpus, or over agent runs."""

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
from annotation.run_studies import create_run_study, judge_named
from annotation.study_checks import CODES, PHASES
from benchmark.management.named_corpus import named_corpus

PASSED_ON = ("slug", "title", "seed", "idle_hours", "rate_per_hour", "currency")
# Options of one kind of study only, with their defaults: given for the other they are refused.
OF_FORKS: dict[str, Any] = {
    "forks_per_seat": 16,
    "conformant_per_seat": 2,
    "overlap": 0.2,
    "foil_share": 0.5,
    "workflow": [],
    "type": [],
    "position": [],
    "n_practice": 0,
    "n_attention": 0,
    "pass_mark": 0,
}
OF_RUNS: dict[str, Any] = {
    "judge": "",
    "per_item": 2,
    "runs_per_seat": 0,
    "limit": 0,
    "model": [],
    "question": [],
}
FLAGS = {"n_practice": "practice", "n_attention": "attention"}
SEATS = 10
TYPED = ("type", "position")


class Command(BaseCommand):
    help = "Draw a study: who judges which conversations, from a seed. It is launched at once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the study's name in addresses")
        parser.add_argument("--title", required=True, help="what annotators see; keep it neutral")
        parser.add_argument("--forks", help="slug of the corpus of forks")
        parser.add_argument(
            "--runs", action="append", default=[], help="slug of a corpus of agent runs; repeatable"
        )
        parser.add_argument("--seed", type=int, required=True)
        parser.add_argument("--draft", action="store_true", help="do not launch it yet")
        parser.add_argument("--annotator", action="append", default=[], help="user who gets a seat")
        parser.add_argument("--json", action="store_true", help="end with one JSON object")
        parser.add_argument("--seats", type=int, help=f"{SEATS} unless runs per seat are given")
        parser.add_argument("--simulated", type=int, default=0, help="how many of the seats")
        self.add_design(parser)
        self.add_design_of_runs(parser)
        self.add_way(parser)
        parser.set_defaults(**OF_FORKS, **OF_RUNS)

    def add_design_of_runs(self, parser: CommandParser) -> None:
        group = parser.add_argument_group("studies of agent runs")
        group.add_argument("--judge", help="whose answer people see after their own")
        group.add_argument("--per-item", type=int, help="how many people judge a run; 2 by default")
        group.add_argument("--runs-per-seat", type=int, help="at most; 0: as many as it takes")
        group.add_argument("--limit", type=int, help="runs at most; 0: all")
        group.add_argument("--model", action="append", help="runs of this model; repeatable")
        group.add_argument("--question", action="append", help="runs on this question; repeatable")

    def add_design(self, parser: CommandParser) -> None:
        parser = parser.add_argument_group("studies of forks")  # type: ignore[assignment]
        parser.add_argument("--forks-per-seat", type=int)
        parser.add_argument("--conformant-per-seat", type=int)
        parser.add_argument(
            "--overlap", type=float, help="share of judgements of shared items, 0 to 1"
        )
        parser.add_argument("--foil-share", type=float, help="share of forks shown a foil, 0 to 1")
        parser.add_argument("--workflow", action="append", help="may be repeated")
        parser.add_argument("--type", action="append", choices=TYPES, help="may be repeated")
        parser.add_argument(
            "--position", action="append", type=int, choices=POSITIONS, help="may be repeated"
        )
        parser.add_argument("--practice", dest="n_practice", type=int, metavar="N")
        parser.add_argument("--attention", dest="n_attention", type=int, metavar="N")
        parser.add_argument("--pass-mark", type=int, help="practice items to get right")

    def add_way(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--phase", action="append", default=[], choices=PHASES, help="may be repeated"
        )
        parser.add_argument("--consent", type=Path, help="file with the text people agree to")
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
        self.require_one_kind(options)
        people = [self.person(name) for name in options["annotator"]]
        try:
            study = self.of_runs(options) if options["runs"] else self.of_forks(options)
            for person in people:
                assign_seat(study, person)
        except EnrolmentRefused as error:
            raise CommandError(str(error)) from error
        self.tell(study, options)

    def require_one_kind(self, options: Any) -> None:
        """A study shows forks or agent runs, and takes the options of its kind only."""
        if bool(options["forks"]) == bool(options["runs"]):
            raise CommandError(
                "Give either --forks CORPUS, for a study of conversations, or --runs CORPUS (more "
                "than once for several), for a study of agent runs."
            )
        foreign, kind = (OF_FORKS, "--forks") if options["runs"] else (OF_RUNS, "--runs")
        for name, default in foreign.items():
            if options[name] != default:
                flag = FLAGS.get(name, name).replace("_", "-")
                raise CommandError(f"--{flag} belongs to studies with {kind} only.")

    def of_forks(self, options: Any) -> Study:
        seats = options["seats"]
        return create_study(
            forks=named_corpus(options["forks"]),
            n_seats=SEATS if seats is None else seats,
            workflows=options["workflow"],
            types=options["type"] or TYPES,
            positions=options["position"] or POSITIONS,
            **{name: options[name] for name in OF_FORKS if name not in ("workflow", *TYPED)},
            **self.shared(options),
        )

    def of_runs(self, options: Any) -> Study:
        seats = options["seats"]
        return create_run_study(
            corpora=[named_corpus(slug) for slug in dict.fromkeys(options["runs"])],
            judge=judge_named(options["judge"]) if options["judge"] else None,
            n_seats=(0 if options["runs_per_seat"] else SEATS) if seats is None else seats,
            models=options["model"],
            questions=options["question"],
            **{name: options[name] for name in ("per_item", "runs_per_seat", "limit")},
            **self.shared(options),
        )

    def shared(self, options: Any) -> dict[str, Any]:
        """What both kinds of study have."""
        return {
            **{name: options[name] for name in PASSED_ON},
            "n_simulated": options["simulated"],
            "phases": options["phase"],
            "consent": self.text(options["consent"]),
            "codes": self.codes(options["code"]),
            "state": Study.State.DRAFT if options["draft"] else Study.State.OPEN,
        }

    def tell(self, study: Study, options: Any) -> None:
        items, seats = study.items.count(), study.seats.count()
        draft = " It is a draft: launch it on its plan page." if options["draft"] else ""
        result = {"study": study.slug, "state": study.state, "items": items}
        if study.kind == Study.Kind.RUNS:
            result["judge_answers"] = answered = study.items.exclude(judge_answer=None).count()
            each, left = study.design["judges_per_run"], study.design["left_out"]
            told = f"each judged {each} times, {answered} with the judge's answer, {left} left out"
            told = f"{items} runs on {seats} seats, {told}"
        else:
            result["shared"] = shared = study.design["shared_items"]
            told = f"{items} items on {seats} seats, {shared} judged twice"
        self.stdout.write(f"{study.slug}: {told}.{draft}")
        if options["json"]:
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
