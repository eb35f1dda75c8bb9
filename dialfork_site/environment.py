"""Settings read from the environment: a value that cannot be read ends the start with a sentence.

The sentence is the argument of SystemExit, because settings are read before any command, server or
worker could catch an error and say it in words.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import environ

YES = ("true", "yes", "on", "1", "y", "t", "ok")
NO = ("false", "no", "off", "0", "n", "f", "")
DATABASES = ("sqlite", "postgres", "postgresql", "psql", "pgsql")
BROKERS = ("memory", "redis", "rediss", "redis+socket")
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


class Environment:
    """The variables of the process and of `.env`, each read as what it must be."""

    def __init__(self, file: Path) -> None:
        # What the process has already stays: the file fills in the rest.
        environ.Env.read_env(file)

    def text(self, name: str, default: str) -> str:
        return os.environ.get(name, default)

    def names(self, name: str, default: Sequence[str]) -> list[str]:
        """Words separated by commas."""
        words = self.text(name, ",".join(default)).split(",")
        return [word.strip() for word in words if word.strip()]

    def yes_or_no(self, name: str, default: bool = False) -> bool:
        text = self.text(name, str(default)).strip().lower()
        if text not in YES + NO:
            refuse(name, text, "It must be true or false.")
        return text in YES

    def whole(self, name: str, default: int, *, lowest: int) -> int:
        text = self.text(name, str(default)).strip()
        if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) >= lowest):
            refuse(name, text, f"It must be a whole number from {lowest}.")
        return int(text)

    def one_of(self, name: str, default: str, allowed: Sequence[str]) -> str:
        text = self.text(name, default).strip().upper()
        if text not in allowed:
            refuse(name, text, f"It must be one of {', '.join(allowed)}.")
        return text

    def database(self, name: str, default: str) -> dict[str, Any]:
        """Django's description of the database. The address is not repeated: it may hold a
        password."""
        text = self.text(name, default)
        found = environ.Env.db_url_config(text) if scheme_of(text) in DATABASES else {}
        if not found.get("NAME"):
            sys.exit(
                f"{name} names no database that DialFork knows. Give sqlite:///PATH or "
                "postgres://USER:PASSWORD@HOST:PORT/NAME."
            )
        return found

    def broker(self, name: str, default: str) -> str:
        """The broker's address, not repeated either."""
        text = self.text(name, default)
        if scheme_of(text) not in BROKERS:
            sys.exit(
                f"{name} names no broker that DialFork knows. Give memory:// or "
                "redis://HOST:PORT/NUMBER."
            )
        return text

    def folder(self, name: str, default: Path) -> Path:
        """A folder, made when it is not there."""
        found = Path(self.text(name, str(default)))
        make_folder(found, name)
        return found


def scheme_of(address: str) -> str:
    """The scheme of an address, "" when it cannot be read."""
    try:
        parts = urlsplit(address)
        # Reading the port is what finds a bad one.
        return parts.scheme if parts.port is None or parts.hostname else ""
    except ValueError:
        return ""


def origin_and_path(address: str) -> tuple[str, str]:
    """`https://host:port` and the path below it, "" for none.

    What follows the path, or an address without scheme and host, stays in the first part: the
    start-up check of PUBLIC_URL refuses it.
    """
    found = re.fullmatch(r"(\w+://[^/?#]+)((?:/[\w.~-]+)*)", address)
    return (found[1], found[2]) if found else (address, "")


def make_folder(path: Path, name: str) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        refuse(name, str(path), f"That folder cannot be made ({error.strerror}).")


def refuse(name: str, value: str, sentence: str) -> NoReturn:
    sys.exit(f"{name} is {value[:80]!r}. {sentence}")
