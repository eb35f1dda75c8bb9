"""The plan of a study: what a researcher sees before anybody is asked, and what a launch fixes."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation import plan_tables, planning
from annotation.models import Assignment, AuditEntry, SliderRating, Study
from tests.small import make_corpus, make_forks
from tests.studies import make_study

CHOICES = {
    "title": "Winter round",
    "slug": "winter",
    "forks": "base-forks",
    "types": ["WIC", "SSPC", "GR", "CSC"],
    "positions": ["1", "2", "3", "4"],
    "n_seats": "3",
    "n_simulated": "1",
    "forks_per_seat": "4",
    "conformant_per_seat": "1",
    "overlap": "20",
    "foil_share": "50",
    "seed": "7",
    "n_practice": "0",
    "pass_mark": "0",
    "n_attention": "0",
    "idle_hours": "48",
}


@pytest.fixture
def forks(db):
    return make_forks(make_corpus("base", n=8), "base-forks")


@pytest.fixture
def inside(client, researcher):
    client.force_login(researcher)
    return client


def body(page, status: int = 200) -> str:
    assert page.status_code == status, page.content[:1500]
    return page.content.decode()


def at(name: str, slug: str = "winter") -> str:
    return reverse(f"annotation:{name}", args=[slug])


def test_a_study_is_set_up_as_a_draft_and_its_plan_is_shown(inside, forks, researcher):
    assert 'value="base-forks"' in body(inside.get("/studies/new/"))
    page = inside.post("/studies/new/", CHOICES, follow=True)
    html = body(page)
    study = Study.objects.get()
    assert (study.state, study.created_by, study.launched_at) == ("draft", researcher, None)
    assert study.design["foil_share"] == 0.5
    assert page.redirect_chain[-1][0] == at("plan")
    for text in ("Nobody meets a source twice", "tau-b within person", "Launch the study"):
        assert text in html
    assert "nan" not in html.lower().replace("nance", "")
    assert AuditEntry.objects.filter(action="study.drawn", actor=researcher).exists()


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"title": "Foil round"}, "“Foil” tells people about the design"),
        ({"slug": "gr-round"}, "“gr” tells people about the design"),
        ({"slug": "two words"}, "valid"),
        ({"forks": "none"}, "none"),
        ({"n_seats": "0"}, "greater than or equal to 1"),
        ({"n_seats": "lots"}, "whole number"),
        ({"n_simulated": "4"}, "only 3 seats"),
        ({"overlap": "101"}, "less than or equal to 100"),
        ({"types": []}, "required"),
        ({"positions": ["7"]}, "7"),
        ({"forks_per_seat": "40"}, "fewer forks"),
        ({"seed": "-1"}, "greater than or equal to 0"),
        ({"phases": ["practice"]}, "choose both or neither"),
        ({"pass_mark": "2"}, "At most as many"),
        ({"rate_per_hour": "12"}, "Pay needs a currency"),
        ({"currency": "pounds"}, "at most 3"),
        ({"code_complete": "x y z"}, "3 to 40 letters"),
        ({"n_seats": "\x00"}, "whole number"),
        ({"title": "a\x00b"}, "Null characters"),
    ],
)
def test_a_wrong_value_is_named_and_nothing_is_drawn(inside, forks, wrong, text):
    page = inside.post("/studies/new/", {**CHOICES, **wrong})
    assert text in body(page, 400)
    assert not Study.objects.exists()


def test_a_slug_that_is_taken_is_refused(inside, forks):
    inside.post("/studies/new/", CHOICES)
    assert "Choose another slug" in body(inside.post("/studies/new/", CHOICES), 400)
    assert Study.objects.count() == 1


def test_a_draft_is_drawn_again_on_its_page(inside, forks):
    inside.post("/studies/new/", CHOICES)
    first = Assignment.objects.count()
    changed = {**CHOICES, "n_seats": "2", "slug": "spring", "title": "Spring round"}
    assert "Spring round" in body(inside.post(at("plan"), changed, follow=True))
    assert (first, Assignment.objects.count()) == (15, 10)
    wrong = {**changed, "forks_per_seat": "40"}
    assert "fewer forks" in body(inside.post(at("plan", "spring"), wrong), 400)
    assert Assignment.objects.count() == 10


def test_after_the_launch_nothing_is_edited(inside, forks):
    inside.post("/studies/new/", CHOICES)
    html = body(inside.post(at("launch"), follow=True))
    assert "Frozen at the launch" in html
    assert "Draw again" not in html
    before = list(Assignment.objects.values_list("token", flat=True))
    refused = inside.post(at("plan"), {**CHOICES, "title": "Other"})
    assert "what people are asked stands" in body(refused, 409)
    assert "launched before" in body(inside.post(at("launch")), 409)
    assert list(Assignment.objects.values_list("token", flat=True)) == before
    study = Study.objects.get()
    assert (study.title, study.state) == ("Winter round", "open")
    assert study.design["items_sha256"] in html


def test_buttons_pause_close_and_reopen(inside, forks):
    inside.post("/studies/new/", CHOICES)
    assert "cannot be" in body(inside.post(at("study-state"), {"state": "paused"}), 409)
    inside.post(at("launch"))
    for state in ("paused", "open", "closed", "open"):
        inside.post(at("study-state"), {"state": state})
        assert Study.objects.get().state == state
    assert inside.post(at("study-state"), {"state": "draft"}).status_code == 409
    assert inside.get(at("study-state")).status_code == 405


def test_a_new_version_is_a_draft_beside_the_first(inside, forks):
    inside.post("/studies/new/", CHOICES)
    assert inside.post(at("new-version")).status_code == 409
    inside.post(at("launch"))
    html = body(inside.post(at("new-version"), follow=True))
    assert "version 2" in html
    assert Study.objects.get(slug="winter-v2").version_of == Study.objects.get(slug="winter")


def test_the_rehearsal_fills_simulated_seats_only(inside, forks):
    inside.post("/studies/new/", CHOICES)
    html = body(inside.post(at("rehearse"), follow=True))
    assert "5 items were answered on simulated seats" in html
    assert SliderRating.objects.filter(assignment__seat__simulated=False).count() == 0
    assert AuditEntry.objects.filter(action="study.rehearsed").exists()
    inside.post(at("plan"), {**CHOICES, "n_simulated": "0"})
    assert "no simulated seats" in body(inside.post(at("rehearse")), 409)


def test_the_assumed_strength_can_be_changed_in_the_address(inside, forks):
    inside.post("/studies/new/", CHOICES)
    page = body(inside.get(at("plan")))
    fields = {"draws": "10", "mean_1": "50", "mean_2": "50", "mean_3": "50", "mean_4": "50"}
    fields |= {"side_goal_1": "50", "side_goal_4": "50", "conformant": "94", "spread": "18"}
    fields |= {"person": "8", "confirm_true": "91", "confirm_foil": "45"}
    fields |= {"confirm_foil_conformant": "8", "exact": "67", "near": "77", "at_or_after": "96"}
    fields |= {"followed": "95", "alike": "80"}
    other = body(inside.get(at("plan"), fields))
    assert "10 simulated studies" in other and "200 simulated studies" in page
    wrong = body(inside.get(at("plan"), {**fields, "near": "20"}), 400)
    assert "Exact onsets count too" in wrong
    assert "Nothing was simulated" in wrong
    assert body(inside.get(at("plan"), {"draws": "many"}), 400)


def test_the_plan_takes_as_many_queries_for_many_seats(
    inside, forks, django_assert_num_queries, django_assert_max_num_queries
):
    inside.post("/studies/new/", CHOICES)
    inside.get(at("plan"))
    with django_assert_max_num_queries(24) as few:
        inside.get(at("plan"))
        n_queries = len(few.captured_queries)
    inside.post(at("plan"), {**CHOICES, "n_seats": "9"})
    inside.get(at("plan"))
    with django_assert_num_queries(n_queries):
        inside.get(at("plan"))


def test_annotators_do_not_find_any_of_it(client, annotator, forks):
    study = make_study()
    client.force_login(annotator)
    assert client.get("/studies/new/").status_code == 404
    assert client.get(at("plan")).status_code == 404
    for name in ("launch", "study-state", "new-version", "rehearse"):
        assert client.post(at(name)).status_code == 404
    assert Study.objects.get(pk=study.pk).state == "open"


def test_a_study_that_is_not_there_is_not_found(inside):
    assert inside.get(at("plan", "none")).status_code == 404
    assert inside.post(at("launch", "none")).status_code == 404


def test_without_forks_the_page_says_what_to_do_first(inside, db):
    assert "No forks yet" in body(inside.get("/studies/new/"))


def test_the_tables_recount_the_stored_items(db):
    study = make_study(n_seats=6, overlap=0.3)
    rows = planning.plan_of(study).rows
    assert len(rows) == 30
    lines = plan_tables.by_position(rows)
    assert sum(line.total for line in lines) == 24
    assert {cell.n for line in lines for cell in line.cells} <= {0, 1, 2, 3}
    assert sum(line.total for line in plan_tables.by_workflow(rows)) == 30
    exposure = plan_tables.exposure(rows)
    assert exposure.once and exposure.meetings == 30
    overlap = plan_tables.overlap(rows)
    uses = [item.assignments.count() for item in study.items.all()]
    assert overlap.judged == {n: uses.count(n) for n in sorted(set(uses))}
    assert overlap.reached == pytest.approx(1 - study.items.count() / 30)
    assert [seat.forks for seat in plan_tables.by_seat(rows)] == [4] * 6


def test_a_source_met_twice_is_said_aloud(inside, db):
    study = make_study(state=Study.State.DRAFT)
    seat = study.seats.get(number=1)
    fork = seat.assignments.exclude(item__dialogue__forks=None).first().item
    twin = fork.dialogue.forks.get().source.forked_into.exclude(dialogue=fork.dialogue).first()
    other = seat.assignments.exclude(item=fork).first()
    other.item.dialogue = twin.dialogue
    other.item.save()
    assert "meets one source 2 times" in body(inside.get(at("plan")))
