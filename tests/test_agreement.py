"""Agreement: independence of order, undefined cases with reasons, the package as a peer."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from annotation import krippendorff_alpha as alpha_module
from annotation.agreement import (
    cohen_kappa,
    cohen_kappa_of_table,
    fleiss_kappa,
    gwet_ac,
    gwet_ac_of_table,
    krippendorff_alpha,
    raw_agreement,
    wilson,
)
from annotation.alpha_sums import closed_form, pairable
from annotation.krippendorff_alpha import alpha_of_counts, alpha_of_long
from annotation.rating_tables import (
    counts_of,
    counts_of_table,
    ratings_of,
    table_of,
    weights_of,
)

OPTIONS = ["no", "partly", "yes"]
answers = st.sampled_from([*OPTIONS, None])
tables = st.integers(2, 4).flatmap(
    lambda raters: st.lists(
        st.lists(answers, min_size=raters, max_size=raters), min_size=1, max_size=12
    ).map(lambda units: [list(row) for row in zip(*units, strict=True)])
)
STATISTICS = {
    "raw": raw_agreement,
    "pairs": lambda rows: raw_agreement(rows, pooling="pairs"),
    "ac1": lambda rows: gwet_ac(rows, categories=OPTIONS),
    "ac2": lambda rows: gwet_ac(rows, categories=OPTIONS, weights="quadratic"),
    "alpha": krippendorff_alpha,
    "ordinal": lambda rows: krippendorff_alpha(rows, level="ordinal", categories=OPTIONS),
    "fleiss": lambda rows: fleiss_kappa(counts_of(rows, OPTIONS)),
}


@pytest.mark.parametrize("name", STATISTICS)
@given(rows=tables, shuffle=st.randoms(use_true_random=False))
def test_agreement_does_not_depend_on_the_order_of_raters_or_units(name, rows, shuffle):
    turned = [list(row) for row in rows]
    shuffle.shuffle(turned)
    places = list(range(len(rows[0])))
    shuffle.shuffle(places)
    turned = [[row[i] for i in places] for row in turned]
    here, there = STATISTICS[name](rows), STATISTICS[name](turned)
    assert here.reason == there.reason
    assert here.value == pytest.approx(there.value)


@pytest.mark.parametrize("name", STATISTICS)
@given(rows=tables)
def test_agreement_is_a_number_up_to_one_or_has_a_reason(name, rows):
    found = STATISTICS[name](rows)
    if found.value is None:
        assert found.reason
    else:
        assert np.isfinite(found.value) and found.value <= 1 + 1e-12
    if found.ci:
        assert found.ci[0] <= found.value <= found.ci[1]


@given(tables)
def test_all_raters_equal_is_full_agreement_or_undefined(rows):
    same = [rows[0], rows[0]]
    for name, statistic in STATISTICS.items():
        assert statistic(same).value in (None, pytest.approx(1.0)), name


LEVELS = ("nominal", "ordinal", "interval", "ratio")


whole_numbers = st.lists(
    st.lists(st.integers(0, 6) | st.none(), min_size=3, max_size=3), min_size=2, max_size=10
)
any_numbers = st.lists(
    st.lists(
        st.floats(0, 100, allow_subnormal=False).map(lambda v: round(v, 2)) | st.none(),
        min_size=4,
        max_size=4,
    ),
    min_size=2,
    max_size=8,
)


def long_form(units):
    rows = [(u, value) for u, unit in enumerate(units) for value in unit if value is not None]
    return tuple(np.array(column) for column in zip(*rows, strict=True)) if rows else ([], [])


@pytest.mark.parametrize("level", LEVELS)
@given(units=whole_numbers | any_numbers)
def test_alpha_in_closed_form_equals_the_package_to_twelve_decimals(level, units):
    by_rater = [list(row) for row in zip(*units, strict=True)]
    found = krippendorff_alpha(by_rater, level=level)
    again = alpha_of_long(*long_form(units), level=level)
    assert found == again
    if found.value is None:
        assert found.reason in ("no_pairable_values", "no_variation")
        return
    data = [[np.nan if v is None else v for v in row] for row in by_rater]
    peer = krippendorff.alpha(reliability_data=data, level_of_measurement=level)
    closed = closed_form(pairable(*long_form(units)), level)
    assert found.value == pytest.approx(peer, rel=1e-12, abs=1e-12)
    assert closed == pytest.approx(peer, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_an_array_with_gaps_and_a_list_with_none_give_the_same_alpha(level):
    rng = np.random.default_rng(2)
    array = rng.integers(0, 9, (4, 30)).astype(float)
    array[rng.random(array.shape) < 0.3] = np.nan
    rows = [[None if np.isnan(v) else v for v in row] for row in array]
    assert krippendorff_alpha(array, level=level) == krippendorff_alpha(rows, level=level)


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_of_a_large_table_leaves_the_package_and_stays_exact(level, monkeypatch):
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 101, 210)
    noisy = [(truth + rng.integers(-3, 4, 210)).clip(0, 100).tolist() for _ in range(3)]
    direct = krippendorff.alpha(reliability_data=noisy, level_of_measurement=level)
    monkeypatch.setattr(krippendorff, "alpha", None)
    assert krippendorff_alpha(noisy, level=level).value == pytest.approx(direct, abs=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_the_interval_of_alpha_is_that_of_a_plain_loop_over_drawn_units(level):
    rng = np.random.default_rng(5)
    units = np.repeat(np.arange(12), 3)
    values = rng.integers(0, 4, 36)
    found = alpha_of_long(units, values, level=level, resamples=80, seed=9)
    table = values.reshape(12, 3)
    draw = np.random.default_rng(9)
    plain = [
        krippendorff.alpha(table[draw.integers(0, 12, 12)].T, level_of_measurement=level)
        for _ in range(80)
    ]
    assert found.ci == pytest.approx(tuple(np.quantile(plain, [0.025, 0.975])), abs=1e-12)


def test_a_resample_without_variation_is_counted_and_left_out():
    units, values = [0, 0, 1, 1, 2, 2], [1, 1, 1, 1, 1, 2]
    found = alpha_of_long(units, values, level="interval", resamples=400, seed=1)
    drawn = np.random.default_rng(1).integers(0, 3, (400, 3))
    assert found.detail["resamples_undefined"] == int((drawn != 2).all(axis=1).sum()) > 0


def test_ratings_that_are_no_finite_numbers_are_refused():
    with pytest.raises(ValueError, match="finite number; leave out what is missing"):
        alpha_of_long([0, 0], [1.0, np.nan])
    with pytest.raises(ValueError, match="have shapes"):
        alpha_of_long([0, 0], [1.0])


def test_the_package_is_asked_where_the_table_is_small(monkeypatch):
    monkeypatch.setattr(alpha_module.krippendorff, "alpha", lambda **given: 0.123)
    assert krippendorff_alpha([[1, 2, 2], [1, 2, 1]], level="nominal").value == 0.123


def test_the_interval_of_alpha_repeats_by_seed_and_holds_the_value():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 5, 60)
    rows = [(truth + rng.integers(0, 2, 60)).tolist() for _ in range(3)]
    found = krippendorff_alpha(rows, level="interval", resamples=300, seed=4)
    assert found.ci[0] < found.value < found.ci[1]
    assert found == krippendorff_alpha(rows, level="interval", resamples=300, seed=4)


def test_text_cannot_be_an_interval():
    with pytest.raises(ValueError, match="'interval' needs numbers"):
        krippendorff_alpha([["a", "b"], ["b", "b"]], level="interval")
    with pytest.raises(ValueError, match="level is 'cardinal'"):
        krippendorff_alpha([[1], [2]], level="cardinal")


@given(
    st.lists(st.tuples(st.sampled_from(OPTIONS), st.sampled_from(OPTIONS)), min_size=2),
    st.sampled_from([None, "linear", "quadratic"]),
)
def test_kappa_equals_a_published_library_in_declared_order(pairs, weights):
    first, second = zip(*pairs, strict=True)
    found = cohen_kappa(first, second, categories=OPTIONS, weights=weights)
    if found.value is not None:
        peer = cohen_kappa_score(first, second, labels=OPTIONS, weights=weights)
        assert found.value == pytest.approx(peer)
    else:
        assert found.reason == "chance_agreement_is_one"


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_the_error_of_kappa_is_how_kappa_moves_with_each_cell(weights):
    """The delta method by small steps: the variance of the gradient over the cells, over n."""
    table = np.array([[88.0, 14, 18], [10, 40, 10], [2, 6, 12]])
    found = cohen_kappa_of_table(table, categories=OPTIONS, weights=weights)
    n, step = table.sum(), 1e-4
    gradient = np.zeros((3, 3))
    for cell in np.ndindex(3, 3):
        moved = table.copy()
        moved[cell] += step
        up = _kappa(moved, weights)
        gradient[cell] = (up - _kappa(table, weights)) / step * n
    shares = table / n
    variance = (shares * gradient**2).sum() - (shares * gradient).sum() ** 2
    assert found.detail["se"] == pytest.approx(np.sqrt(variance / n), rel=1e-4)
    z = 1.959963984540054
    assert found.ci[1] - found.ci[0] == pytest.approx(2 * z * found.detail["se"])


def _kappa(table, weights):
    shares, agreement = table / table.sum(), weights_of(weights, OPTIONS)
    chance = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    seen, expected = (agreement * shares).sum(), (agreement * chance).sum()
    return (seen - expected) / (1 - expected)


def test_raw_agreement_and_fleiss_draw_units_as_plain_loops_do():
    rng = np.random.default_rng(7)
    rows = [[OPTIONS[v] for v in rng.integers(0, 3, 14)] for _ in range(3)]
    counts = counts_of(rows, OPTIONS)
    statistics = {
        "item_mean": (raw_agreement(rows, resamples=60, seed=2), raw_agreement),
        "pairs": (
            raw_agreement(rows, pooling="pairs", resamples=60, seed=2),
            lambda sample: raw_agreement(sample, pooling="pairs"),
        ),
        "fleiss": (
            fleiss_kappa(counts, categories=OPTIONS, resamples=60, seed=2),
            lambda sample: fleiss_kappa(counts_of(sample, OPTIONS), categories=OPTIONS),
        ),
    }
    for name, (found, statistic) in statistics.items():
        draw = np.random.default_rng(2)
        plain = []
        for _ in range(60):
            units = draw.integers(0, 14, 14)
            plain.append(statistic([[row[i] for i in units] for row in rows]).value)
        expected = tuple(np.quantile(plain, [0.025, 0.975]))
        assert found.ci == pytest.approx(expected, abs=1e-12), name
        assert statistic(rows).ci is None
    assert raw_agreement([["no"], ["no"]], resamples=9).reason == "fewer_than_two_observations"


def test_weights_follow_the_values_of_numbers_and_the_ranks_of_text():
    assert weights_of("linear", [0, 50, 100])[0, 1] == 0.5
    assert weights_of("linear", [0, 10, 100])[0, 1] == pytest.approx(0.9)
    assert weights_of("linear", ["z", "a", "m"])[0, 1] == 0.5
    assert weights_of("ordinal", ["a", "b", "c"])[0].tolist() == [1, pytest.approx(2 / 3), 0]
    assert weights_of(None, ["a", "b"]).tolist() == [[1, 0], [0, 1]]
    with pytest.raises(ValueError, match="weights are 'cubic'"):
        weights_of("cubic", ["a", "b"])


def test_labels_are_compared_by_value():
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    assert raw_agreement([[composed, "yes "], [decomposed, "yes"]]).value == 1.0
    assert raw_agreement([["Aa"], ["BB"]]).value == 0.0


def test_a_label_that_is_no_option_is_refused_by_name():
    with pytest.raises(ValueError, match="'maybe' is not one of the categories"):
        gwet_ac([["maybe"], ["no"]], categories=OPTIONS)
    with pytest.raises(ValueError, match="'maybe' is not one of the categories"):
        cohen_kappa(["maybe"], ["no"], categories=OPTIONS)
    with pytest.raises(ValueError, match="one label twice"):
        counts_of([["a"]], ["a", "a "])
    with pytest.raises(ValueError, match="1 entries where another has 2"):
        counts_of([["no", "no"], ["no"]], OPTIONS)


def test_records_become_the_same_table_in_any_order():
    records = [("b", 1, "yes"), ("a", 1, "no"), ("a", 2, "no")]
    assert ratings_of(records) == ratings_of(records[::-1]) == [["no", "no"], ["yes", None]]
    with pytest.raises(ValueError, match="rated unit 1 twice"):
        ratings_of([("a", 1, "x"), ("a", 1, "y")])


def test_a_table_counts_as_its_ratings_would():
    pairs = [("no", "no"), ("no", "yes"), ("yes", "yes")]
    table = table_of(pairs, ["no", "yes"])
    assert table.tolist() == [[1, 1], [0, 1]]
    by_table = gwet_ac_of_table(table.tolist(), categories=["no", "yes"])
    by_rows = gwet_ac(list(zip(*pairs, strict=True)), categories=["no", "yes"])
    assert by_table == by_rows
    assert alpha_of_counts(counts_of_table(table), ["no", "yes"]).n == 3
    with pytest.raises(ValueError, match="as many rows as columns"):
        counts_of_table([[1, 2]])


def test_undefined_agreement_says_why():
    empty = [[None, "no"], ["no", None]]
    for name in STATISTICS:
        assert STATISTICS[name](empty).reason == "no_pairable_values", name
    assert cohen_kappa([None], ["no"], categories=OPTIONS).reason == "no_pairable_values"
    assert gwet_ac([["a"], ["a"]], categories=["a"]).reason == "fewer_than_two_possible_categories"
    assert krippendorff_alpha([["a"], ["a"]]).reason == "no_variation"
    one = gwet_ac([["no"], ["yes"]], categories=OPTIONS)
    assert one.value is not None and one.reason == "fewer_than_two_observations"


def test_an_unknown_pooling_is_refused():
    with pytest.raises(ValueError, match="pooling is 'mean'"):
        raw_agreement([["a"], ["a"]], pooling="mean")


@given(st.integers(0, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_wilson_interval_lies_in_0_to_1_and_holds_the_share(pair):
    k, n = pair
    found = wilson(k, n)
    if n == 0:
        assert (found.value, found.ci, found.reason) == (None, None, "no_observations")
    else:
        assert 0 <= found.ci[0] <= found.value <= found.ci[1] <= 1
        assert found.detail["k"] == k


def test_more_successes_than_trials_are_refused():
    with pytest.raises(ValueError, match="3 of 2"):
        wilson(3, 2)
