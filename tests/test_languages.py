"""The language of pages is chosen by a person, and changes words only."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.template import Context, Template
from django.utils import translation

pytestmark = pytest.mark.django_db


def test_a_chosen_language_stays_and_is_named_in_the_page(client, annotator):
    client.force_login(annotator)
    answer = client.post("/language/", {"language": "de", "next": "/profile/"})
    assert answer.status_code == 302 and answer["Location"] == "/profile/"
    assert '<html lang="de"' in client.get("/profile/").content.decode()


@pytest.mark.parametrize("code", [code for code, _ in settings.LANGUAGES])
def test_each_language_is_offered_by_its_own_name(client, code):
    page = client.get("/accounts/login/", headers={"accept-language": code}).content.decode()
    assert all(f">{name}</button>" in page for _, name in settings.LANGUAGES)


def test_an_unknown_language_changes_nothing(client):
    client.post("/language/", {"language": "tlh", "next": "/accounts/login/"})
    assert '<html lang="en"' in client.get("/accounts/login/").content.decode()


def test_no_language_leads_to_another_site(client):
    answer = client.post("/language/", {"language": "es", "next": "https://example.org/"})
    assert answer["Location"] == "/"


def test_the_language_of_the_browser_is_used_until_one_is_chosen(client):
    page = client.get("/accounts/login/", headers={"accept-language": "zh-CN,zh;q=0.9"})
    assert '<html lang="zh-hans"' in page.content.decode()


@pytest.mark.parametrize("code", [code for code, _ in settings.LANGUAGES])
def test_numbers_look_the_same_in_every_language(code):
    page = Template("{% load humanize %}{{ a|floatformat:2 }} {{ b|intcomma }} {{ a }}")
    with translation.override(code):
        assert page.render(Context({"a": 0.5, "b": 1234567})) == "0.50 1,234,567 0.5"
