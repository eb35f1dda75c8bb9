"""Study statistics: groups, positions, confirmation, onset, label sets."""

from __future__ import annotations

from collections import defaultdict
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.agreement import wilson
from annotation.label_agreement import (
    kappa_per_label,
    label_set_agreement,
    per_label,
    precision_recall_f1,
)
from annotation.study_statistics import (
    confirmation_rate,
    mean_rating_by_position,
    onset_agreement,
    prefix_rate,
    superiority,
    superiority_within_groups,
    tau_b_within_groups,
)
from scoring.rankings import kendall_tau_b, roc_auc

RISING = [("a|t", 1, 10), ("a|t", 2, 20), ("a|t", 3, 40), ("a|t", 4, 60)]
rows = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(1, 4), st.integers(0, 5) | st.none()), max_size=14
)


def test_ratings_that_rise_with_the_position_are_perfectly_ordered():
    assert tau_b_within_groups(RISING).value == 1.0
    assert tau_b_within_groups(RISING, aggregate="pooled_pairs").value == 1.0
    assert superiority_within_groups(RISING).value == 1.0


def test_people_on_different_levels_do_not_disturb_each_other():
    low = [("b|t", k, rating - 100) for _, k, rating in RISING]
    assert tau_b_within_groups(RISING + low).value == 1.0


def test_constant_groups_are_skipped_by_tau_and_counted_as_ties_by_superiority():
    flat = [("b|t", 1, 5), ("b|t", 2, 5)]
    found = tau_b_within_groups(RISING + flat)
    assert (found.value, found.n) == (1.0, 4)
    assert found.detail == {"groups_used": 1, "groups_skipped": 1}
    assert superiority_within_groups(RISING + flat).value == pytest.approx(6.5 / 7)


@given(rows, st.sampled_from(["mean", "pooled_pairs"]))
def test_turning_the_scale_round_turns_the_sign(given_rows, aggregate):
    turned = [(g, k, None if r is None else -r) for g, k, r in given_rows]
    here, there = (tau_b_within_groups(r, aggregate=aggregate) for r in (given_rows, turned))
    assert (here.value is None) == (there.value is None) == bool(here.reason)
    if here.value is not None:
        assert here.value == pytest.approx(-there.value)
    up, down = superiority_within_groups(given_rows), superiority_within_groups(turned)
    assert (up.value is None) == (up.reason == "no_pairs")
    if up.value is not None:
        assert up.value == pytest.approx(1 - down.value)


def test_an_unknown_aggregate_is_refused():
    with pytest.raises(ValueError, match="aggregate is 'median'"):
        tau_b_within_groups([], aggregate="median")


def test_means_per_position_resample_whole_annotators():
    given_rows = [(f"p{i}", k, 20 * k + i) for i in range(6) for k in (1, 2)]
    given_rows += [("p0", "conformant", 90), ("p1", "conformant", None)]
    found = mean_rating_by_position(given_rows, seed=1)
    assert list(found) == [1, 2, "conformant"]
    assert (found[1].value, found[1].n) == (22.5, 6)
    assert found[1].ci[0] < 22.5 < found[1].ci[1]
    assert found["conformant"].reason == "fewer_than_two_clusters"
    assert found == mean_rating_by_position(given_rows, seed=1)


def test_partly_confirms_and_mostly_follows():
    found = confirmation_rate(["yes", "partly", "no", None])
    assert found.value == pytest.approx(2 / 3)
    assert found.detail["answers"] == {"no": 1, "partly": 1, "yes": 1}
    assert found.ci[0] < 2 / 3 < found.ci[1]
    assert prefix_rate(["mostly", "yes", "no", "no"]).value == 0.5


def test_no_answer_is_undefined_and_a_strange_one_refused():
    assert confirmation_rate([None]).reason == "no_observations"
    with pytest.raises(ValueError, match="'mostly' is not an answer"):
        confirmation_rate(["mostly"])


def test_onsets_early_and_late_count_alike():
    found = onset_agreement([3, 4, 5, 2, None], [4, 4, 4, 4, 4])
    assert found.n == 4
    assert found.value == found.detail["within_1"] == 0.75
    assert found.detail["exact"] == 0.25
    assert found.detail["at_or_after"] == 0.5
    assert found.detail["histogram"] == {"0": 1, "1": 2, "2": 1}
    assert found.ci == tuple(found.detail["within_1_ci"])


def test_onsets_keep_their_sign():
    found = onset_agreement([3, 4, 5, 2, None], [4, 4, 4, 4, 4]).detail
    assert found["offsets"] == {"-2": 1, "-1": 1, "0": 1, "1": 1}
    assert (found["before"], found["mean_offset"], found["median_offset"]) == (0.5, -0.5, -0.5)
    assert found["before_ci"] == list(wilson(2, 4).ci)


def plain_interval(statistic, given_rows, seed, resamples):
    """Whole annotators drawn in a plain loop; one drawn twice is two people."""
    by_person = defaultdict(list)
    for group, k, rating in given_rows:
        by_person[group.split("|")[0]].append((group, k, rating))
    names = sorted(by_person)
    rng, values = np.random.default_rng(seed), []
    for _ in range(resamples):
        draw = rng.integers(0, len(names), len(names))
        sample = [
            (f"{copy}.{group}", k, rating)
            for copy, who in enumerate(draw)
            for group, k, rating in by_person[names[who]]
        ]
        values.append(statistic(sample).value)
    return tuple(np.quantile(values, [0.025, 0.975]))


@pytest.mark.parametrize(
    "statistic",
    [
        tau_b_within_groups,
        partial(tau_b_within_groups, aggregate="pooled_pairs"),
        superiority_within_groups,
    ],
)
def test_the_interval_draws_whole_annotators_as_a_plain_loop_does(statistic):
    rng = np.random.default_rng(0)
    given_rows = [
        (f"p{who}|t{task}", k, int(10 * k + rng.integers(0, 40)))
        for who in range(7)
        for task in range(2)
        for k in (1, 2, 3, 4)
    ]
    found = statistic(given_rows, resamples=60, seed=4)
    expected = plain_interval(statistic, given_rows, 4, 60)
    assert found.ci == pytest.approx(expected, abs=1e-12)
    assert found.value == statistic(given_rows).value
    assert statistic(given_rows).ci is None
    assert found.detail["clusters"] == 7


def test_one_annotator_has_no_interval():
    found = tau_b_within_groups(RISING, resamples=20)
    assert (found.value, found.ci, found.reason) == (1.0, None, "fewer_than_two_clusters")
    assert superiority_within_groups(RISING, resamples=20).reason == "fewer_than_two_clusters"


@given(rows)
def test_tau_of_all_groups_is_the_mean_of_the_taus_of_each(given_rows):
    values = []
    for name in "ab":
        pairs = [(k, rating) for group, k, rating in given_rows if group == name]
        tau = kendall_tau_b(*zip(*pairs, strict=True)).value if pairs else None
        values += [] if tau is None else [tau]
    found = tau_b_within_groups(given_rows)
    assert found.value == (pytest.approx(sum(values) / len(values)) if values else None)
    assert found.detail["groups_used"] == len(values)


def test_no_marked_onset_is_undefined():
    found = onset_agreement([None], [3])
    assert (found.value, found.reason) == (None, "no_observations")
    assert found.detail["exact"] is None


@given(st.lists(st.integers(0, 9), min_size=1), st.lists(st.integers(0, 9), min_size=1))
def test_superiority_counts_pairs_and_ties_as_halves(x, y):
    pairs = [(a > b) + (a == b) / 2 for a in x for b in y]
    found = superiority(x, y)
    assert found.value == pytest.approx(sum(pairs) / len(pairs))
    assert found.detail == {"pairs": len(pairs)}
    assert found.value == pytest.approx(1 - superiority(y, x).value)


def test_an_area_under_the_curve_needs_both_classes():
    assert roc_auc([1, 0, 1], [0.9, 0.1, 0.1]).value == 0.75
    assert roc_auc([0, 0], [1, 0]).reason == "one_class_only"
    assert superiority([], [1]).reason == "empty_group"


LABELS = ["factual", "scope"]


def test_labels_are_counted_each_on_its_own():
    truth, guess = [["factual"], ["factual", "scope"], []], [["factual"], ["scope"], ["scope"]]
    found = per_label(truth, guess, LABELS)
    assert found["factual"].detail["recall"] == 0.5
    assert found["scope"].detail["precision"] == 0.5
    assert found["scope"].detail["accuracy"] == pytest.approx(2 / 3)
    kappas = kappa_per_label(truth, guess, LABELS)
    assert kappas["factual"].value == pytest.approx(0.4)
    assert kappas["scope"].n == 3


def test_what_was_never_true_nor_predicted_has_no_f1():
    found = precision_recall_f1(0, 0, 0, 9)
    assert found.value is None and found.reason
    assert found.detail["accuracy"] == 1.0
    assert precision_recall_f1(0, 2, 0).detail["recall"] is None


def test_two_empty_sets_agree():
    found = label_set_agreement([[], ["scope"]], [[], ["factual"]], LABELS)
    assert found.detail == {"mean_jaccard": 0.5, "exact_match": 0.5}
    assert label_set_agreement([], [], LABELS).reason == "no_observations"


def test_an_unknown_label_is_refused_by_name():
    with pytest.raises(ValueError, match="'logical' is not one of the labels"):
        label_set_agreement([["logical"]], [[]], LABELS)
