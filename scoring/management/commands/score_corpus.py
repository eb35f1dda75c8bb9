from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError
from tqdm import tqdm

from benchmark.management.named_corpus import named_corpus
from benchmark.models import Corpus
from scoring import encoders, runs, tasks
from scoring.methods import METHODS
from scoring.models import Run, RunResult
from scoring.trajectory_methods import LABEL_METHODS
from scoring.views.asking import KINDS, Asked, comparisons, wanted
from scoring.views.run_tables import unit
from scoring.views.starting import Wanted


class Command(BaseCommand):
    help = (
        "Score a corpus in the foreground: sets of forks against conformant sets (--task 1), forks "
        "against their sources (--task 2), the first off-track turn (--task 3), the surprisal of "
        "every turn (--task turns), agent runs (--task runs), or everything (--all). A run that "
        "was interrupted goes on where it stopped; a finished one is shown again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        offered = {**{kind[-1]: METHODS[kind] for kind in METHODS}, "runs": LABEL_METHODS}
        names = "; ".join(f"task {task}: {', '.join(known)}" for task, known in offered.items())
        parser.add_argument("slug", help="the corpus; for the tasks the one that holds the forks")
        parser.add_argument("--task", choices=list(KINDS), help="2 where nothing else is said")
        parser.add_argument(
            "--encoder",
            action="append",
            help=f"one of: {', '.join(encoders.names())}; may be given several times",
        )
        parser.add_argument("--method", action="append", help=f"several times too. {names}")
        parser.add_argument(
            "--all",
            action="store_true",
            help="all methods, of --task or of all three tasks, and a comparison for each task",
        )
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="a setting of the methods that have it; docs/scoring.md lists them",
        )
        parser.add_argument("--matching", choices=["greedy", "assignment"], help="of flow_score")
        parser.add_argument("--same-role", action="store_true", default=None, help="of flow_score")
        parser.add_argument(
            "--seed", type=int, help="of the intervals and of the methods that draw"
        )
        parser.add_argument(
            "--truth", help="of --task runs: the rater whose labels are to be predicted"
        )
        parser.add_argument("--judge", help="of --task runs: a rater whose labels may be read")
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
            help="leave the runs to the workers; their pages show the progress",
        )
        parser.add_argument("--json", action="store_true", help="one JSON object as the last line")

    def handle(self, *args: Any, **options: Any) -> None:
        corpus = named_corpus(options["slug"])
        if options["chunk_size"] < 1:
            raise CommandError("--chunk-size must be at least 1")
        if (options["seed"] or 0) < 0:
            raise CommandError("--seed must be 0 or more")
        try:
            done = self._score(corpus, options)
        except (ValueError, encoders.EncoderUnavailable, runs.RunFailed) as error:
            raise CommandError(str(error)) from error
        except OperationalError as error:
            raise CommandError(
                f"The database did not answer ({error}). Call the command again: it goes on where "
                "it stopped."
            ) from error
        self._report(done, options)

    def _score(self, corpus: Corpus, options: dict[str, Any]) -> list[Run]:
        asked = list(wanted(corpus, Asked.from_options(options, settings.ENCODER)))
        several = len(asked) > 1 or options["all"]
        found = [self._one(each, options, several) for each in asked]
        if options["all"] and not options["background"]:
            for each in comparisons(corpus, found):
                found.append(self._one(each, options, several))
        return found

    def _one(self, asked: Wanted, options: dict[str, Any], several: bool) -> Run:
        begin = time.monotonic()
        run = runs.start(
            asked.kind, asked.corpora, asked.parameters, chunk_dialogues=options["chunk_size"]
        )
        if options["background"]:
            self._hand_over(run)
            return run
        known = run.state == Run.State.DONE
        if several:
            self.stdout.write(f"{_title(run)} … ", ending="")
            self.stdout.flush()
        self._work(run)
        if several:
            took = "there already" if known else f"{time.monotonic() - begin:.1f} s"
            self.stdout.write(f"run {run.pk}, {took}")
        return run

    def _work(self, run: Run) -> None:
        now = runs.progress(run)
        if note := run.parameters.get("encoder_note"):
            self.stderr.write(note)
        with tqdm(
            total=now["total"],
            initial=now["done"],
            unit=f" {unit(run)}",
            desc=f"run {run.pk}",
            disable=not sys.stderr.isatty(),
            leave=False,
        ) as bar:
            runs.work_through(run, bar.update)

    def _hand_over(self, run: Run) -> None:
        # A queue in memory belongs to the serving process: its sweep finds the waiting parts.
        if not settings.CELERY_BROKER_URL.startswith("memory"):
            tasks.hand_over(run)
        self.stdout.write(
            f"Run {run.pk} waits for a worker; a serving process takes it up within a minute. "
            f"Progress: {settings.PUBLIC_ORIGIN}{run.get_absolute_url()}"
        )

    def _report(self, done: list[Run], options: dict[str, Any]) -> None:
        found = [_described(run) for run in done]
        if options["json"]:
            one = found[0] if len(found) == 1 and not options["all"] else {"runs": found}
            self.stdout.write(json.dumps(one, allow_nan=False))
            return
        for run, described in zip(done, found, strict=True):
            self.stdout.write(f"Run {run.pk}: {_title(run)}")
            for row in described["rows"]:
                self.stdout.write(_line(row))


def _described(run: Run) -> dict[str, Any]:
    """A run as JSON values: rows over all workflows, `statistic` where there are several."""
    results = list(run.results.filter(workflow="", k=0).order_by("pk"))
    several = len({result.statistic for result in results}) > 1
    return {
        "run": run.pk,
        "task": int(run.kind[-1]) if run.kind in METHODS else _TASK_NAMES.get(run.kind, run.kind),
        "method": run.parameters.get("method"),
        "encoder": run.parameters.get("encoder"),
        "rows": [_row(result, several) for result in results],
    }


_TASK_NAMES = {kind: name for name, kind in KINDS.items()}


def _row(result: RunResult, several: bool) -> dict[str, Any]:
    interval = None if result.ci_low is None else [result.ci_low, result.ci_high]
    row = {
        "type": result.group,
        "value": result.value,
        "n": result.n,
        "skipped": result.skipped,
        "ci": interval,
    }
    if several:
        row["statistic"] = result.statistic
    return row | ({"reason": result.reason} if result.reason else {})


def _line(row: dict[str, Any]) -> str:
    value = row["reason"] if row["value"] is None else f"{row['value']:.3f}"
    interval = f" [{row['ci'][0]:.3f}, {row['ci'][1]:.3f}]" if row["ci"] else ""
    name = f"{row['statistic']} {row['type']}" if "statistic" in row else row["type"]
    return f"  {name:<32} {value}{interval}  n={row['n']}  skipped={row['skipped']}"


def _title(run: Run) -> str:
    """Kind, method and encoder of a run, in words."""
    task = f"task {run.kind[-1]}" if run.kind in METHODS else run.kind
    name = run.parameters.get("method")
    revision = run.parameters.get("encoder_revision")
    words = [task, name if name != run.kind else None]
    return ", ".join(
        [w for w in words if w] + [f"encoder {revision}" if revision else "no encoder"]
    )
