"""The train half: half of a workflow's conformant dialogues, by hash, the same on every machine."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from benchmark.formats.building import dialogue, turn
from benchmark.importing import import_records
from benchmark.models import Corpus, Dialogue
from benchmark.splitting import store_split, train_half
from tests.small import add_dialogue, make_corpus, make_forks, said


@given(st.sets(st.text(min_size=1, max_size=8).filter(str.isalnum)), st.integers(0, 9))
def test_the_half_is_the_floor_with_the_smallest_hashes(ids, seed):
    train = train_half(seed, ids)

    def place(ident):
        return hashlib.sha256(f"{seed}:{ident}".encode()).hexdigest()

    assert len(train) == len(ids) // 2
    rest = ids - train
    assert not train or not rest or max(map(place, train)) < min(map(place, rest))


def halves(corpus):
    return {d.external_id: d.split for d in corpus.dialogues.all()}


def test_only_conformant_dialogues_with_turns_are_split(db):
    corpus = make_corpus(n=5)
    workflow = corpus.workflows.get()
    add_dialogue(corpus, workflow, "unknown", said(9), conformant=None, split="train")
    add_dialogue(corpus, workflow, "silent", [], conformant=True)
    add_dialogue(corpus, None, "loose", said(8), conformant=True)
    assert store_split(corpus) == {"train": 2, "test": 3}
    found = halves(corpus)
    assert (found["unknown"], found["silent"], found["loose"]) == ("", "", "")


def test_each_workflow_is_halved_for_itself(db):
    corpus = make_corpus(n=4)
    make_corpus(n=7, workflow="table_change")
    store_split(corpus)
    for name, trained in (("table_book", 2), ("table_change", 3)):
        assert corpus.dialogues.filter(workflow__name=name, split="train").count() == trained


def test_the_same_seed_gives_the_same_halves_and_another_may_not(db):
    corpus = make_corpus(n=40)
    store_split(corpus, 1)
    first = halves(corpus)
    store_split(corpus)
    assert halves(corpus) == first
    store_split(corpus, 2)
    assert halves(corpus) != first
    assert Corpus.objects.get().split_seed == 2
    store_split(corpus, 1)
    assert halves(corpus) == first


def test_forks_follow_the_half_of_their_source(db):
    source = make_corpus(n=4)
    store_split(source)
    forks = make_forks(source)
    store_split(forks)
    for dialogue_ in forks.dialogues.prefetch_related("forks__source"):
        expected = "test" if dialogue_.forks.get().source.split == "test" else ""
        assert dialogue_.split == expected
    first = halves(source)
    seed = next(s for s in range(1, 99) if store_split(source, s) and halves(source) != first)
    assert source.split_seed == seed
    for dialogue_ in forks.dialogues.prefetch_related("forks__source"):
        assert (dialogue_.split == "test") == (dialogue_.forks.get().source.split == "test")


def test_a_split_that_came_with_the_input_stays(db):
    corpus = make_corpus(n=4)

    def given_one(ident, split):
        turns = [turn("assistant", "hello")]
        return dialogue(
            ident, turns, where=ident, workflow="table_book", conformant=True, split=split
        )

    import_records(corpus, "dialfork", [given_one("x", "train"), given_one("y", "train")])
    store_split(corpus, 5)
    assert set(Dialogue.objects.filter(external_id__in="xy").values_list("split", flat=True)) == {
        "train"
    }
