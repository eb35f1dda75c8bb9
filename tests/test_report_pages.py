"""The pages and files of a study report: links, filters, times, formulas, names."""

from __future__ import annotations

import csv
import io
from urllib.parse import parse_qs, urlsplit

import pytest
from django.urls import reverse

from annotation.enrolment import assign_seat
from annotation.models import Assignment, SliderRating
from annotation.rehearsal import simulate_study
from tests.judged_studies import NO, YES, A, Answer, B, C, address, judged_study, table
from tests.studies import make_study


@pytest.fixture
def visitor(client, researcher):
    client.force_login(researcher)
    return client


@pytest.fixture
def contrary(db):
    """Three people over six items; C says the opposite of both others on every one."""
    agreed = [YES, YES, YES, NO, NO, NO]
    opposite = [NO, NO, NO, YES, YES, YES]
    return judged_study({A: agreed, B: agreed, C: opposite})


def test_links_of_the_page_open_and_hold_as_many_rows(visitor, contrary):
    html = visitor.get(address(contrary)).content.decode()
    rows = address(contrary, "report-rows")
    links = {part.split('"')[0].replace("&amp;", "&") for part in html.split('href="')[1:]}
    links = sorted(link for link in links if link.startswith(f"{rows}?"))
    assert len(links) > 30
    for link in links:
        assert visitor.get(link).status_code == 200
    pair = next(link for link in links if link.count("judge=") == 2)
    assert parse_qs(urlsplit(pair).query)["question"] == ["confirmation"]
    assert "rows <b>12</b>" in visitor.get(pair).content.decode()


def test_times_in_the_rows_are_utc_wherever_the_server_stands(visitor, contrary, settings):
    settings.TIME_ZONE = "Asia/Kathmandu"
    rows = table(visitor, contrary, "rows")
    assert {row["finished_at"][-1] for row in rows} == {"Z"}
    stored = Assignment.objects.get(seat__pseudonym=A, rank=1).finished_at
    assert rows[0]["finished_at"] == stored.strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_cell_that_a_spreadsheet_would_run_is_text(visitor, contrary):
    dialogue = contrary.items.order_by("id").first().dialogue
    type(dialogue).objects.filter(pk=dialogue.pk).update(external_id='=1+1,"é"\nعربى 🙂')
    rows = table(visitor, contrary, "rows")
    assert rows[0]["dialogue"] == '\'=1+1,"é"\nعربى 🙂'
    assert "-60" not in {row["onset_minus_fork"] for row in rows}


def test_negative_numbers_stay_numbers(visitor, db):
    study = judged_study({A: [YES] * 4, B: [Answer(20, "yes", 1)] * 4})
    offsets = [row["onset_minus_fork"] for row in table(visitor, study, "rows")]
    assert "-1" in offsets or "-2" in offsets


def test_the_rows_can_be_filtered_in_the_address_and_saved(visitor, contrary):
    rows = address(contrary, "report-rows")
    saved = visitor.get(f"{rows}?judge={C}&question=confirmation&format=csv").content.decode()
    listed = list(csv.DictReader(io.StringIO(saved)))
    assert len(listed) == 6
    assert {row["judge"] for row in listed} == {C}
    html = visitor.get(f"{rows}?judge={C}").content.decode()
    assert "rows <b>6</b>" in html
    assert A not in html


@pytest.mark.parametrize(
    "query",
    [
        "type=XYZ",
        "k=9",
        "question=mood",
        "judge=ann",
        "item=x",
        "group=all",
        "rows=some",
        "shared=2",
    ],
)
def test_a_filter_that_is_none_is_refused_by_name(visitor, contrary, query):
    response = visitor.get(f"{address(contrary, 'report-rows')}?{query}")
    assert response.status_code == 400
    assert query.split("=")[0] in response.content.decode()


def test_an_unknown_table_or_figure_is_not_there(visitor, contrary):
    assert visitor.get(address(contrary, "report-table", "people")).status_code == 404
    response = visitor.get(f"{address(contrary)}?format=csv&of=people-nothing")
    assert response.status_code == 400
    assert "people-recognised" in response.content.decode()


def test_each_figure_can_be_saved_as_its_table(visitor, contrary):
    saved = visitor.get(f"{address(contrary)}?format=csv&of=people-recognised").content.decode()
    rows = list(csv.DictReader(io.StringIO(saved)))
    assert [row["instruction"] for row in rows][-1] == "foil, conformant"
    assert sum(int(row["of"]) for row in rows) == 18


def test_no_page_of_the_report_names_a_person(visitor, annotator):
    annotator.username = "wilhelmina-quist"
    annotator.save()
    study = make_study()
    seat = assign_seat(study, annotator)
    SliderRating.objects.create(assignment=seat.assignments.first(), value=3)
    for name in ("report", "report-rows"):
        html = visitor.get(address(study, name)).content.decode()
        assert seat.pseudonym in html
        assert annotator.username not in html
    saved = visitor.get(address(study, "report-table", "rows")).content.decode()
    assert seat.pseudonym in saved
    assert annotator.username not in saved


def test_the_pages_take_as_many_queries_for_many_judgements_as_for_few(
    visitor, django_assert_num_queries
):
    small = judged_study({A: [YES], B: [YES]}, slug="small")
    large = make_study("large", n_seats=9, n_simulated=8)
    simulate_study(large)
    for study in (small, large):
        with django_assert_num_queries(8):
            visitor.get(address(study))
        with django_assert_num_queries(9):
            visitor.get(address(study, "report-rows"))
        with django_assert_num_queries(6):
            visitor.get(reverse("annotation:studies"))


def test_the_report_leads_to_the_other_pages_of_its_study(visitor, contrary):
    html = visitor.get(address(contrary)).content.decode()
    for name in ("report-rows", "adjudication", "people", "exports", "plan"):
        link = address(contrary, name)
        assert f'href="{link}"' in html
        assert visitor.get(link).status_code == 200, name
