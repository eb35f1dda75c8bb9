"""`POST /api/runs`: the one write of the API, refused with the right number for anything odd."""

from __future__ import annotations

import json

import pytest
from django.core.cache import cache
from django.test import Client

from scoring.encoders import EncoderUnavailable
from scoring.models import Run

FLOW_SCORE = {
    "kind": "task2",
    "corpora": ["small-forks"],
    "parameters": {"method": "flow_score", "encoder": "lexical"},
}
DEEP = "[" * 5000 + "]" * 5000
HUGE = "1" * 5000


@pytest.fixture(autouse=True)
def no_requests_yet(db):
    cache.clear()


@pytest.fixture
def inside(client, researcher, forked):
    client.force_login(researcher)
    client.raise_request_exception = False
    return client


def ask(client, body, url="/api/runs"):
    text = body if isinstance(body, (str, bytes)) else json.dumps(body)
    return client.post(url, text, content_type="application/json")


def altered(**changes):
    return {**FLOW_SCORE, **changes}


def with_parameters(**given):
    return altered(parameters={**FLOW_SCORE["parameters"], **given})


@pytest.mark.parametrize("url", ["/api/runs", "/api/runs/"])
def test_a_run_is_started_once_and_then_shown(inside, researcher, url):
    first = ask(inside, FLOW_SCORE, url)
    assert first.status_code == 201, first.content
    run = Run.objects.get()
    assert (run.kind, run.started_by, run.state) == ("task2", researcher, Run.State.QUEUED)
    row = first.json()
    assert row["id"] == run.pk and row["total"] == 64 and row["done"] == 0
    assert row["parameters"]["settings"] == {"matching": "greedy", "same_role": False}
    assert first.headers["Location"].endswith(f"/api/runs/{run.pk}/")
    again = ask(inside, FLOW_SCORE, url)
    assert again.status_code == 200 and again.json()["id"] == run.pk
    assert Run.objects.count() == 1


def test_a_cancelled_run_goes_on(inside):
    ask(inside, FLOW_SCORE)
    Run.objects.update(state=Run.State.CANCELLED)
    again = ask(inside, FLOW_SCORE)
    assert again.status_code == 200 and again.json()["state"] == "queued"


WRONG = [
    (altered(kind="task9"), "kind", "not a valid choice"),
    (altered(kind=["task2"]), "kind", "not a valid choice"),
    (altered(kind=None), "kind", "may not be null"),
    (altered(corpora=[]), "corpora", "at least 1"),
    (altered(corpora="small-forks"), "corpora", "list of items"),
    (altered(corpora=[{"slug": "small"}]), "corpora", "valid"),
    (altered(corpora=["a\x00b"]), "corpora", "valid"),
    (altered(corpora=["small"] * 30), "corpora", "no more than 20"),
    (altered(corpora=["small"]), "parameters", "There is no fork in small"),
    (altered(parameters=[1]), "parameters", "dictionary"),
    (altered(parameters={f"a{i}": 1 for i in range(50)}), "parameters", "At most 40"),
    (altered(extra=1), "extra", "does not exist; there are kind, corpora, parameters"),
    (with_parameters(method="bleu"), "parameters", "must be one of flow_score"),
    (with_parameters(method=["mean"]), "parameters", "must be one of"),
    (with_parameters(method="a\x00b"), "parameters", "NUL"),
    (with_parameters(encoder="word2vec"), "parameters", "is not known"),
    (with_parameters(encoder=["lexical"]), "parameters", "encoder must be a text"),
    (with_parameters(matching="best"), "parameters", "must be one of greedy, assignment"),
    (with_parameters(same_role="yes"), "parameters", "must be true or false"),
    (with_parameters(theta=1), "parameters", "has no setting 'theta'"),
    (with_parameters(bootstrap_seed=-1), "parameters", "bootstrap_seed is -1"),
    (with_parameters(bootstrap_seed=1.5), "parameters", "must be a whole number"),
    (with_parameters(bootstrap_seed=True), "parameters", "must be a whole number"),
    (with_parameters(bootstrap_seed=2**70), "parameters", "64 bits"),
    (with_parameters(a=[[[[[[1]]]]]]), "parameters", "lists in lists"),
    (with_parameters(a="\ud800"), "parameters", "surrogate"),
    (altered(kind="surprisal", parameters={"threshold": "x"}), "parameters", "a number"),
    (altered(kind="surprisal", parameters={"threshold": 9}), "parameters", "between"),
    (altered(kind="surprisal", parameters={"bootstrap_seed": []}), "parameters", "whole"),
    (altered(kind="comparison", parameters={}), "parameters", ""),
    (altered(kind="comparison", parameters={"reference": {}}), "parameters", ""),
    ([FLOW_SCORE], "non_field_errors", "dictionary"),
    ("{", "detail", "JSON parse error"),
    (DEEP, "detail", "nested too deeply"),
    ('{"kind": NaN}', "detail", "JSON parse error"),
    (f'{{"kind": {HUGE}}}', "detail", "JSON parse error"),
    (b"\xff\xfe", "detail", "JSON parse error"),
]


def test_what_is_wrong_is_named_and_nothing_is_started(inside, monkeypatch):
    monkeypatch.setattr("scoring.api.StartThrottle.rate", "1000/min")
    for body, field, words in WRONG:
        refused = ask(inside, body)
        assert refused.status_code == 400, (field, words, refused.content)
        assert words in json.dumps(refused.json()[field]), (words, refused.content)
    assert not Run.objects.exists()


def test_an_unknown_corpus_is_not_found(inside):
    refused = ask(inside, altered(corpora=["nowhere"]))
    assert refused.status_code == 404
    assert refused.json() == {"detail": "There is no corpus 'nowhere'."}


def test_weights_that_are_not_here_are_a_conflict(inside, monkeypatch):
    def away(*args, **kwargs):
        raise EncoderUnavailable("Fetch the weights first.")

    monkeypatch.setattr("scoring.runs.start", away)
    refused = ask(inside, FLOW_SCORE)
    assert refused.status_code == 409 and refused.json()["detail"] == "Fetch the weights first."


def test_a_long_body_and_another_type_are_refused(inside):
    assert ask(inside, with_parameters(method="x" * 70_000)).status_code == 413
    form = inside.post("/api/runs", {"kind": "task2"})
    assert form.status_code == 415


def test_too_many_requests_are_told_to_wait(inside, monkeypatch):
    monkeypatch.setattr("scoring.api.StartThrottle.rate", "2/min")
    assert [ask(inside, {}).status_code for _ in range(3)] == [400, 400, 429]
    assert int(ask(inside, {}).headers["Retry-After"]) <= 60
    assert inside.get("/api/runs/").status_code == 200


def test_strangers_annotators_and_other_sites_start_nothing(client, annotator, researcher, forked):
    assert ask(client, FLOW_SCORE).status_code == 403
    client.force_login(annotator)
    assert ask(client, FLOW_SCORE).status_code == 404
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(researcher)
    refused = ask(strict, FLOW_SCORE)
    assert refused.status_code == 403 and "CSRF" in refused.json()["detail"]
    assert not Run.objects.exists()
