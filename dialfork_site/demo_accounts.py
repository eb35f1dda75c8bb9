"""Three accounts for the demo. Their passwords are drawn here once and kept in one file."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import transaction

from dialfork_site.roles import ANNOTATORS, DEMO_ACCOUNTS, RESEARCHERS

NAMES = ("admin", "researcher", "annotator")
GROUP_OF = {"researcher": RESEARCHERS, "annotator": ANNOTATORS}
# Without letters and digits that look alike.
ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"


class AccountTaken(ValueError):
    """An account of that name exists which the demo did not make."""


@dataclass(frozen=True)
class Account:
    name: str
    password: str
    user: Any


def password_file() -> Path:
    return Path(settings.VAR_DIR) / "demo-accounts.txt"


@transaction.atomic
def make_accounts() -> list[Account]:
    """The three accounts with the passwords of the file; a second call changes nothing.

    Raises AccountTaken when one of the names belongs to somebody else.
    """
    known = read_passwords()
    passwords = {name: known.get(name) or draw_password() for name in NAMES}
    accounts = [Account(name, passwords[name], ensure_user(name)) for name in NAMES]
    for account in accounts:
        if not account.user.check_password(account.password):
            account.user.set_password(account.password)
            account.user.save()
    write_passwords(passwords)
    return accounts


def ensure_user(name: str) -> Any:
    users = get_user_model().objects
    demo, _ = Group.objects.get_or_create(name=DEMO_ACCOUNTS)
    user = users.filter(username=name).first()
    if user is None:
        rights = {"is_staff": True, "is_superuser": True} if name == "admin" else {}
        user = users.create_user(name, **rights)
        user.groups.add(demo)
        if name in GROUP_OF:
            user.groups.add(Group.objects.get_or_create(name=GROUP_OF[name])[0])
    elif demo not in user.groups.all():
        raise AccountTaken(
            f"This database has an account {name!r} that the demo did not make. "
            "Give the demo a database of its own with DATABASE_URL."
        )
    return user


def draw_password() -> str:
    """Three groups of four: 59 bits, easy to type from a terminal."""
    return "-".join("".join(secrets.choice(ALPHABET) for _ in range(4)) for _ in range(3))


def read_passwords() -> dict[str, str]:
    if not password_file().is_file():
        return {}
    rows = (line.split() for line in password_file().read_text().splitlines())
    return {row[0]: row[1] for row in rows if len(row) == 2}


def write_passwords(passwords: dict[str, str]) -> None:
    path = password_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{name:<12} {password}\n" for name, password in passwords.items())
    if path.is_file() and path.read_text() == text:
        return
    # Readable by its owner only from the first byte on.
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    part.replace(path)
