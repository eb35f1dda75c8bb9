"""Stored vectors: one encode call per distinct text, ever."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import numpy as np
import pytest
from django.db import connection
from django.utils import timezone

from scoring import encoders, encoding_claims
from scoring.dialogue_distances import flow_score_pairs
from scoring.embeddings import (
    WAVE,
    cut_share,
    encoder_for,
    lacking,
    store,
    stored_revisions,
    text_digest,
    vectors_for,
)
from scoring.encoders import EncoderUnavailable
from scoring.models import Embedding, EncodingClaim
from scoring.stored_encoders import HalfPrecision
from scoring.turn_vectors import DialogueVectors


class CountingEncoder:
    """The lexical encoder, remembering what it was asked."""

    name = "counting"
    dim = encoders.LexicalEncoder.dim
    max_characters = encoders.LexicalEncoder.max_characters
    max_tokens = None

    def __init__(self, revision: str = "counting-1", seconds: float = 0.0) -> None:
        self.revision = revision
        self.seconds = seconds
        self.calls: list[list[str]] = []

    def encode(self, texts):
        self.calls.append(list(texts))
        time.sleep(self.seconds)
        return encoders.LexicalEncoder().encode(texts)


def test_each_distinct_text_is_encoded_once_and_then_read(db):
    counting = CountingEncoder()
    texts = ["Hello.", "Which day?", "Hello.", "  Hello. ", "", "\n"]
    first = vectors_for(counting, texts)
    again = vectors_for(counting, [*texts, "On Monday."])

    assert [sorted(call) for call in counting.calls] == [["Hello.", "Which day?"], ["On Monday."]]
    assert np.array_equal(first, again[:6])
    assert np.array_equal(first, encoders.get("lexical").encode(texts))
    assert Embedding.objects.count() == 3


def test_blank_texts_give_zero_rows_and_store_nothing(db):
    rows = vectors_for(CountingEncoder(), ["", "  "])
    assert rows.shape == (2, CountingEncoder.dim)
    assert not rows.any()
    assert Embedding.objects.count() == 0
    assert vectors_for(CountingEncoder(), []).shape == (0, CountingEncoder.dim)


def test_another_revision_has_its_own_vectors(db):
    old, new = CountingEncoder("counting-1"), CountingEncoder("counting-2")
    vectors_for(old, ["Hello."])
    vectors_for(new, ["Hello."])
    assert new.calls == [["Hello."]]
    assert set(Embedding.objects.values_list("encoder", flat=True)) == {"counting-1", "counting-2"}


def test_vectors_survive_storage_bit_by_bit(db):
    text = "The table is booked."
    vectors_for(CountingEncoder(), [text])
    row = Embedding.objects.get(text_digest=text_digest(text))
    stored = np.frombuffer(bytes(row.vector), dtype="<f4")
    assert np.array_equal(stored, encoders.get("lexical").encode([text])[0])


def test_a_thousand_texts_cost_few_statements(db, django_assert_max_num_queries):
    texts = [f"sentence number {i}" for i in range(1000)]
    params = connection.features.max_query_params or 10_000
    lookups = -(-1000 // min(5000, params - 1))
    waves = 3
    # Per wave: claim, read the claims, look again, store, free; each in its own savepoint.
    with django_assert_max_num_queries(2 * lookups + waves * 12):
        vectors_for(CountingEncoder(), texts)
    with django_assert_max_num_queries(lookups):
        vectors_for(CountingEncoder(), texts)


def test_waves_are_stored_as_they_are_encoded(db, monkeypatch):
    monkeypatch.setattr("scoring.embeddings.WAVE", 2)

    class Failing(CountingEncoder):
        def encode(self, texts):
            if len(self.calls) == 1:
                raise RuntimeError("the worker ends here")
            return super().encode(texts)

    with pytest.raises(RuntimeError):
        vectors_for(Failing(), ["a", "bb", "ccc", "dddd"])
    assert Embedding.objects.count() == 2
    assert EncodingClaim.objects.count() == 0
    assert WAVE > 2


def together(*works):
    """Run each function in a thread of its own; their results in order."""

    def run(work):
        try:
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


@pytest.mark.django_db(transaction=True)
def test_no_text_is_encoded_by_two_workers(monkeypatch):
    monkeypatch.setattr("scoring.embeddings.WAVE", 16)
    monkeypatch.setattr("scoring.embeddings.WAIT_SECONDS", 0.01)
    texts = [f"sentence number {i}" for i in range(160)]
    mine, theirs = CountingEncoder(seconds=0.01), CountingEncoder(seconds=0.01)
    a, b = together(lambda: vectors_for(mine, texts[:120]), lambda: vectors_for(theirs, texts[40:]))
    encoded = [text for call in mine.calls + theirs.calls for text in call]
    assert len(encoded) == len(set(encoded)) == 160
    assert mine.calls and theirs.calls
    assert np.array_equal(a[40:], b[:80])
    assert EncodingClaim.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_a_text_claimed_by_another_is_waited_for(monkeypatch):
    monkeypatch.setattr("scoring.embeddings.WAIT_SECONDS", 0.01)
    claimed = threading.Event()
    counting = CountingEncoder()

    def other():
        with encoding_claims.held("counting-1", [text_digest("Hello.")]) as own:
            assert own == {text_digest("Hello.")}
            claimed.set()
            time.sleep(0.2)
            store("counting-1", {text_digest("Hello."): np.full(counting.dim, 0.5, np.float32)})

    def waiting():
        claimed.wait(10)
        return vectors_for(counting, ["Hello.", "Which day?"])

    rows = together(waiting, other)[0]
    assert counting.calls == [["Which day?"]]
    assert (rows[0] == 0.5).all()


@pytest.mark.parametrize("abandoned", ["process", "age"])
def test_a_claim_whose_worker_is_gone_holds_nobody_up(db, abandoned):
    from scoring.leases import BOOT

    host, pid, rest = BOOT.rsplit(".", 2)
    token = f"{host}.{2**22 + 1}.{rest}:x" if abandoned == "process" else f"{BOOT}:x"
    assert pid.isdigit()
    claim = EncodingClaim.objects.create(
        encoder="counting-1", text_digest=text_digest("Hello."), token=token
    )
    if abandoned == "age":
        old = timezone.now() - timedelta(seconds=encoding_claims.CLAIM_SECONDS + 1)
        EncodingClaim.objects.filter(pk=claim.pk).update(claimed_at=old)
    counting = CountingEncoder()
    assert vectors_for(counting, ["Hello."]).any()
    assert counting.calls == [["Hello."]]
    assert EncodingClaim.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_two_workers_storing_the_same_texts_store_them_once():
    texts = [f"sentence number {i}" for i in range(60)]

    def work(_):
        try:
            return vectors_for(CountingEncoder(), texts)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, range(4)))
    assert Embedding.objects.count() == 60
    assert all(np.array_equal(rows, found[0]) for rows in found)


def dialogue(texts, rows):
    roles = tuple(("user", "assistant")[i % 2] for i in range(len(texts)))
    return DialogueVectors(roles, tuple(texts), rows)


def test_half_precision_takes_half_the_room_and_changes_scores_by_less_than_a_thousandth(db):
    full, half = CountingEncoder(), HalfPrecision(CountingEncoder())
    assert half.revision == "counting-1+f16"
    texts = [f"the {word} of number {i}" for i in range(40) for word in ("name", "day")]
    exact, fresh, stored = (vectors_for(e, texts) for e in (full, half, half))
    assert np.array_equal(fresh, stored)
    assert np.linalg.norm(stored, axis=1) == pytest.approx(1.0, abs=1e-6)
    sizes = {e: len(bytes(v)) for e, v in Embedding.objects.values_list("encoder", "vector")}
    assert sizes == {"counting-1": 4 * full.dim, "counting-1+f16": 2 * full.dim}
    scores = [
        flow_score_pairs(
            [
                (dialogue(texts[:20], rows[:20]), dialogue(texts[i : i + 20], rows[i : i + 20]))
                for i in range(0, 60, 7)
            ]
        )
        for rows in (exact, stored)
    ]
    apart = [abs(a.value - b.value) for a, b in zip(*scores, strict=True)]
    assert 0 < max(apart) < 1e-3


def test_the_setting_chooses_the_precision_and_a_run_keeps_its_own(db, settings):
    assert encoder_for("lexical").revision == "lexical-1"
    settings.VECTOR_PRECISION = "float16"
    assert encoder_for("lexical").revision == "lexical-1+f16"
    assert encoder_for("lexical", "lexical-1").revision == "lexical-1"
    with pytest.raises(EncoderUnavailable, match="was started with encoder lexical-0"):
        encoder_for("lexical", "lexical-0")


def test_an_encoder_without_weights_reads_what_was_imported_and_names_what_is_missing(
    db, settings, monkeypatch, tmp_path
):
    monkeypatch.setattr("scoring.sentence_encoders._hub_cache", lambda: tmp_path)
    with pytest.raises(EncoderUnavailable, match="pull_encoder labse"):
        encoder_for("labse")
    old, new = (encoders.revision_key("labse", f"{i}" * 12) for i in (2, 1))
    rows = np.eye(3, 768, dtype=np.float32)
    store(old, {text_digest("Hello."): rows[0]})
    store(new + "+f16", {text_digest("Hello."): rows[1]})
    assert stored_revisions() == sorted([old, new + "+f16"])

    assert encoder_for("labse").revision == old
    settings.VECTOR_PRECISION = "float16"
    assert encoder_for("labse").revision == new + "+f16"
    found = encoder_for("labse", old)
    assert np.array_equal(
        vectors_for(found, ["Hello.", "", " Hello."]), rows[[0, 2, 0]] * [[1], [0], [1]]
    )
    with pytest.raises(EncoderUnavailable, match="2 texts have no stored vector of sentence"):
        vectors_for(found, ["Hello.", "Which day?", "Monday."])
    assert lacking(old, ["Hello.", " Monday.", "", "Monday."]) == ["Monday."]


def test_the_share_of_texts_that_are_cut_is_counted_in_tokens_or_characters():
    class Words(CountingEncoder):
        max_tokens = 3

        def token_counts(self, texts):
            return np.array([len(text.split()) for text in texts])

    texts = ["one two three", "one two three four", "", "one"]
    assert cut_share(Words(), texts) == (1 / 3, 1, 3, "3 tokens", "")
    assert cut_share(CountingEncoder(), ["x" * 20_001, "x"]).share == 0.5
    assert cut_share(CountingEncoder(), ["  "]).share is None


def test_tokens_that_cannot_be_counted_here_are_a_reason_not_a_number(db, monkeypatch, tmp_path):
    monkeypatch.setattr("scoring.sentence_encoders._hub_cache", lambda: tmp_path)
    revision = encoders.revision_key("dialog2flow", "1" * 12)
    store(revision, {text_digest("Hello."): np.ones(768, np.float32)})
    found = cut_share(encoder_for("dialog2flow"), ["Hello."])
    assert (found.share, found.n, found.limit) == (None, 1, "64 tokens")
    assert "not here" in found.reason
