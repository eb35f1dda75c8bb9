"""Agent runs of every format are stored once, with the labels and signals that came with them."""

from __future__ import annotations

import json
from io import BytesIO, StringIO, TextIOWrapper

import pytest
from django.core.management import CommandError, call_command

from benchmark.formats import FORMATS
from benchmark.importing import import_records
from benchmark.models import Corpus, Dialogue, LabelSet, Trajectory, TrajectorySignal

pytestmark = pytest.mark.django_db


def imported(*args):
    """The report of the command as it ends with `--json`, and its exit code."""
    out, code = StringIO(), 0
    try:
        call_command("import_corpus", *map(str, args), "--corpus", "c", "--json", stdout=out)
    except SystemExit as ended:
        code = ended.code
    return json.loads(out.getvalue().splitlines()[-1]), code, out.getvalue()


@pytest.mark.parametrize(
    ("format_", "path", "expected"),
    [
        ("who_when", "who_when/algorithm-generated.jsonl.gz", (108, 936, 108, 0)),
        ("smartgrid", "assetops/smartgrid", (147, 740, 141, 141 * 6 + 24)),
        ("agent_runner", "assetops/agent-runner-turns", (1, 5, 0, 0)),
        ("assetops", "assetops/agenthive-sample", (9, 85, 0, 0)),
    ],
)
def test_real_runs_are_stored_and_a_second_import_changes_nothing(shared, format_, path, expected):
    corpus = Corpus.objects.create(slug="c")
    source = shared / "data" / path
    first = import_records(corpus, format_, FORMATS[format_](source))
    stored = list(Trajectory.objects.values_list("external_id", "digest").order_by("pk"))
    counts = (first.new, first.steps, LabelSet.objects.count(), TrajectorySignal.objects.count())
    assert counts == expected
    assert first.rejected == []
    second = import_records(corpus, format_, FORMATS[format_](source))
    assert (second.new, second.unchanged, second.rejected) == (0, expected[0], [])
    assert not [name for name in second.labels if name.endswith("new")]
    assert list(Trajectory.objects.values_list("external_id", "digest").order_by("pk")) == stored
    assert LabelSet.objects.count() == expected[2]
    assert TrajectorySignal.objects.count() == expected[3]


@pytest.fixture
def chats(tmp_path):
    path = tmp_path / "chats.jsonl"
    call = {"id": "c1", "function": {"name": "pumps", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "How many pumps?"},
        {"role": "assistant", "content": "I look", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "3"},
        {"role": "assistant", "content": "Three."},
    ]
    path.write_text(json.dumps({"id": "a", "messages": messages}) + "\n")
    return path


def test_chats_become_runs_where_it_is_said_and_dialogues_otherwise(chats):
    report, code, out = imported("messages", chats, "--as", "runs")
    assert (report["new"], report["steps"], code) == (1, 2, 0)
    assert "2 steps of runs" in out
    assert Trajectory.objects.get().response == "Three."
    assert not Dialogue.objects.exists()
    report, code, _ = imported("messages", chats, "--as", "dialogues")
    assert (report["new"], report["turns"]) == (1, 5)
    assert Trajectory.objects.count() == Dialogue.objects.count() == 1


def test_a_format_of_one_kind_says_that_it_cannot_become_another(chats):
    with pytest.raises(CommandError, match="--as runs: only messages can be read in two ways"):
        imported("transcripts", chats, "--as", "runs")
    assert not Corpus.objects.exists()


def test_labels_and_signals_are_told_beside_the_runs(tmp_path):
    log = {
        "file": "1.json",
        "question": "How many?",
        "history": [{"content": "Eight", "role": "Coder"}],
        "mistake_agent": "Coder",
        "mistake_step": "0",
        "mistake_reason": "Not eight",
    }
    path = tmp_path / "logs.jsonl"
    path.write_text(json.dumps(log) + "\n")
    report, code, out = imported("who_when", path)
    assert report["labels"] == {"published: new": 1}
    assert "1  labels by published: new" in out
    assert code == 0
    report, _, _ = imported("who_when", path)
    assert report["labels"] == {"published: unchanged": 1}


def test_a_rejected_line_leaves_the_others_stored(tmp_path):
    good = {"run_id": "r", "question": "?", "answer": "!", "trajectory": {"turns": []}}
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(good | {"run_id": None}) + "\n{\n" + json.dumps(good) + "\n")
    report, code, _ = imported("agent_runner", path)
    assert [bad["where"] for bad in report["rejected"]] == ["runs.jsonl:1, run_id", "runs.jsonl:2"]
    assert (report["new"], code) == (1, 3)
    assert report["warnings"] == {"run without a step": 1}


def test_a_hostile_verdict_and_broken_tables_leave_the_run_stored(tmp_path):
    for name in ("trajectories", "judge_logs", "annotations"):
        (tmp_path / name).mkdir()
    step = {"step": 1, "tool": "t", "response": "\x00\ud800"}
    run = {"question": "?", "answer": "!", "history": [step]}
    (tmp_path / "trajectories" / "x.json").write_text(json.dumps(run))
    dims = {"hallucinations": True, "suggestions": "\x00", "task_completion": None}
    verdict = {
        "judge_model": "m\x00\ud800",
        "trajectory_file": "elsewhere/x.json",
        "parsed_dims": dims,
        "run_name": {"\x00": ["\ud800"]},
    }
    (tmp_path / "judge_logs" / "a.json").write_text(json.dumps(verdict))
    (tmp_path / "judge_logs" / "b.json").write_text("{")
    (tmp_path / "annotations" / "a.csv").write_bytes(b"trajectory_file,manual_pass\n\xff,1\n")
    (tmp_path / "annotations" / "b.csv").write_text('trajectory_file\n"' + "x" * 200_000 + '"\n')
    report, code, _ = imported("smartgrid", tmp_path)
    assert [bad["where"] for bad in report["rejected"]] == [
        "annotations/a.csv",
        "annotations/b.csv",
        "judge_logs/b.json",
    ]
    assert (report["new"], code) == (1, 3)
    assert LabelSet.objects.get().rationale == "\ufffd"
    assert set(TrajectorySignal.objects.values_list("source", flat=True)) == {"m\ufffd\ufffd"}
    signals = dict(TrajectorySignal.objects.values_list("name", "value"))
    assert signals == {"hallucinations": True, "task_completion": None}


def test_half_a_character_in_what_a_report_quotes_can_be_printed(db, tmp_path):
    path = tmp_path / "chat.jsonl"
    path.write_text('{"id": "a", "messages": [{"role": "\\ud800", "content": "x"}]}\n')
    out = TextIOWrapper(BytesIO(), encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        call_command(
            "import_corpus", "messages", path, corpus="half", as_="runs", json=True, stdout=out
        )
    out.seek(0)
    (bad,) = json.loads(out.read().splitlines()[-1])["rejected"]
    assert ended.value.code == 1 and r"\ud800" in bad["reason"]
