from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError
from tqdm import tqdm

from benchmark.models import Corpus
from scoring import encoders, fork_distances, runs, tasks, turn_surprisals
from scoring.dialogue_distances import METHODS
from scoring.models import Run, RunResult

TASKS = {"2": fork_distances.KIND, "turns": turn_surprisals.KIND}


class Command(BaseCommand):
    help = (
        "Score a corpus in the foreground: the distance of its forks from their sources with "
        "Kendall's tau per type (--task 2), or the surprisal of every turn (--task turns). "
        "A run that was interrupted goes on where it stopped; a finished one is shown again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="the corpus; for task 2 the one that holds the forks")
        parser.add_argument("--task", choices=sorted(TASKS), default="2")
        parser.add_argument("--encoder", help=f"one of: {', '.join(encoders.names())}")
        parser.add_argument("--method", help=f"for task 2, one of: {', '.join(METHODS)}")
        parser.add_argument("--matching", choices=["greedy", "assignment"], help="of flow_score")
        parser.add_argument("--same-role", action="store_true", default=None, help="of flow_score")
        parser.add_argument("--seed", type=int, help="of the intervals and of method random")
        parser.add_argument("--threshold", type=float, help="of the flow graph's clusters")
        parser.add_argument(
            "--chunk-size",
            type=int,
            default=runs.CHUNK_DIALOGUES,
            help="dialogues per part; no score depends on it",
        )
        parser.add_argument(
            "--background",
            action="store_true",
            help="leave the run to the workers; its page shows the progress",
        )
        parser.add_argument("--json", action="store_true", help="one JSON object as the last line")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            corpus = Corpus.objects.get(slug=options["slug"])
        except Corpus.DoesNotExist as error:
            raise CommandError(f"There is no corpus {options['slug']!r}.") from error
        if options["chunk_size"] < 1:
            raise CommandError("--chunk-size must be at least 1")
        if (options["seed"] or 0) < 0:
            raise CommandError("--seed must be 0 or more")
        try:
            run = runs.start(
                TASKS[options["task"]],
                [corpus],
                _parameters(options),
                chunk_dialogues=options["chunk_size"],
            )
            if options["background"]:
                self._hand_over(run)
            else:
                self._work(run)
        except (ValueError, encoders.EncoderUnavailable, runs.RunFailed) as error:
            raise CommandError(str(error)) from error
        except OperationalError as error:
            raise CommandError(
                f"The database did not answer ({error}). Call the command again: it goes on where "
                "it stopped."
            ) from error
        self._report(run, options)

    def _work(self, run: Run) -> None:
        now = runs.progress(run)
        if note := run.parameters.get("encoder_note"):
            self.stderr.write(note)
        with tqdm(
            total=now["total"],
            initial=now["done"],
            unit=" dialogues",
            desc=f"run {run.pk}",
            disable=not sys.stderr.isatty(),
        ) as bar:
            runs.work_through(run, bar.update)

    def _hand_over(self, run: Run) -> None:
        # A queue in memory belongs to the serving process: its sweep finds the waiting parts.
        if not settings.CELERY_BROKER_URL.startswith("memory"):
            tasks.plan_run.delay(run.pk)
        self.stdout.write(
            f"Run {run.pk} waits for a worker; a serving process takes it up within a minute. "
            f"Progress: {settings.PUBLIC_URL}{run.get_absolute_url()}"
        )

    def _report(self, run: Run, options: dict[str, Any]) -> None:
        rows = [_row(result) for result in run.results.order_by("pk")]
        if options["json"]:
            found = {
                "run": run.pk,
                "task": 2 if options["task"] == "2" else options["task"],
                "method": run.parameters["method"],
                "encoder": run.parameters.get("encoder"),
                "rows": rows,
            }
            self.stdout.write(json.dumps(found, allow_nan=False))
            return
        self.stdout.write(f"Run {run.pk}: {run.parameters['method']}, {_encoder_words(run)}")
        for row in rows:
            self.stdout.write(_line(row))


def _parameters(options: dict[str, Any]) -> dict[str, Any]:
    task2 = options["task"] == "2"
    method = options["method"] or ("flow_score" if task2 else None)
    given: dict[str, Any] = {
        "encoder": options["encoder"] or settings.ENCODER,
        "method": method if task2 else None,
        "matching": options["matching"],
        "same_role": options["same_role"],
        "threshold": options["threshold"],
        "bootstrap_seed": options["seed"],
        "seed": options["seed"] if method == "random" else None,
    }
    if not task2 and options["method"] not in (None, turn_surprisals.KIND):
        raise CommandError("--task turns has the one method surprisal")
    return {name: value for name, value in given.items() if value is not None}


def _row(result: RunResult) -> dict[str, Any]:
    interval = None if result.ci_low is None else [result.ci_low, result.ci_high]
    row = {
        "type": result.group,
        "value": result.value,
        "n": result.n,
        "skipped": result.skipped,
        "ci": interval,
    }
    return row | ({"reason": result.reason} if result.reason else {})


def _line(row: dict[str, Any]) -> str:
    value = row["reason"] if row["value"] is None else f"{row['value']:.3f}"
    interval = f" [{row['ci'][0]:.3f}, {row['ci'][1]:.3f}]" if row["ci"] else ""
    return f"  {row['type']:<24} {value}{interval}  n={row['n']}  skipped={row['skipped']}"


def _encoder_words(run: Run) -> str:
    name = run.parameters.get("encoder_revision")
    return f"encoder {name}" if name else "no encoder"
