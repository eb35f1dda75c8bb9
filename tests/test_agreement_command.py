"""manage.py agreement: every table of a study's agreement, people and simulated seats apart."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.agreement import krippendorff_alpha, ratings_of, wilson
from annotation.models import Review, SliderRating
from annotation.rehearsal import simulate_study
from benchmark.label_records import PERSON, REVIEW, LabelRecord
from benchmark.labelling import store_label
from tests.run_rows import make_run_study
from tests.studies import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def simulated():
    study = make_study(n_seats=6, n_simulated=6, overlap=0.5)
    simulate_study(study)
    return study


def ran(capsys, *arguments):
    call_command("agreement", *arguments)
    return capsys.readouterr().out


def test_the_tables_of_a_study_can_be_recomputed_from_its_answers(simulated, capsys):
    found = json.loads(ran(capsys, "winter", "--simulated", "--json", "--resamples", "50"))
    rating = found["questions"]["rating"]
    rows = SliderRating.objects.values_list(
        "assignment__seat__pseudonym", "assignment__item_id", "value"
    )
    expected = krippendorff_alpha(ratings_of(rows), level="interval")
    assert rating["panel"]["figures"]["alpha"]["value"] == pytest.approx(expected.value, abs=1e-9)
    assert rating["panel"]["units"] == len(rating["items"]) == expected.n > 0
    assert sum(pair["n"] for pair in rating["pairs"]) == rating["panel"]["pairs"]
    pair = rating["pairs"][0]
    same = round(pair["raw"]["value"] * pair["n"])
    assert pair["raw"]["ci"] == pytest.approx(list(wilson(same, pair["n"]).ci))
    assert sum(each["units"] for each in rating["conditions"].values()) == expected.n
    assert found["over_people"]["agreement.rating.alpha"]["value"] == pytest.approx(expected.value)
    assert found["over_people"]["rq1.conformant"]["ci"]
    assert set(found["questions"]["prefix"]["answers"]) == {"yes", "mostly", "no"}


def test_people_and_simulated_seats_are_never_mixed(simulated, capsys):
    found = json.loads(ran(capsys, "winter", "--json"))
    assert (found["group"], found["over_people"]) == ("people", {})
    panel = found["questions"]["confirmation"]["panel"]
    assert (panel["units"], panel["figures"]["ac1"]["value"]) == (0, None)
    assert "0 judgements" in ran(capsys, "winter")


def test_each_question_is_told_in_lines_with_intervals_and_reasons(simulated, capsys):
    lines = ran(capsys, "winter", "--simulated", "--resamples", "50").splitlines()
    assert lines[0] == "winter, simulated: 30 judgements"
    assert any(line.startswith("rating: ") and "shared items" in line for line in lines)
    assert any(line.startswith("  alpha: ") and " [" in line for line in lines)
    assert "undefined, no item was answered by two people" in ran(capsys, "winter")


def test_what_cannot_be_meant_is_refused_in_a_sentence(simulated):
    with pytest.raises(CommandError, match="no study 'summer'"):
        call_command("agreement", "summer")
    with pytest.raises(CommandError, match="--resamples is 0; 1 to 100,000 are allowed"):
        call_command("agreement", "winter", "--resamples", "0")


@pytest.fixture
def reviewed():
    """Two people review three runs: both say yes, both no, and they differ on the third."""
    study = make_run_study("runs", n_items=3, n_seats=2)
    for seat, says in zip(study.seats.order_by("number"), ((1, 0, 1), (1, 0, 0)), strict=True):
        for assignment, present in zip(seat.assignments.order_by("rank"), says, strict=True):
            label = LabelRecord(seat.pseudonym, bool(present), kind=PERSON, stage=REVIEW)
            held = store_label(assignment.item.trajectory, label)
            Review.objects.create(assignment=assignment, labels=held)
    return study


def test_a_study_of_runs_has_the_figures_of_its_report(reviewed, capsys, client, researcher):
    out = ran(capsys, "runs")
    assert out.startswith("runs, people: 6 blind reviews\n")
    assert "hallucination: Runs 3, Agreement of pairs 66.7 % [" in out
    found = json.loads(ran(capsys, "runs", "--json"))["figures"]
    client.force_login(researcher)
    for name in ("people-raters", "judge-agreement", "judge-table"):
        address = reverse("annotation:report-table", args=["runs", name])
        file = client.get(address).content.decode()
        rows = list(csv.DictReader(io.StringIO(file)))
        told = [
            {key: "" if value is None else str(value) for key, value in row.items()}
            for row in found[name]["rows"]
        ]
        assert told == rows and rows, name


def test_a_study_of_runs_nobody_reviewed_says_so_for_each_figure(reviewed, capsys):
    out = ran(capsys, "runs", "--simulated")
    assert out.startswith("runs, simulated: 0 blind reviews\n") and "nothing to show" in out


def test_draws_are_not_chosen_for_a_study_of_runs(reviewed):
    with pytest.raises(CommandError, match="--resamples does not change them"):
        call_command("agreement", "runs", "--resamples", "50")


def test_reading_a_study_takes_three_queries_and_one_for_the_study(
    simulated, capsys, django_assert_num_queries
):
    with django_assert_num_queries(4):
        ran(capsys, "winter", "--simulated", "--resamples", "5")
