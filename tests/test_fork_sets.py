"""Task 1 as a run: sets against the conformant dialogues, rows stored, figures per type."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark.models import Corpus, Dialogue, Fork, Workflow
from scoring import fork_sets, runs
from scoring.models import Calibration, DialogueScore, FlowGraph, RunResult, SetDistance
from scoring.set_distances import frechet, pair_vectors
from scoring.set_measures import METHODS, Member, measure
from scoring.turn_vectors import DialogueVectors
from tests.small import make_corpus, make_forks

pytestmark = pytest.mark.django_db
SETTINGS = {"prd": {"rounds": 2, "clusters": 5}}


def scored(corpora, method, **given):
    parameters = {"method": method, "encoder": "lexical", **SETTINGS.get(method, {}), **given}
    if method in ("turn_count", "word_count", "random"):
        parameters.pop("encoder")
    return runs.work_through(runs.start("task1", corpora, parameters))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_measures_sixteen_sets_per_workflow(forked, method):
    run = scored([forked], method)
    rows = SetDistance.objects.filter(run=run)
    assert {(row.type, row.k) for row in rows} == {
        (type_, k) for type_ in ("WIC", "SSPC", "GR", "CSC") for k in (1, 2, 3, 4)
    }
    assert all((row.value is None) == bool(row.reason) for row in rows)
    assert all(row.detail["reference"] == row.detail["candidates"] == 4 for row in rows)
    groups = {(r.statistic, r.group) for r in run.results.filter(workflow="")}
    assert {("tau", "all"), ("exact_recovery", "WIC"), ("fisher_p", "all")} <= groups
    assert run.results.filter(workflow="table_book", statistic="tau").count() == 5


def test_earlier_forks_make_sets_that_lie_farther(forked):
    run = scored([forked], "fbd")
    found = RunResult.objects.get(run=run, statistic="tau", group="all", workflow="")
    assert found.value == 1.0 and found.n == 4
    assert found.ci_low is None, "one workflow has no spread over workflows"
    assert found.detail["source_ci"] is None and found.detail["source_ci_reason"]
    exact = RunResult.objects.get(run=run, statistic="exact_recovery", group="all", workflow="")
    assert exact.value == 1.0 and exact.detail["chance"] == pytest.approx(1 / 24)
    p = RunResult.objects.get(run=run, statistic="fisher_p", group="all", workflow="")
    assert 0 < p.value < 0.002 and p.n == 4


def test_likelihoods_graph_and_resampled_taus_are_kept_with_the_run(forked):
    run = scored([forked], "flow_kl")
    assert DialogueScore.objects.filter(run=run).count() == 4 + 64
    assert FlowGraph.objects.get(run=run).graph["dialogues"] == 4
    kept = Calibration.objects.get(run=run).detail["resampled_taus"]
    assert set(kept) == {"WIC", "SSPC", "GR", "CSC"}
    tau = RunResult.objects.get(run=run, statistic="tau", group="WIC", workflow="")
    low, high = tau.detail["source_ci"]
    assert -1 <= low <= high <= 1


def test_counts_are_differences_of_means(forked):
    run = scored([forked], "turn_count")
    assert set(SetDistance.objects.filter(run=run).values_list("value", flat=True)) == {0.0}
    found = RunResult.objects.get(run=run, statistic="tau", group="all", workflow="")
    assert found.value == 0.0, "sets of equal length are not ordered"
    p = RunResult.objects.get(run=run, statistic="fisher_p", group="all", workflow="")
    assert p.value == 1.0


def test_scoring_a_part_again_changes_no_row(forked):
    run = scored([forked], "flow_kl")
    before = list(SetDistance.objects.filter(run=run).order_by("pk").values())
    runs.store(fork_sets.score(run, run.chunks.get().keys))
    assert list(SetDistance.objects.filter(run=run).order_by("pk").values()) == before
    assert FlowGraph.objects.filter(run=run).count() == 1


def test_each_workflow_is_a_part_of_its_own(corpus, forked):
    make_corpus("small", n=2, workflow="room_book")
    make_forks(corpus, into="more-forks")
    both = Corpus.objects.filter(slug__in=["small-forks", "more-forks"])
    run = scored(list(both), "word_count")
    assert [chunk.size for chunk in run.chunks.all()] == [16, 16]
    first = Workflow.objects.get(name="table_book")
    row = SetDistance.objects.get(run=run, workflow=first, type="GR", k=1)
    assert row.detail["candidates"] == 8, "the forks of both corpora are one set"
    found = RunResult.objects.get(run=run, statistic="tau", group="all", workflow="")
    assert found.n == 8 and found.ci_low is not None


def test_forks_of_dialogues_that_are_not_conformant_belong_to_no_set(corpus, forked):
    odd = corpus.dialogues.order_by("pk").first()
    Dialogue.objects.filter(pk=odd.pk).update(conformant=None)
    run = scored([forked], "turn_count")
    row = SetDistance.objects.filter(run=run).first()
    assert row.detail["candidates"] == row.detail["reference"] == 3


def test_a_corpus_without_such_forks_is_refused_with_a_sentence(corpus, forked):
    with pytest.raises(ValueError, match="no fork of a conformant dialogue with a workflow in s"):
        runs.start("task1", [corpus], {"method": "random"})
    Fork.objects.update(ordinal=2)
    with pytest.raises(ValueError, match="no fork of a conformant"):
        runs.start("task1", [forked], {"method": "random"})


def test_unknown_settings_are_refused():
    with pytest.raises(ValueError, match="must be one of fbd, prd"):
        fork_sets.parameters({"method": "other"})
    with pytest.raises(ValueError, match="no setting 'clusters'"):
        fork_sets.parameters({"method": "random", "clusters": 3})
    assert fork_sets.parameters({"method": "random"})["source_resamples"] == 200


def test_the_statements_of_a_part_do_not_grow_with_its_dialogues(
    corpus, forked, django_assert_num_queries
):
    run = runs.start("task1", [forked], {"method": "word_count"})
    with django_assert_num_queries(6):
        fork_sets.score(run, run.chunks.get().keys)
    with django_assert_num_queries(3):
        fork_sets.results(run)


# -- without a database ------------------------------------------------------------------------


def dialogue(*rows):
    roles = tuple(("assistant", "user")[i % 2] for i in range(len(rows)))
    return DialogueVectors(roles, ("a b",) * len(rows), np.array(rows, dtype=float).reshape(-1, 2))


def test_a_distance_is_that_of_the_two_sets():
    usual = [Member(i, dialogue([1, 0], [0, 1], [1, i])) for i in range(3)]
    other = [Member(i, dialogue([1, i], [3, 1], [2, 0])) for i in range(3)]
    found = measure("fbd", {"pairs": "all"}, "flow", usual, {("GR", 1): other})
    pairs = [pair_vectors([m.dialogue for m in members]) for members in (usual, other)]
    assert found.distances["GR", 1].value == frechet(*pairs).value


@pytest.mark.parametrize("method", ["fbd", "prd", "flow_kl", "flow_kl_compat", "word_count"])
def test_empty_and_single_dialogues_are_undefined_with_a_reason_and_never_0(method):
    settings = {"pairs": "all", "clusters": 3, "rounds": 1, "seed": 0, "threshold": 0.5}
    one = [Member(1, dialogue([1, 0], [0, 1], [1, 1]))]
    sets = {("GR", 1): [Member(1, dialogue())], ("GR", 2): [Member(1, dialogue([0, 1], [1, 0]))]}
    found = measure(method, settings, "flow", one, sets).distances
    assert found["GR", 1].value is None
    assert found["GR", 1].reason in {
        "fewer_than_two_pairs",
        "no_pairs",
        "no_observations",
        "fewer_than_two_observations",
    }
    assert (found["GR", 2].value is None) == (method in ("fbd", "flow_kl_compat"))
    if method not in ("fbd", "prd"):
        assert found["GR", 1].detail["left_out"] == {"no_scored_turn": 1}


def test_random_numbers_hang_on_names_and_seed_only():
    usual = [Member(1, dialogue([1, 0]))]
    sets = {("GR", 1): usual, ("WIC", 4): usual}
    there = measure("random", {"seed": 1}, "flow", usual, sets).distances
    alone = measure("random", {"seed": 1}, "flow", usual, {("WIC", 4): usual}).distances
    assert there["WIC", 4].value == alone["WIC", 4].value != there["GR", 1].value
    other = measure("random", {"seed": 2}, "flow", usual, sets).distances
    assert other["WIC", 4].value != there["WIC", 4].value


def test_a_method_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="must be one of fbd, prd"):
        measure("other", {}, "flow", [], {})
