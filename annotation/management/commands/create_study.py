"""Draw a study over the forks of a corpus."""

from __future__ import annotations

import json
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from annotation.enrolment import EnrolmentRefused, assign_seat, create_study
from benchmark.management.named_corpus import named_corpus


class Command(BaseCommand):
    help = "Draw a study: who judges which conversations, from a seed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the study's name in addresses; researchers only")
        parser.add_argument("--title", required=True, help="what annotators see; keep it neutral")
        parser.add_argument("--forks", required=True, help="slug of the corpus of forks")
        parser.add_argument("--seed", type=int, required=True)
        parser.add_argument("--seats", type=int, default=10)
        parser.add_argument("--simulated", type=int, default=0, help="how many of the seats")
        parser.add_argument("--forks-per-seat", type=int, default=16)
        parser.add_argument("--conformant-per-seat", type=int, default=2)
        parser.add_argument("--overlap", type=float, default=0.2, help="share judged twice")
        parser.add_argument("--workflow", action="append", default=[], help="may be repeated")
        parser.add_argument("--annotator", action="append", default=[], help="user who gets a seat")
        parser.add_argument("--json", action="store_true", help="end with one JSON object")

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        forks = named_corpus(options["forks"])
        people = [self.person(name) for name in options["annotator"]]
        try:
            study = create_study(
                slug=options["slug"],
                title=options["title"],
                forks=forks,
                seed=options["seed"],
                n_seats=options["seats"],
                n_simulated=options["simulated"],
                forks_per_seat=options["forks_per_seat"],
                conformant_per_seat=options["conformant_per_seat"],
                overlap=options["overlap"],
                workflows=options["workflow"],
            )
            for person in people:
                assign_seat(study, person)
        except EnrolmentRefused as error:
            raise CommandError(str(error)) from error
        items = study.items.count()
        shared = study.design["shared_items"]
        self.stdout.write(
            f"{study.slug}: {items} items on {options['seats']} seats, {shared} judged twice."
        )
        if options["json"]:
            self.stdout.write(json.dumps({"study": study.slug, "items": items, "shared": shared}))

    def person(self, name: str) -> Any:
        user = get_user_model().objects.filter(username=name).first()
        if user is None:
            raise CommandError(f"There is no user {name!r}.")
        return user
