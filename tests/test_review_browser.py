"""A run in a real browser: by keyboard alone, by mouse, without script, and offline."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotation.models import Assignment, Draft, JudgeComparison, Review, RevisedReview
from benchmark.labelling import records_of
from tests.browsing import PHONE, look, quiet, sign_in
from tests.run_rows import first_item, make_run_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
WHY = "No repair in March is in the data."


@pytest.fixture
def item(annotator) -> Assignment:
    return first_item(make_run_study(user=annotator))


@pytest.fixture
def visitor(page, client, annotator, live_server):
    return sign_in(page, client, annotator, live_server)


def url(live_server, assignment: Assignment, step: str) -> str:
    return live_server.url + reverse(f"annotation:{step}", args=[assignment.token])


def at_step(page, step: str) -> None:
    expect(page.locator(f'form[data-draft="{step}"]')).to_be_visible()
    quiet(page)


def label_of(review):
    return records_of([review.labels])[review.labels_id]


def test_one_run_from_review_to_new_answer_by_keyboard_alone(visitor, live_server, item):
    visitor.goto(url(live_server, item, "item"))
    at_step(visitor, "review")
    keys = visitor.keyboard
    for key, dialog in (("?", "#keys"), ("g", "#guidelines")):
        keys.press(key)
        expect(visitor.locator(dialog)).to_be_visible()
        keys.press("Escape")
        expect(visitor.locator(dialog)).not_to_be_visible()
    keys.press("y")
    for key in ("1", "5", "6"):
        keys.press(key)
    keys.press("j")
    keys.press("j")
    assert visitor.evaluate("document.activeElement.id") == "step-2"
    keys.press("m")
    keys.press("t")
    keys.press("j")
    keys.press("m")
    keys.press("r")
    keys.press("m")
    keys.press("x")
    expect(visitor.locator("[data-places] > li")).to_have_count(2)
    keys.press("w")
    keys.type(WHY)
    keys.press("Escape")
    keys.press("Control+Enter")

    at_step(visitor, "compare")
    expect(visitor.locator("#judge-h")).to_be_visible()
    for key in ("p", "2", "3", "y"):
        keys.press(key)
    keys.press("Control+Enter")

    at_step(visitor, "revise")
    expect(visitor.locator('[name="rationale"]')).to_have_value(WHY)
    keys.press("1")
    keys.press("Control+Enter")
    at_step(visitor, "review")
    assert item.token not in visitor.url

    record = label_of(Review.objects.get())
    assert (record.types, record.flags) == (("factual", "scope"), ("role_breach",))
    assert [(p.step, p.component) for p in record.places] == [(2, "thought"), (3, "response")]
    comparison = JudgeComparison.objects.get()
    assert (comparison.agreement, comparison.on_type, comparison.on_step) == ("partly", True, True)
    assert label_of(RevisedReview.objects.get()).types == ("scope",)


def test_one_run_by_mouse_with_more_said_about_a_place(visitor, live_server, item):
    visitor.goto(url(live_server, item, "review"))
    visitor.locator(".seg label", has_text="Yes").click()
    visitor.locator(".check", has_text="Factual").first.click()
    visitor.locator(".check", has_text="Referential").first.click()
    for place in ("final", "2.thought"):
        visitor.locator(f'.here:has([value="{place}"])').click()
    rows = visitor.locator("[data-places] > li")
    expect(rows.nth(0)).to_contain_text("Step 2, thought")
    expect(rows.nth(1)).to_contain_text("Final response")
    rows.nth(0).locator("summary").click()
    rows.nth(0).get_by_label("Referential", exact=True).check()
    rows.nth(0).locator("select").select_option("root")
    rows.nth(0).locator('input[type="number"]').fill("1")
    rows.nth(1).get_by_role("button", name="Remove").click()
    expect(rows).to_have_count(1)
    expect(visitor.locator('[value="final"]')).not_to_be_checked()
    visitor.locator('[name="rationale"]').fill(WHY)
    expect(visitor.locator('[data-is="saved"]')).to_be_visible()
    visitor.reload()
    expect(rows).to_have_count(1)
    expect(rows.nth(0).locator("select")).to_have_value("root")
    visitor.get_by_role("button", name="Confirm review").click()

    at_step(visitor, "compare")
    visitor.locator(".seg label", has_text="Agree").first.click()
    expect(visitor.locator(".if-differs")).not_to_be_visible()
    visitor.locator(".seg label", has_text="No").click()
    visitor.get_by_role("button", name="Confirm and go on").click()
    at_step(visitor, "review")

    place = label_of(Review.objects.get()).places[0]
    assert (place.step, place.type, place.cause, place.evidence) == (2, "referential", "root", 1)
    assert JudgeComparison.objects.get().agreement == "agree"


def test_a_mark_says_yes_and_what_does_not_apply_is_not_asked(visitor, live_server, item):
    visitor.goto(url(live_server, item, "review"))
    visitor.locator('[name="places"][value="2.action"]').check()
    expect(visitor.locator('[name="present"][value="yes"]')).to_be_checked()
    row = visitor.locator("[data-places] > li")
    row.locator("summary").click()
    expect(row.locator("[data-kinds]")).not_to_be_visible()
    expect(row.locator("[data-evidence]")).not_to_be_visible()
    expect(visitor.locator(".if-scope")).not_to_be_visible()
    for name in ("referential", "scope"):
        visitor.locator(f'[name="types"][value="{name}"]').check()
    expect(visitor.locator(".if-scope")).to_be_visible()
    expect(row.locator("[data-kinds] label:visible")).to_have_count(2)
    expect(row.locator("[data-evidence]")).to_be_visible()
    row.locator('[value="scope"]').check()
    expect(row.locator("[data-evidence]")).not_to_be_visible()
    visitor.locator('[name="types"][value="scope"]').uncheck()
    expect(row.locator('[data-kinds] [value="scope"]')).not_to_be_checked()
    visitor.locator(".seg label", has_text="No").click()
    expect(visitor.locator(".here").first).not_to_be_visible()
    visitor.get_by_role("button", name="Confirm review").click()
    at_step(visitor, "compare")
    assert label_of(Review.objects.get()).present is False


def test_on_a_phone_the_questions_and_what_was_refused_are_a_touch_away(visitor, live_server, item):
    visitor.set_viewport_size(PHONE)
    visitor.goto(url(live_server, item, "review"))
    way = visitor.get_by_role("link", name="To the questions")
    expect(way).to_be_in_viewport()
    way.click()
    expect(visitor.locator("#ask-h")).to_be_in_viewport()
    visitor.locator(".seg label", has_text="Yes").click()
    visitor.get_by_role("button", name="Confirm review").click()
    expect(visitor.locator("#err-types")).to_be_in_viewport()


def test_a_run_without_script(browser, client, annotator, live_server, item):
    context = browser.new_context(java_script_enabled=False)
    client.force_login(annotator)
    session = client.cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    page = context.new_page()
    page.goto(url(live_server, item, "review"))
    page.locator('[name="present"][value="yes"]').check(force=True)
    page.locator('[name="types"][value="referential"]').check()
    page.locator('[name="places"][value="2.thought"]').check()
    page.get_by_role("button", name="Keep the marks").click()
    row = page.locator("[data-places] > li")
    expect(row).to_have_count(1)
    row.locator("summary").click()
    row.locator('input[type="number"]').fill("1")
    page.locator('[name="rationale"]').fill(WHY)
    page.get_by_role("button", name="Confirm review").click()
    expect(page.locator("#judge-h")).to_be_visible()
    for name, value in (("agreement", "disagree"), ("changed", "yes")):
        page.locator(f'[name="{name}"][value="{value}"]').check(force=True)
    page.locator('[name="on"][value="presence"]').check()
    page.get_by_role("button", name="Confirm and go on").click()
    page.locator('[name="present"][value="no"]').check(force=True)
    page.get_by_role("button", name="Confirm the new answer").click()
    expect(page.locator('form[data-draft="review"]')).to_be_visible()
    assert label_of(Review.objects.get()).places[0].evidence == 1
    assert label_of(RevisedReview.objects.get()).present is False
    context.close()


def test_marks_made_offline_are_sent_once_when_the_connection_is_back(visitor, live_server, item):
    visitor.goto(url(live_server, item, "review"))
    at_step(visitor, "review")
    visitor.context.set_offline(True)
    visitor.locator(".seg label", has_text="Yes").click()
    visitor.locator('[name="types"][value="logical"]').check()
    visitor.locator('[name="places"][value="3.action"]').check()
    visitor.locator('[name="rationale"]').fill(WHY)
    expect(visitor.locator('[data-is="offline"]')).to_be_visible()
    visitor.keyboard.press("Control+Enter")
    expect(visitor.locator('[data-trouble="offline"]')).to_be_visible()
    assert not Review.objects.exists()
    visitor.context.set_offline(False)
    expect(visitor.locator('[data-is="saved"]')).to_be_visible()
    assert Draft.objects.get().values["places"] == ["3.action"]
    visitor.problems.clear()
    visitor.get_by_role("button", name="Confirm review").click()
    at_step(visitor, "compare")
    assert label_of(Review.objects.get()).types == ("logical",)


def test_what_was_left_on_this_device_comes_back_with_rows_and_all(visitor, live_server, item):
    """The browser ended before anything reached the server."""
    visitor.goto(url(live_server, item, "review"))
    visitor.route("**/draft/", lambda route: route.abort())
    visitor.locator('[name="types"][value="referential"]').check()
    visitor.locator('[name="places"][value="final"]').check()
    row = visitor.locator("[data-places] > li")
    row.locator("summary").click()
    row.locator('input[type="number"]').fill("3")
    expect(visitor.locator('[data-is="offline"]')).to_be_visible()
    other = visitor.context.new_page()
    visitor.close(run_before_unload=False)
    other.goto(url(live_server, item, "review"))
    expect(other.locator('[data-places] > li input[type="number"]')).to_have_value("3")
    expect(other.locator('[data-is="saved"]')).to_be_visible()
    assert Draft.objects.get().values == {
        "present": "yes",
        "types": ["referential"],
        "places": ["final"],
        "evidence-final": "3",
    }


def test_a_number_that_is_not_asked_for_any_more_holds_nothing_up(visitor, live_server, item):
    visitor.goto(url(live_server, item, "review"))
    referential = visitor.locator('[name="types"][value="referential"]')
    referential.check()
    visitor.locator('[name="places"][value="2.thought"]').check()
    visitor.locator("[data-places] summary").click()
    visitor.locator('[name="evidence-2.thought"]').fill("2")
    expect(visitor.locator('[data-is="invalid"]')).to_be_visible()
    referential.uncheck()
    expect(visitor.locator('[data-is="saved"]')).to_be_visible()
    assert Draft.objects.get().values == {"present": "yes", "places": ["2.thought"]}


def test_a_newer_draft_of_another_tab_can_be_taken_with_its_places(visitor, live_server, item):
    visitor.goto(url(live_server, item, "review"))
    other = visitor.context.new_page()
    other.goto(url(live_server, item, "review"))
    other.locator('[name="places"][value="2.thought"]').check()
    other.locator("[data-places] > li summary").click()
    other.locator("[data-places] select").select_option("propagated")
    expect(other.locator('[data-is="saved"]')).to_be_visible()
    visitor.locator('[name="places"][value="1.action"]').check()
    expect(visitor.locator('[data-trouble="stale"]')).to_be_visible()
    visitor.get_by_role("button", name="Take the newer one").click()
    rows = visitor.locator("[data-places] > li")
    expect(rows).to_have_count(1)
    expect(rows.locator("select")).to_have_value("propagated")
    expect(visitor.locator('[name="places"][value="1.action"]')).not_to_be_checked()


@pytest.mark.layout
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_of_a_run_passes_axe_and_fits_at_both_widths(visitor, live_server, item, scheme):
    visitor.emulate_media(color_scheme=scheme)
    visitor.goto(url(live_server, item, "review"))
    for name in ("factual", "referential", "scope"):
        visitor.locator(f'[name="types"][value="{name}"]').check()
    visitor.locator(".seg label", has_text="Yes").click()
    visitor.locator('[name="flags"]').first.check()
    visitor.locator('[name="places"][value="2.thought"]').check()
    visitor.locator("[data-places] summary").click()
    visitor.locator('[name="rationale"]').fill(WHY)
    look(visitor, f"review-{scheme}")
    visitor.get_by_role("button", name="Confirm review").click()
    at_step(visitor, "compare")
    look(visitor, f"compare-{scheme}")
    for label in ("Disagree", "Yes"):
        visitor.locator(".seg label", has_text=label).click()
    visitor.locator('[name="on"]').first.check()
    visitor.get_by_role("button", name="Confirm and go on").click()
    at_step(visitor, "revise")
    look(visitor, f"revise-{scheme}")
    visitor.set_viewport_size(PHONE)
    visitor.get_by_role("button", name="Confirm the new answer").click()
    at_step(visitor, "review")
    visitor.goto(url(live_server, item, "item"))
    look(visitor, f"given-run-{scheme}")
    visitor.goto(live_server.url + reverse("annotation:guidelines"))
    look(visitor, f"run-guidelines-{scheme}")
