"""The pages of label statistics: a corpus with its raters, a study of runs with its people."""

from __future__ import annotations

import csv
import io

import pytest
from django.urls import reverse

from annotation.models import Assignment, JudgeComparison, Review, RevisedReview, Skip
from annotation.run_reports import corpus_labels, study_reviews
from benchmark.label_records import PERSON, REVIEW, REVISION, LabelRecord, PlaceRecord
from benchmark.labelling import store_label, store_labels
from benchmark.models import Trajectory, TrajectoryStep
from tests.run_rows import make_run_study
from tests.run_studies import JUDGE_NAME, TRUTH, let_judge_answer, make_runs

HOSTILE = "<img src=x onerror=alert(1)>"
PAGE_QUERIES = 14


@pytest.fixture
def visitor(client, researcher):
    client.force_login(researcher)
    return client


@pytest.fixture
def runs(db):
    """Twelve runs with a publisher, a judge, and two people who differ on every third."""
    corpus = make_runs("plant")
    let_judge_answer(corpus, unreadable=2)
    pairs = []
    for place, run in enumerate(corpus.trajectories.order_by("pk")):
        for person, says in (("A-00000001", place % 2 == 0), ("A-00000002", place % 3 == 0)):
            pairs.append((run.pk, said(person, says)))
    store_labels(pairs)
    return corpus


def said(person, present, **more):
    if not present:
        return LabelRecord(person, False, kind=PERSON, stage=REVIEW, **more)
    places = (PlaceRecord(3, "thought", "factual"),)
    return LabelRecord(person, True, ("factual",), places=places, kind=PERSON, stage=REVIEW, **more)


def labels(corpus, **query):
    return reverse("annotation:labels", args=[corpus.slug], query=query)


def saved(client, address):
    response = client.get(address)
    assert response.status_code == 200, response.content[:400]
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(response.content.decode())))


def label_file(client, corpus, name, **query):
    return saved(client, reverse("annotation:label-table", args=[corpus.slug, name], query=query))


# -- a corpus ------------------------------------------------------------------------------------


def test_the_page_says_who_labelled_how_many_and_compares_two(visitor, runs):
    html = visitor.get(labels(runs)).content.decode()
    assert f"{TRUTH} against people" in html
    rows = {row["rater"]: row for row in label_file(visitor, runs, "labels-coverage")}
    assert {name: row["runs"] for name, row in rows.items()} == {
        TRUTH: "12",
        JUDGE_NAME: "10",
        "A-00000001": "12",
        "A-00000002": "12",
    }
    assert rows[JUDGE_NAME]["unread"] == "2" and rows[TRUTH]["rate"] == "0.5"


def test_what_the_page_shows_can_be_computed_again_from_its_file(visitor, runs):
    query = {"one": TRUTH, "other": "A-00000002"}
    html = visitor.get(labels(runs, **query)).content.decode()
    rows = {row["measure"]: row for row in label_file(visitor, runs, "pair-agreement", **query)}
    # Of the runs 0, 2, ... 10 and 0, 3, 6, 9: both see a fault in 0 and 6.
    assert float(rows["precision"]["value"]) == 2 / 4
    assert float(rows["recall"]["value"]) == 2 / 6
    assert float(rows["agreement"]["value"]) == (2 + 4) / 12
    cells = {
        (row["one"], row["other"]): int(row["runs"])
        for row in label_file(visitor, runs, "pair-table", **query)
    }
    assert cells == {("yes", "yes"): 2, ("yes", "no"): 4, ("no", "yes"): 2, ("no", "no"): 4}
    low, high = (100 * float(rows["recall"][f"value_{end}"]) for end in ("low", "high"))
    assert rows["recall"]["value_n"] == "6" and "0.333" in html
    assert f"[{low / 100:.3f}, {high / 100:.3f}]" in html


def test_the_page_belongs_to_the_corpora_and_is_reached_from_its_own(visitor, runs):
    html = visitor.get(labels(runs)).content.decode()
    assert 'aria-current="page">Corpora</a>' in html and 'aria-current="page">Studies' not in html
    assert f'href="{labels(runs)}"' in visitor.get(runs.get_absolute_url()).content.decode()


def test_each_rater_has_a_view_of_their_own(visitor, runs):
    query = {"one": TRUTH, "other": JUDGE_NAME}
    pair = visitor.get(labels(runs, **query)).content.decode()
    one = visitor.get(labels(runs, view="one", **query)).content.decode()
    assert "pair-agreement" in pair and "one-rates" not in pair
    assert "one-rates" in one and "pair-agreement" not in one
    assert visitor.get(labels(runs, view="both", **query)).status_code == 400
    rows = {row["model"]: row for row in label_file(visitor, runs, "other-rates", **query)}
    assert (rows["all models"]["runs"], rows["all models"]["hallucinated"]) == ("10", "5")


def number_tasks(runs):
    """Steps 1 and 2 belong to task 1, the others to task 2; the number of one is a text."""
    for step in TrajectoryStep.objects.filter(trajectory__in=runs):
        step.meta = {"task_number": 1 if step.position < 3 else 2}
        step.save(update_fields=["meta"])
    first = TrajectoryStep.objects.filter(trajectory__in=runs).order_by("pk").first()
    first.meta = {"task_number": "one"}
    first.save(update_fields=["meta"])


def test_places_are_counted_by_task_where_the_steps_say_their_task(visitor, runs):
    page = {"one": "A-00000001", "other": TRUTH, "view": "one"}
    assert "Tasks of a run" not in visitor.get(labels(runs, **page)).content.decode()
    number_tasks(runs.trajectories.all())
    assert "Tasks of a run" in visitor.get(labels(runs, **page)).content.decode()
    rows = label_file(visitor, runs, "one-tasks", one="A-00000001", other=TRUTH)
    places = {row["task"]: row["places"] for row in rows}
    assert places == {"1": "0", "2": "6"}


@pytest.mark.parametrize(("rule", "n"), [("majority", 6), ("any", 12), ("each", 24)])
def test_several_people_become_one_by_the_rule_in_the_address(visitor, runs, rule, n):
    query = {"one": TRUTH, "other": "people", "rule": rule}
    rows = label_file(visitor, runs, "pair-table", **query)
    assert sum(int(row["runs"]) for row in rows) == n
    html = visitor.get(labels(runs, **query)).content.decode()
    tied = "Of 6 runs as many people say yes as no; they are left out." in html
    assert tied is (rule == "majority")
    pools = label_file(visitor, runs, "pair-agreement-pools", **query) if rule == "each" else []
    assert [row["group"] for row in pools] == (["A-00000001", "A-00000002"] * (rule == "each"))


def test_filters_keep_their_runs_and_a_person_can_stand_for_people(visitor, runs):
    assert len(corpus_labels(runs, model="m1").runs) == 4
    assert len(corpus_labels(runs, question="q0").runs) == 3
    query = {"one": "people", "other": TRUTH, "pool": "A-00000001"}
    rows = label_file(visitor, runs, "pair-table", **query)
    assert {row["runs"] for row in rows} == {"6", "0"}
    html = visitor.get(labels(runs, model="m1", question="q0")).content.decode()
    assert "runs <b>1</b>" in html


def test_runs_they_differ_on_lead_to_the_step_that_is_named(visitor, runs):
    query = {"one": TRUTH, "other": "A-00000002"}
    html = visitor.get(labels(runs, **query)).content.decode()
    rows = label_file(visitor, runs, "disagreements", **query)
    assert [row["differ_on"] for row in rows].count("presence") == 6
    # Both see a fault in runs 0 and 6, at step 2 and at step 3; of run 6 in another type too.
    assert sorted(row["differ_on"] for row in rows[6:]) == ["step", "types step"]
    run = runs.trajectories.get(external_id=rows[-1]["run"])
    assert f'href="{reverse("benchmark:trajectory", args=[run.pk])}?step=2"' in html


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"one": "nobody"}, "one is &#x27;nobody&#x27;; there are here: people, truth"),
        ({"one": TRUTH, "other": TRUTH}, "name two different raters"),
        ({"rule": "most"}, "must be one of majority, any, each"),
        ({"model": HOSTILE}, "model is &#x27;&lt;img"),
        ({"question": "q9"}, "there are here: q0, q1, q2, q3"),
        ({"pool": "A-99999999"}, "there are here: A-00000001, A-00000002"),
    ],
)
def test_unknown_names_are_refused_with_a_sentence(visitor, runs, query, words):
    for address in (
        labels(runs, **query),
        reverse("annotation:label-table", args=[runs.slug, "pair-table"], query=query),
    ):
        response = visitor.get(address)
        assert response.status_code == 400
        assert words in response.content.decode()


def test_an_unknown_figure_or_corpus_is_not_found(visitor, runs):
    address = reverse("annotation:label-table", args=[runs.slug, "pair-nothing"])
    response = visitor.get(address)
    assert response.status_code == 404
    assert visitor.get(reverse("annotation:labels", args=["nowhere"])).status_code == 404


def test_a_corpus_without_labels_says_so(visitor, db):
    corpus = make_runs("bare", models=1, questions=1)
    corpus.trajectories.get().label_sets.all().delete()
    html = visitor.get(labels(corpus)).content.decode()
    assert "Nothing to show: no run has a label yet." in html


def test_names_of_runs_raters_and_models_are_shown_and_never_run(visitor, runs):
    run = runs.trajectories.first()
    Trajectory.objects.filter(pk=run.pk).update(model=HOSTILE, external_id=f"=1+1{HOSTILE}")
    store_label(run, LabelRecord(HOSTILE, False))
    html = visitor.get(labels(runs, one=HOSTILE, other=TRUTH)).content.decode()
    assert HOSTILE not in html and "&lt;img src=x" in html
    rows = label_file(visitor, runs, "disagreements", one=HOSTILE, other=TRUTH)
    assert rows[0]["run"] == f"'=1+1{HOSTILE}"


def test_the_queries_of_a_page_do_not_grow_with_its_labels(
    visitor, runs, django_assert_max_num_queries, django_assert_num_queries
):
    with django_assert_num_queries(6):
        corpus_labels(runs)
    with django_assert_max_num_queries(PAGE_QUERIES):
        visitor.get(labels(runs))
    store_labels(
        [
            (run.pk, LabelRecord(f"more {n}", False))
            for run in runs.trajectories.all()
            for n in "abc"
        ]
    )
    with django_assert_num_queries(6):
        corpus_labels(runs)


def test_an_annotator_gets_neither_page_nor_file(client, annotator, runs):
    client.force_login(annotator)
    for address in (
        labels(runs),
        reverse("annotation:label-table", args=[runs.slug, "pair-table"]),
    ):
        assert client.get(address).status_code in (403, 404)


# -- a study -------------------------------------------------------------------------------------


def answer(assignment, present, *, agreement="", on=(), revised=None):
    """Write a review and what follows it, as they are given."""
    run, person = assignment.item.trajectory, assignment.seat.pseudonym
    label = store_label(run, said(person, present))
    review = Review.objects.create(assignment=assignment, labels=label)
    if agreement:
        comparison = JudgeComparison.objects.create(
            review=review,
            answer=assignment.item.judge_answer,
            agreement=agreement,
            changed=revised is not None,
            **{f"on_{part}": True for part in on},
        )
        if revised is not None:
            again = LabelRecord(**vars_of(revised), kind=PERSON, rater=person)
            RevisedReview.objects.create(comparison=comparison, labels=store_label(run, again))
    Assignment.objects.filter(pk=assignment.pk).update(
        opened_at="2026-11-30T10:00Z", finished_at="2026-11-30T10:05Z"
    )


def vars_of(fields):
    return {"post_reveal": True, "stage": REVISION, **fields}


@pytest.fixture
def study(db):
    """Two people over four runs; the judge finds something referential in step 2 of each."""
    study = make_run_study(n_items=4, n_seats=2)
    one, other = (
        list(seat.assignments.order_by("rank")) for seat in study.seats.order_by("number")
    )
    judge_says = {
        "present": True,
        "types": ("referential",),
        "places": (PlaceRecord(2, "thought"),),
    }
    answer(one[0], False, agreement="disagree", on=["presence"], revised=judge_says)
    answer(one[1], True, agreement="partly", on=["type", "step"], revised={"present": False})
    answer(one[2], True, agreement="agree")
    Skip.objects.create(assignment=one[3], reason="cut_off")
    Assignment.objects.filter(pk=one[3].pk).update(finished_at="2026-11-30T10:05Z")
    answer(other[0], False, agreement="disagree", on=["presence"])
    answer(other[1], True)
    return study


def page(study, **query):
    return reverse("annotation:report", args=[study.slug], query=query)


def study_file(client, study, name, **query):
    return saved(client, reverse("annotation:report-table", args=[study.slug, name], query=query))


def test_the_report_counts_what_was_done(visitor, study):
    html = visitor.get(page(study)).content.decode()
    for words in (
        "blind reviews <b>5</b>",
        "compared with the judge <b>4</b>",
        "changed their mind <b>2</b>",
        "of them skipped <b>1</b>",
        "People among themselves",
    ):
        assert words in html


def test_links_to_rows_hold_as_many_as_the_page_counts(visitor, study):
    html = visitor.get(page(study)).content.decode()
    rows = reverse("annotation:report-rows", args=[study.slug])
    links = {part.split('"')[0].replace("&amp;", "&") for part in html.split('href="')[1:]}
    counted = {
        link.partition("?")[2]: visitor.get(link).content.decode()
        for link in links
        if link.startswith(f"{rows}?")
    }
    assert len(counted) == 6
    for query, n in (("group=people", 5), ("group=people&agreement=disagree", 2)):
        assert f"rows <b>{n}</b>" in counted[query]
    assert "rows <b>2</b>" in counted["group=people&changed=yes"]


def test_what_people_say_of_the_runs_has_a_view_of_its_own(visitor, study):
    html = visitor.get(page(study, view="labels")).content.decode()
    assert "said-rates" in html and "work-comparison" not in html
    rows = study_file(visitor, study, "said-rates")
    assert (rows[0]["runs"], rows[0]["hallucinated"]) == ("5", "3")


def test_comparisons_have_shares_with_intervals(visitor, study):
    rows = {row["agreement"]: row for row in study_file(visitor, study, "work-comparison")}
    assert {name: row["reviews"] for name, row in rows.items()} == {
        "agree": "1",
        "partly": "1",
        "disagree": "2",
    }
    assert rows["disagree"]["share"] == "0.5" and rows["disagree"]["share_n"] == "4"
    assert 0.1 < float(rows["disagree"]["share_low"]) < 0.2
    parts = {row["part"]: row["reviews"] for row in study_file(visitor, study, "work-differences")}
    assert list(parts.values()) == ["2", "1", "1", "0"]


def test_changed_minds_go_towards_the_judge_or_away_and_enter_no_agreement(visitor, study):
    moved = {row["moved"]: row["reviews"] for row in study_file(visitor, study, "work-changes")}
    assert moved["towards the judge"] == "1" and moved["away from the judge"] == "1"
    when = {row["when"]: row["reviews"] for row in study_file(visitor, study, "work-reveal")}
    assert when == {"blind": "2", "after the judge was seen": "2"}
    cells = {
        (row["one"], row["other"]): row["runs"] for row in study_file(visitor, study, "judge-table")
    }
    assert cells["yes", "yes"] == "3" and cells["no", "yes"] == "2"


def test_people_are_compared_with_each_other_on_the_runs_they_share(visitor, study):
    rows = {row["asked"]: row for row in study_file(visitor, study, "people-raters")}
    assert rows["hallucination"]["runs"] == "2"
    assert rows["hallucination"]["agreement"] == "1.0"
    pools = {
        row["group"]: row["runs"] for row in study_file(visitor, study, "judge-agreement-pools")
    }
    assert sorted(pools.values()) == ["2", "3"]


def test_simulated_reviews_stand_apart(visitor, study):
    study.seats.filter(number=2).update(simulated=True)
    html = visitor.get(page(study)).content.decode()
    assert "made up by a seeded rule" not in html and "blind reviews <b>3</b>" in html
    made_up = visitor.get(page(study, group="simulated")).content.decode()
    assert "made up by a seeded rule" in made_up and "blind reviews <b>2</b>" in made_up
    rows = study_file(visitor, study, "work-progress", group="simulated")
    assert len(rows) == 1 and rows[0]["finished"] == "2"


def test_withdrawn_and_reopened_reviews_are_counted_beside_and_enter_nothing(visitor, study):
    first = study.seats.get(number=1).assignments.order_by("rank")
    Assignment.objects.filter(pk=first[0].pk).update(
        ended="withdrawn", ended_at="2026-11-30T11:00Z"
    )
    Assignment.objects.filter(pk=first[1].pk).update(post_reveal=True)
    html = visitor.get(page(study)).content.decode()
    for words in (
        "blind reviews <b>3</b>",
        "left out: withdrawn <b>1</b>",
        "left out: opened again <b>1</b>",
    ):
        assert words in html
    corpus = study.corpora.get()
    left = corpus_labels(corpus).runs
    name = study.seats.get(number=1).pseudonym
    assert sum(name in run.labels for run in left) == 1
    Assignment.objects.filter(pk=first[2].pk).update(ended="expired", ended_at="2026-11-30T11:00Z")
    assert not any(name in run.labels for run in corpus_labels(corpus).runs)


def test_rows_can_be_filtered_and_saved(visitor, study):
    address = reverse("annotation:report-rows", args=[study.slug])
    assert "rows <b>2</b>" in visitor.get(f"{address}?agreement=disagree").content.decode()
    assert "rows <b>1</b>" in visitor.get(f"{address}?changed=yes&present=no").content.decode()
    assert "rows <b>8</b>" in visitor.get(f"{address}?rows=all").content.decode()
    rows = saved(visitor, f"{address}?agreement=partly&format=csv")
    assert rows[0]["differs_on"] == "type step" and rows[0]["moved"] == "away from the judge"
    assert len(study_file(visitor, study, "rows")) == 8
    for bad in ("person=Ann", "agreement=perhaps", "item=0", "group=all", "present=1"):
        assert visitor.get(f"{address}?{bad}").status_code == 400


def test_a_study_nobody_has_answered_has_a_report_too(visitor, db):
    study = make_run_study("fresh")
    html = visitor.get(page(study)).content.decode()
    assert "No review yet" in html and "Nobody has compared an answer" in html
    assert visitor.get(page(study, rule="most")).status_code == 400
    address = reverse("annotation:report-table", args=[study.slug, "nothing"])
    assert visitor.get(address).status_code == 404


def test_the_queries_of_a_report_do_not_grow_with_its_reviews(
    visitor, study, django_assert_num_queries, django_assert_max_num_queries
):
    with django_assert_num_queries(7):
        study_reviews(study)
    other = list(study.seats.get(number=2).assignments.order_by("rank"))
    answer(other[2], True, agreement="agree")
    answer(other[3], False, agreement="disagree", on=["presence"], revised={"present": True})
    with django_assert_num_queries(7):
        study_reviews(study)
    with django_assert_max_num_queries(PAGE_QUERIES):
        visitor.get(page(study))
