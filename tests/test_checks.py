"""Bad combinations of settings stop the start, each with a sentence that says what to change."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dialfork_site import checks
from dialfork_site.addresses import is_loopback

ROOT = Path(__file__).resolve().parents[1]


def said(check) -> str:
    return " ".join(message.msg for message in check(None))


def test_the_default_settings_are_fine(settings):
    found = [
        checks.secret_key,
        checks.database_and_broker,
        checks.known_encoder,
        checks.public_url,
        checks.demo_stays_here,
    ]
    assert [said(check) for check in found] == [""] * 5


def test_no_key_is_refused(settings):
    settings.SECRET_KEY_MISSING = True
    assert said(checks.secret_key).startswith("SECRET_KEY is empty.")


def test_sqlite_with_a_broker_server_is_refused(settings):
    settings.DATABASES["default"] = {
        **settings.DATABASES["default"],
        "ENGINE": "django.db.backends.sqlite3",
    }
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:6379/0"
    assert "set DATABASE_URL to PostgreSQL" in said(checks.database_and_broker)


def test_postgresql_with_a_broker_server_is_fine(settings, monkeypatch):
    monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", "django.db.backends.postgresql")
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:6379/0"
    assert said(checks.database_and_broker) == ""


def test_an_unknown_encoder_is_refused_with_the_known_names(settings):
    settings.ENCODER = "word2vec"
    sentence = said(checks.known_encoder)
    assert "'word2vec' is not known" in sentence
    assert "wordllama" in sentence


def test_a_public_url_outside_the_allowed_hosts_is_a_warning(settings):
    settings.PUBLIC_URL = "https://dialfork.example.org"
    settings.ALLOWED_HOSTS = ["localhost"]
    (message,) = checks.public_url(None)
    assert not message.is_serious()
    assert "Add it to ALLOWED_HOSTS" in message.msg


@pytest.mark.parametrize(
    "url",
    [
        "dialfork.example.org",
        "ftp://a",
        "http://[",
        "http://a//b",
        "http://a/b?c",
        "http://a#b",
        "",
    ],
)
def test_a_public_url_without_scheme_is_refused(settings, url):
    settings.PUBLIC_URL = url
    assert "Give the full address" in said(checks.public_url)


def test_the_demo_off_this_machine_is_refused(settings):
    settings.DEMO = True
    settings.PUBLIC_URL = "https://demo.example.org"
    assert "unset DEMO" in said(checks.demo_stays_here)


@pytest.mark.parametrize(
    ("host", "answer"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("[::1]", True),
        ("0.0.0.0", False),
        ("192.0.2.1", False),
        ("localhost.example.org", False),
        ("", False),
    ],
)
def test_loopback_is_this_machine_and_nothing_else(host, answer):
    assert is_loopback(host) is answer


def manage(tmp_path, *arguments, **env):
    database = env.pop("DATABASE_URL", f"sqlite:///{tmp_path / 'a.sqlite3'}")
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**os.environ, "SECRET_KEY": "k", "DATABASE_URL": database, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("env", "sentence"),
    [
        ({"SECRET_KEY": ""}, "SECRET_KEY is empty."),
        ({"BROKER_URL": "redis://127.0.0.1:1/0"}, "leave BROKER_URL at memory://"),
        ({"ENCODER": "word2vec"}, "'word2vec' is not known"),
    ],
)
def test_a_command_stops_at_a_bad_setting(tmp_path, env, sentence):
    done = manage(tmp_path, "migrate", **env)
    assert done.returncode == 1
    assert sentence in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [["doctor"], ["score_corpus", "x", "--task", "2"], ["serve"]])
@pytest.mark.parametrize("database", ["", "postgres://u@127.0.0.1:1/x"])
def test_a_database_without_tables_or_server_is_a_sentence(tmp_path, arguments, database):
    env = {"DATABASE_URL": database} if database else {}
    done = manage(tmp_path, *arguments, **env)
    said_here = done.stderr + done.stdout
    assert done.returncode == 1
    assert "migrat" in said_here or "does not answer" in said_here
    assert "Traceback" not in said_here


@pytest.mark.parametrize(
    ("env", "sentence"),
    [
        ({"ENCODER": "no"}, "Encoder 'no' is not known"),
        ({"SECRET_KEY": ""}, "SECRET_KEY is empty."),
    ],
)
def test_a_web_server_does_not_start_with_a_bad_setting(tmp_path, env, sentence):
    done = python(["-c", "import dialfork_site.wsgi"], tmp_path, {"DEBUG": "false", **env})
    assert done.returncode == 4
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


UNREADABLE = [
    ({"TRUSTED_PROXIES": "abc"}, "TRUSTED_PROXIES is 'abc'. It must be a whole number from 0."),
    ({"TRUSTED_PROXIES": "-1"}, "TRUSTED_PROXIES is '-1'."),
    ({"CHUNK_LEASE_SECONDS": "0"}, "It must be a whole number from 1."),
    ({"DEBUG": "perhaps"}, "DEBUG is 'perhaps'. It must be true or false."),
    ({"DEMO": "perhaps"}, "DEMO is 'perhaps'. It must be true or false."),
    ({"LOG_LEVEL": "loud"}, "It must be one of DEBUG, INFO"),
    ({"DATABASE_URL": "nonsense"}, "DATABASE_URL names no database"),
    ({"DATABASE_URL": ""}, "DATABASE_URL names no database"),
    ({"DATABASE_URL": "mysql://u:secret@h/x"}, "DATABASE_URL names no database"),
    ({"DATABASE_URL": "postgres://u:secret@[::1/x"}, "DATABASE_URL names no database"),
    ({"DATABASE_URL": "sqlite:////proc/none/x"}, "That folder cannot be made"),
    ({"VAR_DIR": "/proc/none"}, "VAR_DIR is '/proc/none'. That folder cannot be made"),
    ({"BROKER_URL": "garbage"}, "BROKER_URL names no broker"),
    ({"BROKER_URL": ""}, "BROKER_URL names no broker"),
    ({"BROKER_URL": "redis://:secret@h:port/0"}, "BROKER_URL names no broker"),
]


@pytest.mark.parametrize(("env", "sentence"), UNREADABLE)
def test_a_setting_that_cannot_be_read_is_one_sentence(tmp_path, env, sentence):
    done = python(["-c", "import dialfork_site.settings"], tmp_path, env)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert "secret" not in done.stderr


@pytest.mark.parametrize(
    "start",
    [
        ["manage.py", "doctor"],
        ["manage.py", "serve"],
        ["-m", "celery", "-A", "dialfork_site", "worker"],
        ["-c", "import dialfork_site.wsgi"],
    ],
)
def test_commands_servers_and_workers_say_it_without_a_traceback(tmp_path, start):
    done = python(start, tmp_path, {"TRUSTED_PROXIES": "abc"})
    assert done.returncode != 0
    assert "TRUSTED_PROXIES is 'abc'" in done.stderr
    assert "Traceback" not in done.stderr


def python(arguments, tmp_path, env):
    database = f"sqlite:///{tmp_path / 'a.sqlite3'}"
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "SECRET_KEY": "k", "DATABASE_URL": database, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
