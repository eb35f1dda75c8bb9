"""What a statistic answers, and the same as a result row of a run."""

from __future__ import annotations

import pytest

from scoring.estimates import Estimate, undefined


def test_a_row_has_a_reason_only_where_it_has_no_value():
    row = Estimate(0.5, "fewer_than_two_observations", n=1).as_row()
    assert (row["value"], row["reason"], row["ci_low"], row["ci_high"]) == (0.5, "", None, None)
    assert undefined("no_pairs", n=3).as_row()["reason"] == "no_pairs"


def test_what_was_left_out_is_counted_beside_the_detail_and_not_in_it():
    estimate = Estimate(1.0, n=4, ci=(0.5, 1.5), detail={"skipped": 2, "seed": 0})
    row = estimate.as_row()
    assert (row["skipped"], row["detail"]) == (2, {"seed": 0})
    assert (row["ci_low"], row["ci_high"], row["n"]) == (0.5, 1.5, 4)
    assert estimate.as_row(skipped="seed")["detail"] == {"skipped": 2}


def test_no_value_is_no_number():
    with pytest.raises(ValueError, match="nan is no value"):
        Estimate(float("nan"))
