"""`manage.py serve`: pages and the worker in one process, one such process per database."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from dialfork_site import embedded, schema
from dialfork_site.management.commands import serve

ROOT = Path(__file__).resolve().parents[1]
READY_SECONDS = 120


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    return tmp_path_factory.mktemp("serve") / "site.sqlite3"


@pytest.fixture(scope="module")
def site(database):
    """The environment of a migrated SQLite database of its own."""
    env = {
        **os.environ,
        "SECRET_KEY": "k",
        "DATABASE_URL": f"sqlite:///{database}",
        "BROKER_URL": "memory://",
        "DEMO": "false",
    }
    migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(migrate, cwd=ROOT, env=env, check=True, timeout=180)
    return env


class Server:
    def __init__(self, env: dict[str, str]) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "serve", "--port", str(self.port)],
            cwd=ROOT,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_until_ready(self) -> None:
        until = time.monotonic() + READY_SECONDS
        while time.monotonic() < until:
            if self.process.poll() is not None:
                pytest.fail(f"serve ended at once: {self.process.stderr.read()}")
            try:
                self.health()
                return
            except (ConnectionError, urllib.error.URLError):
                time.sleep(0.2)
        pytest.fail(f"serve did not answer within {READY_SECONDS} s")

    def health(self) -> tuple[int, dict]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz") as answer:
            return answer.status, json.load(answer)

    def stop(self, sent: signal.Signals) -> tuple[int, str, str]:
        self.process.send_signal(sent)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


@pytest.fixture
def start(site):
    running: list[Server] = []

    def start_one() -> Server:
        running.append(Server(site))
        running[-1].wait_until_ready()
        return running[-1]

    yield start_one
    for server in running:
        if server.process.poll() is None:
            server.process.kill()
            server.process.communicate()


def test_it_answers_beats_and_stops_cleanly(start, database):
    server = start()
    assert server.health() == (200, {"status": "ok"})
    assert worker_seen(database) == "embedded@localhost"
    code, said, errors = server.stop(signal.SIGINT)
    assert code == 0
    assert f"DialFork is at http://127.0.0.1:{server.port}" in said
    assert said.endswith("Running work finishes first; the rest waits in the table.\n")
    assert "Traceback" not in errors


def worker_seen(database: Path) -> str | None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with sqlite3.connect(database) as rows:
            row = rows.execute("SELECT worker FROM scoring_workerbeat").fetchone()
        if row:
            return row[0]
        time.sleep(0.2)
    return None


def test_a_killed_one_leaves_no_lock_and_the_next_stops_on_sigterm(start):
    assert start().stop(signal.SIGKILL)[0] == -signal.SIGKILL
    code, _, errors = start().stop(signal.SIGTERM)
    assert code == 0
    assert "Traceback" not in errors


@pytest.fixture
def lock(monkeypatch, tmp_path):
    monkeypatch.setattr(embedded, "lock_path", lambda: tmp_path / "site.serving")
    lock = embedded.ServingLock()
    yield lock
    lock.release()


def test_a_second_worker_on_the_same_database_is_refused_and_names_the_first(lock):
    lock.take()
    with pytest.raises(embedded.AlreadyServed) as refusal:
        embedded.ServingLock().take()
    assert str(refusal.value).startswith(f"Process {os.getpid()} already serves this database")
    assert "--no-worker" in str(refusal.value)


def test_a_released_lock_can_be_taken_again(lock):
    lock.take()
    lock.release()
    other = embedded.ServingLock()
    other.take()
    other.release()
    assert lock.path.read_text() == str(os.getpid())


def test_a_taken_port_is_a_sentence(db):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with pytest.raises(CommandError, match=f"Port {port} on 127.0.0.1 cannot be opened"):
            call_command("serve", port=port, no_worker=True)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::"])
def test_the_demo_is_not_served_to_other_machines(db, settings, host):
    settings.DEMO = True
    with pytest.raises(CommandError, match="The demo is served on this machine only"):
        call_command("serve", host=host)


def test_an_address_that_is_none_is_a_sentence(db):
    with pytest.raises(CommandError, match=r"Port 8000 on nohost.invalid cannot be opened"):
        call_command("serve", host="nohost.invalid", port=8000)
    for port in (99999, 0, -1):
        with pytest.raises(CommandError, match=rf"Port {port} is none: it must be"):
            call_command("serve", port=port)


def test_a_database_without_tables_is_refused(db, monkeypatch):
    monkeypatch.setattr(schema, "waiting", lambda: 2)
    with pytest.raises(CommandError, match=r"lacks 2 migrations. Run 'manage.py migrate' first."):
        call_command("serve")


def test_a_database_of_a_later_version_is_refused(db, monkeypatch):
    monkeypatch.setattr(schema, "from_later", lambda: ["annotation.0999_of_tomorrow"])
    with pytest.raises(CommandError, match=r"later version \(annotation.0999_of_tomorrow\)"):
        call_command("serve")


def test_only_the_memory_broker_brings_the_worker_along(settings):
    settings.CELERY_BROKER_URL = "memory://"
    assert serve.embedded()
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:6379/0"
    assert not serve.embedded()
