"""manage.py agreement: every table of a study's agreement, people and simulated seats apart."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command

from annotation.agreement import krippendorff_alpha, ratings_of, wilson
from annotation.models import SliderRating
from annotation.rehearsal import simulate_study
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


def test_reading_a_study_takes_three_queries_and_one_for_the_study(
    simulated, capsys, django_assert_num_queries
):
    with django_assert_num_queries(4):
        ran(capsys, "winter", "--simulated", "--resamples", "5")
