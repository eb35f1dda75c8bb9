"""`manage.py score_corpus`: the foreground command."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command

from benchmark.models import Corpus, Fork
from scoring import leases, runs
from scoring.methods import METHODS
from scoring.models import Run
from scoring.views.asking import Asked, wanted


def score(capsys, *args):
    call_command("score_corpus", *args)
    return capsys.readouterr().out


def as_json(capsys, *args):
    return json.loads(score(capsys, *args, "--json").splitlines()[-1])


def test_the_last_line_is_the_promised_object(corpus, forked, capsys):
    found = as_json(
        capsys, "small-forks", "--task", "2", "--encoder", "lexical", "--method", "flow_score"
    )
    assert list(found) == ["run", "task", "method", "encoder", "rows"]
    assert (found["task"], found["method"], found["encoder"]) == (2, "flow_score", "lexical")
    assert [row["type"] for row in found["rows"]] == ["WIC", "SSPC", "GR", "CSC", "all"]
    for row in found["rows"]:
        assert list(row) == ["type", "value", "n", "skipped", "ci"]
        assert row["ci"][0] <= row["value"] <= row["ci"][1]


def test_a_second_call_shows_the_same_run(corpus, forked, capsys):
    args = ["small-forks", "--encoder", "lexical", "--method", "mean"]
    assert as_json(capsys, *args) == as_json(capsys, *args)
    assert Run.objects.count() == 1


def test_an_undefined_value_is_null_with_its_reason(corpus, forked, capsys):
    Fork.objects.filter(type="GR", k=4).delete()
    found = as_json(capsys, "small-forks", "--encoder", "lexical")
    row = next(row for row in found["rows"] if row["type"] == "GR")
    assert (row["value"], row["ci"], row["n"], row["skipped"]) == (None, None, 0, 4)
    assert "four forks" in row["reason"]


def test_methods_without_an_encoder_name_none(corpus, forked, capsys):
    found = as_json(capsys, "small-forks", "--method", "shared_prefix")
    assert found["encoder"] is None
    assert found["rows"][-1]["value"] == pytest.approx(1.0)


def test_surprisal_of_every_turn(corpus, forked, capsys):
    found = as_json(capsys, "small-forks", "--task", "turns", "--encoder", "lexical")
    assert (found["task"], found["method"]) == ("turns", "surprisal")
    assert {row["type"] for row in found["rows"]} >= {"conformant, test half", "WIC"}


def test_words_for_people(corpus, forked, capsys):
    out = score(capsys, "small-forks", "--encoder", "lexical")
    assert "flow_score, encoder lexical-1" in out
    assert "n=4  skipped=0" in out


def test_it_takes_up_what_another_process_left(corpus, forked, capsys):
    run = runs.start("task2", [forked], {"method": "mean", "encoder": "lexical"})
    leases.claim(run.chunks.first().pk)
    run.chunks.update(token="elsewhere.1.0123abcd:ff", lease_until="2020-01-01T00:00:00Z")
    found = as_json(capsys, "small-forks", "--encoder", "lexical", "--method", "mean")
    assert (found["run"], found["rows"][-1]["n"]) == (run.pk, 16)


def test_in_the_background_the_parts_wait_for_a_worker(corpus, forked, capsys):
    out = score(capsys, "small-forks", "--encoder", "lexical", "--background")
    run = Run.objects.get()
    assert run.state == Run.State.QUEUED
    assert run.chunks.waiting().count() == 1
    assert f"/runs/{run.pk}/" in out


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["nowhere"], "There is no corpus 'nowhere'"),
        (["small"], "There is no fork in small"),
        (["small-forks", "--method", "bleu"], "it must be one of"),
        (["small-forks", "--encoder", "word2vec"], "'word2vec' is not known"),
        (["small-forks", "--method", "mean", "--same-role"], "no setting 'same_role'"),
        (["small-forks", "--task", "turns", "--method", "mean"], "the one method surprisal"),
        (["small-forks", "--task", "turns", "--threshold", "3"], "above 0 and up to 2"),
        (["small-forks", "--chunk-size", "0"], "at least 1"),
        (["small-forks", "--method", "random", "--seed", "-1"], "--seed must be 0 or more"),
        (["small-forks", "--set", "alpha"], "write NAME=VALUE"),
        (["small-forks", "--set", "alpha=1"], "none of the chosen methods has this setting"),
        (["small-forks", "--set", "matching=best"], "must be one of greedy, assignment"),
        (["small-forks", "--set", "same_role=maybe"], "must be true or false"),
        (["small-forks", "--task", "3", "--set", "alpha=much"], "alpha is 'much'"),
        (["small-forks", "--task", "1", "--method", "mean"], "must be one of fbd"),
        (["small-forks", "--all", "--method", "mean"], "--all takes every method"),
    ],
)
def test_bad_input_ends_with_a_sentence(corpus, forked, args, sentence):
    with pytest.raises(CommandError, match=sentence):
        call_command("score_corpus", *args)


def test_weights_that_are_not_here_are_said_at_once(corpus, forked, monkeypatch, tmp_path):
    monkeypatch.setattr("scoring.sentence_encoders._hub_cache", lambda: tmp_path)
    with pytest.raises(CommandError, match="pull_encoder labse"):
        call_command("score_corpus", "small-forks", "--encoder", "labse")


def test_several_methods_and_encoders_are_several_runs(corpus, forked, capsys):
    args = ["small-forks", "--encoder", "lexical", "--method", "mean", "--method", "random"]
    found = as_json(capsys, *args, "--seed", "3")
    assert [(row["method"], row["encoder"]) for row in found["runs"]] == [
        ("mean", "lexical"),
        ("random", None),
    ]
    seeds = {run.parameters["method"]: run.parameters["settings"] for run in Run.objects.all()}
    assert seeds == {"mean": {}, "random": {"seed": 3}}


def test_settings_go_to_the_methods_that_have_them(corpus, forked, capsys):
    args = ["small-forks", "--task", "3", "--encoder", "lexical"]
    args += ["--method", "ngram_it", "--method", "novelty", "--method", "first_turn"]
    found = as_json(
        capsys, *args, "--set", "order=2", "--set", "node-confidence=true", "--set", "alpha=0.2"
    )
    given = {run.parameters["method"]: run.parameters["settings"] for run in Run.objects.all()}
    assert given["ngram_it"]["order"] == 2 and given["ngram_it"]["node_confidence"] is True
    assert given["ngram_it"]["alpha"] == given["novelty"]["alpha"] == 0.2
    assert given["first_turn"] == {}
    statistics = {row["statistic"] for row in found["runs"][0]["rows"]}
    assert {"error", "coverage", "exact_hit", "false_alarms", "score"} <= statistics


def test_all_methods_of_a_task_are_compared_at_the_end(corpus, forked, capsys):
    found = as_json(capsys, "small-forks", "--task", "2", "--all", "--encoder", "lexical")
    *scored, compared = found["runs"]
    assert {row["method"] for row in scored} == set(METHODS["task2"])
    assert compared["task"] == "comparison"
    run = Run.objects.get(kind="comparison")
    reference = Run.objects.get(parameters__method="discounted_alignment")
    assert run.parameters["reference"] == reference.pk
    assert len(run.parameters["baselines"]) == len(METHODS["task2"]) - 1
    words = score(capsys, "small-forks", "--task", "2", "--all", "--encoder", "lexical")
    assert words.count("there already") == len(METHODS["task2"]) + 1


def test_all_without_a_task_means_all_three():
    asked = Asked(None, [], ["lexical"], everything=True)
    found = list(wanted(Corpus(slug="small"), asked))
    kinds = {(each.kind, each.parameters["method"]) for each in found}
    assert kinds == {(kind, name) for kind, methods in METHODS.items() for name in methods}
