"""The synthetic corpus of full size: its shape at any size, the same for the same seed."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command

from benchmark.demo import full_size
from benchmark.models import Corpus, Dialogue, Fork, Turn
from benchmark.records import BadRecord


def test_24_workflows_of_unlike_size_make_up_the_published_number():
    found = full_size.sizes(full_size.DIALOGUES, 24)
    assert sum(found) == 2134 and len(found) == 24
    assert found == sorted(found) and found[0] < 40 and found[-1] > 140
    workflows = full_size.branch_workflows()
    assert len({w.name for w in workflows}) == 24
    assert len({w.domain for w in workflows}) == 12


def test_the_same_seed_gives_the_same_dialogues_and_another_seed_others():
    def first(seed):
        source, forks = next(full_size.families(24, seed))
        return source, forks

    assert first(3) == first(3)
    assert first(3)[0].turns != first(4)[0].turns
    assert len(first(3)[1]) == 16


def test_fewer_dialogues_than_workflows_are_refused():
    with pytest.raises(BadRecord, match="do not give each of 24 workflows one"):
        next(full_size.families(20))


@pytest.fixture
def one_branch(monkeypatch):
    """Eight workflows instead of 24: the rest is the same."""
    monkeypatch.setattr(full_size, "BRANCHES", 1)


def test_the_command_stores_sources_and_sixteen_forks_of_each(db, capsys, one_branch):
    call_command("make_scale_corpus", "scale", "--dialogues", "9", "--seed", "7", "--json")
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (found["dialogues"], found["forks"], found["new"]) == (9, 144, 153)
    assert found["turns"] == Turn.objects.count()
    assert Corpus.objects.get(slug="scale").workflows.count() == 8
    forks = Dialogue.objects.filter(corpus__slug="scale-forks")
    assert forks.count() == Fork.objects.count() == 144
    assert not forks.filter(workflow=None).exists()
    assert Dialogue.objects.filter(corpus__slug="scale", split="test").count() == 8
    call_command("make_scale_corpus", "scale", "--dialogues", "9", "--seed", "7", "--json")
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["new"] == 0
    with pytest.raises(CommandError, match="Choose another slug"):
        call_command("make_scale_corpus", "scale", "--dialogues", "9", "--seed", "8")


def test_files_are_kept_when_asked_for_and_nothing_is_imported(db, tmp_path, one_branch):
    call_command("make_scale_corpus", "scale", "--dialogues", "8", "--out", str(tmp_path))
    assert {p.name for p in tmp_path.iterdir()} == {"dialogues.jsonl", "forks.jsonl"}
    assert Corpus.objects.count() == 0
    call_command(
        "import_corpus", "dialfork", str(tmp_path / "dialogues.jsonl"), "--corpus", "scale"
    )
    call_command(
        "import_corpus", "dialfork", str(tmp_path / "forks.jsonl"), "--corpus", "scale-forks"
    )
    assert Dialogue.objects.count() == 8 * 17
    with pytest.raises(CommandError, match="valid"):
        call_command("make_scale_corpus", "no slug")
