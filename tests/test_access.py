"""Who may open what. The addresses are walked, so a new page is closed until it says otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import Group
from django.urls import URLPattern, URLResolver, get_resolver

from annotation.enrolment import assign_seat
from benchmark.models import Dialogue
from dialfork_site.roles import ANNOTATORS
from scoring.models import Run
from tests.run_rows import judge_run
from tests.small import make_trajectory
from tests.studies import make_study

OPEN_TO_ANNOTATORS = {
    "home",
    "profile",
    "login",
    "logout",
    "set_language",
    "annotation:guidelines",
    "annotation:item",
    "annotation:rate",
    "annotation:instruction",
    "annotation:prefix",
    "annotation:skip",
    "annotation:problem",
    "annotation:draft",
    "annotation:time",
    "annotation:message-read",
    "annotation:signed-in",
    "annotation:seat",
    "annotation:seat-act",
    "annotation:join",
    "annotation:join-prolific",
    "annotation:join-resume",
    "annotation:join-welcome",
    "annotation:return-to-seat",
    "annotation:withdraw",
    "annotation:withdrawn",
}
# The doors of a study: people come without an account.
DOORS = {
    "annotation:join",
    "annotation:join-prolific",
    "annotation:join-resume",
    "annotation:withdrawn",
}
# Asked by scripts: who is signed out is told so in JSON.
ASKED_BY_SCRIPT = {"annotation:draft", "annotation:time"}
POST_ONLY = {"scoring:cancel-run", "scoring:continue-run"}
OPEN_TO_ALL = {"login", "healthz", "admin:login", "set_language"}


def named(patterns=None, prefix: str = "", space: str = "") -> Iterator[tuple[str, str]]:
    """(name with its namespace, route) of every pattern of the site, the API and the admin."""
    for entry in patterns if patterns is not None else get_resolver().url_patterns:
        route = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            inner = f"{space}{entry.namespace}:" if entry.namespace else space
            yield from named(entry.url_patterns, route, inner)
        elif isinstance(entry, URLPattern):
            yield f"{space}{entry.name}", route


ROUTES = sorted(set(named()))


@pytest.fixture
def addresses(annotator) -> dict[str, str]:
    return every_address(annotator)


def every_address(annotator) -> dict[str, str]:
    """A working address for every named pattern, filled with rows that exist."""
    seat = assign_seat(make_study(), annotator)
    dialogue = Dialogue.objects.filter(forks__isnull=False).first()
    corpus = dialogue.corpus
    make_trajectory(corpus)
    Run.objects.create(kind="task2", corpus=corpus, parameters={}, digest="a" * 64)
    known = {
        "<slug:slug>": corpus.slug,
        "<str:name>": "table_book",
        "<token>": seat.assignments.first().token,
        "<path:object_id>": "1",
        "<path:content_type_id>": "1",
        "<int:content_type_id>": "1",
        "<slug>": seat.study.slug,
        "<pseudonym>": seat.pseudonym,
        "<int:rank>": "1",
        "<step>": "rate",
        "<app_label>": "auth",
        "<id>": "1",
        "<slug:name>": "whole-run",
        "<int:version>": "1",
        "<int:position>": "1",
        "<int:task>": "1",
    }
    filled = {}
    for name, route in ROUTES:
        address = route
        if name == "benchmark:workflow":
            address = address.replace("<slug:slug>", dialogue.workflow.corpus.slug)
        for part, value in known.items():
            address = address.replace(part, str(value))
        if "<int:pk>" in address:
            address = address.replace("<int:pk>", str(key_for(name, dialogue)))
        filled[name] = "/" + address.lstrip("^/").rstrip("$")
    return filled


def key_for(name: str, dialogue: Dialogue) -> int:
    if "judge" in name:
        run = dialogue.corpus.trajectories.get()
        answer = run.judge_answers.first() or judge_run(run)
        return answer.pk if "answer" in name else answer.rater_id
    if "run" in name:
        return Run.objects.get().pk
    if "trajector" in name:
        return dialogue.corpus.trajectories.get().pk
    if "workflow" in name:
        return dialogue.workflow_id
    if "fork" in name:
        return dialogue.forks.get().pk
    return dialogue.pk


def test_the_walk_reaches_pages_api_and_admin():
    names = {name for name, _ in ROUTES}
    assert {"benchmark:dialogue", "scoring:run", "annotation:report", "api:schema"} <= names
    assert {"admin:index", "api:run-scores", "api:dialogues-detail"} <= names
    assert len(names) > 60


def test_an_annotator_finds_nothing_but_their_own_pages(client, annotator, addresses):
    annotator.groups.add(Group.objects.get_or_create(name=ANNOTATORS)[0])
    client.force_login(annotator)
    for name, address in addresses.items():
        if name in OPEN_TO_ANNOTATORS:
            continue
        for verb in ("get", "post"):
            answer = getattr(client, verb)(address)
            assert answer.status_code == 404, (verb, name, address, answer.status_code)


def test_the_pages_of_an_annotator_open(client, annotator, addresses):
    client.force_login(annotator)
    for name in ("home", "profile", "annotation:guidelines", "annotation:rate"):
        assert client.get(addresses[name]).status_code == 200, name
    assert client.get(addresses["annotation:item"]).status_code == 302


def test_a_staff_account_without_the_role_finds_no_administration(client, annotator, addresses):
    annotator.is_staff = True
    annotator.save()
    client.force_login(annotator)
    assert client.get("/admin/").status_code == 404
    assert client.get("/corpora/").status_code == 404


def test_a_404_for_an_annotator_names_nothing(client, annotator, addresses):
    client.force_login(annotator)
    there, not_there = (
        re.sub(rb'name="csrfmiddlewaretoken" value="\w+"', b"", client.get(address).content)
        for address in (addresses["benchmark:dialogue"], "/dialogues/999999/")
    )
    assert there == not_there


def test_anonymous_people_are_sent_to_log_in_or_refused(client, addresses):
    for name, address in addresses.items():
        if name in OPEN_TO_ALL:
            continue
        answer = client.get(address)
        if name in DOORS:
            assert answer.status_code in (200, 400, 404), (name, address)
        elif name in ASKED_BY_SCRIPT:
            assert answer.status_code == 401, (name, address)
        elif address.startswith("/api/"):
            assert answer.status_code == 403, (name, address)
        else:
            assert answer.status_code == 302, (name, address, answer.status_code)
            assert "/login/" in answer.headers["Location"], name


def test_a_researcher_opens_every_reading_page(client, researcher, addresses):
    client.force_login(researcher)
    opened = [
        (name, address)
        for name, address in addresses.items()
        if name.split(":")[0] in ("benchmark", "scoring", "api")
        or name in ("annotation:studies", "annotation:report", "home", "profile")
    ]
    assert len(opened) > 20
    for name, address in opened:
        expected = 405 if name in POST_ONLY else 200
        assert client.get(address).status_code == expected, (name, address)


def test_another_annotators_items_are_not_there(client, other_annotator, addresses):
    client.force_login(other_annotator)
    for step in ("item", "rate", "instruction", "prefix", "skip", "problem", "draft", "time"):
        assert client.get(addresses[f"annotation:{step}"]).status_code == 404


def test_an_inactive_account_is_signed_out(client, researcher, db):
    client.force_login(researcher)
    researcher.is_active = False
    researcher.save()
    assert client.get("/corpora/").status_code == 302
