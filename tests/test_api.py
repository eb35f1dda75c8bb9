"""The API: closed to annotators, strict JSON, constant cost, a valid schema; runs are started."""

from __future__ import annotations

import json
import math

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from openapi_spec_validator import validate

from scoring.methods import METHODS
from scoring.models import DialogueScore, Run, RunResult
from scoring.serializers import ScoreSerializer
from tests.small import make_corpus, make_trajectory

LISTS = ("corpora", "workflows", "dialogues", "forks", "trajectories", "runs")


@pytest.fixture
def signed_in(client, researcher):
    client.force_login(researcher)
    return client


@pytest.fixture
def run(forked) -> Run:
    run = Run.objects.create(
        kind="task2", corpus=forked, parameters={"method": "mean"}, digest="a" * 64, state="done"
    )
    first, second, *_ = forked.dialogues.order_by("pk")
    DialogueScore.objects.create(run=run, dialogue=first, value=0.25)
    DialogueScore.objects.create(run=run, dialogue=second, reason="the fork has no turn")
    RunResult.objects.create(
        run=run, statistic="tau", group="WIC", value=0.5, n=4, ci_low=0.1, ci_high=0.9
    )
    RunResult.objects.create(run=run, statistic="tau", group="GR", reason="no source", n=0)
    return run


def answer(client, url, **query):
    page = client.get(url, query)
    assert page.status_code == 200, page.content
    return json.loads(page.content, parse_constant=lambda word: pytest.fail(f"{word} in JSON"))


@pytest.mark.parametrize("name", LISTS)
def test_anonymous_people_are_refused_and_annotators_find_nothing(client, annotator, name):
    assert client.get(f"/api/{name}/").status_code == 403
    client.force_login(annotator)
    refused = client.get(f"/api/{name}/")
    assert refused.status_code == 404 and refused.json() == {"detail": "not found"}


@pytest.mark.parametrize("name", LISTS)
def test_nothing_but_a_run_can_be_written(signed_in, name):
    for verb in ("post", "put", "patch", "delete"):
        if (name, verb) == ("runs", "post"):
            continue
        refused = getattr(signed_in, verb)(f"/api/{name}/", "{}", content_type="application/json")
        assert refused.status_code == 405, verb


@pytest.mark.parametrize("name", LISTS)
def test_an_empty_list_is_a_list(signed_in, db, name):
    assert answer(signed_in, f"/api/{name}/")["results"] == []


def test_the_schema_is_valid_and_names_every_list(signed_in, db):
    page = signed_in.get("/api/schema", headers={"Accept": "application/json"})
    assert page.status_code == 200
    schema = json.loads(page.content)
    validate(schema)
    assert {f"/api/{name}/" for name in LISTS} <= set(schema["paths"])
    verbs = {(verb, path) for path, verbs in schema["paths"].items() for verb in verbs}
    assert {each for each in verbs if each[0] != "get"} == {("post", "/api/runs/")}
    described = schema["paths"]["/api/runs/"]["post"]["description"]
    for kind, methods in METHODS.items():
        assert f"**{kind}**" in described
        assert all(f"`{name}`" in described for name in methods)


def test_the_schema_is_made_without_a_warning(signed_in, db, capfd):
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", "/dev/null")
    assert "Warning" not in capfd.readouterr().err


def test_the_schema_is_closed_to_others(client, annotator):
    assert client.get("/api/schema").status_code == 403
    client.force_login(annotator)
    assert client.get("/api/schema").status_code == 404


def test_the_root_is_json_for_programs_and_a_page_for_people(signed_in, db):
    assert set(answer(signed_in, "/api/")) == {*LISTS, "schema"}
    page = signed_in.get("/api/", headers={"Accept": "text/html"}).content.decode()
    assert "<h1>API</h1>" in page and "/api/dialogues/" in page


def test_a_dialogue_comes_with_its_turns_and_forks(signed_in, forked):
    dialogue = forked.dialogues.get(external_id="table_book-1.CSC.4")
    row = answer(signed_in, f"/api/dialogues/{dialogue.pk}/")
    fork = dialogue.forks.get()
    assert [turn["number"] for turn in row["turns"]] == list(range(1, 13))
    assert row["forks"][0]["type"] == "CSC" and row["forks"][0]["fork_turn"] == fork.fork_turn
    assert row["conformant"] is False and row["corpus"] == forked.slug


def test_a_workflow_comes_with_its_steps_and_moves(signed_in, corpus):
    row = answer(signed_in, f"/api/workflows/{corpus.workflows.get().pk}/")
    assert row["steps"][0]["key"] == "greet"
    assert row["transitions"][0] == {
        "position": 1,
        "source": "greet",
        "target": "ask_name",
        "observation": "",
    }


def test_a_trajectory_comes_with_its_steps(signed_in, corpus):
    run = make_trajectory(corpus)
    row = answer(signed_in, f"/api/trajectories/{run.pk}/")
    assert [step["position"] for step in row["steps"]] == [1, 2]


def test_filters_narrow_and_refuse_what_they_do_not_know(signed_in, forked):
    def count(**query):
        return len(answer(signed_in, "/api/dialogues/", page_size=200, **query)["results"])

    assert count(corpus="small") == 4 and count(corpus=forked.slug) == 64
    assert count(type="GR", k="2") == 4 and count(conformant="true") == 4
    assert count(conformant="null") == 0 and count(split="test") == 2
    for query in ({"type": "XX"}, {"k": "two"}, {"conformant": "maybe"}, {"split": "all"}):
        refused = signed_in.get("/api/dialogues/", query)
        assert refused.status_code == 400 and list(refused.json()) == list(query)


def test_pages_cover_every_row_once(signed_in, db):
    make_corpus("many", n=130)
    url, seen = "/api/dialogues/", []
    while url:
        page = answer(signed_in, url)
        seen += [row["external_id"] for row in page["results"]]
        url = page["next"]
    assert len(seen) == 130 == len(set(seen))


def test_a_broken_cursor_is_404_and_not_a_fault(signed_in, corpus):
    assert signed_in.get("/api/dialogues/?cursor=x").status_code == 404


def test_behind_a_proxy_addresses_begin_as_the_visitors_did(signed_in, db, settings):
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    links = signed_in.get("/api/", HTTP_X_FORWARDED_PROTO="https").json()
    assert links["corpora"].startswith("https://")


def test_what_is_not_there_is_404_in_json(signed_in, db):
    for path in ("corpora/none/", "dialogues/99999/", "runs/99999/scores/", "nothing/"):
        page = signed_in.get(f"/api/{path}")
        assert page.status_code == 404 and "detail" in page.json()


def test_an_undefined_score_is_null_with_a_reason(signed_in, run):
    defined, undefined = answer(signed_in, f"/api/runs/{run.pk}/scores/")["results"]
    assert (defined["value"], defined["status"], defined["reason"]) == (0.25, "defined", "")
    assert undefined["value"] is None and undefined["status"] == "undefined"
    assert undefined["reason"] == "the fork has no turn"


def test_a_run_comes_with_its_results(signed_in, run):
    row = answer(signed_in, f"/api/runs/{run.pk}/")
    wic, gr = row["results"]
    assert wic["ci"] == [0.1, 0.9] and wic["n"] == 4
    assert gr["value"] is None and gr["reason"] == "no source" and gr["ci"] is None


def test_a_number_that_json_cannot_hold_is_null_with_a_reason():
    row, serializer = DialogueScore(value=math.nan), ScoreSerializer()
    assert serializer.get_value(row) is None
    assert serializer.get_status(row) == "undefined"
    assert "not a finite number" in serializer.get_reason(row)


@pytest.mark.parametrize("name", LISTS)
def test_a_list_costs_the_same_with_more_rows(signed_in, forked, name):
    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            answer(signed_in, f"/api/{name}/")
        return len(captured)

    make_trajectory(forked)
    few = statements()
    make_corpus("more", n=30)
    for i in range(20):
        make_trajectory(forked, f"again-{i}")
        Run.objects.create(kind="task2", corpus=forked, parameters={}, digest=f"{i:064d}")
    assert statements() == few <= 8
