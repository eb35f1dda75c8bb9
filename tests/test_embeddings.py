"""Stored vectors: one encode call per distinct text, ever."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from django.db import connection

from scoring import encoders
from scoring.embeddings import WAVE, text_digest, vectors_for
from scoring.models import Embedding


class CountingEncoder:
    """The lexical encoder, remembering what it was asked."""

    name = "counting"
    dim = encoders.LexicalEncoder.dim
    max_characters = encoders.LexicalEncoder.max_characters

    def __init__(self, revision: str = "counting-1") -> None:
        self.revision = revision
        self.calls: list[list[str]] = []

    def encode(self, texts):
        self.calls.append(list(texts))
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
    inserts = -(-1000 // min(2000, params // 3))
    with django_assert_max_num_queries(lookups + inserts + 2):
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
    assert WAVE > 2


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
