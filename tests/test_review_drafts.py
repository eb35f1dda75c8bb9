"""Drafts of the steps of a run: what is kept, what is refused, and what no form sends."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation import drafts
from annotation.models import Draft, Review
from tests.run_rows import first_item, make_run_study
from tests.test_review_pages import FORM, at, put


@pytest.fixture
def item(annotator):
    return first_item(make_run_study(user=annotator))


def test_without_script_marks_are_kept_and_get_rows_of_their_own(visitor, item):
    sent = {"present": "yes", "places": ["2.thought"], "keep": "1"}
    answer = visitor.post(at(item, "review"), sent)
    assert answer.url == at(item, "review") + "#places-h"
    assert Draft.objects.get().values == {"present": "yes", "places": ["2.thought"]}
    page = visitor.get(at(item, "review")).content.decode()
    assert 'name="evidence-2.thought" min="1" max="1"' in page
    again = visitor.post(at(item, "review"), sent | {"cause-2.thought": "root"})
    assert again.status_code == 302
    assert Draft.objects.get().values["cause-2.thought"] == "root"
    bad = visitor.post(at(item, "review"), sent | {"places": ["7.thought"]})
    assert bad.status_code == 400
    assert "There is no step 7 in this run." in bad.content.decode()
    assert not Review.objects.exists()


def test_a_draft_of_a_review_comes_back_as_it_was_left(visitor, item):
    half = {"present": "yes", "types": ["scope"], "places": ["2.thought"], "rationale": "Because"}
    half |= {"kind-2.thought": ["scope"], "evidence-2.thought": "1"}
    assert put(visitor, item, "review", half).status_code == 200
    page = visitor.get(at(item, "review")).content.decode()
    assert ">Because</textarea>" in page
    assert 'value="scope" data-key="5" checked' in page
    assert 'data-place="2.thought"' in page
    assert 'value="2.thought" data-part="t" data-where="Step 2, thought" checked' in page
    assert not Review.objects.exists()
    stale = put(visitor, item, "review", {"present": "no"}, 0)
    assert stale.status_code == 409
    assert stale.json()["values"] == half
    visitor.post(at(item, "review"), FORM)
    assert put(visitor, item, "review", half).json()["reason"] == "answered"
    assert put(visitor, item, "compare", {"agreement": "partly", "on": ["type"]}).status_code == 200
    assert (
        'value="partly" data-key="p" checked' in visitor.get(at(item, "compare")).content.decode()
    )


@pytest.mark.parametrize(
    "values",
    [
        {"rating": 4},
        {"present": "maybe"},
        {"present": ["yes"]},
        {"types": "factual"},
        {"types": ["comic"]},
        {"types": [["factual"]]},
        {"places": ["x"]},
        {"places": [7]},
        {"places": ["8.thought"]},
        {"places": ["2.thought"] * 61},
        {"kind-2.mood": ["factual"]},
        {"evidence-2.thought": "one"},
        {"evidence-2.thought": True},
        {"cause-2.thought": {}},
        {"rationale": "w" * 8001},
        {"rationale": ["why"]},
        {"rationale": "\x00"},
    ],
)
def test_a_draft_that_the_form_would_refuse_is_refused(visitor, item, values):
    answer = put(visitor, item, "review", values)
    assert answer.status_code == 400, answer.content
    assert answer.json()["field"]
    assert not Draft.objects.exists()


def test_half_a_character_in_a_draft_is_kept_as_a_sign_for_it(visitor, item):
    """What a text field can hold when a length cuts an emoji in two; no database takes it."""
    url = reverse("annotation:draft", args=[item.token, "review"])
    body = '{"values": {"rationale": "cut \\ud83d"}, "revision": 0}'
    assert visitor.put(url, body, content_type="application/json").status_code == 200
    assert Draft.objects.get().values == {"rationale": "cut \ufffd"}


def test_a_draft_has_bounds_and_a_step_of_its_own(visitor, item):
    assert put(visitor, item, "review", {"rationale": "w" * 60_000}).status_code == 413
    assert put(visitor, item, "rate", {"rating": 4}).status_code == 404
    assert put(visitor, item, "compare", {"agreement": "agree"}).status_code == 404
    long = {"rationale": "\u4e2d" * 8000}
    assert put(visitor, item, "review", long).status_code == 200


def test_saving_a_draft_takes_few_queries(visitor, item, django_assert_max_num_queries):
    put(visitor, item, "review", {"present": "yes"})
    with django_assert_max_num_queries(6):
        put(visitor, item, "review", {"present": "yes", "places": ["2.thought"]}, 1)


def test_marks_that_the_run_does_not_have_make_no_rows(visitor, item):
    far = [f"{step}.thought" for step in range(1, 900)]
    answer = visitor.post(at(item, "review"), FORM | {"places": far})
    assert answer.status_code == 400
    assert answer.content.decode().count('<li class="place"') <= 4


def test_who_is_signed_out_is_told_so_and_nothing_is_stored(client, item):
    answer = put(client, item, "review", {"present": "yes"})
    assert (answer.status_code, answer.json()["reason"]) == (401, "signed_out")
    assert client.post(at(item, "review"), FORM).status_code == 302
    assert not Draft.objects.exists()
    assert not Review.objects.exists()


def test_without_script_the_last_of_two_tabs_is_kept(visitor, item, monkeypatch):
    put(visitor, item, "review", {"present": "yes"})
    monkeypatch.setattr(drafts, "current", lambda *_: None)
    visitor.post(at(item, "review"), {"present": "no", "keep": "1"})
    assert Draft.objects.get().values == {"present": "no"}


HOSTILE = (
    {"present": ["yes", "no"], "types": ["factual"] * 900},
    {"present": "yes", "kind-": "x", "kind-2.thought": "scope", "places": "2.thought"},
    {"present": "yes", "places": ["\x00", "final"], "types": "factual", "rationale": "w" * 20},
    {"present": "yes", "places": "final", "types": "factual", "evidence-final": "\u0663"},
    {"present": "\U0001f600", "rationale": "\U0001f600"},
)


@pytest.mark.parametrize("data", HOSTILE)
def test_what_no_form_sends_is_refused_and_nothing_breaks(visitor, item, data):
    for more in ({}, {"keep": "1"}):
        answer = visitor.post(at(item, "review"), data | more)
        assert answer.status_code in (302, 400, 409), more
        assert visitor.get(at(item, "review")).status_code in (200, 302)
    compared = visitor.post(at(item, "compare"), data)
    assert compared.status_code in (400, 404)
