"""A worker killed at any moment and started again loses nothing and doubles nothing."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
KILLS = 3
# Slows every part down, so that a kill meets a part half done; the scores are the product's own.
SLOW = """
import sys, time
import django
django.setup()
from scoring import runs
plain = runs.store
def slow(scores):
    plain(scores)
    time.sleep(0.15)
runs.store = slow
"""
FOREGROUND = (
    SLOW
    + """
from django.core.management import call_command
call_command(
    "score_corpus", "kill-forks", "--encoder", "lexical", "--task", "2", "--chunk-size", "17"
)
"""
)
EMBEDDED = (
    SLOW
    + """
from benchmark.models import Corpus
from dialfork_site.embedded import EmbeddedWorker
from scoring import tasks
worker = EmbeddedWorker()
worker.start()
corpus = Corpus.objects.get(slug="kill-forks")
run = runs.start("surprisal", [corpus], {"encoder": "lexical"}, chunk_dialogues=17)
tasks.plan_run(run.pk)
while run.state in ("queued", "running"):
    time.sleep(0.1)
    run.refresh_from_db()
worker.stop()
"""
)
MAKE = """
import django
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from tests.small import make_corpus, make_forks
make_forks(make_corpus("kill", n=16), "kill-forks")
"""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")


def environment(database: Path) -> dict[str, str]:
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "dialfork_site.settings",
        "DATABASE_URL": f"sqlite:///{database}",
        "SECRET_KEY": "only for this test",
        "PYTHONPATH": str(ROOT),
    }


def python(code: str, database: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment(database),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A migrated database with sixteen dialogues and their forks."""
    database = tmp_path_factory.mktemp("made") / "made.sqlite3"
    completed(python(MAKE, database))
    return database


def completed(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate(timeout=240)
    assert process.returncode == 0, out
    return out


def ask(database: Path, statement: str) -> list[tuple]:
    connection = sqlite3.connect(database, timeout=20)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


def parts_done(database: Path) -> int:
    return ask(database, "select count(*) from scoring_chunk where state = 'done'")[0][0]


def outcome(database: Path) -> dict[str, list[tuple]]:
    return {
        "scores": ask(
            database,
            "select d.external_id, s.value, s.reason, s.detail, s.turns from scoring_dialoguescore"
            " s join benchmark_dialogue d on d.id = s.dialogue_id order by 1",
        ),
        "results": ask(
            database,
            'select statistic, "group", value, reason, n, skipped, ci_low, ci_high, detail'
            " from scoring_runresult order by 1, 2",
        ),
        "runs": ask(database, "select kind, digest, state, failure from scoring_run"),
        "parts": ask(database, "select ordinal, state, token from scoring_chunk order by 1"),
    }


@pytest.mark.slow
@pytest.mark.parametrize("worker_code", [FOREGROUND, EMBEDDED], ids=["foreground", "embedded"])
def test_three_kills_leave_the_scores_of_an_undisturbed_run(made, tmp_path, worker_code):
    calm, killed = tmp_path / "calm.sqlite3", tmp_path / "killed.sqlite3"
    for copy in (calm, killed):
        copy.write_bytes(made.read_bytes())
    completed(python(worker_code, calm))
    expected = outcome(calm)
    assert expected["runs"][0][2] == "done"

    rng = random.Random(20261129)
    for _ in range(KILLS):
        before = parts_done(killed)
        worker = python(worker_code, killed)
        while parts_done(killed) < before + 2:
            assert worker.poll() is None, worker.communicate()[0]
            time.sleep(0.02)
        time.sleep(rng.uniform(0, 0.3))
        os.kill(worker.pid, signal.SIGKILL)
        worker.communicate()
        assert 0 < parts_done(killed) < len(expected["parts"])
    completed(python(worker_code, killed))

    assert outcome(killed) == expected
    counted = "select count(*), count(distinct dialogue_id) from scoring_dialoguescore"
    assert ask(killed, counted) == [(len(expected["scores"]),) * 2]
