"""Forking a corpus in the database, and the command that does it."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from benchmark import generating
from benchmark.corruption import Refusal, fork_points
from benchmark.generating import conformant_records, fork_corpus, workflow_records
from benchmark.importing import import_records
from benchmark.models import Corpus, Dialogue, Fork, Turn
from benchmark.records import ASSISTANT, WIC, BadRecord, DialogueRecord
from scoring.encoders import LexicalEncoder
from tests import human

EACH = 4


@pytest.fixture(autouse=True)
def light_encoder(monkeypatch):
    monkeypatch.setattr("scoring.encoders.get", lambda *args: LexicalEncoder())


@pytest.fixture
def people(db):
    """Twelve labelled dialogues in three tasks, one too short, one not known to be conformant."""
    corpus = Corpus.objects.create(slug="people", title="People")
    short = human.dialogue("table_book", 90)
    other = human.dialogue("table_book", 91)
    records = [
        *human.workflows().values(),
        *human.pool(EACH),
        DialogueRecord("short", short.turns[:6], workflow="table_book", conformant=True),
        DialogueRecord("open", other.turns, workflow="table_book", conformant=None),
    ]
    import_records(corpus, "dialfork", records)
    return corpus


@pytest.fixture
def into(db):
    return Corpus.objects.create(slug="people-forks")


def rows(corpus):
    return sorted(corpus.dialogues.values_list("external_id", "digest", "workflow_id"))


def test_every_eligible_source_gets_its_forks(people, into):
    report = fork_corpus(people, into, "splice", 3)
    assert report.sources == 3 * EACH and report.too_short == 1
    refused = sum(sum(found.values()) for found in report.refused.values())
    assert report.new == report.forks == 16 * report.sources - refused
    assert into.dialogues.count() == Fork.objects.count() == report.forks
    assert not report.rejected
    assert not Fork.objects.filter(source__external_id__in=["short", "open"]).exists()


def test_forks_point_at_their_source_and_its_workflow(people, into):
    fork_corpus(people, into, "splice", 3)
    for fork in Fork.objects.select_related("dialogue", "source"):
        assert fork.dialogue.external_id == f"{fork.source.external_id}.{fork.type}.{fork.k}"
        assert fork.source.corpus_id == people.pk and fork.dialogue.corpus_id == into.pk
        assert fork.dialogue.workflow_id == fork.source.workflow_id
        assert fork.dialogue.conformant is False and fork.dialogue.format == "splice"
        points = fork_points(fork.source.n_assistant_turns)
        assert fork.fork_assistant_turn == points[fork.k - 1]
        turn = Turn.objects.get(dialogue=fork.dialogue, number=fork.fork_turn)
        assert turn.assistant_number == fork.fork_assistant_turn
        assert fork.instruction and fork.witness["from"]["turn"] == fork.fork_turn


def test_a_second_time_changes_nothing(people, into):
    first = fork_corpus(people, into, "splice", 3)
    before = rows(into)
    again = fork_corpus(people, into, "splice", 3)
    assert again.new == 0 and again.unchanged == first.forks == again.forks
    assert again.refused == first.refused
    assert rows(into) == before


def test_stopped_anywhere_and_started_again_it_ends_the_same(people, into, monkeypatch):
    whole = Corpus.objects.create(slug="whole")
    fork_corpus(people, whole, "splice", 3)
    monkeypatch.setattr("benchmark.importing.BATCH", 10)

    class Killed(Exception):
        pass

    def stopping(sources):
        for number, source in enumerate(sources):
            if number == 5:
                raise Killed
            yield source

    with pytest.raises(Killed):
        fork_corpus(people, into, "splice", 3, progress=stopping)
    assert 0 < into.dialogues.count() < whole.dialogues.count()
    fork_corpus(people, into, "splice", 3)
    assert rows(into) == rows(whole)
    assert split_of(into) == split_of(whole)


def split_of(corpus):
    return sorted(corpus.dialogues.values_list("external_id", "split"))


def test_a_limit_takes_the_first_sources_and_may_be_raised(people, into):
    assert fork_corpus(people, into, "splice", 3, limit=2).sources == 2
    assert Dialogue.objects.filter(forked_into__isnull=False).distinct().count() == 2
    fork_corpus(people, into, "splice", 3, limit=5)
    whole = Corpus.objects.create(slug="whole")
    fork_corpus(people, whole, "splice", 3, limit=5)
    assert rows(into) == rows(whole)


def test_forks_of_a_test_source_test(people, into):
    fork_corpus(people, into, "splice", 3)
    for fork in Fork.objects.select_related("dialogue", "source"):
        assert fork.dialogue.split == ("test" if fork.source.split == "test" else "")


@pytest.mark.parametrize(
    ("seed", "reword", "named"), [(4, False, "seed 3, not 4"), (3, True, "reword_prefix False")]
)
def test_other_settings_need_another_corpus(people, into, seed, reword, named):
    fork_corpus(people, into, "splice", 3, limit=1)
    before = rows(into)
    with pytest.raises(BadRecord, match=named):
        fork_corpus(people, into, "splice", seed, reword_prefix=reword)
    assert rows(into) == before


def test_forks_never_go_among_other_dialogues(people, corpus):
    with pytest.raises(BadRecord, match="corpus of their own"):
        fork_corpus(people, people, "splice", 1)
    with pytest.raises(BadRecord, match="not forks of one engine"):
        fork_corpus(people, corpus, "splice", 1)


def test_an_unknown_engine_and_a_scripted_rewording_are_refused(people, into):
    with pytest.raises(BadRecord, match="scripted, splice"):
        fork_corpus(people, into, "magic", 1)
    with pytest.raises(BadRecord, match="only the splice engine"):
        fork_corpus(people, into, "scripted", 1, reword_prefix=True)


def test_refusals_are_counted_by_type_and_reason(people, into, monkeypatch):
    class Unwilling:
        name = "splice"

        def __init__(self, pool, workflows, *, seed):
            self.pool = pool

        def forks(self, source):
            return [Refusal(source.external_id, WIC, None, "no partner")]

    monkeypatch.setitem(generating.ENGINES, "splice", ("splice", Unwilling))
    report = fork_corpus(people, into, "splice", 1)
    assert report.refused == {WIC: {"no partner": 4 * 3 * EACH}}
    assert report.forks == 0
    assert json.loads(json.dumps(report.to_json()))["refused"][WIC]["no partner"] == 12 * EACH


def test_two_sources_with_one_id_are_refused(people, into):
    twin = human.dialogue("table_book", 0)
    import_records(people, "messages", [twin])
    with pytest.raises(BadRecord, match="two conformant dialogues have this id"):
        fork_corpus(people, into, "splice", 1)


def test_records_come_back_as_they_went_in(people):
    held = {record.external_id: record for record in conformant_records(people)}
    sent = {record.external_id: record for record in human.pool(EACH)}
    assert set(held) == {*sent, "short"}
    for key, record in sent.items():
        assert held[key].digest == record.digest
    assert {w.name: w.digest for w in workflow_records(people)} == {
        name: w.digest for name, w in human.workflows().items()
    }


def test_statements_do_not_grow_with_the_forks(people, into, django_assert_max_num_queries):
    with django_assert_max_num_queries(60):
        report = fork_corpus(people, into, "splice", 3)
    assert report.new > 150


def test_the_command_ends_with_one_object(people):
    out = StringIO()
    call_command(
        "fork_corpus", "people", "--into=made", "--engine=splice", "--seed=3", "--json", stdout=out
    )
    found = json.loads(out.getvalue().splitlines()[-1])
    made = Corpus.objects.get(slug="made")
    assert found["source"] == "people" and found["into"] == "made"
    assert found["engine"] == "splice" and found["seed"] == 3
    assert found["sources"] == 3 * EACH
    assert found["forks"] == found["new"] == made.dialogues.count()
    assert sum(found["by_type"].values()) == found["forks"]
    assert found["wic_other_domain"] == 4 * EACH
    assert found["identical_prefix"] == found["forks"]
    assert made.meta["forking"]["source"] == "people"


def test_the_command_rewords_prefixes_when_asked(people):
    out = StringIO()
    args = ("people", "--into=made", "--engine=splice", "--seed=3", "--reword-prefix", "--json")
    call_command("fork_corpus", *args, stdout=out)
    found = json.loads(out.getvalue().splitlines()[-1])
    assert 0 < found["identical_prefix"] < found["forks"]
    edited = Fork.objects.filter(replay="edited")
    assert edited.count() == found["forks"] - found["identical_prefix"]
    assert all(f.witness["reworded_turns"] >= 1 for f in edited)


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("nowhere", "--into=x"), "there is no corpus 'nowhere'"),
        (("people", "--into=people"), "corpus of their own"),
        (("people", "--into=a b"), "--into 'a b'"),
        (("people", "--into=x", "--limit=0"), "--limit must be 1 or more"),
        (("people", "--into=x", f"--seed={2**63}"), "seed: 9223372036854775808 does not fit"),
        (("people", "--into=x", "--engine=scripted"), "has no script"),
        (("empty", "--into=x"), "empty: holds no conformant dialogue with 4 or more"),
    ],
)
def test_the_command_fails_with_a_sentence_and_leaves_no_corpus(people, args, sentence):
    Corpus.objects.create(slug="empty")
    before = list(Corpus.objects.values_list("slug", flat=True))
    with pytest.raises(CommandError, match=sentence):
        call_command("fork_corpus", "--engine=splice", "--seed=1", *args, stdout=StringIO())
    assert list(Corpus.objects.values_list("slug", flat=True)) == before


def test_a_source_whose_forks_could_not_be_named_is_rejected_alone(people, into):
    long, fits = people.dialogues.filter(n_assistant_turns__gte=4, conformant=True)[:2]
    for row, length in ((long, 194), (fits, 193)):
        people.dialogues.filter(pk=row.pk).update(external_id="x" * length)
    report = fork_corpus(people, into, "splice", 3)
    assert [bad.where for bad in report.rejected] == ["x" * 194]
    assert report.sources == 3 * EACH - 1
    assert Fork.objects.filter(source=fits).count() > 8
    assert max(map(len, into.dialogues.values_list("external_id", flat=True))) == 200


def test_a_negative_seed_is_a_seed(people, into):
    fork_corpus(people, into, "splice", -7, limit=1)
    assert into.dialogues.exists()
    assert into.meta["forking"]["seed"] == -7


def test_every_fork_ends_where_the_assistant_has_spoken(people, into):
    fork_corpus(people, into, "splice", 3)
    for dialogue in into.dialogues.prefetch_related("turns"):
        roles = [t.role for t in dialogue.turns.all()]
        assert roles.count(ASSISTANT) == dialogue.n_assistant_turns
        assert len(roles) == dialogue.n_turns and roles[-1] == ASSISTANT
