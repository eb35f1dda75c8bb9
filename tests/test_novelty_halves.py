"""Random halves of conformant dialogues: the fast form against the detectors, and the command."""

from __future__ import annotations

import json
from io import StringIO

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring import conformal, novelty
from scoring.novelty_halves import DETECTORS, EXACT, ConformantDialogues, watch_halves
from tests.small import make_corpus
from tests.test_novelty import observed, said

several = st.lists(
    said.filter(lambda row: any(role == "assistant" for role, _ in row)), min_size=2, max_size=7
)


@settings(max_examples=25)
@given(several, st.data())
def test_a_half_gives_what_the_detectors_fitted_on_it_give(rows, data):
    train = np.zeros(len(rows), dtype=bool)
    train[: data.draw(st.integers(1, len(rows) - 1))] = True
    found = ConformantDialogues([observed(row) for row in rows]).watch(train)
    known, watched = (
        [observed(r) for r, t in zip(rows, train, strict=True) if t is side]
        for side in (np.True_, np.False_)
    )
    exact = novelty.fit(known).watch_all(watched)
    assert found.p == pytest.approx([-each[-1].value for each in exact])
    for remaining, (calibration, largest) in ((False, found.loose), (True, found.remaining)):
        detector = novelty.fit(known, form=novelty.LEAVE_ONE_OUT, remaining=remaining)
        values = [max(value for _, value in each) for each in detector.watch_all(watched)]
        assert calibration == pytest.approx(detector.calibration)
        assert largest == pytest.approx(values)


def test_halves_depend_on_the_seed_alone_and_keep_the_promise():
    rng = np.random.default_rng(5)
    rows = [
        [(("assistant", "user")[i % 2], int(rng.integers(0, 8))) for i in range(6)]
        for _ in range(20)
    ]
    dialogues = ConformantDialogues([observed(row) for row in rows])
    one, same, other = (
        watch_halves(dialogues, [0.1, 0.3], splits=60, seed=seed) for seed in (1, 1, 2)
    )
    assert (one.known, one.watched, one.flagged.shape) == (10, 10, (60, 2, len(DETECTORS)))
    assert np.array_equal(one.flagged, same.flagged)
    assert not np.array_equal(one.flagged, other.flagged)
    shares = one.flagged[:, :, DETECTORS.index(EXACT)].mean(axis=0) / one.watched
    for share, alpha in zip(shares, (0.1, 0.3), strict=True):
        assert share <= conformal.expectation(10, alpha) + 0.04


def test_one_dialogue_cannot_be_parted():
    with pytest.raises(ValueError, match="1 dialogue cannot be parted"):
        watch_halves(ConformantDialogues([observed([("assistant", 0)])]), [0.1], splits=1, seed=0)


@pytest.mark.django_db
def test_the_command_reports_shares_beside_their_expectation():
    make_corpus(n=20)
    out = StringIO()
    call_command(
        "check_false_alarms",
        "small",
        encoder="lexical",
        splits=5,
        alpha=[0.05, 0.2],
        json=True,
        stdout=out,
    )
    lines = out.getvalue().splitlines()
    report = json.loads(lines[-1])
    assert (report["dialogues"], report["workflows"], report["splits"]) == (10, 1, 5)
    by = {(row["alpha"], row["detector"]): row for row in report["rows"]}
    assert len(by) == 2 * len(DETECTORS)
    # Ten known dialogues are too few at .05; at .20 p takes the values 1/11 and 2/11.
    assert all(by[0.05, name]["most"] == by[0.05, name]["expectation"] == 0 for name in DETECTORS)
    assert by[0.2, EXACT]["expectation"] == pytest.approx(100 * 2 / 11, abs=1e-4)
    assert report["by_workflow"]["table_book"]["rows"] == report["rows"]
    assert sum("(no promise)" in line for line in lines[:-1]) == 4


@pytest.mark.django_db
def test_the_command_refuses_what_it_cannot_do():
    make_corpus(n=1)
    for given_, message in (
        ({"slug": "none"}, "There is no corpus 'none'"),
        ({"slug": "small"}, "no workflow with two conformant dialogues"),
        ({"slug": "small", "splits": 0}, "--splits must be at least 1"),
        ({"slug": "small", "seed": -1}, "--seed must be 0 or more"),
        ({"slug": "small", "alpha": [1.0]}, "--alpha is 1; it must lie between 0 and 1"),
        ({"slug": "small", "encoder": "none"}, "Encoder 'none' is not known"),
    ):
        slug = given_.pop("slug")
        with pytest.raises(CommandError, match=message):
            call_command("check_false_alarms", slug, **given_)
