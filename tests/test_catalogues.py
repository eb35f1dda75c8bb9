"""Every marked string is said in every language, and the compiled catalogues say the same."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import polib
import pytest
from django.conf import settings
from django.utils.translation import to_locale

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("annotation", "benchmark", "scoring", "dialfork_site", "templates")
LANGUAGES = [code for code, _ in settings.LANGUAGES if code != settings.LANGUAGE_CODE]
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%[sd]|%%|\{\w*\}|</?\w+[^>]*>")

Key = tuple[str | None, str, str]


def catalogue(code: str, suffix: str = "po") -> Path:
    return ROOT / "locale" / to_locale(code) / "LC_MESSAGES" / f"django.{suffix}"


def entries(code: str) -> list[polib.POEntry]:
    return [entry for entry in polib.pofile(str(catalogue(code))) if not entry.obsolete]


def key(entry: polib.POEntry) -> Key:
    return entry.msgctxt, entry.msgid, entry.msgid_plural


def said(entry: polib.POEntry) -> list[str]:
    return list(entry.msgstr_plural.values()) or [entry.msgstr]


@pytest.fixture(scope="module")
def marked(tmp_path_factory) -> set[Key]:
    """The strings that are marked now, extracted from a copy of the sources."""
    if shutil.which("xgettext") is None:
        pytest.skip("needs xgettext (package gettext)")
    folder = tmp_path_factory.mktemp("sources")
    for name in SOURCES:
        ignored = shutil.ignore_patterns("__pycache__", "migrations")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    (folder / "locale").mkdir()
    command = [sys.executable, "-m", "django", "makemessages", "-l", "de"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    found = polib.pofile(str(folder / "locale/de/LC_MESSAGES/django.po"))
    return {key(entry) for entry in found}


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_marked_string_is_in_the_catalogue_and_no_other(marked, code):
    known = {key(entry) for entry in entries(code)}
    assert sorted(marked - known, key=str) == []
    assert sorted(known - marked, key=str) == []


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_string_is_translated_and_none_is_a_guess(code):
    missing = [e.msgid for e in entries(code) if e.fuzzy or not all(said(e))]
    assert missing == []


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_translation_keeps_placeholders_and_markup(code):
    changed = []
    for entry in entries(code):
        wanted = [sorted(PLACEHOLDER.findall(t)) for t in (entry.msgid, entry.msgid_plural) if t]
        changed += [
            (entry.msgid, text)
            for text in said(entry)
            if sorted(PLACEHOLDER.findall(text)) not in wanted
        ]
    assert changed == []


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_compiled_catalogue_is_that_of_the_text(code):
    compiled = {key(e): said(e) for e in polib.mofile(str(catalogue(code, "mo")))}
    assert compiled == {key(e): said(e) for e in entries(code)}
