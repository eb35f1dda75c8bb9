"""Updating keeps every row, a backup comes back whole, and older code leaves a newer database."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from django.db import connection

from tests import first_version

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[1]


UPDATE = """
import django; django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from annotation import judging, study_counts
from annotation.models import Assignment, Study
one = Assignment.objects.main().select_related("item__dialogue", "seat__study").get()
counts = study_counts.by_study([Study.objects.get()])[one.seat.study_id, False]
print(judging.open_step(one), one.seat.state, one.item.kind, counts.completed)
"""


def site(address: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A process of the site on the database at an address, settings as for people."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={
            **os.environ,
            "SECRET_KEY": "k",
            "DATABASE_URL": address,
            "BROKER_URL": "memory://",
            "DJANGO_SETTINGS_MODULE": "dialfork_site.settings",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def connect(address: str):
    """A plain connection, without the site's models."""
    if address.startswith("sqlite"):
        return closing(sqlite3.connect(address.removeprefix("sqlite:///")))
    return psycopg.connect(address)


def columns(address: str) -> dict[str, list[str]]:
    """The columns of each table of the site, by name."""
    listed = (
        "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c"
        " WHERE m.type = 'table'"
        if address.startswith("sqlite")
        else "SELECT table_name, column_name FROM information_schema.columns"
        " WHERE table_schema = 'public'"
    )
    found: dict[str, list[str]] = {}
    with connect(address) as rows:
        for table, column in sorted(rows.execute(listed).fetchall()):
            if not table.startswith(("sqlite_", "django_migrations")):
                found.setdefault(table, []).append(column)
    return found


def digests(address: str, told: dict[str, list[str]]) -> dict[str, tuple[int, str]]:
    """Of each table the number of rows, and SHA-256 over the named columns of all of them."""
    found = {}
    with connect(address) as rows:
        for table, names in told.items():
            chosen = ", ".join(f'"{name}"' for name in names)
            told_rows = rows.execute(f'SELECT {chosen} FROM "{table}"').fetchall()
            text = "\n".join(sorted(map(repr, told_rows))).encode()
            found[table] = (len(told_rows), hashlib.sha256(text).hexdigest())
    return found


@contextmanager
def on_server():
    """The address of an empty database beside that of the tests; dropped in the end."""
    given = connection.settings_dict
    user = quote(given["USER"]) + (f":{quote(given['PASSWORD'])}" if given["PASSWORD"] else "")
    base = f"postgres://{user}@{given['HOST']}:{given['PORT'] or 5432}/"
    name = f"dialfork_first_{os.getpid()}"
    with psycopg.connect(f"{base}postgres", autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        try:
            yield base + name
        finally:
            server.execute(f"DROP DATABASE {name}")


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """A database as the first version made it, with a row in each table of a judged study."""
    path = tmp_path_factory.mktemp("upgrade") / "site.sqlite3"
    server = connection.vendor == "postgresql"
    with on_server() if server else nullcontext(f"sqlite:///{path}") as address:
        done = site(address, "-m", "tests.first_version")
        assert done.returncode == 0, done.stderr
        yield address


@pytest.fixture(scope="module")
def updated(old) -> tuple[dict, dict, list[str]]:
    """What was there before the update, the same columns after it, and what the site then says."""
    told = columns(old)
    before = digests(old, told)
    done = site(old, "-c", UPDATE)
    assert done.returncode == 0, done.stderr
    return before, digests(old, told), done.stdout.split()


def test_a_database_of_the_first_version_is_updated_without_loss(updated):
    before, after, _ = updated
    filled = {table for table, (n, _) in before.items() if n}
    assert filled >= first_version.TABLES
    # Rights of new tables are added to these two; all else is row for row what it was.
    grown = {"django_content_type", "auth_permission"}
    assert {t: v for t, v in before.items() if t not in grown} == {
        t: v for t, v in after.items() if t not in grown
    }
    assert all(after[table][0] >= before[table][0] for table in grown)


def test_answers_of_the_first_version_are_counted_after_the_update(updated):
    assert updated[2] == ["None", "active", "main", "1"]


@pytest.fixture
def file(old, updated) -> Path:
    """The updated database as a file."""
    if not old.startswith("sqlite"):
        pytest.skip("a file is a database of SQLite")
    return Path(old.removeprefix("sqlite:///"))


def test_a_backup_of_a_running_database_comes_back_whole(file, tmp_path):
    living, copy, back = (f"sqlite:///{path}" for path in (file, tmp_path / "a", tmp_path / "b"))
    told = columns(living)
    with connect(living) as rows, connect(copy) as kept:
        rows.execute("PRAGMA journal_mode=WAL")
        rows.execute("UPDATE annotation_study SET title = title || '!'")
        rows.commit()
        rows.backup(kept)
        wanted = digests(living, told)
    (tmp_path / "b").write_bytes((tmp_path / "a").read_bytes())
    assert columns(back) == told
    assert digests(back, told) == wanted


def test_a_database_of_a_later_version_is_not_served(old, updated):
    with connect(old) as rows:
        rows.execute(
            "INSERT INTO django_migrations (app, name, applied)"
            " VALUES ('annotation', '0999_of_tomorrow', '2030-01-01')"
        )
        rows.commit()
    done = site(old, "-c", "import dialfork_site.wsgi")
    assert done.returncode == 4
    assert "of a later version (annotation.0999_of_tomorrow)" in done.stderr
    assert "Traceback" not in done.stderr
