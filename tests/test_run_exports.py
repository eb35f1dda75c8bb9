"""Exports of a study of runs: every answer with its places, comparison and second thought."""

from __future__ import annotations

import csv
import json

import pyarrow.parquet as pq
import pytest
from django.urls import reverse

from annotation import exporting, reviewing
from annotation.enrolment import assign_seat
from annotation.export_kinds import FORMATS
from annotation.export_rows import Filter
from annotation.models import ProblemReport, Skip
from annotation.rehearsal import simulate_study
from annotation.run_export_formats import LONG, QUESTIONS, SCHEMA, in_words
from tests.run_studies import make_run_study

pytestmark = pytest.mark.django_db

FAULT = {
    "present": "yes",
    "types": ["factual", "scope"],
    "flags": ["role_breach"],
    "places": [{"at": "2.action", "types": ["factual"], "cause": "root"}, {"at": "final"}],
    "rationale": "=1+1 The reading of pump 2 is not what the list says.",
}


@pytest.fixture(autouse=True)
def files_apart(settings, tmp_path):
    settings.VAR_DIR = tmp_path


@pytest.fixture
def study(annotator):
    """A person of six runs: one changed mind, one agreed, one begun, one skipped, two waiting."""
    study = make_run_study(n_simulated=2)
    seat = assign_seat(study, annotator)
    rows = list(
        seat.assignments.order_by("rank").select_related(
            "seat__study", "item__trajectory", "item__judge_answer"
        )
    )
    reviewing.record_review(rows[0], FAULT)
    reviewing.record_comparison(
        rows[0], {"agreement": "partly", "on": ["type", "step"], "note": "So so.", "changed": "yes"}
    )
    reviewing.record_revision(rows[0], {"present": "no"})
    reviewing.record_review(rows[1], {"present": "no"})
    reviewing.record_comparison(rows[1], {"agreement": "agree", "changed": "no"})
    reviewing.record_review(rows[2], FAULT)
    reviewing.record_comparison(
        rows[2], {"agreement": "disagree", "on": ["presence"], "changed": "yes"}
    )
    Skip.objects.create(assignment=rows[3], reason="other", note="No idea.")
    step = rows[0].item.trajectory.steps.first()
    ProblemReport.objects.create(assignment=rows[0], step=step, text="Cut off.")
    return study


def written(study, format, tmp_path, **filter_):
    out = tmp_path / format
    return out, exporting.write_folder(study, format, Filter(**filter_), out)


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_row_holds_the_answer_the_judge_and_what_came_after(study, tmp_path):
    out, manifest = written(study, "jsonl", tmp_path, judges="people")
    rows = lines(out / "answers.jsonl")
    assert all(list(row) == SCHEMA.names for row in rows)
    counts = manifest["assignments"]
    assert (counts["submitted"], counts["skipped"], counts["in_progress"]) == (2, 1, 1)
    first = next(row for row in rows if row["changed"] and row["revised_at"])
    assert (first["present"], first["types"]) == (True, ["factual", "scope"])
    assert first["flags"] == ["role_breach"]
    assert first["places"] == [
        {"step": 2, "component": "action", "type": "factual", "cause": "root", "evidence": None},
        {"step": None, "component": "response", "type": "", "cause": "", "evidence": None},
    ]
    assert first["first_step"] == 2
    assert (first["agreement"], first["differs_on"]) == ("partly", ["type", "step"])
    assert (first["revised_present"], first["revised_types"]) == (False, [])
    assert (first["judge"], first["problems"], first["note"]) == ("judge-a", 1, "So so.")
    assert first["judge_present"] in (True, False)
    assert first["model"] in ("m0", "m1", "m2")
    skipped = next(row for row in rows if row["status"] == "skipped")
    assert (skipped["present"], skipped["types"], skipped["differs_on"]) == (None, None, None)


def test_the_csv_says_of_each_question_whether_it_was_answered(study, tmp_path):
    out, _ = written(study, "csv", tmp_path, judges="people")
    with (out / "answers.csv").open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        rows = list(reader)
    assert reader.fieldnames == LONG
    assert len(set(LONG)) == len(LONG)
    assert len(rows) == len(QUESTIONS) * 12
    said = {}
    for row in rows:
        said.setdefault((row["seat"], row["rank"]), {})[row["asked"]] = row
    changed = next(q for q in said.values() if q["changed"]["answer"] == "true")
    assert changed["types"]["answer"] == "factual; scope"
    assert changed["places"]["answer"] == "2.action:factual cause=root; final"
    assert changed["note"]["answer"] == "So so."
    assert {row["question"] for row in rows} == {"q0", "q1", "q2", "q3"}
    assert changed["rationale"]["answer"].startswith("'=1+1")
    assert changed["revised_types"]["answer_state"] in ("not_applicable", "missing")
    agreed = next(q for q in said.values() if q["agreement"]["answer"] == "agree")
    for nothing in ("types", "flags", "differs_on"):
        assert agreed[nothing]["answer_state"] == "not_applicable"
    assert agreed["revised_present"]["answer_state"] == "not_applicable"
    begun = [
        q
        for q in said.values()
        if q["present"]["answer"] and q["revised_present"]["answer_state"] == "missing"
    ]
    assert len(begun) == 1
    waiting = [q for q in said.values() if q["present"]["answer_state"] == "missing"]
    assert all(q["agreement"]["answer_state"] == "missing" for q in waiting)


def test_parquet_keeps_lists_and_places(study, tmp_path):
    out, _ = written(study, "parquet", tmp_path)
    table = pq.read_table(out / "answers.parquet")
    assert table.schema.names == SCHEMA.names
    (out_json, _) = written(study, "jsonl", tmp_path)
    assert table.to_pylist() == lines(out_json / "answers.jsonl")


def test_label_studio_holds_the_steps_and_the_answers(study, tmp_path):
    out, _ = written(study, "label-studio", tmp_path, judges="people")
    tasks = json.loads((out / "tasks.json").read_text(encoding="utf-8"))
    assert len(tasks) == study.items.filter(assignments__seat__simulated=False).distinct().count()
    task = next(
        t
        for t in tasks
        for a in t["annotations"]
        if any(r["from_name"] == "revised_present" for r in a["result"])
    )
    assert [step["position"] for step in task["data"]["steps"]] == [1, 2, 3]
    results = {r["from_name"]: r["value"] for r in task["annotations"][0]["result"]}
    assert results["types"] == {"choices": ["factual", "scope"]}
    assert results["revised_present"] == {"choices": ["no"]}
    assert results["note"] == {"text": ["So so."]}
    assert sum(len(t["drafts"]) for t in tasks) == 1
    (prediction,) = task["predictions"]
    assert prediction["model_version"] == "judge-a"
    assert prediction["result"][0]["from_name"] == "present"


def test_the_history_tells_everything_in_order(study, tmp_path):
    out, _ = written(study, "csv", tmp_path, judges="people")
    events = lines(out / "history.jsonl")
    names = [event["event"] for event in events]
    assert names.count("reviewed") == 3
    assert names.count("compared with the judge") == 3
    assert names.count("answered again") == 1
    assert names.count("skipped") == 1
    report = next(event for event in events if event["event"] == "problem reported")
    assert (report["step"], report["text"]) == (1, "Cut off.")
    item = next(event["item"] for event in events if event["event"] == "answered again")
    mine = [
        e["event"] for e in events if e["item"] == item and e["pseudonym"] == report["pseudonym"]
    ]
    order = ["reviewed", "compared with the judge", "answered again"]
    assert [name for name in mine if name in order] == order


@pytest.mark.parametrize("format", FORMATS)
def test_the_same_answers_give_the_same_bytes(study, tmp_path, format):
    simulate_study(study)
    one, other = (
        exporting.write_folder(study, format, Filter(), tmp_path / name) for name in ("a", "b")
    )
    assert one["files"] == other["files"]


def test_items_join_to_nothing_outside_but_to_themselves(study, tmp_path):
    out, _ = written(study, "jsonl", tmp_path)
    rows = lines(out / "answers.jsonl")
    names = {row["run"]: row["item"] for row in rows}
    assert len(set(names.values())) == len(names) == 12
    assert all(names[row["run"]] == row["item"] for row in rows)
    tasks, _ = written(study, "label-studio", tmp_path)
    known = {t["data"]["item"] for t in json.loads((tasks / "tasks.json").read_text())}
    assert known <= set(names.values())


def test_an_export_takes_as_many_queries_for_many_answers_as_for_few(
    study, tmp_path, django_assert_num_queries
):
    with django_assert_num_queries(17):
        written(study, "jsonl", tmp_path)
    simulate_study(study)
    with django_assert_num_queries(17):
        written(study, "parquet", tmp_path)


def test_a_list_is_one_cell():
    place = {"step": None, "component": "response", "type": ""}
    assert in_words([place, {"step": 3, "component": "", "type": "logical"}]) == (
        "final; 3.step:logical"
    )
    assert in_words([]) == ""
    assert in_words(False) is False


def test_the_page_asks_for_no_kind_of_item_and_writes_the_file(study, client, researcher):
    client.force_login(researcher)
    address = reverse("annotation:exports", args=[study.slug])
    assert "Which items" not in client.get(address).content.decode()
    values = {"format": "csv", "judges": "people", "attempts": "all"}
    assert "is ready" in client.post(address, values, follow=True).content.decode()
    assert study.exports.get().counts["assignments"]["submitted"] == 2
    assert client.post(address, values | {"judges": "no one"}).status_code == 400
