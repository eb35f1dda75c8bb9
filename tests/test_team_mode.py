"""Team mode: workers of their own process on Redis, with PostgreSQL as the one truth."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

from dialfork_site.celery import app
from scoring import runs, tasks
from scoring.models import Chunk, Run, WorkerBeat
from tests.small import make_corpus, make_forks

ROOT = Path(__file__).resolve().parents[1]
POSTGRES = "postgresql" in settings.DATABASES["default"]["ENGINE"]
WORKER = ["-m", "celery", "-A", "dialfork_site", "worker", "--pool", "threads", "-c", "2"]
SECONDS = 90

pytestmark = (
    pytest.mark.redis if POSTGRES else pytest.mark.skip(reason="team mode runs on PostgreSQL")
)


def worker(redis_url: str) -> subprocess.Popen[str]:
    database = connection.settings_dict
    user = f"{database['USER']}:{database['PASSWORD']}@" if database["USER"] else ""
    url = f"postgres://{user}{database['HOST']}:{database['PORT']}/{database['NAME']}"
    return subprocess.Popen(
        [sys.executable, *WORKER, "--without-gossip", "--without-mingle"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": url, "BROKER_URL": redis_url, "SECRET_KEY": "a test"},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def wait_for(condition, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + SECONDS
    while not condition():
        assert process.poll() is None, process.communicate()[0]
        if time.monotonic() > until:
            process.kill()
            pytest.fail(f"not reached in {SECONDS} s: {process.communicate()[0]}")
        time.sleep(0.1)


def send(run: Run, redis_url: str) -> None:
    """One message per part, as a team's web process sends them."""
    with app.connection_for_write(redis_url) as connection_to_redis:
        for chunk_id in run.chunks.values_list("pk", flat=True):
            tasks.score_chunk_task.apply_async((chunk_id,), connection=connection_to_redis)


def taus(run: Run) -> list[tuple]:
    return list(
        run.results.order_by("group", "workflow").values_list("group", "value", "n", "ci_low")
    )


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_worker_on_redis_scores_a_run_and_another_finishes_what_a_killed_one_left(redis_url):
    forks = make_forks(make_corpus("team", n=16), "team-forks")
    parameters = {"method": "flow_score", "encoder": "lexical"}
    run = runs.start("task2", [forks], parameters, chunk_dialogues=17)
    send(run, redis_url)

    first = worker(redis_url)
    wait_for(lambda: run.chunks.filter(state=Chunk.State.DONE).exists(), first)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()

    second = worker(redis_url)
    wait_for(lambda: Run.objects.get(pk=run.pk).state == Run.State.DONE, second)
    second.terminate()
    second.communicate(timeout=60)

    assert WorkerBeat.objects.count() >= 1
    assert run.scores.count() == run.scores.values("dialogue_id").distinct().count() == 256
    found = taus(run)
    run.delete()
    alone = runs.work_through(runs.start("task2", [forks], parameters))
    assert found == list(
        alone.results.order_by("group", "workflow").values_list("group", "value", "n", "ci_low")
    )
