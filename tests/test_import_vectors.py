"""Vectors computed elsewhere: the way out and back, and files that do not fit."""

from __future__ import annotations

import json

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from scoring import encoders, runs
from scoring.embeddings import stored_revisions, vectors_for
from scoring.models import Embedding
from scoring.stored_encoders import encoder_for

DIM = 768
COMMIT = "0123456789ab"
REVISION = f"sentence-transformers/LaBSE@{COMMIT}"


@pytest.fixture(autouse=True)
def no_weights(monkeypatch, tmp_path):
    monkeypatch.setattr("scoring.sentence_encoders._hub_cache", lambda: tmp_path / "hub")


def invented(texts, dim=DIM):
    """Stands in for a model of another machine: rows that are not of length one."""
    rows = encoders.LexicalEncoder().encode(texts)
    return np.pad(rows, ((0, 0), (0, dim - rows.shape[1]))).astype(np.float32) * 3


def files(tmp_path, texts, rows):
    vectors, said = tmp_path / "vectors.npy", tmp_path / "texts.jsonl"
    np.save(vectors, rows)
    said.write_text("".join(json.dumps(text) + "\n" for text in texts))
    return str(vectors), str(said)


def bring(name, vectors, texts, *more):
    call_command("import_vectors", name, vectors, texts, *more)


def test_an_encoder_without_weights_scores_a_corpus_from_imported_vectors(forked, tmp_path, capsys):
    out = tmp_path / "texts.jsonl"
    call_command("export_texts", forked.slug, str(out), "--encoder", "labse")
    texts = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(texts) == len(set(texts)) and "Your parcel leaves the depot today." in texts
    assert "Ask for the name" in texts

    with pytest.raises(encoders.EncoderUnavailable, match="pull_encoder labse"):
        runs.start("task2", [forked], {"method": "flow_score", "encoder": "labse"})
    vectors, said = files(tmp_path, texts, invented(texts))
    bring("labse", vectors, said, "--revision", COMMIT, "--json")
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["stored"] == len(texts)

    run = runs.start("task2", [forked], {"method": "flow_score", "encoder": "labse"})
    runs.work_through(run)
    assert run.parameters["encoder_revision"] == REVISION
    assert run.scores.filter(value__isnull=False).count() == 64
    call_command("export_texts", forked.slug, str(out), "--encoder", "labse")
    assert out.read_text() == ""


def test_what_another_machine_encodes_is_what_this_one_would_have(forked, tmp_path, capsys):
    texts, vectors = tmp_path / "texts.jsonl", tmp_path / "vectors.npy"
    call_command("export_texts", forked.slug, str(texts), "--encoder", "lexical")
    call_command("encode_texts", "lexical", str(texts), str(vectors))
    assert "--revision lexical-1" in capsys.readouterr().out
    bring("lexical", str(vectors), str(texts), "--revision", "lexical-1")
    said = [json.loads(line) for line in texts.read_text().splitlines()]
    before = Embedding.objects.count()
    rows = vectors_for(encoder_for("lexical"), said)
    assert Embedding.objects.count() == before == len(said)
    assert np.abs(rows - encoders.LexicalEncoder().encode(said)).max() < 1e-6


def test_whole_dialogues_are_exported_when_asked_for(forked, tmp_path):
    plain, whole = tmp_path / "plain.jsonl", tmp_path / "whole.jsonl"
    call_command("export_texts", forked.slug, str(plain), "--encoder", "lexical")
    call_command(
        "export_texts", forked.slug, str(whole), "--encoder", "lexical", "--whole-dialogues"
    )
    more = set(whole.read_text().splitlines()) - set(plain.read_text().splitlines())
    # 64 forks and 4 sources; forks at the first assistant turn of like sources may be equal.
    assert 40 <= len(more) <= 68 and all("\\n" in line for line in more)


def test_blanks_and_repeats_are_counted_and_a_second_import_changes_nothing(db, tmp_path, capsys):
    texts = ["Hello.", " Hello. ", "", "Which day?"]
    rows = invented([text.strip() for text in texts])
    vectors, said = files(tmp_path, texts, rows)
    bring("labse", vectors, said, "--revision", COMMIT)
    assert "2 vectors stored" in capsys.readouterr().out
    bring("labse", vectors, said, "--revision", COMMIT, "--json")
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found == {"revision": REVISION, "stored": 0, "known": 2, "repeated": 1, "blank": 1}
    assert Embedding.objects.count() == 2
    kept = vectors_for(encoder_for("labse"), ["Hello."])
    assert np.linalg.norm(kept) == pytest.approx(1.0)


def test_plain_text_files_and_half_precision_are_read(db, tmp_path, settings):
    settings.VECTOR_PRECISION = "float16"
    texts = ["Hello.", "Which day?"]
    said, vectors = tmp_path / "texts.txt", tmp_path / "vectors.npy"
    said.write_text("Hello.\r\nWhich day?\n")
    np.save(vectors, invented(texts).astype(np.float16))
    bring("labse", str(vectors), str(said))
    assert stored_revisions() == ["sentence-transformers/LaBSE@imported+f16"]
    expected = invented(texts) / 3
    assert np.abs(vectors_for(encoder_for("labse"), texts) - expected).max() < 1e-3


def broken_rows():
    good = invented(["Hello.", "Which day?"])
    infinite = good.copy()
    infinite[1, 5] = np.inf
    zero = good.copy()
    zero[1] = 0
    return {
        "1 rows, but there are 2 texts": good[:1],
        "has the shape 2 x 700; its rows must have 768": good[:, :700],
        "has the shape 768; its rows": good[0],
        "row 2: holds a number that is not finite": infinite,
        "row 2: is all zeros": zero,
        "holds int64; it must hold float16": good.astype(np.int64),
        "is not a .npy array of numbers": np.array([{"a": 1}, None], dtype=object),
    }


@pytest.mark.parametrize("sentence", broken_rows())
def test_vectors_that_do_not_fit_are_refused_and_nothing_is_stored(db, tmp_path, sentence):
    vectors, said = files(tmp_path, ["Hello.", "Which day?"], broken_rows()[sentence])
    with pytest.raises(CommandError, match=sentence) as caught:
        bring("labse", vectors, said)
    assert "\n" not in str(caught.value)
    assert Embedding.objects.count() == 0


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("not json", "texts.jsonl, line 2: is not JSON"),
        ("17", "line 2: must be a JSON string"),
        ('{"words": "x"}', "line 2: must be a JSON string"),
        ('{"text": 3}', "line 2: must be a JSON string"),
        ("[" * 100_000, "line 2: is not JSON"),
    ],
)
def test_a_line_that_is_no_text_is_named(db, tmp_path, line, sentence):
    vectors, said = files(tmp_path, ["Hello."], invented(["Hello."]))
    with open(said, "a") as file:
        file.write(line + "\n")
    with pytest.raises(CommandError, match=sentence):
        bring("labse", vectors, said)


def test_files_that_are_not_there_or_of_another_kind_are_named(db, tmp_path):
    vectors, said = files(tmp_path, ["Hello."], invented(["Hello."]))
    with pytest.raises(CommandError, match=r"missing.npy cannot be read"):
        bring("labse", str(tmp_path / "missing.npy"), said)
    with pytest.raises(CommandError, match=r"missing.jsonl cannot be read"):
        bring("labse", vectors, str(tmp_path / "missing.jsonl"))
    with pytest.raises(CommandError, match=r"must be a .jsonl or .txt"):
        bring("labse", vectors, str(tmp_path / "vectors.npy"))
    with pytest.raises(CommandError, match=r"texts.jsonl is not UTF-8"):
        (tmp_path / "texts.jsonl").write_bytes(b"\xff")
        bring("labse", vectors, said)
    with pytest.raises(CommandError, match="holds no text"):
        (tmp_path / "texts.jsonl").write_bytes(b"")
        bring("labse", vectors, said)
    with pytest.raises(CommandError, match="is not known"):
        bring("word2vec", vectors, said)
    with pytest.raises(CommandError, match="--revision must be a word"):
        bring("labse", vectors, said, "--revision", "two words")


def test_one_text_with_two_vectors_is_refused(db, tmp_path):
    rows = invented(["Hello.", "Which day?"])
    vectors, said = files(tmp_path, ["Hello.", "Hello. "], rows)
    with pytest.raises(CommandError, match="rows 1 and 2: the same text has other vectors"):
        bring("labse", vectors, said)


def test_other_vectors_of_a_stored_revision_are_refused_whole(db, tmp_path):
    rows = invented(["Hello.", "Which day?", "Monday."])
    bring("labse", *files(tmp_path, ["Hello."], rows[:1]), "--revision", COMMIT)
    vectors, said = files(tmp_path, ["Which day?", "Hello."], rows[[1, 2]])
    with pytest.raises(CommandError, match=f"row 2: {REVISION} has another vector of this text"):
        bring("labse", vectors, said, "--revision", COMMIT)
    assert Embedding.objects.count() == 1
    bring("labse", vectors, said, "--revision", "f" * 40)
    assert Embedding.objects.count() == 3
