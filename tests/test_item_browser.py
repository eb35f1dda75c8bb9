"""An item in a real browser: by mouse, by keyboard alone, readable by machines, nothing inline."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from annotation import step_times
from annotation.enrolment import assign_seat
from annotation.models import (
    Assignment,
    Draft,
    OnsetMark,
    PrefixJudgement,
    ProblemReport,
    Skip,
    SliderRating,
    StepTime,
)
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
    # A screen reader says the slider's own value from now on, which is that of the box.
    expect(slider).not_to_have_attribute("aria-valuetext", re.compile("."))
    expect(slider).to_have_value("100")
    assert slider.get_attribute("aria-label") or slider.get_attribute("aria-labelledby")
    visitor.keyboard.press("ArrowLeft")
    expect(number).to_have_value("99")
    number.fill("")
    expect(slider).to_have_attribute("aria-valuetext", "not answered yet")


def saved(page) -> None:
    expect(page.locator('[data-is="saved"]')).to_be_visible()


def unquiet(page, *words: str) -> None:
    """The browser itself noted refused or failed requests, which this test caused."""
    page.problems[:] = [said for said in page.problems if not any(word in said for word in words)]


def test_a_reload_loses_nothing_and_a_confirmed_step_leaves_no_draft(visitor, live_server, late):
    visitor.goto(url(live_server, late, "rate"))
    visitor.locator('input[name="rating"]').fill("37")
    saved(visitor)
    assert Draft.objects.get().values == {"rating": 37}
    assert not SliderRating.objects.exists()
    visitor.evaluate("localStorage.clear()")
    visitor.reload()
    expect(visitor.locator('input[name="rating"]')).to_have_value("37")
    saved(visitor)
    visitor.get_by_role("button", name="Confirm rating").click()
    at_step(visitor, "instruction")
    visitor.locator(".seg label", has_text="Yes").click()
    visitor.locator(".pick label.bubble").nth(1).click()
    saved(visitor)
    visitor.reload()
    expect(visitor.locator('input[name="appears"][value="yes"]')).to_be_checked()
    expect(visitor.locator('input[name="onset"]').nth(1)).to_be_checked()
    assert visitor.evaluate("Object.keys(localStorage)") == []
    assert [draft.step for draft in Draft.objects.all()] == ["instruction"]


def test_what_is_entered_offline_is_sent_once_when_the_connection_is_back(
    visitor, live_server, late
):
    visitor.goto(url(live_server, late, "rate"))
    rating = visitor.locator('input[name="rating"]')
    rating.fill("37")
    saved(visitor)
    visitor.context.set_offline(True)
    rating.fill("62")
    expect(visitor.locator('[data-is="offline"]')).to_be_visible()
    expect(visitor.locator('[data-is="saved"]')).to_be_hidden()
    visitor.get_by_role("button", name="Confirm rating").click()
    expect(visitor.locator('[data-trouble="offline"]')).to_be_visible()
    expect(rating).to_have_value("62")
    assert Draft.objects.get().values == {"rating": 37}
    visitor.context.set_offline(False)
    saved(visitor)
    draft = Draft.objects.get()
    assert (draft.values, draft.revision) == ({"rating": 62}, 2)
    assert not SliderRating.objects.exists()
    unquiet(visitor, "ERR_INTERNET_DISCONNECTED")
    visitor.get_by_role("button", name="Confirm rating").click()
    at_step(visitor, "instruction")
    assert SliderRating.objects.get().value == 62


def test_leaving_with_something_unsent_asks_first_and_a_later_visit_sends_it(
    visitor, live_server, late
):
    visitor.goto(url(live_server, late, "rate"))
    visitor.locator('input[name="rating"]').click()
    visitor.context.set_offline(True)
    visitor.keyboard.type("62")
    expect(visitor.locator('[data-is="offline"]')).to_be_visible()
    asked = []
    visitor.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    visitor.evaluate("setTimeout(() => location.reload(), 0)")
    visitor.wait_for_timeout(300)
    assert asked == ["beforeunload"]
    expect(visitor.locator('input[name="rating"]')).to_have_value("62")
    other = visitor.context.new_page()
    visitor.close(run_before_unload=False)
    other.context.set_offline(False)
    other.goto(url(live_server, late, "rate"))
    expect(other.locator('input[name="rating"]')).to_have_value("62")
    saved(other)
    assert Draft.objects.get().values == {"rating": 62}


def test_a_save_that_fails_is_never_shown_as_saved(visitor, live_server, late):
    visitor.goto(url(live_server, late, "rate"))
    visitor.route("**/draft/", lambda route: route.fulfill(status=500, body="broken"))
    visitor.locator('input[name="rating"]').fill("37")
    expect(visitor.locator('[data-is="kept"]')).to_be_visible()
    expect(visitor.locator('[data-trouble="busy"]')).to_be_visible()
    expect(visitor.locator('[data-is="saved"]')).to_be_hidden()
    visitor.get_by_role("button", name="Confirm rating").click()
    expect(visitor.get_by_role("button", name="Confirm rating")).not_to_have_attribute(
        "aria-busy", "true"
    )
    expect(visitor.locator('input[name="rating"]')).to_have_value("37")
    assert not SliderRating.objects.exists()
    visitor.locator('input[name="rating"]').fill("370")
    expect(visitor.locator('[data-is="invalid"]')).to_be_visible()
    assert not Draft.objects.exists()


def test_a_number_out_of_range_is_not_sent_and_mending_it_is_saved(visitor, live_server, late):
    visitor.goto(url(live_server, late, "rate"))
    visitor.locator('input[name="rating"]').click()
    visitor.keyboard.type("370")
    expect(visitor.locator('[data-is="invalid"]')).to_be_visible()
    visitor.wait_for_timeout(800)
    assert not Draft.objects.exists()
    visitor.keyboard.press("Backspace")
    saved(visitor)
    assert Draft.objects.get().values == {"rating": 37}
    quiet(visitor)


def test_two_tabs_do_not_overwrite_each_other_unseen(visitor, live_server, late):
    visitor.goto(url(live_server, late, "rate"))
    other = visitor.context.new_page()
    other.goto(url(live_server, late, "rate"))
    visitor.locator('input[name="rating"]').fill("37")
    saved(visitor)
    other.locator('input[name="rating"]').fill("62")
    stale = other.locator('[data-trouble="stale"]')
    expect(stale).to_be_visible()
    assert Draft.objects.get().values == {"rating": 37}
    other.get_by_role("button", name="Take the newer one").click()
    expect(other.locator('input[name="rating"]')).to_have_value("37")
    expect(stale).to_be_hidden()
    other.locator('input[name="rating"]').fill("62")
    saved(other)
    visitor.locator('input[name="rating"]').fill("11")
    visitor.get_by_role("button", name="Keep what is here").click()
    saved(visitor)
    assert Draft.objects.get().values == {"rating": 11}


def test_somebody_signed_out_keeps_the_page_signs_in_beside_it_and_confirms(
    visitor, live_server, late, annotator
):
    visitor.goto(url(live_server, late, "rate"))
    visitor.locator('input[name="rating"]').fill("37")
    saved(visitor)
    visitor.context.clear_cookies(name="sessionid")
    visitor.get_by_role("button", name="Confirm rating").click()
    expect(visitor.locator('[data-trouble="signed_out"]')).to_be_visible()
    expect(visitor.locator('input[name="rating"]')).to_have_value("37")
    with visitor.context.expect_page() as opened:
        visitor.get_by_role("link", name="Sign in (new tab)").click()
    beside = opened.value
    beside.locator('input[name="username"]').fill(annotator.username)
    beside.locator('input[name="password"]').fill("a-long-pass-phrase")
    beside.keyboard.press("Enter")
    expect(beside.get_by_role("heading", name="You are signed in")).to_be_visible()
    beside.close()
    # Signing in changes the form's token as well; the page takes the new one.
    visitor.get_by_role("button", name="Confirm rating").click()
    unquiet(visitor, "401")
    at_step(visitor, "instruction")
    assert SliderRating.objects.get().value == 37


def test_going_back_shows_the_answer_and_nothing_to_change(visitor, live_server, late):
    visitor.goto(url(live_server, late, "rate"))
    visitor.locator('input[name="rating"]').fill("80")
    visitor.get_by_role("button", name="Confirm rating").click()
    at_step(visitor, "instruction")
    visitor.go_back()
    expect(visitor.get_by_text("80 of 100")).to_be_visible()
    expect(visitor.locator('input[name="rating"]')).to_have_count(0)
    visitor.get_by_role("link", name="Go on").click()
    at_step(visitor, "instruction")
    assert SliderRating.objects.get().value == 80


def test_a_double_click_confirms_once_and_nothing_on_the_next_item(visitor, live_server, late):
    visitor.goto(url(live_server, late, "rate"))
    visitor.locator('input[name="rating"]').fill("80")
    visitor.get_by_role("button", name="Confirm rating").dblclick()
    at_step(visitor, "instruction")
    assert SliderRating.objects.get().value == 80


def test_guidelines_and_reports_open_in_place_and_keys_rest_while_typing(
    visitor, live_server, late
):
    visitor.goto(url(live_server, late, "rate"))
    keys = visitor.keyboard
    keys.press("j")
    keys.press("g")
    expect(visitor.locator("#guidelines")).to_be_visible()
    keys.press("Escape")
    expect(visitor.locator("#guidelines")).to_be_hidden()
    assert visitor.evaluate("document.activeElement.closest('li').id").startswith("turn-")
    keys.press("f")
    expect(visitor.locator("#problem")).to_be_visible()
    visitor.get_by_label("What is wrong?").focus()
    keys.type("yes 1 2 3 n s g f ?")
    assert visitor.locator('input[name="rating"]').input_value() == ""
    visitor.get_by_role("button", name="Send the report").click()
    expect(visitor.get_by_text("Reported.")).to_be_visible()
    at_step(visitor, "rate")
    assert ProblemReport.objects.get().text == "yes 1 2 3 n s g f ?"


def test_no_two_controls_of_a_step_have_one_key(visitor, live_server, late):
    turn = assistant_turns(late.item.dialogue)[2]
    visitor.goto(url(live_server, late, "item"))
    for step, answer in (("rate", "40"), ("instruction", "y"), ("prefix", "y")):
        at_step(visitor, step)
        found = visitor.eval_on_selector_all("[data-key]", "all => all.map(e => e.dataset.key)")
        taken = [*found, "j", "k", "?", *"0123456789"]
        assert len(taken) == len(set(taken)), step
        listed = visitor.locator("#keys dt kbd").all_inner_texts()
        assert set(found) <= {key.lower() for key in listed}, step
        visitor.keyboard.type(answer)
        if step == "instruction":
            visitor.locator(f"#turn-{turn} input").check()
        visitor.keyboard.press("Control+Enter")


class TwoClocks:
    """The clock of the server and that of the page, moved together; the page's is a day behind."""

    def __init__(self, page, monkeypatch) -> None:
        self.page, self.start, self.passed, self.waiting = page, timezone.now(), 0.0, 0
        moved = lambda: self.start + timedelta(seconds=self.passed)  # noqa: E731
        monkeypatch.setattr(step_times, "now", moved)
        page.clock.install(time=self.start - timedelta(days=1))
        page.on("request", lambda request: self.count(request, 1))
        page.on("requestfinished", lambda request: self.count(request, -1))
        page.on("requestfailed", lambda request: self.count(request, -1))

    def count(self, request, by: int) -> None:
        self.waiting += by if re.search("/(time|draft)/$", request.url) else 0

    def settle(self) -> None:
        """What the page has sent has arrived before the clocks go on."""
        self.page.wait_for_timeout(30)
        for _ in range(200):
            if not self.waiting:
                return
            self.page.wait_for_timeout(20)
        raise AssertionError("the server did not answer")

    def go(self, seconds: float, *, used: bool, step: float = 5) -> None:
        for n in range(int(seconds // step)):
            if used:
                self.page.mouse.move(10 + n % 7, 200)
            self.passed += step
            self.page.clock.run_for(int(step * 1000))
            self.settle()

    def seen(self, state: str) -> None:
        self.page.evaluate(
            """state => {
                const now = { value: state, configurable: true };
                Object.defineProperty(document, "visibilityState", now);
                document.dispatchEvent(new Event("visibilitychange"));
            }""",
            state,
        )
        self.settle()


def test_only_the_time_in_which_the_page_is_seen_and_used_counts(
    visitor, live_server, late, monkeypatch
):
    """20 s of use, 10 min hidden, 15 s of use: 35 s, whatever the clock of the device says."""
    clocks = TwoClocks(visitor, monkeypatch)
    visitor.goto(url(live_server, late, "rate"))
    clocks.go(20, used=True)
    clocks.seen("hidden")
    clocks.go(600, used=False, step=60)
    clocks.seen("visible")
    clocks.go(15, used=True)
    visitor.locator('input[name="rating"]').fill("37")
    visitor.clock.run_for(1000)
    clocks.settle()
    assert 32000 <= StepTime.objects.get().active_ms <= 38000


def test_after_a_minute_without_use_no_more_time_counts(visitor, live_server, late, monkeypatch):
    clocks = TwoClocks(visitor, monkeypatch)
    visitor.goto(url(live_server, late, "rate"))
    clocks.go(300, used=False, step=15)
    assert 57000 <= StepTime.objects.get().active_ms <= 63000


def test_any_script_runs_in_its_own_direction(visitor, live_server, late):
    late.item.dialogue.turns.filter(number=2).update(text="مرحبا، كيف أساعدك؟")
    visitor.goto(url(live_server, late, "rate"))
    shown = "#turn-2 .text"
    assert visitor.eval_on_selector(shown, "e => getComputedStyle(e).direction") == "rtl"
    assert visitor.eval_on_selector("#turn-1 .text", "e => getComputedStyle(e).direction") == "ltr"
    assert visitor.locator(shown).get_attribute("lang") == ""
    order = visitor.eval_on_selector_all(".bench .turn", "all => all.map(e => e.id)")
    assert order[:3] == ["turn-1", "turn-2", "turn-3"]
    look(visitor, "rtl")


def test_three_steps_by_touch_on_a_phone(browser, client, annotator, live_server, late):
    client.force_login(annotator)
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    cookie = client.cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
    page = context.new_page()
    page.goto(url(live_server, late, "item"))
    track = page.locator('.blind-range input[type="range"]').bounding_box()
    page.touchscreen.tap(track["x"] + track["width"] * 0.7, track["y"] + track["height"] / 2)
    value = int(page.locator('input[name="rating"]').input_value())
    assert 65 <= value <= 75
    page.get_by_role("button", name="Confirm rating").tap()
    page.locator(".seg label", has_text="Yes").tap()
    page.locator(".pick label.bubble").nth(1).tap()
    page.get_by_role("button", name="Confirm both").tap()
    page.locator(".seg label", has_text="Mostly").tap()
    page.get_by_role("button", name="Confirm and go on").tap()
    expect(page.locator('form[data-draft="rate"]')).to_be_visible()
    assert late.token not in page.url
    assert SliderRating.objects.get().value == value
    assert PrefixJudgement.objects.get().answer == "mostly"
    context.close()


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
    expect(visitor.get_by_role("heading", name="Skip this item")).to_be_visible()
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
    visitor.keyboard.press("g")
    look(visitor, f"guidelines-in-place-{scheme}")
    visitor.keyboard.press("Escape")
    visitor.keyboard.press("f")
    look(visitor, f"report-in-place-{scheme}")
    for name in ("item", "problem"):
        visitor.goto(url(live_server, late, name))
        look(visitor, f"{name}-answered-{scheme}")


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
    visitor.locator(".bench .turns .turn").last.scroll_into_view_if_needed()
    expect(visitor.get_by_role("button", name="Confirm rating")).to_be_in_viewport()
    visitor.locator('input[name="rating"]').fill("40")
    visitor.get_by_role("button", name="Confirm rating").click()
    at_step(visitor, "instruction")
    look(visitor, "instruction-phone")
