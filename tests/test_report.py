"""The report of a study: hand-made judgements with known answers, people and simulated apart."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from annotation.design import POSITIONS, TYPES
from annotation.enrolment import assign_seat
from annotation.fork_summary import Judgement, as_json, summarise
from annotation.imagined_judges import Case, Judge
from annotation.judging import record_confirmation, record_slider
from annotation.rehearsal import simulate_study
from annotation.reports import fork_study
from tests.studies import assistant_turns, item_at, make_study


def judged(person="A", item="1", **given) -> Judgement:
    return Judgement(person, item, given.pop("workflow", "w"), given.pop("is_foil", False), **given)


def test_ratings_that_rise_with_k_have_tau_one():
    rows = [
        judged(p, f"{p}{k}", type="WIC", k=k, fork=k, rating=20 * k)
        for p in "AB"
        for k in (1, 2, 3)
    ]
    found = summarise(rows)["rq1"]
    assert found["tau"].value == 1
    assert found["tau"].n == 6
    assert found["superiority"].value == 1
    assert found["superiority"].ci == (1, 1)
    assert found["mean_by_k"][2].value == 40
    assert found["mean_by_k"][4].value is None
    assert found["mean_by_k"][4].reason


def test_tau_compares_within_a_person_and_a_workflow_only():
    """Across workflows the ratings fall with k, within each they rise."""
    rows = [
        judged("A", "1", workflow="x", type="WIC", k=1, fork=1, rating=80),
        judged("A", "2", workflow="x", type="WIC", k=2, fork=2, rating=90),
        judged("A", "3", workflow="y", type="WIC", k=3, fork=3, rating=10),
        judged("A", "4", workflow="y", type="WIC", k=4, fork=4, rating=20),
    ]
    assert summarise(rows)["rq1"]["tau"].value == 1


def test_recognition_keeps_true_instructions_and_both_kinds_of_foils_apart():
    rows = [
        judged("A", "1", type="GR", k=1, fork=1, rating=1, confirmed="yes"),
        judged("A", "2", type="GR", k=2, fork=2, rating=1, confirmed="partly"),
        judged("A", "3", type="GR", k=2, fork=2, rating=1, confirmed="no"),
        judged("A", "4", type="GR", k=3, fork=3, is_foil=True, rating=1, confirmed="yes"),
        judged("A", "5", is_foil=True, rating=99, confirmed="no"),
    ]
    found = summarise(rows)["rq2"]
    assert (found["true"].value, found["true"].n) == (pytest.approx(2 / 3), 3)
    assert found["foil_on_fork"].value == 1
    assert found["foil_on_conformant"].value == 0
    assert found["true_by_type"]["WIC"].value is None
    low, high = found["true"].ci
    assert 0 < low < 2 / 3 < high < 1


def test_onsets_count_on_confirmed_true_instructions_only():
    rows = [
        judged("A", "1", type="GR", k=2, fork=3, rating=1, confirmed="yes", onset=3),
        judged("A", "2", type="GR", k=2, fork=3, rating=1, confirmed="yes", onset=4),
        judged("A", "3", type="GR", k=2, fork=3, rating=1, confirmed="no"),
        judged("A", "4", type="GR", k=2, fork=3, is_foil=True, rating=1, confirmed="yes", onset=1),
    ]
    found = summarise(rows)["rq3"]
    assert found["all"].n == 2
    assert found["all"].detail["exact"] == 0.5
    assert found["all"].detail["within_1"] == 1
    assert found["differences"] == {0: 1, 1: 1}


def test_agreement_is_over_shared_items_and_undefined_has_a_reason():
    answers = [("yes", "yes")] * 6 + [("no", "no")] * 3 + [("yes", "no")]
    rows = [
        judged(person, str(i), type="GR", k=2, fork=2, rating=50, confirmed=answer)
        for i, pair in enumerate(answers)
        for person, answer in zip("AB", pair, strict=True)
    ]
    rows.append(judged("A", "alone", type="GR", k=2, fork=2, rating=1, confirmed="no"))
    found = summarise(rows)["agreement"]
    assert found["confirmation"]["raw"].value == pytest.approx(0.9)
    assert found["confirmation"]["raw"].n == 10
    low, high = found["confirmation"]["raw"].ci
    assert low < 0.9 < high <= 1
    # po = .9, pe = .7 * .6 + .3 * .4 = .54, so kappa = .36 / .46
    assert found["confirmation"]["kappa"].value == pytest.approx(0.36 / 0.46)
    assert found["confirmation"]["kappa"].n == 10
    assert found["confirmation"]["ac1"].ci
    assert found["rating"]["alpha"].value is None
    assert found["rating"]["alpha"].reason == "no_variation"
    assert found["prefix"]["kappa"].value is None
    assert found["prefix"]["kappa"].reason == "no_pairable_values"


def test_everything_undefined_is_null_with_a_reason_in_json():
    text = json.dumps(as_json(summarise([judged(rating=3, is_foil=True)])), allow_nan=False)

    def check(node):
        if isinstance(node, dict):
            if "value" in node and node["value"] is None:
                assert node["reason"]
            for part in node.values():
                check(part)
        elif isinstance(node, list):
            for part in node:
                check(part)

    check(json.loads(text))


def test_people_and_simulated_seats_are_never_mixed(annotator):
    study = make_study(n_seats=3, n_simulated=2)
    seat = assign_seat(study, annotator)
    simulate_study(study)
    fork = item_at(seat, k=1, foil=False)
    record_slider(fork, 17)
    record_confirmation(fork, "yes", assistant_turns(fork.item.dialogue)[0])
    groups = fork_study(study)["groups"]
    assert groups["people"]["counts"]["judgements"] == 1
    assert groups["people"]["statistics"]["rq1"]["mean_by_k"]["1"]["value"] == 17
    assert groups["people"]["statistics"]["rq3"]["all"]["exact"] == 1
    assert groups["simulated"]["counts"]["judgements"] == 10
    assert groups["simulated"]["counts"]["judges"] == 2


def test_a_study_without_answers_has_no_statistics(db):
    report = fork_study(make_study())
    assert report["groups"]["people"]["statistics"] is None
    assert report["groups"]["people"]["counts"]["assigned"] == 15


def test_the_report_takes_few_queries(db, django_assert_max_num_queries):
    study = make_study(n_seats=3, n_simulated=3)
    simulate_study(study)
    with django_assert_max_num_queries(3):
        fork_study(study)


def test_imagined_judges_show_the_effects_they_are_given():
    rows = []
    for person in range(30):
        judge = Judge(f"seed {person}")
        for type_ in TYPES:
            for k in POSITIONS:
                for foil in (False, True):
                    item = f"{type_}{k}{foil}"
                    case = Case(type_, k, foil, fork=2 * k - 1, assistant_turns=range(1, 9))
                    answer = judge.judge(case)
                    rows.append(
                        judged(
                            f"P{person}",
                            item,
                            type=type_,
                            k=k,
                            fork=case.fork,
                            is_foil=foil,
                            rating=answer.rating,
                            confirmed=answer.confirmed,
                            onset=answer.onset,
                            prefix=answer.prefix or None,
                        )
                    )
    found = summarise(rows)
    means = [found["rq1"]["mean_by_type"]["WIC"][k].value for k in POSITIONS]
    assert means == sorted(means)
    assert found["rq1"]["tau"].value > 0.3
    assert found["rq2"]["true"].value > 0.8 > 0.5 > found["rq2"]["foil_on_fork"].value
    assert 0.5 < found["rq3"]["all"].detail["exact"] < 0.85
    assert found["rq4"]["all"].value > 0.8


@pytest.fixture
def rehearsed(db):
    study = make_study(n_seats=3, n_simulated=2)
    simulate_study(study)
    return study


def test_the_report_page_marks_simulated_judgements(client, researcher, rehearsed):
    client.force_login(researcher)
    html = client.get(reverse("annotation:report", args=[rehearsed.slug])).content.decode()
    assert "Simulated judgements" in html
    assert "No person has rated anything yet" in html
    assert "nan" not in html.lower().replace("nanc", "")
    assert "None" not in html


def test_the_list_of_studies_shows_progress(client, researcher, rehearsed):
    client.force_login(researcher)
    html = client.get(reverse("annotation:studies")).content.decode()
    assert reverse("annotation:report", args=[rehearsed.slug]) in html
    assert "10 of 10" in html


def test_a_study_that_is_not_there_is_not_found(client, researcher):
    client.force_login(researcher)
    assert client.get(reverse("annotation:report", args=["none"])).status_code == 404


def test_an_empty_list_says_what_to_do(client, researcher):
    client.force_login(researcher)
    assert "create_study" in client.get(reverse("annotation:studies")).content.decode()
