"""Fill the simulated seats of a study."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.models import Study
from annotation.rehearsal import simulate_study


class Command(BaseCommand):
    help = "Answer the open items of a study's simulated seats; seats of people are not touched."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the study")
        parser.add_argument("--seed", type=int, help="another seed than the study's")
        parser.add_argument("--json", action="store_true", help="end with one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(slug=options["slug"]).first()
        if study is None:
            raise CommandError(f"There is no study {options['slug']!r}.")
        seats = study.seats.filter(simulated=True).count()
        if not seats:
            raise CommandError(f"The study {study.slug!r} has no simulated seats.")
        answered = simulate_study(study, seed=options["seed"])
        self.stdout.write(f"{answered} items answered on {seats} simulated seats.")
        if options["json"]:
            result = {"study": study.slug, "simulated_seats": seats, "answered": answered}
            self.stdout.write(json.dumps(result))
