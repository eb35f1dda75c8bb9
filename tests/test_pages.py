"""Every page answers for a researcher, filled and empty."""

from __future__ import annotations

import pytest
from django.urls import reverse

from benchmark.models import Corpus
from tests.small import make_trajectory


@pytest.fixture
def signed_in(client, researcher):
    client.force_login(researcher)
    return client


@pytest.fixture
def signed_annotator(client, annotator):
    client.force_login(annotator)
    return client


@pytest.mark.parametrize("name", ["home", "profile", "benchmark:corpora", "scoring:runs"])
def test_a_page_answers_without_any_data(signed_in, name):
    assert signed_in.get(reverse(name)).status_code == 200


def test_pages_of_a_corpus_answer(signed_in, forked):
    make_trajectory(forked)
    for corpus in Corpus.objects.all():
        for name in ("corpus", "dialogues", "trajectories"):
            page = signed_in.get(reverse(f"benchmark:{name}", args=[corpus.slug]))
            assert page.status_code == 200, name


def test_an_empty_corpus_says_that_it_is_empty(signed_in, db):
    Corpus.objects.create(slug="bare")
    page = signed_in.get(reverse("benchmark:corpus", args=["bare"]))
    assert "Nothing in this corpus yet" in page.content.decode()
    page = signed_in.get(reverse("benchmark:dialogues", args=["bare"]))
    assert "This corpus holds no dialogues yet" in page.content.decode()


@pytest.mark.parametrize(
    "path",
    [
        "/corpora/none/",
        "/corpora/none/dialogues/",
        "/corpora/none/trajectories/",
        "/corpora/none/workflows/none/",
        "/dialogues/999999/",
        "/dialogues/99999999999999999999999/",
        "/trajectories/999999/",
        "/runs/999999/",
        "/nowhere/",
    ],
)
def test_what_is_not_there_is_404_with_a_calm_page(signed_in, db, path):
    page = signed_in.get(path)
    assert page.status_code == 404
    assert "No such page" in page.content.decode()


def test_bad_parameters_are_400_and_name_what_is_allowed(signed_in, corpus):
    for query in ("type=XYZ", "k=5", "known=maybe", "split=all", "after=-1", "before=x", "k=%00"):
        page = signed_in.get(f"/corpora/{corpus.slug}/dialogues/?{query}")
        assert page.status_code == 400, query
    assert "must be one of WIC, SSPC, GR, CSC" in (
        signed_in.get(f"/corpora/{corpus.slug}/dialogues/?type=XYZ").content.decode()
    )


def test_nothing_can_be_posted_to_a_reading_page(signed_in, corpus):
    assert signed_in.post(f"/corpora/{corpus.slug}/").status_code == 405
    assert signed_in.post("/runs/").status_code == 405


def test_the_theme_cookie_is_printed_by_the_server(signed_in):
    assert 'data-theme="dark"' not in signed_in.get("/").content.decode()
    signed_in.cookies["theme"] = "dark"
    assert 'data-theme="dark"' in signed_in.get("/").content.decode()
    signed_in.cookies["theme"] = '"><script>'
    assert "<script>" not in signed_in.get("/").content.decode().split("<head>")[0]


def test_the_navigation_follows_the_role(signed_in):
    body = signed_in.get("/profile/").content.decode()
    assert "Corpora</a>" in body and "My items" not in body


def test_an_annotator_sees_only_their_own_navigation(signed_annotator):
    body = signed_annotator.get("/profile/").content.decode()
    assert "My items</a>" in body and "Corpora" not in body and "/api/" not in body


def test_an_annotator_without_a_seat_is_told_so(signed_annotator):
    page = signed_annotator.get("/")
    assert "No items for you yet" in page.content.decode()
    assert "data-blind" in page.content.decode()


def test_the_password_can_be_changed_on_the_profile(signed_annotator, annotator):
    page = signed_annotator.post(
        "/profile/",
        {
            "old_password": "a-long-pass-phrase",
            "new_password1": "another-long-phrase",
            "new_password2": "another-long-phrase",
        },
        follow=True,
    )
    annotator.refresh_from_db()
    assert annotator.check_password("another-long-phrase")
    assert page.status_code == 200 and "password is changed" in page.content.decode()


def test_a_wrong_old_password_changes_nothing(signed_annotator, annotator):
    page = signed_annotator.post(
        "/profile/", {"old_password": "x", "new_password1": "y", "new_password2": "y"}
    )
    annotator.refresh_from_db()
    assert page.status_code == 200 and annotator.check_password("a-long-pass-phrase")


@pytest.mark.parametrize("status", [400, 403, 404, 409, 429])
def test_error_pages_render_a_heading_and_a_way_back(rf, status):
    from django.contrib.auth.models import AnonymousUser
    from django.template.loader import render_to_string

    request = rf.get("/")
    request.user = AnonymousUser()
    body = render_to_string(f"{status}.html", {"sentence": "Wait 30 s."}, request=request)
    assert "<h1>" in body and "Wait 30 s." in body and 'href="/"' in body


def test_the_page_of_a_fault_needs_no_context():
    from django.template.loader import render_to_string

    assert "Something broke" in render_to_string("500.html")


def test_the_halves_of_a_corpus_page_count_conformant_dialogues_only(client, researcher, forked):
    forked.dialogues.update(split="test")
    client.force_login(researcher)

    page = client.get(f"/corpora/{forked.slug}/")

    assert page.context["dialogues"]["deviating"] == 64
    assert (page.context["dialogues"]["train"], page.context["dialogues"]["test"]) == (0, 0)
