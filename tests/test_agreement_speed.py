"""What the annotation benchmarks measure: equal answers on both sides, inputs drawn by seed."""

from __future__ import annotations

from collections import Counter

import pytest

from annotation.benchmarks import agreement_speed
from annotation.benchmarks.synthetic import judgements, slider_ratings


@pytest.mark.parametrize("level", ["interval", "ordinal", "nominal"])
def test_alpha_of_many_ratings_is_measured_beside_the_package_with_equal_values(level):
    case = agreement_speed.alpha(level, items=2000, peer_items=250)
    assert case.equal and case.unit == "ratings/s"
    assert case.limit and case.limit.most == 0.1


def test_the_report_is_measured_beside_a_plain_loop_with_equal_intervals(monkeypatch):
    monkeypatch.setattr(agreement_speed, "RESAMPLES", 20)
    case = agreement_speed.report(people=8, items=60, total=80, loops=6)
    assert case.equal
    assert case.limit and case.limit.most == 2.0
    assert "80 judgements" in case.note


def test_made_up_sliders_are_rated_by_different_people():
    made = slider_ratings(100, 300, 5)
    pairs = Counter(zip(made.annotators.tolist(), made.items.tolist(), strict=True))
    assert len(pairs) == 1500 and set(pairs.values()) == {1}
    assert set(made.annotators.tolist()) <= set(range(100))
    assert made.values.min() >= 0 and made.values.max() <= 100


def test_a_made_up_study_has_the_size_of_the_published_one():
    rows = judgements()
    per_item = Counter(row.item for row in rows)
    assert (len(rows), len(per_item), len({row.person for row in rows})) == (526, 428, 30)
    assert Counter(per_item.values()) == {1: 330, 2: 98}
    assert max(Counter((row.person, row.item) for row in rows).values()) == 1
    assert rows == judgements() and rows != judgements(seed=1)
