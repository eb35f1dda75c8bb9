"""Paired comparisons: against libraries and loops, Holm's families, and as runs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from benchmark.records import FORK_TYPES
from scoring import comparisons, runs
from scoring.models import Run
from scoring.onset_sums import OnsetRow, figures_of, tabled
from scoring.paired_comparisons import compare, compare_all, compare_pairs, draws
from scoring.paired_scores import compare_scores
from scoring.significance import holm

TAUS = (-1.0, -2 / 3, -1 / 3, 0.0, 1 / 3, 2 / 3, 1.0)


def drawn_units(seed, sources=40, shift=0.0):
    rng = np.random.default_rng(seed)
    return {
        (f"source {i}", name): float(np.clip(rng.choice(TAUS) + shift, -1, 1))
        for i in range(sources)
        for name in FORK_TYPES
    }


def by_place(found):
    return {(row.second, row.group): row.estimate for row in found}


# -- the pure part -----------------------------------------------------------------------------


def test_a_row_holds_what_the_libraries_say():
    units = {"ours": drawn_units(1, shift=0.4), "base": drawn_units(2)}
    row = by_place(compare(units, "ours", resamples=200))["base", "GR"]
    keys = [key for key in units["ours"] if key[1] == "GR"]
    steps = np.round([units["ours"][key] - units["base"][key] for key in keys], 9)
    assert (row.n, row.value) == (40, pytest.approx(steps.mean()))
    ranks = stats.wilcoxon(steps, alternative="greater")
    assert row.detail["w"] == ranks.statistic
    student = stats.ttest_1samp(steps, 0, alternative="greater")
    assert row.detail["t"] == pytest.approx(student.statistic)
    assert row.detail["t_p"] == pytest.approx(student.pvalue)
    assert row.detail["ties"] == pytest.approx((steps == 0).mean())
    peer = stats.bootstrap((steps,), np.mean, method="percentile", rng=1)
    assert row.ci == pytest.approx(tuple(peer.confidence_interval), abs=0.05)


def test_all_pools_the_units_and_its_clusters_are_sources():
    units = {"ours": drawn_units(1, shift=0.4), "base": drawn_units(2)}
    found = by_place(compare(units, "ours", resamples=400))
    pooled = found["base", "all"]
    types = [found["base", name] for name in FORK_TYPES]
    assert pooled.n == sum(row.n for row in types) == 160
    assert pooled.value == pytest.approx(np.mean([row.value for row in types]))
    assert pooled.detail["clusters"] == 40
    assert types[0].detail["cluster_ci"] == list(types[0].ci)


def test_types_of_one_source_that_move_together_widen_the_interval_over_sources():
    rng = np.random.default_rng(0)
    shared = {i: float(rng.normal()) for i in range(60)}
    ours = {(i, name): value for i, value in shared.items() for name in FORK_TYPES}
    base = dict.fromkeys(ours, 0.0)
    row = by_place(compare({"ours": ours, "base": base}, "ours", resamples=2000))["base", "all"]
    low, high = row.detail["cluster_ci"]
    assert (high - low) / (row.ci[1] - row.ci[0]) == pytest.approx(2.0, rel=0.1)


def test_holm_corrects_over_the_other_runs_within_each_test_and_group():
    units = {"ours": drawn_units(1, shift=0.2)} | {n: drawn_units(n) for n in range(2, 6)}
    found = by_place(compare(units, "ours", resamples=10))
    for group in (*FORK_TYPES, "all"):
        rows = [found[n, group].detail for n in range(2, 6)]
        for p, adjusted in (("p", "holm_p"), ("t_p", "t_holm_p")):
            assert [row[adjusted] for row in rows] == holm([row[p] for row in rows])
        assert {row["family"] for row in rows} == {4}


def test_all_pairs_are_one_family_and_both_sides_count():
    units = {n: drawn_units(n, shift=n / 10) for n in range(4)}
    found = [row for row in compare_all(units, resamples=10) if row.group == "all"]
    assert [(row.first, row.second) for row in found] == [
        (0, 1),
        (0, 2),
        (0, 3),
        (1, 2),
        (1, 3),
        (2, 3),
    ]
    assert {row.estimate.detail["family"] for row in found} == {6}
    turned = by_place(compare_pairs(units, [(1, 0)], alternative="two-sided", resamples=10))[
        0, "all"
    ]
    assert turned.detail["p"] == pytest.approx(found[0].estimate.detail["p"])
    assert turned.value == pytest.approx(-found[0].estimate.value)


def test_equal_runs_have_undefined_tests_with_their_reasons():
    units = {"ours": drawn_units(1), "base": drawn_units(1)}
    row = by_place(compare(units, "ours", resamples=10))["base", "WIC"]
    assert (row.value, row.ci, row.detail["ties"]) == (0.0, (0.0, 0.0), 1.0)
    assert (row.detail["p"], row.detail["holm_p"]) == (None, None)
    assert row.detail["reasons"] == {
        "wilcoxon": "all_differences_zero",
        "t": "zero_variance_of_differences",
    }


def test_units_that_one_run_lacks_are_counted_and_left_out():
    ours, base = drawn_units(1), drawn_units(2)
    for i in range(5):
        del base[f"source {i}", "GR"]
    found = by_place(compare({"ours": ours, "base": base}, "ours", resamples=50))
    assert (found["base", "GR"].n, found["base", "GR"].detail["unpaired"]) == (35, 5)
    assert found["base", "WIC"].n == 40
    nothing = by_place(compare({"ours": ours, "none": {}}, "ours", resamples=50))["none", "all"]
    assert (nothing.value, nothing.n) == (None, 0)
    assert nothing.reason == "no unit has a value in both runs"
    assert nothing.detail["holm_p"] is None


def test_every_source_and_type_of_the_published_corpus_is_one_of_8536_pairs():
    units = {"FlowScore": drawn_units(1, 2134, 0.3), "Mean": drawn_units(2, 2134)}
    found = by_place(compare(units, "FlowScore", resamples=20))
    assert found["Mean", "all"].n == 8536
    assert found["Mean", "all"].detail["clusters"] == 2134
    # The sum of positive ranks lies between those of no and of all differences.
    n = found["Mean", "all"].detail["n_eff"]
    assert 0 < found["Mean", "all"].detail["w"] < n * (n + 1) / 2


@given(st.integers(1, 30), st.integers(1, 40), st.integers(0, 9))
@settings(max_examples=25)
def test_draws_are_whole_resamples_and_repeat_with_their_seed(n, resamples, seed):
    found = np.concatenate(list(draws(n, resamples, seed)))
    assert found.shape == (resamples, n)
    assert (found.sum(axis=1) == n).all() and (found >= 0).all()
    assert (found == np.concatenate(list(draws(n, resamples, seed)))).all()


# -- the score of task 3 -----------------------------------------------------------------------


def answers(seed, wrong, sources=30):
    """Four forks and one conformant dialogue per source; `wrong` of the answers are off."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(sources):
        for k, name in enumerate(FORK_TYPES, start=1):
            truth = 2 * k + 1
            answer = truth + 4 if rng.random() < wrong else truth
            rows.append(OnsetRow(f"s{i}", "flow", name, k, truth, 1, 15, answer))
        calm = 9 if rng.random() < wrong else None
        rows.append(OnsetRow(f"s{i}", "flow", "", 0, 16, 1, 15, calm))
    return rows


def test_the_better_detector_is_ahead_by_its_score():
    rows = {"ours": answers(1, 0.1), "base": answers(2, 0.6)}
    (found,) = compare_scores(rows, "ours", resamples=300)
    scores = [float(figures_of(tabled(rows[name])).score()) for name in ("ours", "base")]
    assert found.estimate.value == pytest.approx(scores[0] - scores[1])
    low, high = found.estimate.ci
    assert 0 < low < found.estimate.value < high
    assert found.estimate.detail["p"] == found.estimate.detail["holm_p"] == 1 / 301
    assert (found.estimate.n, found.estimate.detail["clusters"]) == (150, 30)
    assert found.estimate.detail["figures"]["false_alarms"]["value"] < 0
    (turned,) = compare_scores(rows, "base", resamples=300)
    assert turned.estimate.value == pytest.approx(-found.estimate.value)
    assert turned.estimate.detail["p"] == 1.0


def test_only_dialogues_that_both_could_judge_are_compared():
    rows = {"ours": answers(1, 0.1), "base": answers(2, 0.6)}
    rows["base"][0] = rows["base"][0]._replace(answer=None, reason="no vector")
    (found,) = compare_scores(rows, "ours", resamples=20)
    assert (found.estimate.n, found.estimate.detail["unpaired"]) == (149, 1)
    nothing = [row._replace(answer=None, reason="no vector") for row in rows["ours"]]
    (found,) = compare_scores({"ours": rows["ours"], "none": nothing}, "ours", resamples=20)
    assert (found.estimate.value, found.estimate.detail["holm_p"]) == (None, None)
    assert found.estimate.reason.startswith("the two runs have no score")


# -- as runs -----------------------------------------------------------------------------------


def done(kind, corpus, parameters):
    return runs.work_through(runs.start(kind, [corpus], parameters))


@pytest.fixture
def distances(corpus, forked):
    return [
        done("task2", forked, {"method": method, "encoder": "lexical"})
        for method in ("discounted_alignment", "flow_score", "turn_difference")
    ]


def test_a_comparison_has_a_row_per_type_and_other_run(forked, distances):
    ours, *others = distances
    asked = {
        "task": "task2",
        "reference": ours.digest,
        "baselines": [run.pk for run in distances],
    }
    run = done("comparison", forked, asked)
    assert run.parameters["baselines"] == [other.pk for other in others]
    rows = {row.group: row for row in run.results.all()}
    groups = (*FORK_TYPES, "all")
    assert set(rows) == {f"{name}|{other.pk}" for name in groups for other in others}
    units = {each.pk: comparisons.fork_units(each) for each in distances}
    for row in compare(units, ours.pk):
        stored = rows[f"{row.group}|{row.second}"]
        assert stored.statistic == "difference"
        assert stored.value == pytest.approx(row.estimate.value)
        assert stored.n == row.estimate.n
        assert stored.detail["holm_p"] == row.estimate.detail["holm_p"]
        taus = [each.results.get(group=row.group, workflow="").value for each in distances]
        assert stored.value == pytest.approx(
            taus[0]
            - taus[distances.index(next(each for each in distances if each.pk == row.second))]
        )
    again = runs.start("comparison", [forked], asked)
    assert (again.pk, again.state) == (run.pk, Run.State.DONE)


def test_the_digest_of_a_comparison_covers_those_of_the_runs(forked, distances):
    asked = {"task": "task2", "reference": distances[0].pk, "baselines": [distances[1].pk]}
    described = comparisons.parameters(asked)
    assert described["digests"] == {str(run.pk): run.digest for run in distances[:2]}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"task": "task9"}, "task is 'task9'; it must be one of task1, task2, task3"),
        ({"task": "task1"}, "is of kind task2, not of task1"),
        ({"reference": 10**6}, "reference holds 1000000, which is no run"),
        ({"reference": True}, "it must be the number or digest of a run"),
        ({"baselines": []}, "needs 1 to 100 other runs beside the reference, not 0"),
        ({"baselines": "all"}, "it must be a list of runs"),
        ({"method": "t"}, "a comparison has no setting 'method'"),
        ({"bootstrap_seed": -1}, "bootstrap_seed is -1; it must lie between 0"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_a_sentence(forked, distances, changed, sentence):
    asked = {"task": "task2", "reference": distances[0].pk, "baselines": [distances[1].pk]}
    with pytest.raises(ValueError, match=sentence):
        runs.start("comparison", [forked], asked | changed)


def test_runs_that_are_not_done_or_over_other_dialogues_are_refused(forked, distances):
    open_run = runs.start("task2", [forked], {"method": "random"})
    asked = {"task": "task2", "reference": distances[0].pk}
    with pytest.raises(ValueError, match=f"run {open_run.pk} is waiting; it must be done"):
        comparisons.parameters(asked | {"baselines": [open_run.pk]})
    other = distances[1]
    other.parameters["content"] = "before"
    other.save()
    with pytest.raises(ValueError, match="have other dialogues; only runs over the same"):
        comparisons.parameters(asked | {"baselines": [other.pk]})


def test_a_comparison_over_dialogues_that_changed_since_fails_with_the_reason(forked, distances):
    forked.dialogues.update(split="test")
    asked = {"task": "task2", "reference": distances[0].pk, "baselines": [distances[1].pk]}
    with pytest.raises(runs.RunFailed, match="changed since the runs were scored"):
        done("comparison", forked, asked)


def test_methods_of_task_one_are_compared_with_both_sides_and_in_pairs(forked):
    fits = [done("task1", forked, {"method": m}) for m in ("turn_count", "word_count", "random")]
    asked = {"task": "task1", "reference": fits[0].pk, "baselines": [fits[1].pk, fits[2].pk]}
    run = done("comparison", forked, asked)
    pooled = run.results.get(statistic="difference", group=f"all|{fits[1].pk}")
    assert (pooled.n, pooled.detail["alternative"]) == (4, "two-sided")
    pairs = run.results.filter(statistic="pair", group__startswith="all|")
    assert {row.group for row in pairs} == {
        f"all|{a.pk}|{b.pk}"
        for a, b in ((fits[0], fits[1]), (fits[0], fits[2]), (fits[1], fits[2]))
    }
    assert {row.detail["family"] for row in pairs if row.detail["p"] is not None} <= {1, 2, 3}


def test_detectors_are_compared_by_their_score(forked):
    fits = [
        done("task3", forked, {"method": m}) for m in ("first_turn", "last_turn", "random_turn")
    ]
    asked = {"task": "task3", "reference": fits[2].pk, "baselines": [fits[0].pk, fits[1].pk]}
    run = done("comparison", forked, asked)
    assert {row.group for row in run.results.all()} == {f"all|{fit.pk}" for fit in fits[:2]}
    scores = {fit.pk: fit.results.get(statistic="score", workflow="").value for fit in fits}
    for row in run.results.all():
        other = int(row.group.split("|")[1])
        assert row.value == pytest.approx(scores[fits[2].pk] - scores[other])
