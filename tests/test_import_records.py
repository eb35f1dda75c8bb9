"""Records become rows once: by identity and digest, whole batches, nothing unaccounted for."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from django.db import connection

from annotation.models import Item, Study
from benchmark import storing_dialogues
from benchmark.formats.building import dialogue, trajectory, turn
from benchmark.importing import import_records
from benchmark.models import Corpus, Dialogue, Fork, Trajectory, Turn, Workflow
from benchmark.records import (
    BadRecord,
    ForkRecord,
    StepRecord,
    StepSpec,
    TransitionSpec,
    WorkflowRecord,
)
from scoring.models import DialogueScore, Run

STATEMENTS = {"postgresql": 6, "sqlite": 80}


@pytest.fixture
def empty(db):
    return Corpus.objects.create(slug="c")


def flow(name="table_book", **changes):
    record = WorkflowRecord(
        name=name,
        domain="restaurant",
        steps=(StepSpec("a", "A"), StepSpec("b", "B")),
        transitions=(TransitionSpec("a", "b"),),
        start="a",
        terminals=("b",),
        where=name,
    )
    return replace(record, **changes)


def talk(ident="d1", *texts, forks=(), where="", **extra):
    said = texts or ("hello", "hi", "bye")
    turns = [turn(("assistant", "user")[i % 2], text) for i, text in enumerate(said)]
    return dialogue(ident, turns, where=where or f"x:{ident}", forks=forks, **extra)


def fork(source="d1", **changes):
    record = ForkRecord("", source, "SSPC", "skip", 1, 1, 1, "Skip a step.", 7, "exact", "test")
    return replace(record, **changes)


def run(ident="r1", *actions):
    steps = [StepRecord(3, action=a) for a in actions or ("look", "ask")]
    return trajectory(ident, "Find it", steps, where=ident)


def rows():
    return list(Turn.objects.order_by("dialogue", "number").values_list("number", "role", "text"))


def test_a_first_import_stores_everything(empty):
    records = [flow(), talk(workflow="table_book", conformant=True), run()]
    report = import_records(empty, "dialfork", records)
    assert (report.new, report.unchanged, report.updated, report.rejected) == (2, 0, 0, [])
    assert (report.turns, report.steps, dict(report.workflows)) == (3, 2, {"new": 1})
    stored = Dialogue.objects.get()
    assert (stored.n_turns, stored.n_assistant_turns, stored.conformant) == (3, 2, True)
    assert stored.workflow.steps.get(is_start=True).key == "a"
    assert stored.workflow.steps.get(is_terminal=True).key == "b"
    assert list(stored.turns.values_list("assistant_number", flat=True)) == [1, None, 2]
    assert list(Trajectory.objects.get().steps.values_list("position", "number")) == [
        (1, 3),
        (2, 3),
    ]


def test_importing_twice_changes_nothing(empty):
    records = [flow(), talk(workflow="table_book", conformant=True), run()]
    import_records(empty, "dialfork", records)
    before = rows(), list(Dialogue.objects.values())
    report = import_records(empty, "dialfork", records)
    assert (report.new, report.unchanged, report.updated, report.rejected) == (0, 2, 0, [])
    assert dict(report.workflows) == {"unchanged": 1}
    assert (rows(), list(Dialogue.objects.values())) == before


def test_the_same_id_in_another_format_or_corpus_is_another_dialogue(empty):
    other = Corpus.objects.create(slug="other")
    for corpus, fmt in ((empty, "star"), (empty, "dialfork"), (other, "star")):
        assert import_records(corpus, fmt, [talk()]).new == 1
    assert Dialogue.objects.count() == 3


def test_what_has_changed_is_rejected_and_says_how_to_replace_it(empty):
    import_records(empty, "dialfork", [flow(), talk(), run()])
    changed = [flow(objective="O"), talk("d1", "other"), run("r1", "other"), talk("d2")]
    report = import_records(empty, "dialfork", changed)
    assert report.new == 1
    assert [bad.where for bad in report.rejected] == ["table_book", "x:d1", "r1"]
    assert all("--update" in bad.reason for bad in report.rejected)
    assert Turn.objects.filter(text="other").count() == 0


def test_update_replaces_turns_steps_and_procedure(empty):
    import_records(empty, "dialfork", [flow(), talk(), run()])
    changed = [flow(objective="O", steps=(StepSpec("z"),), transitions=(), start="", terminals=())]
    changed += [talk("d1", "one"), run("r1", "other")]
    report = import_records(empty, "dialfork", changed, update=True)
    assert (report.new, report.updated, report.rejected) == (0, 2, [])
    assert rows() == [(1, "assistant", "one")]
    assert Dialogue.objects.get().n_turns == 1
    assert list(Workflow.objects.get().steps.values_list("key", flat=True)) == ["z"]
    assert Trajectory.objects.get().steps.get().action == "other"
    assert import_records(empty, "dialfork", changed).unchanged == 2


def test_update_drops_scores_of_the_old_text(empty):
    import_records(empty, "dialfork", [talk()])
    scored = Run.objects.create(kind="k", corpus=empty, parameters={}, digest="x")
    DialogueScore.objects.create(run=scored, dialogue=Dialogue.objects.get(), value=0.5)
    import_records(empty, "dialfork", [talk("d1", "other")], update=True)
    assert not DialogueScore.objects.exists()


def test_update_leaves_a_source_of_forks_and_an_item_of_a_study_alone(empty):
    import_records(empty, "dialfork", [talk(), talk("d2"), talk("f1", "no", forks=[fork()])])
    study = Study.objects.create(slug="s", title="S", seed=1)
    judged = Dialogue.objects.get(external_id="d2")
    Item.objects.create(study=study, dialogue=judged, instruction="x", is_foil=False)
    report = import_records(
        empty, "dialfork", [talk("d1", "a"), talk("d2", "b"), talk("f1", "c")], update=True
    )
    assert report.updated == 1
    assert [bad.reason for bad in report.rejected] == [
        "it cannot be replaced: forks in the database start from it",
        "it cannot be replaced: it is an item of a study",
    ]
    assert not Turn.objects.filter(text__in=["a", "b"]).exists()


def test_a_dry_run_tells_the_same_and_writes_nothing(empty):
    import_records(empty, "dialfork", [talk()])
    records = [flow(), talk(), talk("d2", workflow="table_book"), talk("f", "x", forks=[fork()])]
    dry = import_records(empty, "dialfork", records, dry_run=True)
    assert (Dialogue.objects.count(), Workflow.objects.count()) == (1, 0)
    wet = import_records(empty, "dialfork", records)
    assert (dry.new, dry.unchanged, dry.rejected) == (2, 1, [])
    assert (wet.new, wet.unchanged, wet.warnings) == (2, 1, dry.warnings)


def test_a_dry_run_into_a_corpus_that_does_not_exist(db):
    report = import_records(Corpus(slug="new"), "dialfork", [flow(), talk(), run()], dry_run=True)
    assert report.new == 2
    assert not Corpus.objects.exists()


def test_bad_records_are_reported_and_the_others_stored(empty):
    bad = BadRecord("x:2", "no text")
    report = import_records(empty, "dialfork", [talk(), bad, talk("d3")])
    assert (report.new, report.rejected) == (2, [bad])


def test_an_id_twice_in_one_input(empty):
    report = import_records(empty, "dialfork", [talk(), talk(), talk("d1", "x")], update=True)
    assert (report.new, report.unchanged) == (1, 1)
    assert "stands twice in the input" in report.rejected[0].reason


def test_an_unknown_workflow_is_a_warning_and_linked_when_it_comes(empty):
    report = import_records(empty, "dialfork", [talk(workflow="table_book")])
    assert (report.warnings, report.places) == (
        {"unknown workflow": 1},
        {"unknown workflow": ["x:d1"]},
    )
    assert Dialogue.objects.get().workflow is None
    again = import_records(empty, "dialfork", [flow(), talk(workflow="table_book")])
    assert (again.updated, again.warnings) == (1, {})
    stored = Dialogue.objects.get()
    assert (stored.workflow.name, stored.warnings) == ("table_book", {})


def test_a_workflow_of_another_corpus_is_named_with_it(empty):
    import_records(empty, "dialfork", [flow()])
    other = Corpus.objects.create(slug="forks")
    import_records(other, "splice", [talk(workflow="c/table_book")])
    assert other.dialogues.get().workflow.corpus == empty


def test_warnings_are_counted_by_dialogue_and_name_the_turn(empty):
    loud = talk("d1", "a", "b\x00", "c\x00")
    report = import_records(empty, "dialfork", [loud, talk("d2", "\x00"), talk("d3")])
    name = "NUL character replaced"
    assert report.warnings == {name: 2}
    assert report.places == {name: ["x:d1, turn 2, 3", "x:d2, turn 1"]}
    assert Dialogue.objects.get(external_id="d1").warnings == {name: 2}


def test_dialogues_without_a_turn_are_stored(empty):
    report = import_records(empty, "dialfork", [dialogue("d0", [], where="x", conformant=None)])
    assert (report.new, report.turns) == (1, 0)
    assert Dialogue.objects.get().n_turns == 0
    assert not Dialogue.objects.scorable().exists()


def test_forks_find_their_source_in_batch_corpus_or_other_corpus(empty):
    import_records(empty, "dialfork", [talk("f1", "x", forks=[fork()]), talk()])
    other = Corpus.objects.create(slug="forks")
    report = import_records(
        other, "splice", [talk("f2", "x", forks=[fork(source_corpus="c", k=2), fork(seed=9)])]
    )
    assert "its source d1 is not in corpus forks" in report.rejected[0].reason
    both = [fork(source_corpus="c", k=2), fork(source_corpus="c", k=3, seed=9)]
    assert import_records(other, "splice", [talk("f2", "x", forks=both)]).new == 1
    stored = Fork.objects.filter(dialogue__external_id="f2").order_by("ordinal")
    assert [(f.ordinal, f.source.external_id, f.k, f.seed) for f in stored] == [
        (1, "d1", 2, 7),
        (2, "d1", 3, 9),
    ]


def test_a_source_in_several_formats_must_be_told_apart(empty):
    import_records(empty, "star", [talk()])
    import_records(empty, "dialfork", [talk()])
    told = talk("f2", "x", forks=[fork(source_format="star")])
    report = import_records(empty, "splice", [talk("f1", "x", forks=[fork()]), told])
    assert report.new == 1
    assert "in several formats (dialfork, star)" in report.rejected[0].reason
    assert Fork.objects.get().source.format == "star"


def test_a_batch_is_stored_whole_or_not_at_all(empty, monkeypatch):
    def fail(*args):
        raise RuntimeError("the machine stops here")

    monkeypatch.setattr(storing_dialogues, "_insert_forks", fail)
    with pytest.raises(RuntimeError):
        import_records(empty, "dialfork", [talk(), talk("d2")])
    assert not Dialogue.objects.exists()


def statements(work) -> int:
    """How many statements `work` sends; a transaction's start and end count (as savepoints do)."""
    seen = []

    def count(execute, sql, params, many, context):
        seen.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(count):
        work()
    return len(seen)


def test_statements_per_500_dialogues(empty):
    texts = [f"turn {n}" for n in range(10)]
    records = [talk(f"d{n}", *texts, workflow="table_book") for n in range(1500)]
    import_records(empty, "dialfork", [flow()])
    one = statements(lambda: import_records(empty, "dialfork", records[:500]))
    two = statements(lambda: import_records(empty, "dialfork", records[500:]))
    assert Turn.objects.count() == 15_000
    assert two - one <= STATEMENTS[connection.vendor]


def test_an_import_of_what_is_there_asks_once_per_batch(empty):
    records = [talk(f"d{n}") for n in range(500)]
    import_records(empty, "dialfork", records)
    assert statements(lambda: import_records(empty, "dialfork", records)) <= 4


def test_a_workflow_that_another_import_just_stored_is_known_at_once(empty):
    def stream():
        import_records(empty, "dialfork", [flow()])
        yield flow()
        yield talk(workflow="table_book")

    report = import_records(empty, "dialfork", stream())
    assert (dict(report.workflows), dict(report.warnings)) == ({"unchanged": 1}, {})
    assert Dialogue.objects.get().workflow.name == "table_book"


@pytest.mark.django_db(transaction=True)
def test_two_imports_at_once_store_each_dialogue_once():
    corpus = Corpus.objects.create(slug="race")
    records = [talk(f"d{n}") for n in range(300)]
    start = threading.Barrier(2)
    reports, errors = [], []

    def work():
        try:
            start.wait()
            reports.append(import_records(corpus, "dialfork", records))
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert sorted(r.new for r in reports) == [0, 300]
    assert sorted(r.unchanged for r in reports) == [0, 300]
    assert (Dialogue.objects.count(), Turn.objects.count()) == (300, 900)
