"""Signals of runs against labels: the published areas and rates come out of rebuilt rows."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from benchmark.label_records import CJ, RV, SIGNALS, TC
from scoring.signals import (
    ABSENT,
    PRESENT,
    Signals,
    binary_auc,
    exact_ps,
    figures,
    pair_rates,
    rates,
    signals_of,
)


def rebuilt(absent: tuple[int, int], present: tuple[int, int], name: str = CJ) -> Signals:
    """Runs with (hallucinated, all) where the signal is no, and where it is yes."""
    rows, outcome = [], []
    for value, (bad, n) in ((False, absent), (True, present)):
        rows += [{name: value}] * n
        outcome += [True] * bad + [False] * (n - bad)
    return signals_of(rows, outcome)


# Trajel, section 6: clarity and justification has an area of .908, and a rate of 94.3 % where it is
# absent and 9.1 % where it is present. Two sets of counts fit (212 or 213 complete runs).
@pytest.mark.parametrize("absent", [(148, 157), (149, 158)])
def test_the_published_area_and_rates_of_the_strongest_signal(absent):
    found = rebuilt(absent, (5, 55))
    area = binary_auc(found, CJ)
    assert area.value == pytest.approx(0.908, abs=0.001)
    assert area.n == absent[1] + 55
    assert area.detail["predicts"] == ABSENT
    share = rates(found, CJ)
    assert round(100 * share[ABSENT].value, 1) == 94.3
    assert round(100 * share[PRESENT].value, 1) == 9.1


def test_the_stop_rule_counts_runs_without_either_signal():
    # 97.1 % of runs without CJ and without RV: the smallest counts that round to it are 33 of 34.
    rows = [{CJ: False, RV: False}] * 34 + [{CJ: True, RV: False}] * 5 + [{CJ: True, RV: None}]
    found = pair_rates(signals_of(rows, [True] * 33 + [False] * 7), CJ, RV)
    assert round(100 * found["both_absent"].value, 1) == 97.1
    assert (found["both_absent"].n, found["one_absent"].n, found["none_absent"].n) == (34, 5, 0)
    assert found["none_absent"].reason


@pytest.mark.parametrize("name", ["auc_binary_signal", "auc_constant_signal", "auc_one_class"])
def test_areas_agree_with_expected_values(shared, name):
    case = json.loads((shared / "golden" / "agreement" / f"{name}.json").read_text())
    given_ = case["input"]
    rows = [{"s": bool(value)} for value in given_["signal"]]
    area = binary_auc(signals_of(rows, [bool(y) for y in given_["y_true"]]), "s")
    wanted = case["expected"]["value"]
    if wanted is None:
        assert area.value is None
        assert area.reason
    else:
        assert area.value == pytest.approx(max(wanted, 1 - wanted), abs=1e-12)


cases = st.lists(
    st.tuples(st.sampled_from([True, False, None]), st.booleans()), min_size=4, max_size=60
)


@given(cases)
def test_an_area_is_that_of_scikit_learn_and_lies_in_its_interval(pairs):
    area = binary_auc(signals_of([{"s": s} for s, _ in pairs], [y for _, y in pairs], ["s"]), "s")
    known = [(s, y) for s, y in pairs if s is not None]
    assert area.detail["missing"] == len(pairs) - len(known)
    if len({y for _, y in known}) < 2:
        assert area.value is None
        return
    other = roc_auc_score([y for _, y in known], [float(s) for s, _ in known])
    assert area.value == pytest.approx(max(other, 1 - other))
    low, high = area.ci
    assert 0 <= low <= area.value + 1e-12
    assert area.value - 1e-12 <= high <= 1


@given(cases)
def test_a_signal_turned_round_is_as_good_and_predicts_the_other_way(pairs):
    outcome = [y for _, y in pairs]
    one = binary_auc(signals_of([{"s": s} for s, _ in pairs], outcome, ["s"]), "s")
    turned = [{"s": None if s is None else not s} for s, _ in pairs]
    other = binary_auc(signals_of(turned, outcome, ["s"]), "s")
    assert one.value == pytest.approx(other.value) if one.value is not None else not other.value
    if one.detail["predicts"]:
        assert {one.detail["predicts"], other.detail["predicts"]} == {ABSENT, PRESENT}
        assert one.ci == pytest.approx(other.ci)


def test_a_perfect_signal_still_has_an_interval():
    area = binary_auc(rebuilt((6, 6), (0, 6)), CJ)
    assert area.value == 1
    assert area.ci[0] < 0.9
    assert area.ci[1] == 1


def test_p_values_are_exact_and_corrected_over_all_signals():
    rows = [{CJ: value, TC: True, RV: n % 2 == 0} for value in (False, True) for n in range(8)]
    found = signals_of(rows, [True] * 8 + [False] * 8, [CJ, RV, TC])
    cj, rv, tc = exact_ps(found)
    # One of C(16, 8) = 12,870 tables at each end, times two tests that are defined.
    assert cj == pytest.approx(2 * 2 / 12_870)
    assert rv == pytest.approx(1)
    assert tc is None


def test_what_is_not_known_is_counted_and_never_taken_for_a_no():
    found = signals_of([{CJ: None}, {}, {CJ: True}, {CJ: False}], [True, True, False, True])
    assert binary_auc(found, CJ).detail["missing"] == 2
    assert rates(found, CJ)[ABSENT].n == 1


def test_tables_name_every_signal_and_pair():
    rng = np.random.default_rng(1)
    rows = [{name: bool(rng.integers(2)) for name in SIGNALS} for _ in range(60)]
    single, pairs = figures(signals_of(rows, [bool(rng.integers(2)) for _ in rows]), "people")
    assert {row["signal"] for row in single.rows} == set(SIGNALS)
    assert len(pairs.rows) == 10
    areas = [row["auc"].value for row in single.rows]
    assert areas == sorted(areas, reverse=True)
    assert figures(signals_of([], []), "people")[0].reason


def test_a_table_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="not"):
        Signals(("a",), np.zeros((2, 3)), np.zeros(3, dtype=bool))
