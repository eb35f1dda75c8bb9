"""docs/formats.md names every format and every oddity that the readers of runs count."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.formats import (
    AS_RUNS,
    FORMATS,
    agent_runner,
    assetops,
    assetops_steps,
    building,
    message_runs,
    messages,
    runs,
    smartgrid,
    smartgrid_steps,
    who_when,
)

TEXT = " ".join((Path(__file__).parents[1] / "docs" / "formats.md").read_text().split())
MODULES = (
    agent_runner,
    assetops,
    assetops_steps,
    message_runs,
    runs,
    smartgrid,
    smartgrid_steps,
    who_when,
)
# Names of constants of these modules that are no warnings.
NO_WARNINGS = {"TYPO", "RUNS", "INDEX", "PUBLISHED", "FOLDER", "LOGS", "ANNOTATIONS"}
NO_WARNINGS |= {"ACTION", "ASSISTANT", "OBSERVATION", "SYSTEM", "USER"}


def warnings():
    for module in MODULES:
        for name, value in vars(module).items():
            is_text = name.isupper() and name[0] != "_" and isinstance(value, str)
            if is_text and name not in NO_WARNINGS:
                yield value
    yield from (building.NUL, building.SURROGATE, messages.NOT_TEXT)


@pytest.mark.parametrize("warning", sorted(set(warnings())))
def test_every_oddity_that_is_counted_is_explained(warning):
    assert f"`{warning}`" in TEXT


@pytest.mark.parametrize("name", sorted({*FORMATS, *AS_RUNS}))
def test_every_format_has_its_section(name):
    assert f"# {name} " in TEXT
    assert f"| `{name}` |" in TEXT
