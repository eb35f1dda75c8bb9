"""For researchers: a study of agent runs is set up, looked at, drawn again and launched."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from annotation.models import Study
from annotation.run_studies import create_run_study
from tests.run_studies import JUDGE_NAME, let_judge_answer, make_run_study, make_runs

CHOICES = {
    "title": "Spring round",
    "slug": "spring",
    "corpora": ["runs"],
    "judge": JUDGE_NAME,
    "per_item": "2",
    "n_seats": "4",
    "runs_per_seat": "0",
    "limit": "0",
    "n_simulated": "1",
    "seed": "7",
    "idle_hours": "48",
}


@pytest.fixture
def runs(db):
    corpus = make_runs()
    let_judge_answer(corpus, unreadable=2)
    return corpus


@pytest.fixture
def inside(client, researcher):
    client.force_login(researcher)
    return client


def body(page, status: int = 200) -> str:
    assert page.status_code == status, page.content[:1500]
    return page.content.decode()


def at(name: str, slug: str = "spring") -> str:
    return reverse(f"annotation:{name}", args=[slug])


NEW = "/studies/new/runs/"


def test_new_study_offers_both_kinds(inside, runs):
    for address in ("/studies/new/", NEW):
        html = body(inside.get(address))
        assert 'href="/studies/new/"' in html
        assert f'href="{NEW}"' in html
    assert "no practice and no attention items" in html
    assert JUDGE_NAME in html


def test_a_new_study_of_runs_begins_with_the_only_corpus_consent_and_instructions(inside, runs):
    html = inside.get(reverse("annotation:new-run-study")).content.decode()
    ticked = re.findall(r'<input type="checkbox" name="(\w+)" value="([\w-]+)"[^>]* checked', html)
    assert ticked == [("corpora", runs.slug), ("phases", "consent"), ("phases", "instructions")]


def test_a_study_of_runs_is_drawn_and_its_plan_is_shown(inside, runs, researcher):
    page = inside.post(NEW, CHOICES, follow=True)
    html = body(page)
    study = Study.objects.get()
    assert (study.kind, study.state, study.created_by) == ("runs", "draft", researcher)
    assert study.judge.name == JUDGE_NAME
    assert page.redirect_chain[-1][0] == at("plan")
    for text in (
        "of a question their person has met before",
        "judge-a has answered 10 of 12 runs",
        "Runs by model",
        "Cohen&#x27;s kappa of two people",
        "12 runs with what the judge says",
        "recall against people",
    ):
        assert text in html, text
    assert "nan" not in html.lower().replace("nance", "")


def test_nobody_meets_a_question_twice_where_there_are_seats_enough(inside, runs):
    html = body(inside.post(NEW, {**CHOICES, "n_seats": "6"}, follow=True))
    assert "Nobody meets a question twice" in html


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"title": "Foil round"}, "“Foil” tells people about the design"),
        ({"corpora": []}, "required"),
        ({"corpora": ["none"]}, "none"),
        ({"judge": "nobody"}, "nobody"),
        ({"per_item": "0"}, "greater than or equal to 1"),
        ({"per_item": "5"}, "only 4 seats, and nobody judges a run twice"),
        ({"n_seats": "0"}, "Give the seats, the runs per seat, or both"),
        ({"n_simulated": "9"}, "only 4 seats"),
        ({"questions": "q77"}, "no agent runs of these models and questions"),
        ({"models": ["m9"]}, "m9"),
        ({"phases": ["practice"]}, "practice"),
        ({"rate_per_hour": "12"}, "Pay needs a currency"),
        ({"seed": "\x00"}, "whole number"),
        ({"questions": "a\x00b"}, "Null characters"),
    ],
)
def test_a_wrong_value_is_named_and_nothing_is_drawn(inside, runs, wrong, text):
    page = inside.post(NEW, {**CHOICES, **wrong})
    assert text in body(page, 400)
    assert not Study.objects.exists()


def test_questions_and_models_narrow_the_draw(inside, runs):
    body(inside.post(NEW, {**CHOICES, "questions": "q0, q1\nq1", "models": ["m0"]}, follow=True))
    named = Study.objects.get().items.values_list("trajectory__external_id", flat=True)
    assert sorted(named) == ["runs-m0-q0", "runs-m0-q1"]


def test_a_draft_is_drawn_again_without_a_judge(inside, runs):
    inside.post(NEW, CHOICES)
    html = body(inside.post(at("plan"), {**CHOICES, "judge": "", "n_seats": "6"}, follow=True))
    assert "is drawn again" in html
    study = Study.objects.get()
    assert study.judge is None
    assert study.seats.count() == 6
    assert "recall against people" not in html
    assert body(inside.post(at("plan"), {**CHOICES, "questions": "q77"}), 400)
    assert study.items.count() == 12


def test_the_form_of_a_draft_shows_what_it_was_drawn_from(inside, runs):
    inside.post(NEW, {**CHOICES, "questions": "q0,q1", "models": ["m0", "m2"], "limit": "3"})
    html = body(inside.get(at("plan")))
    for text in ("q0\nq1</textarea>", 'value="m2" id="id_models_2" checked', 'value="3"'):
        assert text in html, text


def test_after_the_launch_nothing_is_edited(inside, runs):
    inside.post(NEW, CHOICES)
    html = body(inside.post(at("launch"), follow=True))
    assert "Frozen at the launch" in html
    assert "Draw again" not in html
    assert "Corpora of runs" in html
    assert "Pass mark" not in html
    body(inside.post(at("plan"), CHOICES), 409)
    assert "version 2, a draft" in body(inside.post(at("new-version"), follow=True))
    assert set(Study.objects.values_list("slug", "kind")) == {
        ("spring", "runs"),
        ("spring-v2", "runs"),
    }


def test_what_is_left_out_and_too_few_seats_are_told(inside):
    make_run_study(n_seats=1, runs_per_seat=5)
    html = body(inside.get(at("plan")))
    assert "7 runs are left out" in html
    assert "judged by 1 person, 2 were asked for" in html


def test_another_strength_changes_the_forecast_and_a_wrong_one_is_named(inside):
    make_run_study()
    rates = {
        "draws": "20",
        "prevalence": "50",
        "alike": "0",
        "person_sensitivity": "100",
        "person_specificity": "100",
        "judge_sensitivity": "90",
        "judge_specificity": "50",
    }
    assert "20 simulated studies" in body(inside.get(at("plan"), rates))
    assert "Nothing was simulated" in body(inside.get(at("plan"), rates | {"prevalence": "x"}), 400)


def test_a_plan_takes_as_many_queries_for_many_runs_as_for_few(inside, django_assert_num_queries):
    make_run_study()
    large = make_runs("large", models=5, questions=12)
    judge = let_judge_answer(large, "judge-b")
    create_run_study(slug="large", title="Large", corpora=[large], seed=1, n_seats=9, judge=judge)
    inside.get(at("plan"))
    with django_assert_num_queries(17):
        inside.get(at("plan"))
    with django_assert_num_queries(17):
        inside.get(at("plan", "large"))


def test_without_runs_the_page_says_how_to_get_some(inside):
    assert "No agent runs yet" in body(inside.get(NEW))


def test_an_annotator_does_not_find_the_page(client, annotator):
    client.force_login(annotator)
    assert client.get(NEW).status_code == 404
