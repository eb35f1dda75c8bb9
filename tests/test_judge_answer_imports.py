"""Answers of judges are imported once, word for word, and every one of them is accounted for."""

from __future__ import annotations

import hashlib
import json
import os

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError

from benchmark import demo
from benchmark.formats import FORMATS
from benchmark.importing import import_records
from benchmark.judge_answer_files import AnswerRow, read_answers
from benchmark.judge_answer_imports import Import, import_answers
from benchmark.judge_prompts import load
from benchmark.judge_raters import find_prompt, judge_rater, stored_prompt
from benchmark.label_records import JUDGE, PUBLISHED, LabelRecord
from benchmark.labelling import records_of, store_label
from benchmark.models import Corpus, JudgeAnswer, JudgePrompt, LabelSet, Rater, Trajectory
from benchmark.records import BadRecord, StepRecord, TrajectoryRecord
from benchmark.storing import insert
from tests.judge_texts import judge_text, judge_texts, write_lines
from tests.run_studies import make_runs

pytestmark = pytest.mark.django_db


@pytest.fixture
def runs():
    return make_runs("plant", models=2, questions=3)


def say(corpus, path, *options, **named):
    call_command("import_judge_answers", path, corpus=corpus.slug, **named)


def put(corpus, rows, *, name="umpire", **how):
    return import_answers(Import(corpus, judge_rater(name), **how), rows)


def rows_of(corpus, texts):
    names = corpus.trajectories.order_by("pk").values_list("external_id", flat=True)
    return [
        AnswerRow(f"a.jsonl:{n}", text, run=name)
        for n, (name, text) in enumerate(zip(names, texts, strict=False), start=1)
    ]


def test_an_answer_becomes_a_label_and_is_kept_word_for_word(runs):
    raw = f"Let me see.\n```json\n{judge_text(confidence=0.5)}\n```"
    report = put(runs, rows_of(runs, [raw]), trial=2)
    assert (report.read, report.stored, report.left_out) == (1, 1, [])
    answer = JudgeAnswer.objects.get()
    assert (answer.raw, answer.status, answer.trial) == (raw, "read", 2)
    assert answer.digest == hashlib.sha256(raw.encode()).hexdigest()
    assert answer.meta == {"file": "a.jsonl:1", "notes": {"text around the answer": 1}}
    (label,) = records_of([answer.labels]).values()
    assert (label.present, label.types, label.kind, label.trial) == (
        True,
        ("procedural",),
        JUDGE,
        2,
    )
    assert [(p.step, p.component) for p in label.places] == [(2, "action")]
    assert label.meta["extra"] == {"confidence": 0.5}


def test_an_answer_that_cannot_be_read_is_kept_with_its_reason(runs):
    report = put(runs, rows_of(runs, ["No idea.", judge_text(types=["wild"]), judge_text(False)]))
    assert (report.read, report.rejected, report.stored) == (1, 2, 3)
    assert sum(report.reasons.values()) == 2
    rejected = JudgeAnswer.objects.filter(status="rejected")
    assert [answer.reason[:20] for answer in rejected] == [
        "holds no JSON object",
        "hallucination_type n",
    ]
    assert {answer.labels for answer in rejected} == {None}
    assert LabelSet.objects.filter(rater__name="umpire").count() == 1


def test_the_same_again_changes_nothing(runs):
    texts = [*judge_texts(5, seed=1), "No idea."]
    first = put(runs, rows_of(runs, texts))
    before = list(JudgeAnswer.objects.order_by("pk").values())
    again = put(runs, rows_of(runs, texts))
    assert (first.stored, again.unchanged, again.read, again.rejected) == (6, 6, 0, 0)
    assert list(JudgeAnswer.objects.order_by("pk").values()) == before


def test_another_answer_is_refused_and_the_first_stands(runs):
    put(runs, rows_of(runs, [judge_text(True)]))
    report = put(runs, rows_of(runs, [judge_text(False)]))
    assert [bad.where for bad in report.refused] == ["a.jsonl:1"]
    assert "another answer of umpire on plant-m0-q0 is here" in str(report.refused[0])
    assert LabelSet.objects.get(rater__name="umpire").present
    assert put(runs, rows_of(runs, [judge_text(False)]), trial=2).read == 1


def test_within_a_file_the_first_answer_on_a_run_stands(runs):
    one, other = judge_text(True), judge_text(False)
    rows = [AnswerRow(f"a:{n}", raw, run="plant-m0-q0") for n, raw in enumerate([one, one, other])]
    for dry_run in (True, False):
        report = put(runs, rows, dry_run=dry_run)
        assert (report.read, report.unchanged, len(report.refused)) == (1, 1, 1)


def test_a_dry_run_says_the_same_and_writes_nothing(runs):
    rows = [*rows_of(runs, judge_texts(6, seed=3, unreadable=0.3)), AnswerRow("a:9", "x", run="?")]
    new = Import(runs, Rater(name="new", kind="judge"), dry_run=True)
    dry = import_answers(new, rows)
    assert not JudgeAnswer.objects.exists() and not Rater.objects.filter(name="new").exists()
    assert dry.to_json() == put(runs, rows).to_json()


def test_a_run_is_found_by_its_question_where_only_one_answers_it(runs):
    rows = [
        AnswerRow("a:1", judge_text(), question="q1"),
        AnswerRow("a:2", judge_text(), question="q1", model="m1"),
        AnswerRow("a:3", judge_text(), run="nowhere"),
        AnswerRow("a:4", judge_text(), run="q2", model="m0"),
    ]
    report = put(runs, rows)
    assert report.read == 2
    assert [str(bad) for bad in report.unknown] == [
        "a:1: 2 runs of plant are of the question q1; give the id of one",
        "a:3: plant has no run nowhere",
    ]
    judged = JudgeAnswer.objects.order_by("pk").values_list("trajectory__external_id", flat=True)
    assert list(judged) == ["plant-m1-q1", "plant-m0-q2"]


def test_an_answer_against_a_stored_label_is_refused(runs):
    run = runs.trajectories.first()
    rater = judge_rater("umpire")
    store_label(run, LabelRecord("umpire", False, kind=JUDGE), rater=rater)
    report = put(runs, rows_of(runs, [judge_text(True), judge_text(True)]))
    assert (report.read, len(report.refused)) == (1, 1)
    assert JudgeAnswer.objects.count() == 1
    same = AnswerRow("b:1", judge_text(False, rationale=""), run=run.external_id)
    assert put(runs, [same]).read == 1


def test_what_no_database_takes_is_replaced_and_counted(runs):
    report = put(runs, rows_of(runs, ["a\x00b\ud800", judge_text(rationale="\x00")]))
    assert (report.read, report.rejected) == (1, 1)
    assert report.notes["characters replaced"] == 2
    assert JudgeAnswer.objects.get(status="rejected").raw == "a�b�"


def test_an_import_that_loses_a_race_counts_once_and_stores_once(runs, monkeypatch):
    lost = []

    def insert_after_another(model, rows):
        if not lost:
            lost.append(len(rows))
            raise IntegrityError("one_judge_answer_per_rater_and_trial")
        insert(model, rows)

    monkeypatch.setattr("benchmark.judge_answer_imports.insert", insert_after_another)
    report = put(runs, rows_of(runs, [judge_text(), judge_text(False), "?"]))
    assert lost == [3]
    assert (report.read, report.rejected, report.unchanged) == (2, 1, 0)
    assert JudgeAnswer.objects.count() == 3
    assert LabelSet.objects.filter(rater__name="umpire").count() == 2


@pytest.mark.parametrize("n", [20, 200])
def test_many_answers_cost_as_many_queries_as_few(n, django_assert_num_queries):
    corpus = make_runs("many", models=2, questions=n // 2)
    rows = rows_of(corpus, judge_texts(n, seed=2, unreadable=0.1))
    how = Import(corpus, judge_rater("umpire"))
    with django_assert_num_queries(16):
        report = import_answers(how, rows)
    assert report.stored == n
    again = import_answers(how, rows)
    assert again.unchanged == n


def test_tasks_of_a_run_are_found_in_its_steps(db):
    corpus = Corpus.objects.create(slug="tasks")
    steps = [StepRecord(n, thought="t", action="a", meta={"task_number": n}) for n in (1, 1, 2)]
    import_records(corpus, "trajel", [TrajectoryRecord("r", "T", steps)])
    put(corpus, [AnswerRow("a:1", judge_text(location="Task 1, Thought"), run="r")])
    label = LabelSet.objects.get(rater__name="umpire")
    assert [p.step.position for p in label.places.all()] == [1, 2]
    assert label.meta["notes"] == {"location spans several steps": 1}


# -- judges and prompts ------------------------------------------------------------------------


def test_a_judge_is_a_model_with_its_prompt(runs):
    prompt = load("whole-run", 2)
    judge = judge_rater("a", model="large", prompt=prompt)
    assert judge == judge_rater("a", model="large", prompt=prompt) == judge_rater("a")
    assert (judge.kind, judge.prompt.version, judge.prompt.variant_set) == ("judge", 2, "whole-run")
    assert judge.prompt.variant["specificity"] == "low"
    Rater.objects.create(name="p", kind=PUBLISHED)
    for name, how, words in (
        ("a", {"model": "small"}, "a is here with the model large"),
        ("a", {"prompt": load("whole-run", 1)}, "with the prompt whole-run@2; name this judge"),
        ("p", {}, "p is here already, as Published"),
        ("n" * 121, {}, "1 to 120 characters"),
    ):
        with pytest.raises(BadRecord, match=words):
            judge_rater(name, **how)


def test_a_changed_text_under_the_same_version_is_refused(runs):
    prompt = load("whole-run", 1)
    assert stored_prompt(prompt) == stored_prompt(prompt)
    JudgePrompt.objects.update(text="other words")
    with pytest.raises(BadRecord, match="whole-run@1 is here with other words"):
        stored_prompt(prompt)
    JudgePrompt.objects.create(name="old", version=3, text="Is {run} right?", digest="x")
    assert find_prompt("old", 3).fields == ["run"]
    with pytest.raises(BadRecord, match=r"there is no old@4; there are .*old@3"):
        find_prompt("old", 4)


# -- files -------------------------------------------------------------------------------------


def test_a_row_names_its_run_in_one_of_several_words(tmp_path):
    said = json.loads(judge_text())
    rows = [
        {"uid": "r1", "raw": "text"},
        {"external_id": "r2", "answer": said},
        {"id": 7, "answer": "text", "trial": 3},
        {"scenario_id": "SGT-1", "agent_model": "m", "raw_response": "text"},
        {"uid": "r5", "task": "T", "trajectory": [{"agent": "a"}], **said},
        {"raw": "of no run"},
        {"uid": "r7"},
        {"uid": "r8", "raw": "x", "trial": 0},
        ["r9"],
    ]
    path = write_lines(tmp_path / "answers.jsonl", rows)
    path.write_text(path.read_text() + '{"uid": "a", "uid": "b"}\n{broken\n')
    found = list(read_answers(path))
    assert [(r.run, r.question, r.model, r.trial) for r in found[:5]] == [
        ("r1", "", "", None),
        ("r2", "", "", None),
        ("7", "", "", 3),
        ("", "SGT-1", "m", None),
        ("r5", "", "", None),
    ]
    assert json.loads(found[1].raw) == json.loads(found[4].raw) == said
    assert [bad.where for bad in found[5:]] == [f"answers.jsonl:{n}" for n in range(6, 12)]
    words = [
        "says of no run",
        "holds no answer",
        "trial must",
        "must be an object",
        "twice",
        "JSON",
    ]
    for bad, word in zip(found[5:], words, strict=True):
        assert isinstance(bad, BadRecord) and word in bad.reason


def test_a_folder_holds_an_answer_for_each_run(tmp_path):
    (tmp_path / "r1.txt").write_text("Here: " + judge_text())
    (tmp_path / "r2.json").write_text(judge_text(False))
    (tmp_path / "r3.json").write_text("```json\n" + judge_text() + "\n```")
    (tmp_path / "r4.json").write_text(json.dumps({"uid": "other", "raw": "x"}))
    (tmp_path / "r5.csv").write_text("no answer")
    (tmp_path / "r6.json").write_text(json.dumps([{"uid": "a", "raw": "x"}, {"uid": "b"}]))
    (tmp_path / "r7.txt").write_bytes(b"\xff\xfe")
    found = list(read_answers(tmp_path))
    assert [row.run for row in found if isinstance(row, AnswerRow)] == [
        "r1",
        "r2",
        "r3",
        "other",
        "a",
    ]
    assert found[1].raw == judge_text(False)
    assert [bad.where for bad in found if isinstance(bad, BadRecord)] == ["r6.json[2]", "r7.txt"]


def test_names_that_no_database_takes_find_no_run_and_break_nothing(tmp_path, runs):
    (tmp_path / os.fsdecode(b"odd\xff.txt")).write_text(judge_text())
    write_lines(tmp_path / "rows.jsonl", [{"uid": "\ud800\x00", "raw": "x"}])
    report = put(runs, read_answers(tmp_path))
    assert [str(bad) for bad in report.unknown] == [
        "odd\ufffd.txt: plant has no run odd\ufffd",
        "rows.jsonl:1: plant has no run \ufffd\ufffd",
    ]


def test_a_path_that_is_none_is_said(tmp_path, runs):
    with pytest.raises(CommandError, match="no such file or folder"):
        say(runs, tmp_path / "none.jsonl", judge="a")
    (tmp_path / "a.csv").write_text("x")
    with pytest.raises(CommandError, match=r"must be a folder or end in one of .json"):
        say(runs, tmp_path / "a.csv", judge="a")
    assert not Rater.objects.filter(name="a").exists()


# -- the command -------------------------------------------------------------------------------


def test_the_command_names_judge_counts_and_what_was_left_out(runs, tmp_path, capsys):
    rows = [{"uid": "plant-m0-q0", "raw": judge_text()}, {"uid": "plant-m0-q1", "raw": "?"}]
    path = write_lines(tmp_path / "answers.jsonl", [*rows, {"uid": "nowhere", "raw": "?"}])
    with pytest.raises(SystemExit) as ended:
        say(runs, path, model="large", prompt="whole-run@3", json=True)
    assert ended.value.code == 3
    out = capsys.readouterr()
    lines = out.out.strip().splitlines()
    assert lines[0].startswith("large / whole-run@3: 1 read, 1 kept but not readable, 0 unch")
    assert "left out: answers.jsonl:3: plant has no run nowhere" in out.err
    report = json.loads(lines[-1])
    assert (report["judge"], report["read"], report["rejected"]) == ("large / whole-run@3", 1, 1)
    assert Rater.objects.get(name="large / whole-run@3").prompt.version == 3
    write_lines(path, rows)
    say(runs, path, model="large", prompt="whole-run@3")
    assert "2 unchanged, 0 left out." in capsys.readouterr().out


def test_a_judge_of_which_nothing_could_be_stored_is_not_kept(runs, tmp_path):
    path = write_lines(tmp_path / "answers.jsonl", [{"uid": "nowhere", "raw": "?"}])
    with pytest.raises(SystemExit) as ended:
        say(runs, path, model="large", prompt="whole-run@3")
    assert ended.value.code == 1
    assert not JudgePrompt.objects.exists() and not Rater.objects.filter(kind="judge").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "Say who judged"),
        ({"judge": "a", "prompt": "whole-run"}, "must be NAME@VERSION"),
        ({"judge": "a", "prompt": "whole-run@99"}, "there is no whole-run@99"),
        ({"judge": "a", "trial": 0}, "--trial must be"),
        ({"judge": "truth"}, "truth is here already, as Published"),
    ],
)
def test_the_command_refuses_in_a_sentence(runs, tmp_path, options, words):
    path = write_lines(tmp_path / "answers.jsonl", [{"uid": "plant-m0-q0", "raw": "?"}])
    with pytest.raises(CommandError, match=words):
        say(runs, path, **options)
    assert not JudgeAnswer.objects.exists()


def test_a_prompt_of_ones_own_comes_from_a_file(runs, tmp_path):
    path = write_lines(tmp_path / "answers.jsonl", [{"uid": "plant-m0-q0", "raw": judge_text()}])
    own = tmp_path / "own.toml"
    own.write_text('name = "own"\nuser = ["a"]\n[blocks]\na = "{run}"\n[[versions]]\nversion = 4\n')
    with pytest.raises(CommandError, match=r"say which of own.toml was asked: own@4"):
        say(runs, path, judge="a", prompt_file=own)
    say(runs, path, judge="a", prompt="own@4", prompt_file=own)
    assert Rater.objects.get(name="a").prompt.text == "{run}"


def test_every_answer_of_the_demos_judge_is_read_or_has_a_reason(db):
    corpus = Corpus.objects.create(slug="demo-runs")
    records = list(demo.scripted_runs(demo.SEED))
    import_records(corpus, "trajel", records)
    answers = list(demo.judge_answers(records, demo.SEED))
    rows = [AnswerRow(f"demo:{n}", text, run=name) for n, (name, text) in enumerate(answers)]
    report = put(corpus, rows)
    assert report.stored == len(records) == 60 and not report.notes
    assert 1 <= report.rejected <= 6 and set(report.reasons) == {"holds no JSON object"}
    assert Trajectory.objects.filter(judge_answers__status="read").count() == report.read
    assert "trajel" in FORMATS
