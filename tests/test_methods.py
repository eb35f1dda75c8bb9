"""The registry of methods: what a run may be asked for, and the sentences for what it may not."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import pytest

import dialfork_site
from scoring import methods
from scoring.methods import METHODS, Setting, chosen

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("kind", METHODS)
def test_every_default_is_allowed(kind):
    for name, method in METHODS[kind].items():
        found = chosen(kind, {"method": name}, shared={"bootstrap_seed": 0})
        assert found["settings"] == {s.name: s.default for s in method.settings}
        assert ("encoder" in found) is method.encoder


def test_a_given_setting_replaces_its_default():
    found = chosen(
        "task3",
        {"method": "ngram_it", "order": 3, "node_confidence": True, "encoder": "lexical"},
        shared={"bootstrap_seed": 0},
    )
    assert found["settings"] | {"order": 3, "node_confidence": True} == found["settings"]
    assert (found["encoder"], found["bootstrap_seed"]) == ("lexical", 0)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"method": "bleu"}, "must be one of fbd"),
        ({"method": None}, "must be one of fbd"),
        ({"method": ["fbd"]}, "must be one of fbd"),
        ({"method": "fbd", "depth": 3}, "has no setting 'depth'"),
        ({"method": "fbd", "pairs": "none"}, "one of all, to_assistant"),
        ({"method": "prd", "clusters": 1}, "between 2 and 200"),
        ({"method": "prd", "clusters": 2.5}, "a whole number"),
        ({"method": "prd", "clusters": True}, "a whole number"),
        ({"method": "prd", "seed": -1}, "between 0"),
        ({"method": "flow_kl", "threshold": math.nan}, "between 0.01 and 2.0"),
        ({"method": "flow_kl", "threshold": "0.5"}, "a number"),
        ({"method": "fbd", "encoder": "word2vec"}, "not known"),
        ({"method": "fbd", "bootstrap_seed": "x"}, "a whole number"),
    ],
)
def test_what_is_not_allowed_is_named(given, words):
    with pytest.raises(ValueError, match=words):
        chosen("task1", given, shared={"bootstrap_seed": 0})


def test_a_choice_of_numbers_takes_no_look_alike():
    order = next(s for s in methods.NGRAM if s.name == "order")
    assert order.checked(6) == 6
    for value in (True, 6.0, "6", 4):
        with pytest.raises(ValueError, match="one of 2, 3, 6, 10"):
            order.checked(value)


def test_a_whole_number_may_stand_for_a_number():
    value = Setting("x", 0.5, "X", low=0.0, high=1.0).checked(1)
    assert (value, type(value)) == (1.0, float)


def test_the_version_told_is_the_version_built():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert dialfork_site.__version__ == project["version"]
