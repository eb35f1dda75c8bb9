"""Requests that no page sends: every answer is a refusal with the right number, never a failure."""

from __future__ import annotations

import itertools

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.enrolment import assign_seat
from benchmark.run_filters import FILTERS
from scoring.models import Run
from tests.run_rows import judge_run, make_run, make_run_study
from tests.small import make_trajectory
from tests.studies import make_study

HUGE = ("99999999999999999999", "9223372036854775808", "1" * 5000)
TEXTS = ("a%00b", "%ff%fe", "%ED%A0%80", "x" * 3000, "'%20OR%201=1")
NUMBERS = (*HUGE, "-1", "1.5", "1%00", "%D9%A3")
PARAMETERS = {
    "/corpora/{slug}/dialogues/": (
        "workflow", "known", "type", "k", "split", "q", "after", "before",
    ),
    "/corpora/{slug}/trajectories/": (*FILTERS, "after", "before"),
    "/corpora/{slug}/labels/": ("one", "other", "rule", "pool", "model", "question", "view"),
    "/corpora/{slug}/labels/one-rates.csv": ("one", "other", "rule", "model"),
    "/corpora/{slug}/signals/": ("rater", "source", "rule", "format", "of"),
    "/corpora/{slug}/rules/": ("rater", "source", "order", "over", "format", "of"),
    "/corpora/{slug}/detectors/": ("truth", "format", "of"),
    "/corpora/{slug}/prompt-variants/": ("set", "figure", "format"),
    "/trajectories/{run_of_agents}/": (*FILTERS, "step"),
    "/trajectories/{run_of_agents}/steps/1/": ("part",),
    "/judges/": ("after",),
    "/judges/{judge}/": (
        "status", "says", "type", "corpus", "reason", "q", "after", "before",
    ),
    "/judge-answers/{answer}/": ("format",),
    "/prompts/": ("name",),
    "/prompts/whole-run/2/": ("against",),
    "/studies/{reviewed}/report/": ("rule", "view", "group"),
    "/studies/{reviewed}/report/rows/": (
        "group", "person", "agreement", "present", "changed", "item", "rows", "format", "after",
    ),
    "/studies/{reviewed}/report/people-raters.csv": ("rule", "group"),
    "/dialogues/{dialogue}/": ("turn", "run"),
    "/runs/": ("before",),
    "/runs/new/comparison/": ("corpus", "task", "reference"),
    "/runs/{run}/": ("after",),
    "/api/corpora/": ("cursor", "page_size", "format"),
    "/api/workflows/": ("corpus", "domain", "cursor"),
    "/api/dialogues/": (
        "corpus", "workflow", "external_id", "conformant", "split", "type", "k", "cursor",
    ),
    "/api/forks/": ("corpus", "source", "type", "k", "cursor"),
    "/api/trajectories/": ("corpus", *FILTERS, "cursor"),
    "/api/runs/": ("corpus", "kind", "state", "cursor"),
    "/api/runs/{run}/scores/": ("cursor", "page_size"),
    "/api/runs/{run}/sets/": ("cursor",),
    "/api/runs/{run}/onsets/": ("cursor",),
    "/api/schema": ("format", "lang", "version"),
    "/accounts/login/": ("next",),
    "/admin/login/": ("next",),
}  # fmt: skip
KEYED = ("/dialogues/{}/", "/trajectories/{}/", "/trajectories/{}/steps/1/", "/judges/{}/",
         "/judge-answers/{}/", "/prompts/whole-run/{}/", "/runs/{}/", "/api/dialogues/{}/",
         "/api/forks/{}/", "/api/workflows/{}/", "/api/trajectories/{}/", "/api/runs/{}/",
         "/api/runs/{}/scores/")  # fmt: skip
NAMED = ("/corpora/{}/", "/corpora/{}/dialogues/", "/corpora/{}/trajectories/",
         "/corpora/{}/labels/", "/corpora/small/labels/{}.csv", "/corpora/{}/signals/",
         "/corpora/{}/rules/", "/corpora/{}/detectors/", "/corpora/{}/prompt-variants/",
         "/prompts/{}/1/", "/studies/reviewed/report/{}.csv", "/corpora/small/workflows/{}/",
         "/corpora/{}/workflows/x/", "/studies/{}/report/", "/api/corpora/{}/", "/items/{}/",
         "/items/{}/rate/", "/static/{}", "/static/css/{}", "/admin/{}/", "/{}",
         "/join/{}/", "/join/prolific/{}/", "/join/welcome/{}/", "/withdrawn/{}/",
         "/seats/{}/withdraw/", "/studies/{}/invitations/")  # fmt: skip
WRITING = {("/api/runs/", "post"), ("/runs/new/comparison/", "post")}
REFUSED = {301, 302, 400, 403, 404, 405, 413, 415, 429}


@pytest.fixture
def places(db) -> dict[str, object]:
    study = make_study()
    corpus = study.corpora.order_by("slug").first()
    agents = make_trajectory(corpus)
    answer = judge_run(make_run(corpus))
    run = Run.objects.create(kind="task2", corpus=corpus, parameters={}, digest="a" * 64)
    return {
        "slug": corpus.slug,
        "dialogue": corpus.dialogues.first().pk,
        "run": run.pk,
        "run_of_agents": agents.pk,
        "judge": answer.rater_id,
        "answer": answer.pk,
        "reviewed": make_run_study("reviewed").slug,
    }


@pytest.fixture
def inside(client, researcher):
    client.force_login(researcher)
    client.raise_request_exception = False
    return client


def failures(client, addresses) -> list[tuple[str, int]]:
    found = ((address[:90], client.get(address).status_code) for address in addresses)
    return [(address, code) for address, code in found if code not in REFUSED | {200}]


def test_no_query_string_makes_a_page_fail(inside, places):
    addresses = [
        f"{page.format(**places)}?{name}={value}"
        for page, names in PARAMETERS.items()
        for name, value in itertools.product(names, (*TEXTS, *NUMBERS))
    ]
    assert len(addresses) > 400
    assert failures(inside, addresses) == []


def test_no_key_in_an_address_makes_a_page_fail(inside, places):
    addresses = [page.format(key) for page in KEYED for key in (*HUGE, "0", "-1", "%00", "1%00")]
    assert [a for a in addresses if inside.get(a).status_code not in (400, 404)] == []


def test_no_name_in_an_address_makes_a_page_fail(inside, places):
    addresses = [page.format(name) for page in NAMED for name in TEXTS]
    assert failures(inside, addresses) == []


def test_pages_that_only_read_refuse_every_other_verb(inside, places):
    for page, verb in itertools.product(PARAMETERS, ("post", "put", "patch", "delete")):
        if "login" in page or (page, verb) in WRITING:
            continue
        answer = getattr(inside, verb)(page.format(**places), "{", content_type="application/json")
        assert answer.status_code == 405, (verb, page, answer.status_code)


FORM = "application/x-www-form-urlencoded"
BODIES = [
    ("{", "application/json"),
    (b"\xff\xfe\x00", FORM),
    (b"--x\r\nbroken", "multipart/form-data; boundary=x"),
    (b"rating=50", "multipart/form-data"),
    (b"rating=%00&reason=%00&note=%00&prefix=%00&appears=%00&onset=%00", FORM),
    (b"rating=99999999999999999999&appears=yes&onset=99999999999999999999", FORM),
    (b"reason=other&note=a%00b", FORM),
    (b"rating=1&" + b"&".join(b"a%d=1" % i for i in range(1200)), FORM),
    (b"rating=" + b"9" * 3_000_000, FORM),
    (b"rating=" + b"9" * 5000, FORM),
]


def test_no_body_makes_an_annotators_page_fail(client, annotator):
    seat = assign_seat(make_study(), annotator)
    token = seat.assignments.first().token
    client.force_login(annotator)
    client.raise_request_exception = False
    step = {n: reverse(f"annotation:{n}", args=[token]) for n in ("rate", "instruction", "skip")}

    def refused(name: str) -> None:
        for body, kind in BODIES:
            answer = client.post(step[name], body, content_type=kind)
            assert answer.status_code in REFUSED - {302}, (name, body[:40], answer.status_code)

    refused("rate")
    refused("skip")
    assert client.post(step["rate"], {"rating": 50}).status_code == 302
    refused("instruction")
    assert not seat.assignments.filter(finished_at__isnull=False).exists()


@pytest.mark.parametrize(
    "body", [{"username": "a\x00b", "password": "\x00"}, {}, {"username": "x" * 9000}]
)
def test_no_body_makes_the_log_in_fail(client, db, body):
    client.raise_request_exception = False
    assert client.post(reverse("login"), body).status_code in (200, 400)


def test_a_profile_form_with_odd_bytes_is_refused(inside):
    body = {"old_password": "\x00", "new_password1": "\x00", "new_password2": "\x00"}
    assert inside.post(reverse("profile"), body).status_code in (200, 400)


@pytest.mark.parametrize("value", ['"' + r"\000" * 9 + '"', "x" * 4000, r'"\377\376"', "'"])
def test_odd_cookies_are_those_of_a_stranger(client, db, value):
    client.raise_request_exception = False
    header = f"sessionid={value}; csrftoken={value}; theme={value}; messages={value}"
    assert client.get("/corpora/", HTTP_COOKIE=header).status_code in (302, 400)


def test_an_odd_address_behind_a_proxy_does_not_stop_the_log_in(client, db, settings):
    settings.TRUSTED_PROXIES = 1
    client.raise_request_exception = False
    body = {"username": "ann", "password": "wrong"}
    for header in ("a" * 400, "\x00", "", ",,,", "fe80::1%" + "z" * 60):
        answer = client.post(reverse("login"), body, HTTP_X_FORWARDED_FOR=header)
        assert answer.status_code == 200, header


def test_odd_requests_do_not_make_the_administration_fail(client, db, places):
    client.force_login(User.objects.create_superuser("root", password="a-long-pass-phrase"))
    client.raise_request_exception = False
    models = (
        "annotation/assignment",
        "annotation/sliderrating",
        "annotation/study",
        "annotation/item",
        "benchmark/dialogue",
        "benchmark/trajectory",
        "benchmark/labelset",
        "benchmark/judgeanswer",
        "benchmark/rater",
        "scoring/run",
        "auth/user",
    )
    queries = ("q=%00", "p=99999999999999999999", "p=-1", "o=%00", "all=%00", "id=%00")
    queries += ("id=99999999999999999999", "study__id__exact=%00", "id__in=%00", "x__y=1")
    addresses = [f"/admin/{model}/?{query}" for model in models for query in queries]
    addresses += [f"/admin/{model}/{key}/change/" for model in models for key in (*HUGE, "%00")]
    assert failures(client, addresses) == []
