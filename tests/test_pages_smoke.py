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
