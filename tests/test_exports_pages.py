"""The pages of exports: asked for at once, written in the background, taken along in parts."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation import exporting
from annotation.models import Assignment, AuditEntry, Export, SliderRating
from scoring.models import WorkerBeat
from tests.studies import make_study


@pytest.fixture(autouse=True)
def files_apart(settings, tmp_path):
    settings.VAR_DIR = tmp_path


@pytest.fixture
def study(db):
    study = make_study()
    for assignment in Assignment.objects.filter(seat__number=1):
        SliderRating.objects.create(assignment=assignment, value=20)
    return study


@pytest.fixture
def url(study):
    return reverse("annotation:exports", args=[study.slug])


@pytest.fixture
def desk(client, researcher):
    client.force_login(researcher)
    return client


@pytest.fixture
def done(study, researcher):
    return exporting.start(study, "jsonl", {}, researcher)


def file_url(export, name="answers.jsonl"):
    return reverse("annotation:export-file", args=[export.study.slug, export.pk, name])


def bytes_of(response):
    return b"".join(response.streaming_content)


ASKED = {"format": "csv", "judges": "all", "attempts": "first", "items": "main"}


def test_a_small_export_is_ready_when_the_page_comes_back(desk, url):
    page = desk.post(url, ASKED, follow=True)
    assert page.status_code == 200
    export = Export.objects.get()
    assert export.state == "done"
    assert file_url(export, "answers.csv") in page.content.decode()
    assert "5 in progress" in page.content.decode()
    assert "10 pending" in page.content.decode()


def test_a_large_export_only_waits_when_it_is_asked_for(desk, url, monkeypatch):
    monkeypatch.setattr(exporting, "AT_ONCE_ROWS", 0)
    told = []
    monkeypatch.setattr(
        "annotation.tasks.write_export.apply_async", lambda args, **kwargs: told.append(args)
    )
    page = desk.post(url, ASKED, follow=True)
    export = Export.objects.get()
    assert (export.state, told) == ("waiting", [(export.pk,)])
    assert "Waiting" in page.content.decode()
    assert 'hx-trigger="every 2s"' in page.content.decode()


def test_a_queue_that_does_not_answer_costs_only_time(desk, url, monkeypatch):
    def away(*args, **kwargs):
        raise OSError("no broker")

    monkeypatch.setattr(exporting, "AT_ONCE_ROWS", 0)
    monkeypatch.setattr("annotation.tasks.write_export.apply_async", away)
    assert desk.post(url, ASKED).status_code == 302
    assert exporting.left_over() == [Export.objects.get().pk]


def test_an_export_that_waits_without_a_worker_says_so(desk, url, study):
    export = Export.objects.create(study=study, format="csv")
    assert "No worker is running" not in desk.get(url).content.decode()
    Export.objects.update(created_at=timezone.now() - timedelta(seconds=20))
    assert "No worker is running" in desk.get(url).content.decode()
    WorkerBeat.objects.create(worker="w", seen_at=timezone.now())
    assert "No worker is running" not in desk.get(url).content.decode()
    exporting.write(export.pk)
    assert "hx-trigger" not in desk.get(url, headers={"HX-Request": "true"}).content.decode()


@pytest.mark.parametrize(("field", "value"), [("format", "xml"), ("judges", ""), ("items", "x")])
def test_a_choice_there_is_not_is_refused_by_name(desk, url, field, value):
    page = desk.post(url, ASKED | {field: value})
    assert page.status_code == 400
    assert f"{field} must be one of" in page.content.decode()
    assert not Export.objects.exists()


def test_a_file_comes_whole_and_says_that_it_comes_in_parts(desk, done):
    whole = desk.get(file_url(done))
    content = bytes_of(whole)
    assert content == exporting.path_of(done, "answers.jsonl").read_bytes()
    assert whole["Accept-Ranges"] == "bytes"
    assert whole["ETag"] == f'"{done.sha256}"'
    assert whole["Content-Disposition"] == 'attachment; filename="winter-answers.jsonl"'
    assert "no-store" in whole["Cache-Control"]


def test_a_download_that_broke_off_goes_on_where_it_stopped(desk, done):
    content = exporting.path_of(done, "answers.jsonl").read_bytes()
    rest = desk.get(file_url(done), headers={"Range": "bytes=100-", "If-Range": f'"{done.sha256}"'})
    assert rest.status_code == 206
    assert bytes_of(rest) == content[100:]
    assert rest["Content-Range"] == f"bytes 100-{len(content) - 1}/{len(content)}"
    other = desk.get(file_url(done), headers={"Range": "bytes=100-", "If-Range": '"another"'})
    assert (other.status_code, bytes_of(other)) == (200, content)
    behind = desk.get(file_url(done), headers={"Range": f"bytes={len(content)}-"})
    assert (behind.status_code, behind["Content-Range"]) == (416, f"bytes */{len(content)}")


@pytest.mark.parametrize(
    "name", ["answers.csv", "..", "manifest.jso", "%2e%2e%2fsecret", "x" * 999]
)
def test_a_file_an_export_does_not_have_is_not_there(desk, done, name):
    assert desk.get(f"/studies/winter/exports/{done.pk}/{name}").status_code == 404


def test_an_export_of_another_study_is_not_there(desk, done):
    make_study("spring")
    assert desk.get(f"/studies/spring/exports/{done.pk}/answers.jsonl").status_code == 404
    assert desk.get("/studies/winter/exports/9223372036854775808/x").status_code == 404


def test_an_export_is_deleted_with_its_files(desk, done, study):
    folder = exporting.folder_of(done)
    assert folder.is_dir()
    page = desk.post(reverse("annotation:export-delete", args=[study.slug, done.pk]), follow=True)
    assert "is deleted" in page.content.decode()
    assert not folder.exists() and not Export.objects.exists()
    assert Assignment.objects.count() == 15


def test_who_asked_took_and_deleted_is_in_the_log(desk, done, study, researcher):
    bytes_of(desk.get(file_url(done)))
    bytes_of(desk.get(file_url(done), headers={"Range": "bytes=5-"}))
    desk.post(reverse("annotation:export-delete", args=[study.slug, done.pk]))
    acts = AuditEntry.objects.filter(action__startswith="export").order_by("pk")
    assert list(acts.values_list("action", "actor")) == [
        (action, researcher.pk)
        for action in ("export.requested", "export.downloaded", "export.deleted")
    ]


def test_an_annotator_reaches_neither_page_nor_file(client, annotator, done, url):
    client.force_login(annotator)
    for address in (url, file_url(done), file_url(done, "manifest.json")):
        assert client.get(address).status_code == 404
    assert client.post(url, ASKED).status_code == 404
    assert Export.objects.count() == 1


def test_the_page_costs_the_same_with_many_exports(desk, url, study, django_assert_num_queries):
    for n in (1, 30):
        Export.objects.bulk_create(
            [Export(study=study, format="csv", state="done") for _ in range(n)]
        )
        with django_assert_num_queries(5):
            desk.get(url)
