"""The scale check: a corpus of DialFork's size through every step, on PostgreSQL with two workers.

    .venv/bin/python deploy/scale.py [--dialogues 2134] [--files FOLDER] [--methods NAME ...]

Prints a table of wall and processor times and the most memory a worker held, and checks that
killing a worker in the middle of a run changes no number. --files keeps or reuses the corpus.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import django
from scale_servers import ROOT, Workers, postgresql, redis

SLUG, FORKS = "scale", "scale-forks"
# Cheap enough to be run twice, one each of the kinds whose rows differ.
KILLED = (("task1", "flow_kl"), ("task2", "turn_difference"), ("task3", "ngram_it"))
LONGEST = 3 * 3600


def main() -> None:
    given = arguments()
    with ExitStack() as stack:
        os.environ.update(
            DATABASE_URL=stack.enter_context(postgresql()),
            BROKER_URL=stack.enter_context(redis()),
            VAR_DIR=stack.enter_context(tempfile.TemporaryDirectory()),
            SECRET_KEY=secrets.token_urlsafe(50),
            DJANGO_SETTINGS_MODULE="dialfork_site.settings",
            ENCODER="wordllama",
            LOG_LEVEL="ERROR",
        )
        os.chdir(ROOT)
        sys.path.insert(0, str(ROOT))
        django.setup()
        folder = given.files or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        Check(folder, stack).run(given.dialogues, given.methods)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dialogues", type=int, default=2134)
    parser.add_argument("--files", type=Path, help="folder of the corpus's files")
    parser.add_argument("--methods", nargs="*", help="only these methods; default: all")
    return parser.parse_args()


class Check:
    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.stack = folder, stack

    def run(self, dialogues: int, methods: list[str] | None) -> None:
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        if not (self.folder / "forks.jsonl").exists():
            self.timed("Made", "make_scale_corpus", SLUG, "--dialogues", dialogues, "--out")
        for slug, name in ((SLUG, "dialogues.jsonl"), (FORKS, "forks.jsonl")):
            path = str(self.folder / name)
            self.step(f"Import of {slug}", "import_corpus", "dialfork", path, "--corpus", slug)
        texts, vectors = (str(self.folder / name) for name in ("texts.jsonl", "vectors.npy"))
        self.step("Distinct texts", "export_texts", FORKS, texts, "--whole-dialogues")
        self.step("Embedding", "encode_texts", "wordllama", texts, vectors)
        self.step("Vectors stored", "import_vectors", "wordllama", vectors, texts)
        self.workers = Workers(self.stack)
        for kind, method in self.chosen(methods):
            spent = self.workers.spent()
            run, took = self.score(kind, method)
            spent = self.workers.spent() - spent
            self.say(f"{kind}, {method}", took, f"{run.chunks.count()} parts, {run.state}", spent)
        for kind, method in KILLED:
            self.kill(kind, method)
        for task in (1, 2, 3):
            self.page(task)
        print(f"| Most memory of a worker | {self.workers.peak / 2**20:,.0f} MB | | |")

    def timed(self, name: str, command: str, *options: object) -> None:
        self.step(name, command, *map(str, options), str(self.folder))

    def step(self, name: str, command: str, *options: str) -> None:
        from io import StringIO

        from django.core.management import call_command

        said, began, spent = StringIO(), time.monotonic(), time.process_time()
        call_command(command, *options, stdout=said)
        took, spent = time.monotonic() - began, time.process_time() - spent
        self.say(name, took, said.getvalue().strip().splitlines()[-1], spent)

    def chosen(self, names: list[str] | None) -> list[tuple[str, str]]:
        from scoring.methods import METHODS

        return [
            (kind, method.name)
            for kind in ("task1", "task2", "task3")
            for method in METHODS[kind].values()
            if names is None or method.name in names
        ]

    def score(self, kind: str, method: str, *, kill: bool = False):
        """Start a run, hand it to the workers, wait; the run and its seconds."""
        from benchmark.models import Corpus
        from scoring import runs, tasks
        from scoring.models import Chunk, Run

        began = time.monotonic()
        run = runs.start(kind, [Corpus.objects.get(slug=FORKS)], {"method": method})
        tasks.plan_run.delay(run.pk)
        while (run := Run.objects.get(pk=run.pk)).state in (Run.State.QUEUED, Run.State.RUNNING):
            self.workers.look()
            if kill and run.chunks.filter(state=Chunk.State.RUNNING).exists():
                self.workers.kill_one()
                kill = False
            if time.monotonic() - began > LONGEST:
                sys.exit(f"{kind} {method} took longer than {LONGEST} s.")
            time.sleep(0.2)
        if run.state != Run.State.DONE:
            sys.exit(f"{kind} {method} failed: {run.failure}")
        return run, time.monotonic() - began

    def kill(self, kind: str, method: str) -> None:
        """Score once undisturbed and once with a worker killed; every number must be the same."""
        before, _ = self.score(kind, method)
        expected = numbers(before)
        before.delete()
        after, took = self.score(kind, method, kill=True)
        same = numbers(after) == expected
        self.say(f"{kind}, {method}, a worker killed", took, "same numbers" if same else "DIFFERS")

    def page(self, task: int) -> None:
        from django.contrib.auth.models import Group, User
        from django.test import Client
        from django.urls import reverse

        user, _ = User.objects.get_or_create(username="scale")
        user.groups.add(Group.objects.get_or_create(name="researchers")[0])
        client = Client(SERVER_NAME="localhost")
        client.force_login(user)
        address = reverse("scoring:leaderboard", args=[FORKS, task])
        for which in ("first", "second"):
            began = time.monotonic()
            answer = client.get(address)
            size = f"{answer.status_code}, {len(answer.content) / 1024:.0f} KB"
            self.say(f"Leaderboard of task {task}, {which} time", time.monotonic() - began, size)

    def say(self, name: str, took: float, note: str, spent: float | None = None) -> None:
        """A row: wall time, processor time (of the workers, where they work), what was done."""
        processor = "" if spent is None else f"{spent:.1f} s"
        print(f"| {name} | {took:.1f} s | {processor} | {note} |", flush=True)


def numbers(run) -> list:
    """Everything a run found, without the keys of its rows."""
    return [
        list(
            run.results.order_by("statistic", "group", "workflow", "k").values_list(
                "statistic", "group", "workflow", "k", "value", "n", "ci_low", "ci_high"
            )
        ),
        list(run.scores.order_by("dialogue_id").values_list("dialogue_id", "value", "reason")),
    ]


if __name__ == "__main__":
    main()
