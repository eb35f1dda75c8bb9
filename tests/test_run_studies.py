"""Studies of agent runs: drawn once with the judge's answers, launched, versioned, refused."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from django.core.management import CommandError, call_command

from annotation import launching, run_drawing, run_studies, study_drawing
from annotation.models import Assignment, Item, Study
from annotation.refusals import EnrolmentRefused
from annotation.run_shapes import RunShape
from benchmark.models import Corpus, JudgeAnswer, Rater
from tests.run_studies import JUDGE_NAME, let_judge_answer, make_run_study, make_runs
from tests.small import make_corpus

pytestmark = pytest.mark.django_db


def test_each_run_is_an_item_and_goes_to_two_different_seats():
    study = make_run_study()
    assert (study.kind, study.state) == (Study.Kind.RUNS, Study.State.OPEN)
    assert study.items.filter(dialogue=None, kind=Item.Kind.MAIN).count() == 12
    rows = list(Assignment.objects.values_list("seat__number", "item_id", "rank"))
    assert set(Counter(item for _, item, _ in rows).values()) == {2}
    assert len({(seat, item) for seat, item, _ in rows}) == 24
    assert set(Counter(seat for seat, *_ in rows).values()) == {6}
    assert list(study.corpora.values_list("slug", flat=True)) == ["spring-runs"]


def test_the_answer_of_the_judge_is_frozen_when_the_study_is_drawn():
    study = make_run_study()
    held = dict(study.items.values_list("trajectory_id", "judge_answer_id"))
    assert held == dict(JudgeAnswer.objects.values_list("trajectory_id", "pk"))
    run = next(iter(held))
    JudgeAnswer.objects.create(
        trajectory_id=run,
        rater=study.judge,
        trial=2,
        raw="another",
        digest="0" * 64,
        status="rejected",
        reason="later",
    )
    assert dict(study.items.values_list("trajectory_id", "judge_answer_id")) == held


def test_an_answer_that_could_not_be_read_is_not_shown():
    corpus = make_runs()
    judge = let_judge_answer(corpus, unreadable=5)
    study = run_studies.create_run_study(
        slug="one", title="One", corpora=[corpus], seed=1, n_seats=3, judge=judge
    )
    assert study.items.filter(judge_answer=None).count() == 5


def test_without_a_judge_no_item_has_an_answer():
    study = make_run_study(judged=False)
    assert study.judge is None
    assert not study.items.exclude(judge_answer=None).exists()


def test_the_same_seed_draws_the_same_items_and_orders():
    first = make_run_study()
    again = launching.new_version(first)
    assert _orders(first) == _orders(again)
    assert study_drawing.digest(first) == study_drawing.digest(again)
    assert (again.kind, again.judge, again.protocol_version) == ("runs", first.judge, 2)
    assert (again.slug, again.state, again.version_of) == ("spring-v2", "draft", first)


def test_the_digest_tells_another_answer_of_the_judge():
    study = make_run_study()
    assert not launching.changed_since_launch(study)
    answer = study.items.first().judge_answer
    JudgeAnswer.objects.filter(pk=answer.pk).update(digest="f" * 64)
    assert launching.changed_since_launch(study)


def test_a_draft_is_drawn_again_with_other_numbers():
    study = make_run_study(state=Study.State.DRAFT)
    shape = RunShape(n_seats=3, per_item=3, models=("m0", "m1"))
    again = launching.redraw(study, corpora=launching.corpora_of(study), shape=shape, judge=None)
    assert again.items.count() == 8
    assert {seat.assignments.count() for seat in again.seats.all()} == {8}
    assert not again.items.exclude(judge_answer=None).exists()
    assert launching.shape_in(again) == shape_as_stored(shape)


def test_runs_of_some_models_and_questions_only():
    study = make_run_study(models=["m1"], questions=["q0", "q3"])
    named = study.items.values_list("trajectory__external_id", flat=True)
    assert sorted(named) == ["spring-runs-m1-q0", "spring-runs-m1-q3"]


def test_seats_follow_from_the_runs_of_a_seat():
    study = make_run_study(n_seats=0, runs_per_seat=5)
    assert study.seats.count() == 5
    assert study.design["left_out"] == 0


def test_what_does_not_fit_is_counted():
    study = make_run_study(n_seats=2, runs_per_seat=5)
    assert study.items.count() == 5
    assert study.design["left_out"] == 7


def test_a_run_cannot_have_more_judges_than_there_are_seats():
    study = make_run_study(n_seats=1)
    assert study.design["judges_per_run"] == 1


def test_runs_of_several_corpora_are_judged_together():
    corpora = [make_runs("a", models=1), make_runs("b", models=1)]
    study = run_studies.create_run_study(
        slug="both", title="Both", corpora=corpora, seed=1, n_seats=4
    )
    assert study.items.count() == 8
    assert launching.corpora_of(study) == corpora


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"models": ["m9"]}, "no agent runs of these models and questions"),
        ({"n_seats": 0}, "Give the number of seats"),
        ({"per_item": 0}, "number of judges of a run is 0"),
        ({"n_simulated": 9}, "Of 4 seats 9 cannot be simulated"),
        ({"n_seats": 0, "runs_per_seat": 12, "n_simulated": 9}, "Of 2 seats 9"),
        ({"phases": ["practice"]}, "no practice items"),
        ({"pass_mark": 1}, "pass mark is 1"),
        ({"title": "Foil round"}, "tells them about the design"),
        ({"slug": "fork-round"}, "tells them about the design"),
        ({"title": "What Judge-A says"}, "title is shown to annotators and names the judge"),
        ({"title": "M1 and others"}, "names the model 'm1'"),
        ({"slug": "runs-of-m2"}, "slug is shown to annotators and names the model 'm2'"),
        ({"slug": "large-1-round"}, "slug is shown to annotators and names the judge, 'large-1'"),
        ({"n_seats": 0, "runs_per_seat": 1, "per_item": 2, "n_simulated": 30}, "Of 24 seats 30"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_a_sentence_and_leaves_nothing(settings, words):
    with pytest.raises(EnrolmentRefused, match=words):
        make_run_study(**settings)
    assert not Study.objects.exists()
    assert not Item.objects.exists()


def test_a_title_may_hold_letters_of_the_judge_inside_a_word():
    study = make_run_study(judge_name="pro", title="Project round")
    assert study.judge.name == "pro"


def test_more_seats_than_a_study_may_have_are_refused(monkeypatch):
    monkeypatch.setattr(run_drawing, "MOST_SEATS", 20)
    with pytest.raises(EnrolmentRefused, match="takes 24 seats; a study has at most 20"):
        make_run_study(n_seats=0, runs_per_seat=1)


def test_a_corpus_without_runs_is_refused():
    corpus = Corpus.objects.create(slug="empty", title="Empty")
    with pytest.raises(EnrolmentRefused, match="no agent runs to judge in empty"):
        run_studies.create_run_study(slug="one", title="One", corpora=[corpus], seed=1, n_seats=2)


def test_a_judge_without_answers_is_refused():
    corpus = make_runs()
    silent = Rater.objects.create(name="silent", kind=Rater.Kind.JUDGE)
    with pytest.raises(EnrolmentRefused, match="'silent' has no answer"):
        run_studies.create_run_study(
            slug="one", title="One", corpora=[corpus], seed=1, n_seats=2, judge=silent
        )


def test_a_person_is_no_judge():
    corpus = make_runs()
    person = Rater.objects.create(name="A-00000000", kind=Rater.Kind.PERSON)
    with pytest.raises(EnrolmentRefused, match="is no judge but of the kind “person”"):
        run_studies.create_run_study(
            slug="one", title="One", corpora=[corpus], seed=1, n_seats=2, judge=person
        )


def test_an_unknown_judge_is_named_with_those_there_are():
    let_judge_answer(make_runs())
    assert run_studies.judge_named(JUDGE_NAME).name == JUDGE_NAME
    with pytest.raises(EnrolmentRefused, match=r"no judge 'gpt'.*answers: 'judge-a'"):
        run_studies.judge_named("gpt")


def test_only_corpora_with_runs_are_offered():
    make_corpus()
    make_runs("with-runs")
    assert [corpus.slug for corpus in run_studies.corpora_with_runs()] == ["with-runs"]


def test_drawing_takes_as_many_queries_for_many_runs_as_for_few(django_assert_num_queries):
    few, many = make_runs("few", models=1), make_runs("many", models=4, questions=10)
    judges = [let_judge_answer(few), let_judge_answer(many, "judge-b")]
    for corpus, judge in zip((few, many), judges, strict=True):
        with django_assert_num_queries(24):
            run_studies.create_run_study(
                slug=corpus.slug, title="A", corpora=[corpus], seed=1, n_seats=6, judge=judge
            )


def _orders(study: Study) -> list[list[int]]:
    return [
        list(seat.assignments.order_by("rank").values_list("item__trajectory_id", flat=True))
        for seat in study.seats.order_by("number")
    ]


def shape_as_stored(shape: RunShape) -> RunShape:
    return RunShape(
        **{**shape.as_dict(), "models": list(shape.models), "questions": list(shape.questions)}
    )


def test_the_command_draws_a_study_of_runs(capsys):
    corpus = make_runs()
    let_judge_answer(corpus, unreadable=2)
    named = ("spring", "--title", "Spring", "--runs", "runs", "--seed", "1")
    call_command("create_study", *named, "--judge", JUDGE_NAME, "--seats", "4", "--json")
    told, result = capsys.readouterr().out.splitlines()
    assert "12 runs on 4 seats, each judged 2 times, 10 with the judge's answer, 0 left" in told
    assert json.loads(result) == {
        "study": "spring",
        "state": "open",
        "items": 12,
        "judge_answers": 10,
    }


def test_the_command_takes_several_corpora_models_and_the_load_of_a_seat(capsys):
    make_runs("a"), make_runs("b")
    call_command(
        *("create_study", "spring", "--title", "Spring", "--seed", "1", "--draft"),
        *("--runs", "a", "--runs", "b", "--model", "m0", "--model", "m1", "--question", "q1"),
        *("--per-item", "3", "--runs-per-seat", "2"),
    )
    study = Study.objects.get()
    assert (study.state, study.items.count(), study.seats.count()) == ("draft", 4, 6)
    assert "It is a draft" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "either --forks CORPUS"),
        (["--runs", "runs", "--forks", "runs"], "either --forks CORPUS"),
        (["--runs", "runs", "--overlap", "0.5"], "--overlap belongs to studies with --forks only"),
        (["--runs", "runs", "--practice", "2"], "--practice belongs to studies with --forks only"),
        (["--runs", "runs", "--type", "GR"], "--type belongs to studies with --forks only"),
        (["--forks", "runs", "--judge", "j"], "--judge belongs to studies with --runs only"),
        (["--forks", "runs", "--per-item", "3"], "--per-item belongs to studies with --runs"),
        (["--runs", "runs", "--judge", "nobody"], "no judge 'nobody'"),
        (["--runs", "nowhere"], "nowhere"),
        (["--runs", "runs", "--phase", "practice"], "no practice items"),
    ],
)
def test_the_command_refuses_what_does_not_go_together(options, words):
    make_runs()
    with pytest.raises(CommandError, match=words):
        call_command("create_study", "spring", "--title", "Spring", "--seed", "1", *options)
    assert not Study.objects.exists()
