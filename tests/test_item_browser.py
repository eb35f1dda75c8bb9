"""An item in a real browser: by mouse, by keyboard alone, readable by machines, nothing inline."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotation.enrolment import assign_seat
from annotation.models import Assignment, OnsetMark, PrefixJudgement, Skip, SliderRating
from tests.browsing import PHONE, look, quiet, sign_in
from tests.studies import assistant_turns, item_at, make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def late(annotator) -> Assignment:
    return item_at(assign_seat(make_study(), annotator), k=3)


@pytest.fixture
def visitor(page, client, annotator, live_server):
    """A page of the signed-in annotator that notes what the content policy blocks."""
    return sign_in(page, client, annotator, live_server)


def url(live_server, assignment: Assignment, step: str) -> str:
    return live_server.url + reverse(f"annotation:{step}", args=[assignment.token])


def at_step(page, step: str) -> None:
    expect(page.locator(f'form[data-draft="{step}"]')).to_be_visible()
    quiet(page)


def test_one_item_from_start_to_finish_by_mouse(visitor, live_server, late):
    turn = assistant_turns(late.item.dialogue)[2]
    visitor.goto(url(live_server, late, "item"))
    at_step(visitor, "rate")
    track = visitor.locator('.blind-range input[type="range"]').bounding_box()
    visitor.mouse.click(track["x"] + track["width"] * 0.3, track["y"] + track["height"] / 2)
    value = int(visitor.locator('input[name="rating"]').input_value())
    assert 27 <= value <= 33
    visitor.get_by_role("button", name="Confirm rating").click()

    at_step(visitor, "instruction")
    visitor.locator(".seg label", has_text="Partly").click()
    visitor.locator(f"#turn-{turn} .bubble").click()
    expect(visitor.locator("[data-onset]")).to_have_text(f"Turn {turn}")
    visitor.get_by_role("button", name="Confirm both").click()

    at_step(visitor, "prefix")
    expect(visitor.locator(".cut")).to_be_visible()
    visitor.locator(".seg label", has_text="Mostly").click()
    visitor.get_by_role("button", name="Confirm and go on").click()
    expect(visitor.locator('form[data-draft="rate"]')).to_be_visible()
    assert late.token not in visitor.url

    assert SliderRating.objects.get().value == value
    assert OnsetMark.objects.get().turn.number == turn
    assert PrefixJudgement.objects.get().answer == "mostly"


def test_one_item_from_start_to_finish_by_keyboard_alone(visitor, live_server, late):
    """Every answer, the list of keys and the way from turn to turn, without a pointer."""
    turns = assistant_turns(late.item.dialogue)
    visitor.goto(url(live_server, late, "item"))
    at_step(visitor, "rate")
    keys = visitor.keyboard
    keys.press("?")
    expect(visitor.locator("#keys")).to_be_visible()
    keys.press("Escape")
    expect(visitor.locator("#keys")).not_to_be_visible()
    keys.press("j")
    keys.press("j")
    focused = visitor.evaluate("document.activeElement.closest('li').id")
    assert focused == f"turn-{turns[1]}"
    keys.press("ArrowUp")
    assert visitor.evaluate("document.activeElement.closest('li').id") == f"turn-{turns[0]}"
    keys.type("64")
    expect(visitor.locator('input[name="rating"]')).to_have_value("64")
    keys.press("Enter")
    at_step(visitor, "rate")
    keys.press("Control+Enter")

    at_step(visitor, "instruction")
    keys.press("y")
    for _ in range(3):
        keys.press("j")
    keys.press("Space")
    expect(visitor.locator("[data-onset]")).to_have_text(f"Turn {turns[2]}")
    keys.press("Control+Enter")

    at_step(visitor, "prefix")
    keys.press("m")
    keys.press("Control+Enter")
    expect(visitor.locator('form[data-draft="rate"]')).to_be_visible()
    assert late.token not in visitor.url

    assert SliderRating.objects.get().value == 64
    assert OnsetMark.objects.get().turn.number == turns[2]
    assert PrefixJudgement.objects.get().answer == "mostly"


def test_the_slider_gives_no_place_to_start_from(visitor, live_server, late):
    visitor.goto(url(live_server, late, "rate"))
    box = visitor.locator(".blind-range")
    slider, number = box.locator("[type=range]"), box.locator("[type=number]")
    expect(slider).to_have_attribute("aria-valuetext", "not answered yet")
    expect(number).to_have_value("")
    slider.focus()
    visitor.keyboard.press("ArrowRight")
    expect(number).to_have_value("")
    expect(number).to_be_focused()
    slider.focus()
    visitor.keyboard.press("End")
    expect(number).to_have_value("100")
    visitor.keyboard.press("ArrowLeft")
    expect(number).to_have_value("99")
    number.fill("")
    expect(slider).to_have_attribute("aria-valuetext", "not answered yet")


def test_a_reload_loses_nothing_and_a_confirmed_step_leaves_no_draft(visitor, live_server, late):
    visitor.goto(url(live_server, late, "rate"))
    visitor.locator('input[name="rating"]').fill("37")
    expect(visitor.locator(".state.saved")).to_be_visible()
    assert not SliderRating.objects.exists()
    visitor.reload()
    expect(visitor.locator('input[name="rating"]')).to_have_value("37")
    visitor.get_by_role("button", name="Confirm rating").click()
    at_step(visitor, "instruction")
    visitor.locator(".seg label", has_text="Yes").click()
    visitor.locator(".pick label.bubble").nth(1).click()
    visitor.reload()
    expect(visitor.locator('input[name="appears"][value="yes"]')).to_be_checked()
    expect(visitor.locator('input[name="onset"]').nth(1)).to_be_checked()
    assert visitor.evaluate("Object.keys(localStorage).filter(k => k.endsWith(':rate'))") == []


def test_somebody_signed_out_meanwhile_finds_the_entry_again(
    visitor, live_server, late, annotator, client
):
    visitor.goto(url(live_server, late, "rate"))
    visitor.locator('input[name="rating"]').fill("37")
    visitor.context.clear_cookies(name="sessionid")
    visitor.get_by_role("button", name="Confirm rating").click()
    expect(visitor).to_have_url(re.compile(reverse("login")))
    visitor.locator('input[name="username"]').fill(annotator.username)
    visitor.locator('input[name="password"]').fill("a-long-pass-phrase")
    visitor.keyboard.press("Enter")
    expect(visitor.locator('input[name="rating"]')).to_have_value("37")
    assert not SliderRating.objects.exists()


def test_a_no_hides_the_turns_to_choose_from(visitor, live_server, late):
    visitor.goto(url(live_server, late, "rate"))
    visitor.keyboard.type("5")
    visitor.keyboard.press("Control+Enter")
    at_step(visitor, "instruction")
    visitor.keyboard.press("n")
    expect(visitor.locator('input[name="onset"]').first).to_be_hidden()
    visitor.keyboard.press("y")
    expect(visitor.locator('input[name="onset"]').first).to_be_visible()


def test_an_item_is_skipped_with_a_reason_by_keyboard(visitor, live_server, late):
    visitor.goto(url(live_server, late, "rate"))
    visitor.keyboard.press("s")
    expect(visitor.get_by_role("heading", name="Skip item")).to_be_visible()
    visitor.get_by_label("I would rather not read it").check()
    visitor.get_by_role("button", name="Skip this item").click()
    expect(visitor.locator('form[data-draft="rate"]')).to_be_visible()
    assert Skip.objects.get().reason == "distressing"


def test_the_steps_work_without_script(browser, client, annotator, live_server, late):
    client.force_login(annotator)
    context = browser.new_context(java_script_enabled=False)
    cookie = client.cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
    page = context.new_page()
    page.goto(url(live_server, late, "item"))
    page.locator('input[name="rating"]').fill("12")
    page.keyboard.press("Enter")
    assert not SliderRating.objects.exists()
    page.get_by_role("button", name="Confirm rating").click()
    page.locator(".seg label", has_text="Yes").click()
    page.locator(".pick label.bubble").nth(2).click()
    page.get_by_role("button", name="Confirm both").click()
    page.locator(".seg label", has_text="No").click()
    page.get_by_role("button", name="Confirm and go on").click()
    assert PrefixJudgement.objects.get().answer == "no"
    context.close()


@pytest.mark.layout
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_step_passes_axe_and_fits_at_both_widths(visitor, live_server, late, scheme):
    visitor.emulate_media(color_scheme=scheme)
    turn = assistant_turns(late.item.dialogue)[2]
    answers = {"rate": "40", "instruction": "y", "prefix": "y"}
    visitor.goto(live_server.url + reverse("annotation:guidelines"))
    look(visitor, f"guidelines-{scheme}")
    visitor.goto(url(live_server, late, "skip"))
    look(visitor, f"skip-{scheme}")
    visitor.goto(url(live_server, late, "item"))
    for step, keys in answers.items():
        at_step(visitor, step)
        look(visitor, f"{step}-{scheme}")
        visitor.keyboard.type(keys)
        if step == "instruction":
            visitor.locator(f"#turn-{turn} input").check()
            look(visitor, f"{step}-answered-{scheme}")
        visitor.keyboard.press("Control+Enter")
    expect(visitor.locator('form[data-draft="rate"]')).to_be_visible()


def test_on_a_phone_the_workflow_starts_folded_and_the_answer_stays_in_reach(
    visitor, live_server, late
):
    visitor.set_viewport_size(PHONE)
    visitor.goto(url(live_server, late, "rate"))
    workflow = visitor.locator(".proc details")
    expect(workflow).not_to_have_attribute("open", "")
    look(visitor, "rate-phone")
    visitor.set_viewport_size(PHONE)
    visitor.locator(".proc summary").click()
    expect(visitor.get_by_text("Read the booking back")).to_be_visible()
    visitor.locator(".proc summary").click()
    visitor.locator(".turns .turn").last.scroll_into_view_if_needed()
    expect(visitor.get_by_role("button", name="Confirm rating")).to_be_in_viewport()
    visitor.locator('input[name="rating"]').fill("40")
    visitor.get_by_role("button", name="Confirm rating").click()
    at_step(visitor, "instruction")
    look(visitor, "instruction-phone")
