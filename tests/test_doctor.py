"""`doctor` and /healthz: what is broken is said in words, and to admins only where it is public."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.urls import reverse
from django.utils import timezone

from annotation.models import Export, Study
from dialfork_site import health
from scoring.models import Chunk, Run, WorkerBeat


@pytest.fixture
def waiting_chunk(corpus):
    run = Run.objects.create(kind="task2", corpus=corpus, parameters={}, digest="d")
    return Chunk.objects.create(run=run, ordinal=1, keys=[], size=0)


@pytest.fixture
def beat(db):
    def seen(seconds_ago):
        at = timezone.now() - timedelta(seconds=seconds_ago)
        return WorkerBeat.objects.create(worker="w@host", seen_at=at)

    return seen


def doctor(*arguments) -> str:
    out = StringIO()
    call_command("doctor", *arguments, stdout=out)
    return out.getvalue()


def finding(name):
    return next(one for one in health.findings() if one.name == name)


def test_all_is_well_on_a_fresh_database(db):
    said = doctor()
    assert said.endswith("Everything works.\n")
    for name in ("database", "migrations", "worker", "broker", "encoder", "static files"):
        assert f"ok    {name}: " in said


def test_json_is_the_last_line(db):
    told = json.loads(doctor("--json").splitlines()[-1])
    assert told["ok"] is True
    assert {"name", "ok", "sentence"} == set(told["findings"][0])


def test_waiting_work_without_a_worker_is_said(waiting_chunk):
    said = finding("worker")
    assert not said.ok
    assert said.sentence.startswith("1 part of a run waits. No worker has been seen yet.")


def test_waiting_work_and_a_silent_worker_is_said_after_15_seconds(waiting_chunk, beat):
    last = beat(10)
    assert finding("worker").ok
    WorkerBeat.objects.filter(pk=last.pk).update(seen_at=timezone.now() - timedelta(seconds=16))
    said = finding("worker")
    assert not said.ok
    assert "A worker was seen 16 s ago" in said.sentence


def test_a_silent_worker_with_nothing_to_do_is_fine(beat):
    beat(4000)
    said = finding("worker")
    assert said.ok
    assert "66 minutes ago; nothing waits" in said.sentence


def test_a_broker_that_does_not_answer_is_named_within_seconds(settings, monkeypatch):
    from dialfork_site.celery import app

    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    monkeypatch.setattr(
        health.app, "connection_for_read", lambda: app.connection("redis://127.0.0.1:1/0")
    )
    said = health.broker()
    assert not said.ok
    assert "Start Redis, or mend BROKER_URL" in said.sentence


@pytest.mark.redis
def test_a_broker_that_answers_is_fine(settings, monkeypatch, redis_url):
    from dialfork_site.celery import app

    settings.CELERY_BROKER_URL = redis_url
    monkeypatch.setattr(health.app, "connection_for_read", lambda: app.connection(redis_url))
    assert health.broker().ok


def test_an_encoder_that_stands_in_is_named(monkeypatch):
    monkeypatch.setattr(health.encoders, "fallback_note", lambda name: "Another stands in.")
    said = health.encoder()
    assert said.ok
    assert said.sentence.endswith("Another stands in.")


def test_missing_static_files_are_said(settings, tmp_path):
    settings.STATIC_ROOT, settings.WHITENOISE_USE_FINDERS = tmp_path, False
    said = health.static_files()
    assert not said.ok
    assert "collectstatic" in said.sentence


def test_doctor_ends_with_code_1_when_something_is_broken(settings, db):
    settings.ENCODER = "word2vec"
    with pytest.raises(SystemExit) as stop:
        doctor()
    assert stop.value.code == 1


def test_a_database_that_does_not_answer_is_a_sentence_not_a_crash(monkeypatch):
    from django.db import OperationalError

    def refuse():
        raise OperationalError("connection refused\nIs the server running?")

    monkeypatch.setattr(health.connection, "cursor", refuse)
    (said,) = health.database()
    assert said.sentence == "The database does not answer: connection refused."


def test_everyone_sees_one_word(client, db):
    response = client.get("/healthz")
    assert response.status_code == 200
    assert response.json() == {"status": "ok"}
    assert "no-store" in response["Cache-Control"]


def test_waiting_work_makes_it_503_without_details(client, waiting_chunk):
    response = client.get("/healthz")
    assert response.status_code == 503
    assert response.json() == {"status": "degraded"}


def test_admins_see_the_sentences(admin_client):
    details = admin_client.get(reverse("healthz")).json()["details"]
    assert [one["name"] for one in details][:2] == ["database", "migrations"]


def test_researchers_see_no_details(client, researcher):
    client.force_login(researcher)
    assert client.get("/healthz").json() == {"status": "ok"}


def test_an_export_that_waits_without_a_worker_is_said_after_15_seconds(db, client, beat):
    study = Study.objects.create(slug="s", title="Winter round", seed=1)
    waits = Export.objects.create(study=study, format="csv")
    beat(16)
    said = finding("worker")
    assert not said.ok
    assert said.sentence.startswith("0 parts of runs wait, 1 export waits. A worker was seen 16 s")
    assert client.get("/healthz").status_code == 503
    Export.objects.filter(pk=waits.pk).update(state="done")
    assert client.get("/healthz").status_code == 200


def test_a_database_of_a_later_version_is_named(db):
    MigrationRecorder(connection).record_applied("annotation", "0999_of_tomorrow")
    said = finding("migrations")
    assert not said.ok
    assert "of a later version (annotation.0999_of_tomorrow)" in said.sentence
