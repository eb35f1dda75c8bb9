"""Which answers to runs are counted, and that statistics, detectors, the report of a study, the
list of disagreements and the exports agree on it."""

from __future__ import annotations

import pytest

from annotation import judging, reopening, reviewing, run_disputes, seating, withdrawing
from annotation.export_rows import Filter, chosen
from annotation.models import Assignment, Item, Study
from annotation.run_export_rows import rows_of
from annotation.run_reports import corpus_labels, study_reviews
from benchmark.label_records import PERSON
from benchmark.labelling import labelled_runs
from benchmark.models import LabelSet, Trajectory
from scoring import run_signals
from scoring.seen_runs import PEOPLE, seen_runs, truths
from tests.run_rows import NO, first_item, make_run_study, yes

AGREE = {"agreement": "agree", "changed": "no"}


@pytest.fixture
def study(annotator) -> Study:
    return make_run_study(user=annotator)


@pytest.fixture
def item(study) -> Assignment:
    return first_item(study)


def counted(study: Study) -> int:
    """How many answers of people count; the same wherever they are counted."""
    corpus = study.corpora.get()
    runs = labelled_runs(Trajectory.objects.filter(corpus=corpus))
    people = [label for run in runs for label in run.labels.values() if label.kind == PERSON]
    names = {label.rater for label in people}
    offered = dict(truths([corpus]))
    assert sum(n for name, n in offered.items() if name in names) == len(people)
    for name in names:
        truth = [run for run in seen_runs([corpus], truth=name) if run.truth is not None]
        assert len(truth) == offered[name]
        watched = run_signals.material(corpus, rater=name).runs
        assert sum(run.present is not None for run in watched) == offered[name]
    shown = [
        run for run in corpus_labels(corpus).runs for n in run.labels.values() if n.kind == PERSON
    ]
    assert len(shown) == len(people)
    rows = [row for row in study_reviews(study).of("people") if row.counted]
    assert len(rows) == len(people)
    return len(people)


def exported(study: Study, **choice) -> list[tuple]:
    """(status, attempt, post reveal, yes or no) of what an export holds of items once opened."""
    rows = rows_of(study, chosen(study, Filter(**choice)))
    said = [(r["status"], r["attempt"], r["post_reveal"], r["present"]) for r in rows]
    return sorted((row for row in said if row[0] != "pending"), key=str)


def finish(item: Assignment, values: dict) -> None:
    reviewing.record_review(item, values)
    reviewing.record_comparison(item, AGREE)
    item.refresh_from_db()


def test_a_finished_review_counts_and_so_does_one_whose_comparison_is_open(study, item):
    assert counted(study) == 0
    reviewing.record_review(item, yes())
    assert counted(study) == 1
    reviewing.record_comparison(item, AGREE)
    assert counted(study) == 1
    assert exported(study) == [("submitted", 1, False, True)]


def test_a_second_thought_never_counts_as_a_blind_answer(study, item):
    reviewing.record_review(item, yes())
    reviewing.record_comparison(item, AGREE | {"changed": "yes"})
    reviewing.record_revision(item, NO)
    assert counted(study) == 1
    run = labelled_runs(Trajectory.objects.filter(pk=item.item.trajectory_id))[0]
    assert run.labels[item.seat.pseudonym].present
    assert exported(study) == [("submitted", 1, False, True)]


def test_a_reopened_attempt_stands_beside_the_first_and_is_not_counted(study, item, researcher):
    finish(item, yes())
    again = reopening.reopen(item, researcher)
    finish(first_item_of(again), NO)
    assert counted(study) == 1
    first, second = ("submitted", 1, False, True), ("submitted", 2, True, False)
    assert exported(study, attempts="first") == [first]
    assert exported(study, attempts="all") == [first, second]


def test_a_skip_instead_of_a_review_has_no_answer_and_one_after_it_keeps_it(study, item):
    judging.record_skip(item, "other")
    assert counted(study) == 0
    other = first_item(study, rank=2)
    reviewing.record_review(other, yes())
    judging.record_skip(other, "other")
    assert counted(study) == 1
    assert exported(study) == [("skipped", 1, False, None), ("skipped", 1, False, True)]


def test_what_a_person_left_half_done_does_not_count_until_they_are_back(study, item):
    reviewing.record_review(item, yes())
    seat = item.seat
    assert seating.expire(seat)
    assert counted(study) == 0
    assert ("expired", 1, False, True) in exported(study)
    seat.refresh_from_db()
    assert seating.revive(seat)
    assert counted(study) == 1


def test_what_an_expired_person_had_finished_counts(study, item):
    finish(item, yes())
    assert seating.expire(item.seat)
    assert counted(study) == 1


def test_who_withdraws_and_lets_the_answers_stand_is_counted_by_what_was_finished(study, item):
    finish(item, yes())
    reviewing.record_review(first_item(study, rank=2), yes())
    assert counted(study) == 2
    withdrawing.withdraw(item.seat, "keep")
    assert counted(study) == 1
    assert exported(study) == [("submitted", 1, False, True), ("withdrawn", 1, False, True)]


def test_who_withdraws_and_erases_is_nowhere(study, item):
    finish(item, yes())
    withdrawing.withdraw(item.seat, "erase")
    assert counted(study) == 0
    assert not LabelSet.objects.filter(rater__kind=PERSON).exists()
    assert {row[3] for row in exported(study)} == {None}


def test_a_rehearsal_counts_nowhere(db):
    study = make_run_study(simulated=True)
    finish(first_item(study), yes())
    assert counted(study) == 0
    assert truths([study.corpora.get()]) == [("umpire-prompt-4", 2)]
    assert exported(study, judges="people") == []


@pytest.mark.parametrize("kind", [Item.Kind.PRACTICE, Item.Kind.ATTENTION])
def test_an_answer_to_what_is_no_main_item_does_not_count(study, item, kind):
    finish(item, yes())
    Item.objects.filter(pk=item.item_id).update(kind=kind)
    runs = labelled_runs(Trajectory.objects.filter(corpus=study.corpora.get()))
    assert not any(item.seat.pseudonym in run.labels for run in runs)
    assert exported(study) == []


def test_the_one_who_left_and_the_one_who_came_after_are_no_majority(annotator):
    study = make_run_study(user=annotator, n_seats=2)
    mine, theirs = first_item(study), study.seats.get(number=2).assignments.get(rank=1)
    reviewing.record_review(mine, yes())
    study.seats.filter(number=2).update(state="active")
    finish(first_item_of(theirs), NO)
    corpus = study.corpora.get()
    assert next(run.truth for run in seen_runs([corpus], truth=PEOPLE)) is None
    seating.expire(mine.seat)
    assert PEOPLE not in dict(truths([corpus]))
    assert seen_runs([corpus], truth=theirs.seat.pseudonym)[0].truth.present is False
    assert run_disputes.disputes(study) == []


def first_item_of(row: Assignment) -> Assignment:
    """An assignment as the pages load it."""
    mine = Assignment.objects.select_related(
        "item__trajectory", "item__judge_answer", "seat__study"
    )
    return mine.get(pk=row.pk)
