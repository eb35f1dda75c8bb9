from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from scoring.encoders import EncoderUnavailable
from scoring.models import Run
from scoring.reproducing_inputs import export_run


class Command(BaseCommand):
    help = (
        "Write a finished run into a folder: inputs, parameters, seed, stored numbers, and a "
        "script reproduce.py that computes every number again without a database or a network."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", type=int, help="the number of the run")
        parser.add_argument("--out", type=Path, required=True, help="a folder that is not there")
        parser.add_argument("--json", action="store_true", help="one JSON object as the last line")

    def handle(self, *args: Any, run: int, out: Path, **options: Any) -> None:
        found = Run.objects.filter(pk=run).first() if 0 < run < 2**63 else None
        if found is None:
            raise CommandError(f"There is no run {run}.")
        try:
            counts = export_run(found, out)
        except (ValueError, EncoderUnavailable) as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{out} cannot be written: {error.strerror or error}") from error
        if options["json"]:
            self.stdout.write(json.dumps({"run": run, "out": str(out), **counts}))
            return
        words = ", ".join(f"{n:,} {name}" for name, n in counts.items())
        self.stdout.write(f"Run {run} is in {out}: {words}.")
        self.stdout.write(f"Compute it again: PYTHONPATH=. python {out / 'reproduce.py'}")
