"""The three pages of an item: in order, once, and only for the person whose item it is."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from annotation import judging, phases
from annotation.models import (
    InstructionConfirmation,
    OnsetMark,
    PrefixJudgement,
    Skip,
    SliderRating,
    Study,
)
from benchmark.models import Turn
from tests.small import STEPS
from tests.studies import assistant_turns, item_at

ANSWERS = {
    "rate": {"rating": 40},
    "instruction": {"appears": "no"},
    "prefix": {"prefix": "yes"},
}


def at(assignment, step: str) -> str:
    return reverse(f"annotation:{step}", args=[assignment.token])


def body(response) -> str:
    return response.content.decode()


def main(html: str) -> str:
    return html.split("<main", 1)[1].split("</main>", 1)[0]


def test_an_item_leads_to_its_open_step(visitor, late):
    assert visitor.get(at(late, "item")).url == at(late, "rate")
    visitor.post(at(late, "rate"), {"rating": 40})
    assert visitor.get(at(late, "item")).url == at(late, "instruction")
    visitor.post(at(late, "instruction"), {"appears": "no"})
    assert visitor.get(at(late, "item")).url == at(late, "prefix")


def test_a_step_whose_predecessor_is_missing_is_not_there(visitor, late):
    for step, data in (("instruction", {"appears": "no"}), ("prefix", {"prefix": "yes"})):
        assert visitor.get(at(late, step)).status_code == 404
        assert visitor.post(at(late, step), data).status_code == 404
    visitor.post(at(late, "rate"), {"rating": 40})
    assert visitor.get(at(late, "prefix")).status_code == 404
    assert not InstructionConfirmation.objects.exists()
    assert not PrefixJudgement.objects.exists()


def test_a_step_that_does_not_apply_is_not_there(visitor, seat):
    for assignment in (item_at(seat, k=1), item_at(seat)):
        visitor.post(at(assignment, "rate"), {"rating": 40})
        visitor.post(at(assignment, "instruction"), {"appears": "no"})
        assert visitor.get(at(assignment, "prefix")).status_code == 404
        assert visitor.post(at(assignment, "prefix"), {"prefix": "yes"}).status_code == 404
    assert not PrefixJudgement.objects.exists()


def test_the_first_rating_stands_against_the_back_button(visitor, late):
    visitor.post(at(late, "rate"), {"rating": 80})
    again = visitor.post(at(late, "rate"), {"rating": 20})
    assert again.status_code == 409
    assert "80 of 100" in body(again)
    assert SliderRating.objects.get().value == 80
    back = body(visitor.get(at(late, "rate")))
    assert "80 of 100" in back
    assert "<form" not in main(back)


def test_a_second_submit_of_the_same_answer_leads_on(visitor, late):
    turn = assistant_turns(late.item.dialogue)[2]
    for step, data in (
        ("rate", {"rating": 80}),
        ("instruction", {"appears": "partly", "onset": turn}),
        ("prefix", {"prefix": "mostly"}),
    ):
        first, second = (visitor.post(at(late, step), data) for _ in range(2))
        assert first.status_code == second.status_code == 302
        assert first.url == second.url != at(late, step)
    assert SliderRating.objects.count() == OnsetMark.objects.count() == 1
    assert PrefixJudgement.objects.count() == 1


@pytest.mark.parametrize("rating", ["", "101", "-1", "many", "50.5"])
def test_a_rating_that_is_none_is_asked_for_again(visitor, late, rating):
    response = visitor.post(at(late, "rate"), {"rating": rating})
    assert response.status_code == 400
    assert "number from 0 to 100" in body(response)
    assert not SliderRating.objects.exists()


def test_yes_without_an_onset_is_refused_naming_the_field(visitor, late):
    visitor.post(at(late, "rate"), {"rating": 40})
    response = visitor.post(at(late, "instruction"), {"appears": "yes"})
    assert response.status_code == 400
    assert 'id="err-onset"' in body(response)
    assert re.search(r'value="yes"[^>]* checked', body(response))
    assert not InstructionConfirmation.objects.exists()


def test_a_user_turn_is_no_onset_and_the_choice_is_kept(visitor, late):
    visitor.post(at(late, "rate"), {"rating": 40})
    response = visitor.post(at(late, "instruction"), {"appears": "yes", "onset": 2})
    assert response.status_code == 400
    assert "not an assistant turn" in body(response)


def test_a_no_drops_the_onset_that_was_chosen_before(visitor, late):
    visitor.post(at(late, "rate"), {"rating": 40})
    turn = assistant_turns(late.item.dialogue)[1]
    visitor.post(at(late, "instruction"), {"appears": "no", "onset": turn})
    assert OnsetMark.objects.get().turn is None


def test_only_assistant_turns_can_be_chosen(visitor, late):
    visitor.post(at(late, "rate"), {"rating": 40})
    html = body(visitor.get(at(late, "instruction")))
    offered = [int(n) for n in re.findall(r'name="onset" value="(\d+)"', html)]
    assert offered == assistant_turns(late.item.dialogue)


def test_the_slider_has_no_value_to_start_from(visitor, late):
    html = body(visitor.get(at(late, "rate")))
    assert "data-untouched" in html
    inputs = re.findall(r"<input[^>]*type=\"(?:range|number)\"[^>]*>", html)
    assert len(inputs) == 2
    assert not any(" value=" in tag for tag in inputs)
    assert [" name=" in tag for tag in inputs] == [False, True]


def test_the_workflow_is_on_every_step(visitor, late):
    for step, data in (
        ("rate", {"rating": 40}),
        ("instruction", {"appears": "no"}),
        ("prefix", {"prefix": "yes"}),
    ):
        html = body(visitor.get(at(late, step)))
        assert all(text in html for _, text in STEPS)
        visitor.post(at(late, step), data)


def test_step_three_shows_where_the_instruction_was_given(visitor, late):
    visitor.post(at(late, "rate"), {"rating": 40})
    visitor.post(at(late, "instruction"), {"appears": "no"})
    html = body(visitor.get(at(late, "prefix")))
    fork = late.item.dialogue.forks.get()
    assert html.index('class="cut"') < html.index(f'id="turn-{fork.fork_turn}"')
    assert html.index(f'id="turn-{fork.fork_turn - 1}"') < html.index('class="cut"')


def test_a_finished_item_leads_to_the_next_and_the_last_one_to_the_study(visitor, seat):
    ranked = list(seat.assignments.select_related("item").order_by("rank"))
    for done, following in zip(ranked, [*ranked[1:], None], strict=True):
        for step, data in ANSWERS.items():
            if at(done, step) == visitor.get(at(done, "item")).headers.get("Location"):
                answer = visitor.post(at(done, step), data)
        wanted = at(following, "item") if following else phases.seat_url(seat)
        assert answer.url == wanted


def test_a_finished_item_shows_what_was_answered_and_no_form(visitor, late):
    turn = assistant_turns(late.item.dialogue)[2]
    visitor.post(at(late, "rate"), {"rating": 37})
    visitor.post(at(late, "instruction"), {"appears": "partly", "onset": turn})
    visitor.post(at(late, "prefix"), {"prefix": "mostly"})
    for step in ("item", "rate", "instruction", "prefix"):
        html = body(visitor.get(at(late, step)))
        for shown in ("37 of 100", f"partly, from turn {turn}", "mostly", 'class="cut"'):
            assert shown in html
        assert "<form" not in main(html)


def test_an_item_skipped_at_its_last_step_shows_the_reason(visitor, late):
    visitor.post(at(late, "rate"), {"rating": 37})
    visitor.post(at(late, "instruction"), {"appears": "no"})
    visitor.post(at(late, "skip"), {"reason": "distressing"})
    html = body(visitor.get(at(late, "item")))
    assert "37 of 100" in html
    assert "I would rather not read it" in html


def test_skipping_needs_a_reason_and_leads_on(visitor, seat, late):
    assert visitor.get(at(late, "skip")).status_code == 200
    assert visitor.post(at(late, "skip"), {"note": "x"}).status_code == 400
    assert not Skip.objects.exists()
    visitor.post(at(late, "skip"), {"reason": "cut_off", "note": "no end"})
    assert Skip.objects.get().note == "no end"
    assert visitor.post(at(late, "rate"), {"rating": 4}).status_code == 404
    assert not SliderRating.objects.exists()


def test_a_closed_study_takes_no_answers(visitor, late):
    Study.objects.update(state=Study.State.CLOSED)
    assert visitor.get(at(late, "rate")).status_code == 409
    assert visitor.post(at(late, "rate"), {"rating": 40}).status_code == 409
    assert not SliderRating.objects.exists()


def test_another_persons_item_is_not_found(client, other_annotator, late):
    client.force_login(other_annotator)
    for step in ("item", "rate", "instruction", "prefix", "skip"):
        assert client.get(at(late, step)).status_code == 404
        assert client.post(at(late, step), {"rating": 3}).status_code == 404
    assert not SliderRating.objects.exists()


def test_researchers_and_people_who_became_one_see_no_items(client, researcher, annotator, late):
    client.force_login(researcher)
    assert client.get(at(late, "rate")).status_code == 404
    annotator.groups.set(researcher.groups.all())
    client.force_login(annotator)
    assert client.get(at(late, "rate")).status_code == 404


def test_somebody_not_signed_in_is_asked_to(client, late):
    response = client.get(at(late, "rate"))
    assert response.status_code == 302
    assert response.url.startswith(reverse("login"))


def test_annotators_do_not_find_studies_and_reports(visitor, seat):
    assert visitor.get(reverse("annotation:studies")).status_code == 404
    assert visitor.get(reverse("annotation:report", args=[seat.study.slug])).status_code == 404
    assert visitor.get(reverse("annotation:guidelines")).status_code == 200


def test_item_pages_are_never_cached(visitor, late):
    for step in ("item", "rate"):
        assert "no-store" in visitor.get(at(late, step)).headers["Cache-Control"]


def test_a_page_costs_the_same_whatever_the_length(visitor, late, django_assert_max_num_queries):
    visitor.get(at(late, "rate"))
    with django_assert_max_num_queries(14):
        visitor.get(at(late, "rate"))
    last = late.item.dialogue.turns.count()
    Turn.objects.bulk_create(
        Turn(dialogue=late.item.dialogue, number=last + n, role="user", text="And?")
        for n in range(1, 101)
    )
    with django_assert_max_num_queries(14):
        assert body(visitor.get(at(late, "rate"))).count("And?") == 100


def test_each_step_costs_the_same_on_every_item(visitor, seat, late, django_assert_max_num_queries):
    """Reading a page, answering it, and reading the answers of a finished item."""
    most = {"rate": (14, 17), "instruction": (15, 21), "prefix": (17, 20)}
    for step, (reading, answering) in most.items():
        visitor.get(at(late, step))
        with django_assert_max_num_queries(reading):
            visitor.get(at(late, step))
        with django_assert_max_num_queries(answering):
            visitor.post(at(late, step), ANSWERS[step])
    with django_assert_max_num_queries(14):
        visitor.get(at(late, "item"))


def test_turn_text_is_shown_as_text(visitor, late):
    Turn.objects.filter(dialogue=late.item.dialogue, number=2).update(
        text="<script>alert(1)</script>"
    )
    html = body(visitor.get(at(late, "rate")))
    assert "<script>alert(1)" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_an_empty_turn_keeps_its_number(visitor, late):
    Turn.objects.filter(dialogue=late.item.dialogue, number=2).update(text="")
    html = body(visitor.get(at(late, "rate")))
    assert html.index('id="turn-2"') < html.index("(empty)") < html.index('id="turn-3"')


def test_the_time_of_opening_is_the_first_one(visitor, late):
    visitor.get(at(late, "rate"))
    late.refresh_from_db()
    first = late.opened_at
    assert first is not None
    judging.open_item(late)
    late.refresh_from_db()
    assert late.opened_at == first
