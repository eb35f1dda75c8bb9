"""`manage.py score_corpus`: the foreground command."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command

from benchmark.models import Fork
from scoring import leases, runs
from scoring.models import Run


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
    ],
)
def test_bad_input_ends_with_a_sentence(corpus, forked, args, sentence):
    with pytest.raises(CommandError, match=sentence):
        call_command("score_corpus", *args)


def test_weights_that_are_not_here_are_said_at_once(corpus, forked, monkeypatch, tmp_path):
    monkeypatch.setattr("scoring.sentence_encoders._hub_cache", lambda: tmp_path)
    with pytest.raises(CommandError, match="pull_encoder labse"):
        call_command("score_corpus", "small-forks", "--encoder", "labse")
