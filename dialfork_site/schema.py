"""Whether the tables fit this code: neither older than it nor from a later version."""

from __future__ import annotations

from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

LATER = "Start the version that made it, or restore the backup made before the update."


def waiting() -> int:
    """How many migrations of this code the database lacks. Raises DatabaseError without one."""
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def from_later() -> list[str]:
    """Migrations in the database that this code does not know, as "app.name", in order.

    Apps that are not installed are left out. Raises DatabaseError without a database.
    """
    loader = MigrationExecutor(connection).loader
    return sorted(
        f"{app}.{name}"
        for app, name in loader.applied_migrations
        if app in loader.migrated_apps and (app, name) not in loader.disk_migrations
    )


def too_new() -> str:
    """Why this code must not serve the database, as a sentence; "" where it may."""
    unknown = from_later()
    if not unknown:
        return ""
    return f"The database is of a later version ({', '.join(unknown[:3])}). {LATER}"


def refuse_unfit() -> None:
    """Raises CommandError where the tables are older or newer than this code."""
    if sentence := too_new():
        raise CommandError(sentence)
    if lacking := waiting():
        raise CommandError(
            f"The database lacks {lacking} migrations. Run 'manage.py migrate' first."
        )
