"""Updating keeps every row, a backup comes back whole, and older code leaves a newer database."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests import first_version

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


def site(database: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A process of the site on a SQLite file, settings as for people."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={
            **os.environ,
            "SECRET_KEY": "k",
            "DATABASE_URL": f"sqlite:///{database}",
            "BROKER_URL": "memory://",
            "DJANGO_SETTINGS_MODULE": "dialfork_site.settings",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def columns(database: Path) -> dict[str, list[str]]:
    """The columns of each table, in order."""
    with closing(sqlite3.connect(database)) as rows:
        tables = [
            name for (name,) in rows.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        return {
            table: [row[1] for row in rows.execute(f'PRAGMA table_info("{table}")')]
            for table in sorted(tables)
            if not table.startswith(("sqlite_", "django_migrations"))
        }


def digests(database: Path, told: dict[str, list[str]]) -> dict[str, tuple[int, str]]:
    """Of each table the number of rows, and SHA-256 over the named columns of all of them."""
    found = {}
    with closing(sqlite3.connect(database)) as rows:
        for table, names in told.items():
            chosen = ", ".join(f'"{name}"' for name in names)
            all_rows = sorted(map(repr, rows.execute(f'SELECT {chosen} FROM "{table}"')))
            text = "\n".join(all_rows).encode()
            found[table] = (len(all_rows), hashlib.sha256(text).hexdigest())
    return found


@pytest.fixture(scope="module")
def old(tmp_path_factory) -> Path:
    """A database as the first version made it, with a row in each table of a judged study."""
    path = tmp_path_factory.mktemp("upgrade") / "site.sqlite3"
    done = site(path, "-m", "tests.first_version")
    assert done.returncode == 0, done.stderr
    return path


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


def test_a_backup_of_a_running_database_comes_back_whole(old, updated, tmp_path):
    told = columns(old)
    copy, back = tmp_path / "copy.sqlite3", tmp_path / "back.sqlite3"
    with closing(sqlite3.connect(old)) as living, closing(sqlite3.connect(copy)) as kept:
        living.execute("PRAGMA journal_mode=WAL")
        living.execute("UPDATE annotation_study SET title = title || '!'")
        living.commit()
        living.backup(kept)
        wanted = digests(old, told)
    back.write_bytes(copy.read_bytes())
    assert columns(back) == told
    assert digests(back, told) == wanted


def test_a_database_of_a_later_version_is_not_served(old, updated, tmp_path):
    later = tmp_path / "later.sqlite3"
    later.write_bytes(old.read_bytes())
    with closing(sqlite3.connect(later)) as rows:
        rows.execute(
            "INSERT INTO django_migrations (app, name, applied)"
            " VALUES ('annotation', '0999_of_tomorrow', '2030-01-01')"
        )
        rows.commit()
    done = site(later, "-c", "import dialfork_site.wsgi")
    assert done.returncode == 4
    assert "of a later version (annotation.0999_of_tomorrow)" in done.stderr
    assert "Traceback" not in done.stderr
