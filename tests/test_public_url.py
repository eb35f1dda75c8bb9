"""One setting says where the site is: below a path, behind a proxy, from where forms may come."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.http import SimpleCookie
from django.test import Client
from django.urls import clear_script_prefix, reverse

from annotation.enrolment import assign_seat
from annotation.models import SliderRating
from dialfork_site.environment import origin_and_path
from tests.studies import item_at, make_study

ROOT = Path(__file__).resolve().parents[1]
HOST = "judges.example.org"
ADDRESS = re.compile(r'(?:href|src|action|data-[a-z-]*url)="(/[^"]*)"')


class BehindAProxy:
    """A browser at https://judges.example.org/fork/, whose proxy takes the path away."""

    def __init__(self) -> None:
        self.site, self.cookies = WSGIHandler(), SimpleCookie()

    def ask(self, path: str, form: dict[str, str] | None = None, origin: str = f"https://{HOST}"):
        """Status, headers and text of the answer; `path` as the browser sees it."""
        assert path.startswith("/fork/"), path
        body = "&".join(f"{name}={value}" for name, value in (form or {}).items()).encode()
        path, _, query = path.removeprefix("/fork").partition("?")
        environ = Client()._base_environ(
            REQUEST_METHOD="GET" if form is None else "POST",
            PATH_INFO=path,
            QUERY_STRING=query,
            CONTENT_TYPE="application/x-www-form-urlencoded",
            CONTENT_LENGTH=str(len(body)),
            HTTP_HOST=HOST,
            HTTP_X_FORWARDED_PROTO="https",
            HTTP_COOKIE="; ".join(f"{k}={m.value}" for k, m in self.cookies.items()),
            **{"wsgi.input": BytesIO(body)},
            **({} if form is None else {"HTTP_ORIGIN": origin}),
        )
        said = {}
        answer = self.site(environ, lambda status, headers: said.update(s=status, h=headers))
        for name, value in said["h"]:
            if name == "Set-Cookie":
                self.cookies.load(value)
        text = b"".join(answer).decode()
        answer.close()
        return int(said["s"][:3]), dict(said["h"]), text

    def send(self, path: str, **form: str):
        return self.ask(path, {"csrfmiddlewaretoken": self.cookies["csrftoken"].value, **form})


@pytest.fixture
def site(settings, db):
    """The settings that PUBLIC_URL=https://judges.example.org/fork/ and one proxy make."""
    made = settings_of("https://judges.example.org/fork/", TRUSTED_PROXIES="1")
    for name, value in made.items():
        setattr(settings, name, value)
    settings.ALLOWED_HOSTS = [HOST]
    # The transaction around the test is not to be closed between two requests.
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield BehindAProxy()
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)
    clear_script_prefix()


NAMES = [
    *("FORCE_SCRIPT_NAME", "PUBLIC_URL", "PUBLIC_ORIGIN", "CSRF_TRUSTED_ORIGINS", "STATIC_URL"),
    *("SESSION_COOKIE_PATH", "CSRF_COOKIE_PATH", "LANGUAGE_COOKIE_PATH"),
    *("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_PROXY_SSL_HEADER"),
]


@functools.cache
def settings_of(public_url: str, **env: str) -> dict:
    """What the settings file makes of the environment, read by a process of its own."""
    code = (
        "import json; from django.conf import settings as s;"
        f"print(json.dumps({{n: getattr(s, n) for n in {NAMES!r}}}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "dialfork_site.settings",
            "PUBLIC_URL": public_url,
            **env,
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_below_a_path_people_sign_in_answer_and_stay_below_it(site, annotator, caplog):
    seat = assign_seat(make_study(), annotator)
    token = item_at(seat, k=3).token
    status, headers, _ = site.ask("/fork/")
    assert (status, headers["Location"]) == (302, "/fork/accounts/login/?next=/fork/")
    _, _, text = site.ask(headers["Location"])
    found = set(ADDRESS.findall(text))
    assert found
    assert all(address.startswith("/fork/") for address in found), found
    assert any(address.startswith("/fork/static/") for address in found)

    style = next(address for address in found if address.endswith("base.css"))
    status, headers, _ = site.ask(style)
    assert (status, headers["Content-Type"]) == (200, 'text/css; charset="utf-8"')

    account = {"username": "ann", "password": "a-long-pass-phrase"}
    status, headers, _ = site.send("/fork/accounts/login/", **account)
    assert status == 302
    assert headers["Location"].startswith("/fork/")
    cookie = site.cookies["sessionid"]
    assert (cookie["path"], cookie["secure"]) == ("/fork", True)

    for path in ("/fork/", f"/fork/seats/{seat.pseudonym}/", f"/fork/items/{token}/rate/"):
        status, _, text = site.ask(path)
        assert status == 200, path
        outside = {a for a in ADDRESS.findall(text) if not a.startswith("/fork/")}
        assert outside == set(), path
    status, headers, _ = site.send(f"/fork/items/{token}/rate/", rating="41")
    assert status == 302
    assert headers["Location"].startswith("/fork/items/")
    assert SliderRating.objects.get().value == 41


def test_a_form_from_another_origin_names_the_seen_and_the_expected_one(site, caplog):
    caplog.set_level("WARNING", logger="dialfork_site.views")
    site.ask("/fork/accounts/login/")
    form = {"csrfmiddlewaretoken": site.cookies["csrftoken"].value, "username": "ann"}
    status, _, text = site.ask("/fork/accounts/login/", form, origin="https://other.example.org")
    assert status == 403
    sentence = (
        "The form came from 'https://other.example.org', "
        "but PUBLIC_URL is https://judges.example.org/fork."
    )
    assert sentence in text.replace("&#x27;", "'")
    assert f"{sentence} Set PUBLIC_URL to the address that people type." in caplog.text


def test_a_form_without_its_token_says_nothing_of_origins(site, caplog):
    site.ask("/fork/accounts/login/")
    status, _, text = site.ask("/fork/accounts/login/", {"username": "ann"})
    assert status == 403
    assert "This form is too old to send" in text
    assert "PUBLIC_URL" not in text + caplog.text


def test_the_proxy_says_that_a_visitor_came_by_https(site, researcher):
    site.ask("/fork/accounts/login/")
    site.send("/fork/accounts/login/", username="rosa", password="a-long-pass-phrase")
    _, _, text = site.ask("/fork/api/")
    found = re.findall(r'"(https?://[^"]+)"', text)
    assert found
    assert all(address.startswith(f"https://{HOST}/fork/api/") for address in found)


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("https://a.example", ("https://a.example", "")),
        ("http://127.0.0.1:8000", ("http://127.0.0.1:8000", "")),
        ("https://a.example/x/y-z", ("https://a.example", "/x/y-z")),
        ("https://a.example/x?y", ("https://a.example/x?y", "")),
        ("https://a.example//x", ("https://a.example//x", "")),
        ("", ("", "")),
    ],
)
def test_an_address_is_an_origin_and_a_path(address, parts):
    assert origin_and_path(address) == parts


def test_links_of_a_site_of_its_own_begin_at_the_root(db):
    assert reverse("home") == "/"
