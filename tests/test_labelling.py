"""Labels of runs: one shape for people, judges and publishers, stored once, never replaced."""

from __future__ import annotations

import json

import pytest
from django.db import IntegrityError, transaction
from hypothesis import given
from hypothesis import strategies as st

from annotation.models import Item, Study
from benchmark.importing import import_records
from benchmark.label_records import (
    COMPONENTS,
    FLAGS,
    PERSON,
    TYPES,
    LabelRecord,
    PlaceRecord,
    SignalRecord,
    label_of,
)
from benchmark.labelling import (
    NEW,
    UNCHANGED,
    labelled_runs,
    records_of,
    store_label,
    store_labels,
    store_signals,
)
from benchmark.models import Corpus, LabelSet, Rater, Trajectory, TrajectorySignal
from benchmark.records import BadRecord, StepRecord, TrajectoryRecord
from tests.small import make_trajectory

pytestmark = pytest.mark.django_db
FAULT = LabelRecord(
    rater="published",
    present=True,
    types=("procedural", "scope"),
    flags=("role_breach",),
    places=(PlaceRecord(2, "action", "scope"), PlaceRecord(1, "thought", cause="root")),
    rationale="It opens the valve first.",
)


@pytest.fixture
def run():
    return make_trajectory(Corpus.objects.create(slug="runs", title="Runs"))


places = st.builds(
    PlaceRecord,
    step=st.none() | st.integers(2, 9),
    component=st.sampled_from(["", *COMPONENTS]),
    type=st.sampled_from(["", *TYPES]),
    cause=st.sampled_from(["", "root", "propagated"]),
    evidence=st.none() | st.just(1),
)


@st.composite
def labels(draw):
    present = draw(st.booleans())
    types = draw(st.lists(st.sampled_from(TYPES), unique=True)) if present else []
    flags = draw(st.lists(st.sampled_from(FLAGS), unique=True)) if "scope" in types else []
    return LabelRecord(
        rater=draw(st.text("abc", min_size=1, max_size=5)),
        present=present,
        types=tuple(types),
        flags=tuple(flags),
        places=tuple(draw(st.lists(places, max_size=4))) if present else (),
        rationale=draw(st.text(max_size=20)),
        trial=draw(st.integers(1, 5)),
    )


@given(labels())
def test_a_label_written_as_json_comes_back_the_same(label):
    back = label_of(json.loads(json.dumps(label.to_json())))
    assert back.to_json() == label.to_json()
    assert frozenset(back.types) == frozenset(label.types)


@pytest.mark.parametrize(
    ("change", "where", "said"),
    [
        ({"types": ["invented"]}, "types", "factual"),
        ({"present": "yes"}, "present", "bool"),
        ({"present": False}, "present", "no type and no place"),
        ({"flags": ["role_breach"], "types": ["logical"]}, "flags", "scope"),
        ({"trial": 0}, "trial", "from 1"),
        ({"verdict": 1}, "verdict", "known are"),
        ({"places": [{"step": 0}]}, "step", "from 1"),
        ({"places": [{"step": 2, "evidence": 2}]}, "evidence", "not before"),
        ({"places": [{"step": 1, "component": "plan"}]}, "component", "thought"),
        ({"places": [3]}, "places", "objects"),
        ({"kind": "oracle"}, "kind", "person"),
        ({"stage": "revision"}, "post_reveal", "no blind"),
    ],
)
def test_a_label_that_cannot_be_is_refused_naming_the_field(change, where, said):
    with pytest.raises(BadRecord, match=said) as refused:
        label_of(FAULT.to_json() | change)
    assert refused.value.where == where


def test_a_label_is_stored_and_read_back_whole(run):
    row = store_label(run, FAULT)
    assert row.types == ["procedural", "scope"]
    assert row.flags == ["role_breach"]
    assert records_of([row])[row.pk].to_json() == FAULT.to_json()


def test_the_same_label_again_changes_nothing_and_another_one_is_refused(run):
    first = store_label(run, FAULT)
    assert store_label(run, FAULT) == first
    other = LabelRecord(rater="published", present=False)
    with pytest.raises(BadRecord, match="with another answer"):
        store_label(run, other)
    assert LabelSet.objects.count() == 1
    assert store_labels([(run.pk, FAULT)]) == [UNCHANGED]
    (outcome,) = store_labels([(run.pk, other)])
    assert "with another answer" in outcome.reason


def test_a_place_names_a_step_of_the_run(run):
    with pytest.raises(BadRecord, match="has no step 3"):
        store_label(run, LabelRecord("published", True, places=(PlaceRecord(3),)))
    assert not LabelSet.objects.exists()
    (outcome,) = store_labels([(run.pk, LabelRecord("x", True, places=(PlaceRecord(3),)))])
    assert isinstance(outcome, BadRecord)
    assert not LabelSet.objects.exists()


def test_a_rater_stays_what_it_is(run):
    store_label(run, FAULT)
    with pytest.raises(BadRecord, match="is here already"):
        store_label(run, LabelRecord("published", True, kind=PERSON, trial=2))


def test_the_database_itself_keeps_absence_and_types_apart(run):
    rater = Rater.objects.create(name="r", kind="judge")
    for fields in ({"present": False, "factual": True}, {"present": True, "target_change": True}):
        with pytest.raises(IntegrityError), transaction.atomic():
            LabelSet.objects.create(trajectory=run, rater=rater, **fields)


def test_many_labels_cost_a_constant_number_of_queries(
    run, django_assert_num_queries, django_assert_max_num_queries
):
    runs = [make_trajectory(run.corpus, f"run-{n}") for n in range(2, 30)]
    store_label(run, FAULT)
    with django_assert_max_num_queries(10):
        outcomes = store_labels([(r.pk, FAULT) for r in runs])
    assert outcomes == [NEW] * len(runs)
    with django_assert_num_queries(5):
        found = labelled_runs(Trajectory.objects.all())
    assert len(found) == len(runs) + 1
    assert {r.labels["published"].onset for r in found} == {1}
    assert found[0].agents == ("sensor agent", "sensor agent")


def test_only_blind_first_answers_of_real_raters_are_counted(run):
    store_label(run, FAULT)
    store_label(run, LabelRecord("published", False, trial=2))
    changed = LabelRecord("A-1", False, kind=PERSON, stage="revision", post_reveal=True)
    store_label(run, changed)
    Rater.objects.create(name="robot", kind=PERSON, simulated=True)
    store_label(run, LabelRecord("robot", True, kind=PERSON))
    (found,) = labelled_runs(Trajectory.objects.all())
    assert set(found.labels) == {"published"}
    (none,) = labelled_runs(Trajectory.objects.all(), ["A-1"])
    assert none.labels == {}


def test_a_signal_stays_until_it_is_updated_on_purpose(run):
    yes, no = (
        SignalRecord("task_completion", True, "j"),
        SignalRecord("task_completion", False, "j"),
    )
    assert store_signals([(run.pk, yes), (run.pk, SignalRecord("other", None))]) == 2
    assert store_signals([(run.pk, no)]) == 0
    assert TrajectorySignal.objects.get(name="task_completion").value is True
    assert store_signals([(run.pk, no)], update=True) == 1
    assert TrajectorySignal.objects.get(name="task_completion").value is False


def record(**changes):
    values = {
        "external_id": "a",
        "task": "Find the pump.",
        "steps": (StepRecord(1, "sensors", action="look()"), StepRecord(2, response="pump 2")),
        "response": "pump 2",
        "labels": (FAULT,),
        "signals": (SignalRecord("task_completion", True, "judge-1"),),
    }
    return TrajectoryRecord(**values | changes)


def test_labels_and_signals_come_with_their_run_once():
    corpus = Corpus.objects.create(slug="runs", title="Runs")
    report = import_records(corpus, "dialfork", [record()])
    assert report.labels == {"published: new": 1, "signals: new": 1}
    report = import_records(corpus, "dialfork", [record()])
    assert (report.unchanged, report.labels) == (1, {"published: unchanged": 1})
    other = LabelRecord("published", False)
    report = import_records(corpus, "dialfork", [record(labels=(other,))])
    assert report.unchanged == 1
    assert "another answer" in report.rejected[0].reason
    assert LabelSet.objects.count() == 1


def test_labels_that_come_later_find_their_run():
    corpus = Corpus.objects.create(slug="runs", title="Runs")
    import_records(corpus, "dialfork", [record(labels=(), signals=())])
    report = import_records(corpus, "dialfork", [record()])
    assert report.labels == {"published: new": 1, "signals: new": 1}


def test_a_run_that_people_have_labelled_is_not_replaced():
    corpus = Corpus.objects.create(slug="runs", title="Runs")
    import_records(corpus, "dialfork", [record(labels=())])
    run = Trajectory.objects.get()
    store_label(run, LabelRecord("A-1", False, kind=PERSON, stage="review"))
    report = import_records(corpus, "dialfork", [record(task="Other.")], update=True)
    assert "labelled by people" in report.rejected[0].reason
    assert Trajectory.objects.get().task == "Find the pump."
    Rater.objects.filter(name="A-1").update(kind="judge")
    report = import_records(corpus, "dialfork", [record(task="Other.")], update=True)
    assert report.updated == 1


def test_a_run_that_a_study_shows_is_not_replaced():
    corpus = Corpus.objects.create(slug="runs", title="Runs")
    import_records(corpus, "dialfork", [record()])
    study = Study.objects.create(slug="s", title="S", seed=1, kind="runs")
    Item.objects.create(study=study, trajectory=Trajectory.objects.get())
    report = import_records(corpus, "dialfork", [record(task="Other.")], update=True)
    assert "part of a study" in report.rejected[0].reason
    assert Trajectory.objects.get().task == "Find the pump."


def test_a_dry_run_of_runs_with_labels_writes_nothing():
    corpus = Corpus.objects.create(slug="runs", title="Runs")
    report = import_records(corpus, "dialfork", [record()], dry_run=True)
    assert report.new == 1
    assert not Trajectory.objects.exists()
    assert not Rater.objects.exists()


def test_what_stands_beside_a_run_is_no_part_of_its_digest():
    assert record().digest == record(labels=(), signals=()).digest
    assert record().digest != record(response="pump 3").digest
