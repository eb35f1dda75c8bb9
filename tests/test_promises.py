"""docs/promises.md tells of tests that exist, and the people who read it find all thirty."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "promises.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if re.match(r"\| \d+ \|", line)
]
NAMED = re.compile(r"`(test_\w+\.py)::(test_\w+)`")


def names_in(name: str) -> set[str]:
    """Names of the test functions of a file."""
    tree = ast.parse((ROOT / "tests" / name).read_text())
    return {f.name for f in tree.body if isinstance(f, ast.FunctionDef)}


def test_there_are_thirty_with_all_they_need():
    assert [row[0] for row in ROWS] == [str(n) for n in range(1, 31)]
    for row in ROWS:
        assert len(row) == 4, row[0]
        assert all(row), row[0]
        assert NAMED.search(row[3]), row[0]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_test_that_is_named_exists(row):
    named = NAMED.findall(row[3])
    gone = [f"{file}::{test}" for file, test in named if test not in names_in(file)]
    assert gone == []
    # Nothing in the last column but names of tests, so that none is passed over for its spelling.
    assert NAMED.sub("", row[3]).strip(", ") == ""


def test_the_page_is_found():
    assert "docs/promises.md" in (ROOT / "README.md").read_text()
    assert "(promises.md)" in (ROOT / "docs" / "studies.md").read_text()
