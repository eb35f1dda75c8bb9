"""Exports: every assignment with its status, one current value, nothing lost, the same bytes."""

from __future__ import annotations

import csv
import json
from collections import Counter
from datetime import timedelta

import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError
from django.utils import timezone

from annotation import export_rows, exporting, tasks
from annotation.export_formats import LONG, SCHEMA
from annotation.export_rows import ExportRefused, Filter
from annotation.models import (
    Adjudication,
    Assignment,
    AuditEntry,
    Export,
    InstructionConfirmation,
    Item,
    OnsetMark,
    ProblemReport,
    QuestionnaireAnswer,
    Seat,
    Skip,
    SliderRating,
    StepTime,
    Withdrawal,
)
from benchmark.release_tables import sha256_of
from tests.judgements import DAY, finish, judge, make_seats


@pytest.fixture(autouse=True)
def files_apart(settings, tmp_path):
    settings.VAR_DIR = tmp_path


@pytest.fixture
def study(forked):
    """Ten items for two seats: seventeen answered, one skipped, one expired, one withdrawn."""
    study = make_seats(forked)
    for assignment in Assignment.objects.order_by("seat__number", "rank")[:17]:
        judge(assignment, 10 * assignment.rank)
    skipped, expired, withdrawn = Assignment.objects.order_by("seat__number", "rank")[17:]
    Skip.objects.create(assignment=skipped, reason="other", note="=1+1, \n\U0001f600 \u0645\u0631")
    finish(skipped)
    SliderRating.objects.create(assignment=expired, value=5)
    for row, why in ((expired, "expired"), (withdrawn, "withdrawn")):
        Assignment.objects.filter(pk=row.pk).update(ended=why, ended_at=DAY + timedelta(days=1))
    return study


def written(study, format, tmp_path, **filter_):
    out = tmp_path / format
    manifest = exporting.write_folder(study, format, Filter(**filter_), out)
    return out, manifest


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def cells(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_an_export_counts_every_status_as_the_database_does(study, tmp_path):
    out, manifest = written(study, "jsonl", tmp_path)
    counts = manifest["assignments"]
    assert counts["total"] == 20 == Assignment.objects.count()
    assert (counts["submitted"], counts["skipped"]) == (17, Skip.objects.count())
    assert counts["expired"] == Assignment.objects.filter(ended="expired").count() == 1
    assert counts["withdrawn"] == Assignment.objects.filter(ended="withdrawn").count() == 1
    rows = lines(out / "answers.jsonl")
    assert Counter(row["status"] for row in rows) == {
        "submitted": 17,
        "skipped": 1,
        "expired": 1,
        "withdrawn": 1,
    }
    pseudonyms = set(Seat.objects.values_list("pseudonym", flat=True))
    assert {row["pseudonym"] for row in rows} == pseudonyms
    assert manifest["changed_meanwhile"] is False
    assert manifest["filter"] == {
        "judges": "all",
        "attempts": "first",
        "items": "main",
        "questionnaire": False,
    }


def test_a_long_table_has_a_line_for_every_question(study, tmp_path):
    out, manifest = written(study, "csv", tmp_path)
    rows = cells(out / "answers.csv")
    assert list(rows[0]) == LONG
    assert len(rows) == manifest["files"]["answers.csv"]["rows"] == 80
    assert Counter(row["question"] for row in rows) == dict.fromkeys(
        ("rating", "appears", "onset", "prefix"), 20
    )
    assert all(row["pseudonym"] for row in rows)
    first = [row for row in rows if row["seat"] == "1" and row["rank"] == "1"]
    assert [row["answer"] for row in first][:2] == ["10", "yes"]
    left = [r["answer_state"] for r in rows if r["status"] == "expired" and r["answer"] == ""]
    assert left[:2] == ["missing", "missing"]


def test_what_an_item_does_not_ask_is_not_missing(study, tmp_path):
    row = Assignment.objects.filter(seat__number=1, item__dialogue__forks__k=1).first()
    OnsetMark.objects.filter(confirmation__slider__assignment=row).update(turn=None)
    InstructionConfirmation.objects.filter(slider__assignment=row).update(answer="no")
    out, _ = written(study, "csv", tmp_path)
    states = {
        r["question"]: r["answer_state"]
        for r in cells(out / "answers.csv")
        if (r["seat"], r["rank"]) == ("1", str(row.rank))
    }
    assert states == {
        "rating": "answered",
        "appears": "answered",
        "onset": "not_applicable",
        "prefix": "not_applicable",
    }


def test_lines_and_parquet_say_the_same(study, tmp_path):
    lined, _ = written(study, "jsonl", tmp_path)
    columned, manifest = written(study, "parquet", tmp_path)
    table = pq.read_table(columned / "answers.parquet")
    assert table.schema.names == SCHEMA.names
    assert table.to_pylist() == lines(lined / "answers.jsonl")
    assert manifest["files"]["answers.parquet"]["rows"] == 20


def test_an_export_has_one_current_value_and_history_has_every_one_in_order(study, tmp_path):
    first = Assignment.objects.get(seat__number=1, rank=1)
    InstructionConfirmation.objects.filter(slider__assignment=first).update(answer="yes")
    for attempt, said in ((2, "partly"), (3, "no")):
        again = Assignment.objects.create(
            item=first.item,
            seat=first.seat,
            rank=100 + attempt,
            attempt=attempt,
            post_reveal=True,
            opened_at=timezone.now(),
        )
        judge(again, 50, said)
    out, _ = written(study, "csv", tmp_path, attempts="last")
    name = f"{first.item.dialogue.external_id}"
    mine = [
        r
        for r in cells(out / "answers.csv")
        if r["seat"] == "1" and r["dialogue"] == name and r["question"] == "appears"
    ]
    assert [(r["answer"], r["attempt"], r["post_reveal"]) for r in mine] == [("no", "3", "true")]
    events = lines(out / "history.jsonl")
    said = [
        e
        for e in events
        if e["event"] == "confirmed"
        and e["pseudonym"] == first.seat.pseudonym
        and e["item"] == mine[0]["item"]
    ]
    assert [e["appears"] for e in said] == ["yes", "partly", "no"]
    assert [e["at"] for e in said] == sorted(e["at"] for e in said)


def test_a_reopened_attempt_is_no_blind_judgement(study, tmp_path):
    first = Assignment.objects.get(seat__number=1, rank=1)
    again = Assignment.objects.create(
        item=first.item, seat=first.seat, rank=99, attempt=2, post_reveal=True
    )
    judge(again, 77)
    out, manifest = written(study, "jsonl", tmp_path)
    assert manifest["assignments"]["total"] == 20
    assert not any(row["post_reveal"] for row in lines(out / "answers.jsonl"))
    out, manifest = written(study, "jsonl", tmp_path, attempts="all")
    assert manifest["assignments"]["total"] == 21
    assert [r["rating"] for r in lines(out / "answers.jsonl") if r["post_reveal"]] == [77]


def test_practice_and_attention_items_come_only_when_asked_for(study, tmp_path):
    Item.objects.filter(assignments__rank=1).update(kind="attention")
    assert written(study, "jsonl", tmp_path)[1]["assignments"]["total"] == 18
    out, manifest = written(study, "csv", tmp_path, items="all")
    assert manifest["assignments"]["total"] == 20
    states = {
        r["question"]: r["answer_state"]
        for r in cells(out / "answers.csv")
        if r["kind"] == "attention" and r["answer"] == ""
    }
    assert set(states.values()) <= {"not_applicable"}


def test_history_tells_what_was_said_about_an_item(study, tmp_path):
    assignment = Assignment.objects.get(seat__number=1, rank=2)
    turn = assignment.item.dialogue.turns.get(number=1)
    ProblemReport.objects.create(assignment=assignment, turn=turn, text="cut", resolved_at=DAY)
    Adjudication.objects.create(item=assignment.item, rating=40, appears="partly", note="so")
    out, _ = written(study, "jsonl", tmp_path)
    events = lines(out / "history.jsonl")
    mine = [e for e in events if e["event"] in ("problem reported", "adjudicated")]
    assert [(e.get("text"), e.get("turn"), e.get("rating")) for e in mine] == [
        ("cut", 1, None),
        (None, None, 40),
    ]
    skipped = next(e for e in events if e["event"] == "skipped")
    assert skipped["note"].startswith("=1+1")


def test_answers_about_people_are_left_out_and_join_to_nothing(study, tmp_path):
    for seat in study.seats.all():
        QuestionnaireAnswer.objects.create(seat=seat, question="age", answer=f"{30 + seat.number}")
    out, manifest = written(study, "jsonl", tmp_path)
    assert not (out / "questionnaire.jsonl").exists()
    out, manifest = written(study, "jsonl", tmp_path, questionnaire=True)
    assert lines(out / "questionnaire.jsonl") == [{"age": "31"}, {"age": "32"}]
    assert manifest["files"]["questionnaire.jsonl"]["rows"] == 2


@pytest.mark.parametrize("format", exporting.FORMATS)
def test_the_same_answers_give_the_same_bytes(study, tmp_path, format):
    first, manifest = written(study, format, tmp_path / "a")
    again, _ = written(study, format, tmp_path / "b")
    for name in (*manifest["files"], "manifest.json"):
        assert (first / name).read_bytes() == (again / name).read_bytes(), name
    for name, entry in manifest["files"].items():
        assert sha256_of(first / name) == entry["sha256"]


def test_every_time_is_utc_and_ends_in_z_whatever_the_zone(study, tmp_path, settings):
    settings.TIME_ZONE = "Asia/Kathmandu"
    with timezone.override("Asia/Kathmandu"):
        out, _ = written(study, "jsonl", tmp_path)
    rows = lines(out / "answers.jsonl")
    times = [v for row in rows for name, v in row.items() if name.endswith("_at") and v]
    assert len(times) > 60
    assert all(t.endswith("Z") for t in times)
    assert rows[0]["opened_at"] == "2026-03-01T08:00:00.000000Z"


def test_a_formula_is_disarmed_in_the_csv_only_and_text_survives(study, tmp_path):
    note = Skip.objects.get().note
    assert "\n" in note and "," in note
    out, _ = written(study, "csv", tmp_path)
    assert {r["skip_note"] for r in cells(out / "answers.csv")} - {""} == {f"'{note}"}
    out, _ = written(study, "jsonl", tmp_path)
    assert {r["skip_note"] for r in lines(out / "answers.jsonl")} - {None} == {note}


def test_time_spent_is_told_by_step_and_never_negative(study, tmp_path):
    row = Assignment.objects.get(seat__number=1, rank=1)
    for step, wall in (("rate", 635), ("instruction", -86400)):
        StepTime.objects.create(
            assignment=row,
            step=step,
            opened_at=DAY,
            submitted_at=DAY + timedelta(seconds=wall),
            active_ms=35_250,
        )
    out, _ = written(study, "jsonl", tmp_path)
    found = lines(out / "answers.jsonl")[0]
    assert (found["rate_wall_seconds"], found["rate_active_seconds"]) == (635.0, 35.25)
    assert found["instruction_wall_seconds"] == 0.0
    assert found["prefix_wall_seconds"] is None


def test_the_shape_of_label_studio(study, tmp_path):
    out, manifest = written(study, "label-studio", tmp_path)
    found = json.loads((out / "tasks.json").read_text(encoding="utf-8"))
    assert len(found) == 10 == manifest["files"]["tasks.json"]["rows"]
    made = [a for task in found for a in task["annotations"]]
    assert len(made) == 20
    assert sum(a["was_cancelled"] for a in made) == 3
    assert {a["completed_by"] for a in made} == {1, 2}
    one = found[0]["annotations"][0]
    assert one["result"][0]["value"] == {"number": 10}
    assert all(a["created_at"] <= a["updated_at"] for a in made if a["status"] == "submitted")
    assert found[0]["data"]["messages"][0]["role"] == "assistant"
    assert manifest["local_ids"]


def test_a_withdrawal_is_named_on_every_row_of_its_seat(study, tmp_path):
    seat = study.seats.get(number=2)
    Withdrawal.objects.create(seat=seat, mode="keep", receipt="r")
    out, _ = written(study, "jsonl", tmp_path)
    told = {(r["seat"], r["withdrawal"]) for r in lines(out / "answers.jsonl")}
    assert told == {(1, None), (2, "keep")}


def test_a_batch_costs_the_same_however_large(study, django_assert_num_queries):
    from annotation.export_rows import rows_of

    for n in (2, 20):
        keys = list(Assignment.objects.order_by("pk").values_list("pk", flat=True)[:n])
        with django_assert_num_queries(4):
            assert len(rows_of(study, Assignment.objects.filter(pk__in=keys), keys)) == n


def test_a_small_export_is_there_at_once(study, researcher):
    export = exporting.start(study, "csv", {}, researcher)
    assert (export.state, export.n_rows) == ("done", 80)
    path = exporting.path_of(export, "answers.csv")
    assert sha256_of(path) == export.sha256
    assert export.counts["assignments"]["total"] == 20
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.actor, entry.study) == ("export.requested", researcher, study)
    assert exporting.path_of(export, "../../secret") is None


def test_a_large_export_waits_for_a_worker(study, researcher, monkeypatch):
    monkeypatch.setattr(exporting, "AT_ONCE_ROWS", 79)
    export = exporting.start(study, "csv", {}, researcher)
    assert (export.state, export.file) == ("waiting", "")
    tasks.write_export(export.pk)
    export.refresh_from_db()
    assert (export.state, export.n_rows) == ("done", 80)
    assert exporting.start(study, "jsonl", {}, researcher).state == "done"


def test_two_exports_of_the_same_have_the_same_hash(study, researcher):
    first, again = (exporting.start(study, "parquet", {}, researcher) for _ in range(2))
    assert first.sha256 == again.sha256 != ""


def test_an_export_whose_worker_is_gone_is_taken_up_again(study):
    export = Export.objects.create(study=study, format="jsonl", state="running", lease_until=DAY)
    held = Export.objects.create(
        study=study,
        format="jsonl",
        state="running",
        lease_until=timezone.now() + timedelta(minutes=1),
    )
    assert exporting.left_over() == [export.pk]
    assert exporting.write(held.pk) is False
    assert exporting.write(export.pk) is True
    export.refresh_from_db()
    assert export.state == "done"
    assert exporting.write(export.pk) is False


def test_a_writer_that_lost_its_lease_changes_nothing(study, monkeypatch):
    export = Export.objects.create(study=study, format="jsonl")
    monkeypatch.setattr(exporting, "RENEW", timedelta(0))

    def take_over(*args):
        Export.objects.filter(pk=export.pk).update(lease_until=timezone.now())
        return []

    monkeypatch.setattr(export_rows, "answer_rows", lambda *args: iter([take_over()]))
    assert exporting.write(export.pk) is False
    export.refresh_from_db()
    assert (export.state, export.sha256) == ("running", "")
    assert list(exporting.root().iterdir()) == []


def test_an_export_that_ends_its_worker_each_time_is_given_up(study):
    export = Export.objects.create(
        study=study, format="csv", state="running", lease_until=DAY, counts={"tries": 5}
    )
    assert exporting.write(export.pk) is False
    export.refresh_from_db()
    assert export.state == "failed"
    assert export.error.startswith("Given up after 5 tries")


def test_a_full_disk_is_a_sentence_and_leaves_nothing(study, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(exporting, "_file", full)
    export = Export.objects.create(study=study, format="csv")
    exporting.write(export.pk)
    export.refresh_from_db()
    assert (export.state, export.error) == (
        "failed",
        "It could not be written: No space left on device.",
    )
    assert list(exporting.root().iterdir()) == []


def test_a_database_that_is_away_costs_a_try_only(study, monkeypatch):
    def away(*args, **kwargs):
        raise DatabaseError("locked")

    export = Export.objects.create(study=study, format="csv")
    monkeypatch.setattr(exporting, "write_folder", away)
    assert exporting.write(export.pk) is False
    export.refresh_from_db()
    assert (export.state, export.counts) == ("waiting", {"tries": 1})


@pytest.mark.parametrize(
    ("format", "parameters", "sentence"),
    [
        ("xml", {}, "format must be one of csv, jsonl, parquet, label-studio"),
        ("csv", {"judges": "some"}, "judges must be one of all, people, simulated"),
        ("csv", {"seat": 1}, "'seat' is no filter"),
        ("csv", {"questionnaire": "yes"}, "questionnaire must be true or false"),
    ],
)
def test_what_cannot_be_exported_is_a_sentence(study, format, parameters, sentence):
    with pytest.raises(ExportRefused, match=sentence):
        exporting.start(study, format, parameters, None)
    assert not Export.objects.exists()


def test_erasing_somebody_deletes_the_files_that_hold_their_answers(study, researcher):
    exporting.start(study, "csv", {}, researcher)
    exporting.start(study, "jsonl", {}, researcher)
    assert exporting.forget(study) == 2
    assert not Export.objects.exists()
    assert list(exporting.root().iterdir()) == []
    assert AuditEntry.objects.filter(action="export.deleted").count() == 2


def test_the_command_writes_a_folder_and_leaves_others_alone(study, tmp_path, capsys):
    out = tmp_path / "out"
    for _ in range(2):
        call_command("export_study", "s1", "--format", "jsonl", "--out", str(out), "--json")
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert said["assignments"]["total"] == 20
    assert sha256_of(out / "answers.jsonl") == said["files"]["answers.jsonl"]["sha256"]
    (out / "thesis.txt").write_text("mine")
    with pytest.raises(CommandError, match=r"holds thesis\.txt"):
        call_command("export_study", "s1", "--out", str(out))
    with pytest.raises(CommandError, match="There is no study 'gone'"):
        call_command("export_study", "gone", "--out", str(tmp_path / "x"))
