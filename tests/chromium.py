"""Which browser the tests drive: CHROMIUM, one installed on the machine, or playwright's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
INSTALL_SECONDS = 240


@cache
def find() -> str | None:
    """The path of a browser that can be started, or None."""
    given = os.environ.get("CHROMIUM")
    if given:
        return given if os.access(given, os.X_OK) else None
    for name in NAMES:
        if path := shutil.which(name):
            return path
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if os.access(path, os.X_OK) else None


def install() -> bool:
    """Ask playwright for a browser, for four minutes at most. True when there is one afterwards."""
    command = [sys.executable, "-m", "playwright", "install", "chromium"]
    try:
        subprocess.run(command, timeout=INSTALL_SECONDS, check=False, capture_output=True)
    except subprocess.TimeoutExpired:
        return False
    find.cache_clear()
    return find() is not None


if __name__ == "__main__":
    there = find() is not None
    if not there and "--install" in sys.argv:
        there = install()
    sys.exit(0 if there else 1)
