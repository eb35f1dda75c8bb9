"""The command: its exit codes, its last line, its sentences."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command, load_command_class

from benchmark.formats import FORMATS
from benchmark.models import Corpus, Dialogue
from benchmark.records import BadRecord, DialogueRecord, TurnRecord

IDS = [f"d{i}" for i in range(501)]
KEYS = {"format", "corpus", "new", "unchanged", "updated", "rejected", "warnings", "turns"}


def line(ident, text="hello"):
    return json.dumps({"id": ident, "messages": [{"role": "user", "content": text}]})


@pytest.fixture
def chats(tmp_path):
    path = tmp_path / "chats.jsonl"
    path.write_text(f"{line('a')}\n{line('b')}\n")
    return path


def run(capsys, path, *args, fmt="messages", code=0):
    exited = 0
    try:
        call_command("import_corpus", fmt, str(path), "--corpus", "c", *args)
    except SystemExit as leave:
        exited = leave.code
    out = capsys.readouterr()
    assert exited == code, out
    return out


def last(out):
    return json.loads(out.out.splitlines()[-1])


def test_the_last_line_is_one_object(db, capsys, chats):
    report = last(run(capsys, chats, "--json"))
    assert set(report) >= KEYS
    assert (report["format"], report["corpus"], report["new"], report["turns"]) == (
        "messages",
        "c",
        2,
        2,
    )
    assert last(run(capsys, chats, "--json"))["unchanged"] == 2


def test_what_is_rejected_in_part_exits_with_three(db, capsys, chats):
    chats.write_text(chats.read_text() + "{\n")
    report = last(run(capsys, chats, "--json", code=3))
    assert report["new"] == 2
    assert report["rejected"][0]["where"] == "chats.jsonl:3"


@pytest.mark.parametrize("name", ["gone.jsonl", "bad.jsonl", "empty.jsonl"])
def test_nothing_readable_exits_with_one_and_still_ends_with_an_object(db, capsys, tmp_path, name):
    (tmp_path / "bad.jsonl").write_text("{\n")
    (tmp_path / "empty.jsonl").write_text("")
    out = run(capsys, tmp_path / name, "--json", code=1)
    assert last(out)["new"] == 0
    assert name in last(out)["rejected"][0]["where"]
    assert "Nothing could be read." in out.err
    assert not Corpus.objects.exists()


@pytest.mark.parametrize(
    "fmt", ["star", "sdialog", "dialfork", "messages", "transcripts", "trajel"]
)
def test_every_format_names_what_is_absent_or_empty(db, capsys, tmp_path, fmt):
    (tmp_path / "nothing").mkdir()
    for name, sentence in (("gone", "no such file or folder"), ("nothing", "holds no")):
        (bad,) = last(run(capsys, tmp_path / name, "--json", fmt=fmt, code=1))["rejected"]
        assert bad["where"].endswith(name)
        assert sentence in bad["reason"]


def test_changed_dialogues_need_update(db, capsys, chats):
    run(capsys, chats)
    chats.write_text(f"{line('a', 'other')}\n{line('b')}\n")
    assert "--update" in last(run(capsys, chats, "--json", code=3))["rejected"][0]["reason"]
    assert last(run(capsys, chats, "--json", "--update"))["updated"] == 1
    assert Dialogue.objects.get(external_id="a").turns.get().text == "other"


def test_a_dry_run_writes_nothing(db, capsys, chats):
    out = run(capsys, chats, "--dry-run", "--json")
    assert last(out)["new"] == 2
    assert "nothing written" in out.out
    assert not Corpus.objects.exists()


def test_roles_are_mapped_by_name(db, capsys, chats):
    chats.write_text('{"id": "a", "messages": [{"role": "Agent 007", "content": "x"}]}\n')
    run(capsys, chats, code=1)
    run(capsys, chats, "--roles", "Agent 007=assistant")
    assert Dialogue.objects.get().n_assistant_turns == 1


@pytest.mark.parametrize("pair", ["Agent", "Agent=boss"])
def test_a_mapping_to_no_role_is_refused(db, capsys, chats, pair):
    with pytest.raises(CommandError, match="NAME=ROLE"):
        run(capsys, chats, "--roles", pair)


def test_a_slug_that_is_none_is_refused(db, chats):
    with pytest.raises(CommandError, match="--corpus a b"):
        call_command("import_corpus", "messages", str(chats), "--corpus", "a b")


def test_a_warning_names_its_first_place(db, capsys, chats):
    chats.write_text(chats.read_text() + line("c", "paid\x00ok") + "\n")
    out = run(capsys, chats)
    assert "NUL character replaced (first: chats.jsonl:3, turn 1)" in out.out


def test_an_input_that_breaks_off_keeps_what_was_stored(db, capsys, chats, monkeypatch):
    def breaking_off(path, *, workflows=None, roles=None):
        yield from (DialogueRecord(name, [TurnRecord("user", "hello")]) for name in IDS)
        raise BadRecord("chats.jsonl", "breaks off")

    monkeypatch.setitem(FORMATS, "messages", breaking_off)

    out = run(capsys, chats, "--json", code=1)

    assert last(out)["rejected"] == [{"where": "chats.jsonl", "reason": "breaks off"}]
    assert Dialogue.objects.filter(corpus__slug="c").count() == 500


def test_only_an_import_from_a_shell_lets_the_pages_go_first(db, capsys, chats, monkeypatch):
    lowered = []
    monkeypatch.setattr("os.nice", lowered.append)
    run(capsys, chats)
    assert lowered == []
    command = load_command_class("benchmark", "import_corpus")
    # It closes the connections of its process, which is here the test's.
    monkeypatch.setattr("django.core.management.base.connections.close_all", lambda: None)
    command.run_from_argv(["manage.py", "import_corpus", "messages", str(chats), "--corpus", "c"])
    assert lowered == [10]
    assert Dialogue.objects.count() == 2
