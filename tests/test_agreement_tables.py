"""Agreement taken apart, and the published tables that coefficients are known to get wrong."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.agreement import (
    cohen_kappa,
    cohen_kappa_of_table,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
    ratings_of,
    raw_agreement,
    wilson,
)
from annotation.agreement_rows import by_annotator, by_item, by_pair
from annotation.agreement_tables import ONE_ANSWER_DOMINATES, by_condition, by_label, panel
from annotation.long_ratings import long_ratings, pairs_within
from annotation.rating_tables import counts_of

YES_NO = ("no", "yes")


def two(table, labels):
    """Records of two people whose answers give this table (rows the first, columns the second)."""
    cells = [(a, b) for i, a in enumerate(labels) for b in [labels[j] for j in range(len(labels))]]
    times = [n for row in table for n in row]
    pairs = [cell for cell, n in zip(cells, times, strict=True) for _ in range(n)]
    return [
        (person, f"u{unit:04}", pair[side])
        for unit, pair in enumerate(pairs)
        for side, person in enumerate("AB")
    ]


def test_one_answer_that_dominates_is_noted_beside_kappa_alpha_and_ac1():
    found = panel(long_ratings(two([[0, 5], [5, 90]], YES_NO), YES_NO))
    figures = {name: round(figure.value, 4) for name, figure in found.figures.items()}
    assert figures["raw"] == 0.9
    assert figures["kappa"] == -0.0526
    assert figures["alpha"] == -0.0474
    assert figures["ac1"] == 0.8895
    assert found.note == ONE_ANSWER_DOMINATES
    assert found.prevalence == {"no": 0.05, "yes": 0.95}
    assert (found.units, found.pairs, found.ratings, found.annotators) == (100, 100, 200, 2)


def test_where_everybody_says_the_same_agreement_is_one_and_chance_correction_undefined():
    records = [(person, unit, "yes") for person in "ABC" for unit in range(5)]
    found = panel(long_ratings(records, YES_NO))
    assert found.figures["raw"].value == 1.0
    assert found.figures["alpha"].reason == "no_variation"
    assert found.figures["kappa"].reason == "no_defined_pair"
    assert found.figures["kappa"].detail == {"pairs": 3, "pairs_undefined": 3}
    assert found.figures["fleiss"].reason == "chance_agreement_is_one"
    assert found.figures["ac1"].value == 1.0
    assert all(figure.value in (None, 1.0) for figure in found.figures.values())


def test_a_missing_rating_is_no_value():
    ratings = [[1, 1, 2], [1, 1, None], [None, 1, 2]]
    assert krippendorff_alpha(ratings, level="nominal").value == 1.0
    as_a_value = [[label or 0 for label in row] for row in ratings]
    assert krippendorff_alpha(as_a_value, level="nominal").value == pytest.approx(1 / 3)


def test_one_differing_answer_among_five_on_one_varying_unit_is_no_better_than_chance():
    ratings = [[1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 2]]
    assert krippendorff_alpha(ratings, level="nominal").value == pytest.approx(0.0, abs=1e-12)
    assert raw_agreement(ratings).value == pytest.approx((1 + 1 + 0.6) / 3)


def test_ratings_on_a_scale_are_compared_by_distance():
    ratings = [[10, 20, 40, 60, 95], [14, 18, 44, 55, 90]]
    assert round(krippendorff_alpha(ratings, level="interval").value, 4) == 0.9908
    assert krippendorff_alpha(ratings, level="nominal").value == pytest.approx(0.0, abs=1e-12)


def test_a_published_table_of_people_and_a_judge_gives_the_published_kappa():
    """Trajel: 141 both, 36 the judge only, 12 people only, 35 neither."""
    records = two([[141, 12], [36, 35]], ("yes", "no"))
    found = panel(long_ratings(records, ("yes", "no")))
    assert round(found.figures["kappa"].value, 4) == 0.4558
    assert found.figures["raw"].value == 176 / 224
    kappa = cohen_kappa_of_table([[141, 36], [12, 35]], categories=("yes", "no"))
    assert found.figures["kappa"].value == pytest.approx(kappa.value)


# -- taken apart -------------------------------------------------------------------------------

CONTRARY = {"C": {"yes": "no", "no": "yes"}}
SAID = ("yes", "no", "yes", "yes", "no", "yes")


def one_who_always_disagrees():
    records = [(person, f"i{i}", label) for person in "AB" for i, label in enumerate(SAID)]
    records += [("C", f"i{i}", CONTRARY["C"][label]) for i, label in enumerate(SAID)]
    return long_ratings(records, YES_NO)


def test_the_pair_matrix_shows_the_one_who_disagrees():
    rows = {(row.first, row.second): row for row in by_pair(one_who_always_disagrees())}
    assert {pair: row.raw.value for pair, row in rows.items()} == {
        ("A", "B"): 1.0,
        ("A", "C"): 0.0,
        ("B", "C"): 0.0,
    }
    assert rows["A", "B"].kappa.value == 1.0
    assert rows["A", "C"].kappa.value < 0
    assert {row.n for row in rows.values()} == {6}
    assert rows["A", "B"].raw.ci == wilson(6, 6).ci
    people = by_annotator(one_who_always_disagrees())
    assert {name: found.value for name, found in people.items()} == {"A": 0.5, "B": 0.5, "C": 0.0}
    assert people["A"].n == 12


def test_the_item_table_lists_which_items_are_disputed_and_who_said_what():
    records = [("A", "calm", "yes"), ("B", "calm", "yes"), ("A", "alone", "no")]
    records += [("A", "hot", "yes"), ("B", "hot", "no"), ("C", "hot", "yes")]
    rows = by_item(long_ratings(records, YES_NO))
    assert [(row.unit, row.n, round(row.agreement, 4)) for row in rows] == [
        ("hot", 3, 0.3333),
        ("calm", 2, 1.0),
    ]
    assert rows[0].answers == (("A", "yes"), ("B", "no"), ("C", "yes"))
    numbers = by_item(long_ratings([("A", "x", 10), ("B", "x", 40), ("A", "y", 1), ("B", "y", 1)]))
    assert [(row.unit, row.spread) for row in numbers] == [("x", 30.0), ("y", 0.0)]


def test_conditions_are_taken_apart_and_units_without_one_left_out():
    ratings = one_who_always_disagrees()
    condition_of = {f"i{i}": "fork" if i < 4 else "conformant" for i in range(5)}
    found = by_condition(ratings, condition_of)
    assert {name: each.units for name, each in found.items()} == {"conformant": 1, "fork": 4}
    assert found["fork"].figures["raw"].value == pytest.approx(1 / 3)


def test_agreement_on_one_answer_is_that_of_the_pairs_that_hold_it():
    found = by_label(long_ratings(two([[40, 5], [10, 45]], YES_NO), (*YES_NO, "never")))
    assert found["no"].value == pytest.approx(2 * 40 / (45 + 50))
    assert found["yes"].value == pytest.approx(2 * 45 / (50 + 55))
    assert found["never"].reason == "never_given"


def test_numbers_have_distances_instead_of_kappas():
    records = [("A", "x", 10), ("B", "x", 14), ("A", "y", 20), ("B", "y", 18)]
    found = panel(long_ratings(records), resamples=50)
    assert found.figures["away"].value == 3.0
    assert found.figures["away"].ci == (2.0, 4.0)
    assert set(found.figures) == {"raw", "alpha", "away"}
    row = by_pair(long_ratings(records))[0]
    assert (row.away, row.kappa, row.raw.value) == (3.0, None, 0.0)
    assert found.as_dict()["figures"]["away"]["ci"] == [2.0, 4.0]


def test_ordered_answers_count_neighbours_as_nearly_right():
    options = ("no", "partly", "yes")
    near = two([[4, 3, 0], [3, 4, 3], [0, 3, 4]], options)
    found = panel(long_ratings(near, options), ordered=True).figures
    assert found["ac2"].value > found["ac1"].value
    assert found["kappa_weighted"].value > found["kappa"].value
    assert found["alpha_ordinal"].value > found["alpha"].value


def test_every_coefficient_of_a_panel_has_an_interval_that_repeats_by_seed():
    rng = np.random.default_rng(3)
    options = ("no", "partly", "yes")
    records = [
        (f"p{who}", unit, options[(unit + int(rng.random() < 0.3)) % 3])
        for unit in range(40)
        for who in range(4)
        if (unit + who) % 2
    ]
    ratings = long_ratings(records, options)
    found = panel(ratings, ordered=True, resamples=200, seed=1)
    for name, figure in found.figures.items():
        assert figure.ci, name
        assert figure.ci[0] <= figure.value <= figure.ci[1], name
    assert found == panel(ratings, ordered=True, resamples=200, seed=1)
    assert found != panel(ratings, ordered=True, resamples=200, seed=2)
    pair = panel(long_ratings(two([[20, 5], [10, 15]], YES_NO), YES_NO), resamples=50)
    kappa = cohen_kappa_of_table([[20, 5], [10, 15]], categories=YES_NO)
    assert pair.figures["kappa"].ci == pytest.approx(kappa.ci)


def test_nothing_shared_is_undefined_and_never_a_number():
    found = panel(long_ratings([("A", "x", "yes"), ("B", "y", "no")], YES_NO), ordered=True)
    assert (found.units, found.pairs, found.prevalence) == (0, 0, {})
    assert all(figure.value is None and figure.reason for figure in found.figures.values())
    nobody = long_ratings([], YES_NO)
    assert panel(nobody).figures["ac1"].reason == "no_pairable_values"
    assert (by_pair(nobody), by_item(nobody), by_annotator(nobody)) == ([], [], {})


answers = st.sampled_from(["no", "partly", "yes", None])
tables = st.lists(st.lists(answers, min_size=3, max_size=3), min_size=1, max_size=10)


@given(tables)
def test_the_panel_gives_the_coefficients_of_the_rating_table(units):
    options = ("no", "partly", "yes")
    records = [(f"p{i}", u, value) for u, unit in enumerate(units) for i, value in enumerate(unit)]
    found = panel(long_ratings(records, options)).figures
    rows = ratings_of(record for record in records if record[2] is not None)
    expected = {
        "raw": raw_agreement(rows),
        "ac1": gwet_ac(rows, categories=options),
        "alpha": krippendorff_alpha(rows, categories=options),
        "fleiss": fleiss_kappa(counts_of(rows, options), categories=options),
    }
    for name, estimate in expected.items():
        assert found[name].reason == estimate.reason, name
        assert found[name].n == estimate.n, name
        assert found[name].value == pytest.approx(estimate.value), name


@given(tables, st.sampled_from([None, "linear", "quadratic"]))
def test_the_kappa_of_each_two_people_is_that_of_their_shared_units(units, weights):
    options = ("no", "partly", "yes")
    records = [(f"p{i}", u, value) for u, unit in enumerate(units) for i, value in enumerate(unit)]
    rows = {
        (row.first, row.second): row
        for row in by_pair(long_ratings(records, options), weights=weights)
    }
    for one, other in itertools.combinations(range(3), 2):
        first, second = ([unit[who] for unit in units] for who in (one, other))
        kappa = cohen_kappa(first, second, categories=options, weights=weights)
        row = rows.pop((f"p{one}", f"p{other}"), None)
        assert (row is None) == (kappa.reason == "no_pairable_values")
        if row:
            assert (row.kappa.value, row.kappa.reason) == (
                pytest.approx(kappa.value),
                kappa.reason,
            )
    assert not rows


# -- long form ---------------------------------------------------------------------------------


def test_long_ratings_refuse_what_cannot_be_meant():
    with pytest.raises(ValueError, match="annotator A has answered unit x twice"):
        long_ratings([("A", "x", 1), ("B", "x", 1), ("A", "x", 2)])
    with pytest.raises(ValueError, match="'maybe' is not one of the categories"):
        long_ratings([("A", "x", "maybe")], YES_NO)
    with pytest.raises(ValueError, match="one label twice"):
        long_ratings([("A", "x", "a")], ("a", "a "))
    with pytest.raises(ValueError, match="every value must be a number"):
        long_ratings([("A", "x", "ten")])
    with pytest.raises(ValueError, match="finite number"):
        long_ratings([("A", "x", float("nan"))])
    with pytest.raises(ValueError, match="no categories to count"):
        long_ratings([("A", "x", 1)]).counts()


def test_records_in_any_order_are_the_same_ratings():
    records = [("B", 2, "yes"), ("A", 1, "no"), ("A", 2, None), ("B", 1, "yes ")]
    here, there = (long_ratings(rows, YES_NO) for rows in (records, records[::-1]))
    assert len(here) == len(there) == 3
    assert here.annotator_names == there.annotator_names == ("A", "B")
    assert by_item(here) == by_item(there)


@given(st.lists(st.integers(0, 5), max_size=20))
def test_pairs_within_are_every_two_rows_of_a_group(groups):
    found = list(zip(*pairs_within(np.array(groups, dtype=np.intp)), strict=True))
    expected = [
        (i, j) for i, j in itertools.combinations(range(len(groups)), 2) if groups[i] == groups[j]
    ]
    assert sorted((int(a), int(b)) for a, b in found) == expected
