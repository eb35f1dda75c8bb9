"""A whole seat in a real browser: by keyboard alone, and by touch on a phone."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotation import practice
from annotation.enrolment import assign_seat
from annotation.models import CrowdIdentity, QuestionnaireAnswer, Seat
from tests.browsing import PHONE, look, quiet, sign_in
from tests.walks import ALL, make_walk

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def seat(annotator) -> Seat:
    """One practice item, one conversation proper and one that asks for a rating."""
    study = make_walk(
        n_practice=1,
        n_attention=1,
        drawn={"forks_per_seat": 0, "conformant_per_seat": 1, "n_seats": 1},
        phases=ALL,
        pass_mark=1,
        codes={"complete": "THANKS7"},
    )
    seat = assign_seat(study, annotator)
    CrowdIdentity.objects.create(study=study, seat=seat, person="a" * 24)
    return seat


@pytest.fixture
def visitor(page, client, annotator, live_server):
    return sign_in(page, client, annotator, live_server)


def url(live_server, seat: Seat) -> str:
    return live_server.url + reverse("annotation:seat", args=[seat.pseudonym])


def heading(page, text: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(text)
    quiet(page)


def tab_to(page, name: str) -> None:
    """Go on with Tab until the control called `name` has the focus, and press it."""
    for _ in range(60):
        page.keyboard.press("Tab")
        focused = page.evaluate("document.activeElement.innerText || ''")
        if focused.strip().startswith(name):
            return page.keyboard.press("Enter")
    raise AssertionError(f"no way to “{name}” by Tab")


def at_step(page, step: str) -> None:
    expect(page.locator(f'form[data-draft="{step}"]')).to_be_visible()
    page.wait_for_load_state()  # scripts come after the markup, and keys are theirs
    quiet(page)


def test_a_whole_seat_from_consent_to_code_by_keyboard_alone(visitor, live_server, seat):
    keys = visitor.keyboard
    visitor.goto(url(live_server, seat))
    heading(visitor, "Before you begin")
    tab_to(visitor, "I agree and take part")
    heading(visitor, "What to do")
    tab_to(visitor, "I have read this")
    heading(visitor, "Practice")
    tab_to(visitor, "Start practice item 1")

    item = seat.assignments.get(item__kind="practice").item
    at_step(visitor, "rate")
    keys.type("20")
    keys.press("Control+Enter")
    at_step(visitor, "instruction")
    keys.press("y")
    onset = item.expected["onset"][0]
    said = item.dialogue.turns.filter(role="assistant", number__lte=onset).count()
    for _ in range(said):
        keys.press("j")
    keys.press("Space")
    keys.press("Control+Enter")
    at_step(visitor, "prefix")
    keys.press("y")
    keys.press("Control+Enter")
    expect(visitor.get_by_text("That fits.")).to_be_visible()
    tab_to(visitor, "Go on")
    heading(visitor, "Practice")
    expect(visitor.get_by_text("1 of 1")).to_be_visible()
    tab_to(visitor, "Go on to the items")

    heading(visitor, "Your items")
    tab_to(visitor, "Start item 1")
    for assignment in seat.assignments.exclude(item__kind="practice").order_by("rank"):
        expect(visitor.locator(f'body[data-item="{assignment.token}"]')).to_be_attached()
        at_step(visitor, "rate")
        if assignment.item.kind == "attention":
            keys.type(str(assignment.item.expected["rating"][0]))
            keys.press("Control+Enter")
            continue
        keys.type("95")
        keys.press("Control+Enter")
        at_step(visitor, "instruction")
        keys.press("n")
        keys.press("Control+Enter")

    heading(visitor, "A few questions")
    visitor.get_by_label("Years you have worked in customer service").focus()
    keys.type("3")
    tab_to(visitor, "Send and finish")
    heading(visitor, "Thank you")
    expect(visitor.get_by_text("THANKS7", exact=True)).to_be_visible()
    quiet(visitor)
    visitor.reload()
    expect(visitor.get_by_text("THANKS7", exact=True)).to_be_visible()
    seat.refresh_from_db()
    assert (seat.state, seat.phase) == ("finished", "done")
    assert practice.attention(seat) == (1, 1)
    assert QuestionnaireAnswer.objects.get().answer == "3"


def rate_by_touch(page, share: float) -> None:
    """Touch the slider at a share of its width, and confirm."""
    at_step(page, "rate")
    slider = page.get_by_role("slider")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    page.touchscreen.tap(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
    expect(page.locator("[name=rating]")).not_to_have_value("")
    page.get_by_role("button", name="Confirm").tap()


def answer_by_touch(page, label: str) -> None:
    page.locator(".seg label", has_text=label).tap()


def test_a_whole_seat_by_touch_on_a_phone(browser, client, annotator, live_server, seat):
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    page = sign_in(context.new_page(), client, annotator, live_server)
    page.set_viewport_size(PHONE)
    page.goto(live_server.url + reverse("home"))
    page.get_by_role("link", name="Begin").tap()
    page.get_by_role("button", name="I agree and take part").tap()
    page.get_by_role("button", name="I have read this").tap()
    heading(page, "Practice")
    page.get_by_role("button", name="Pause").tap()
    heading(page, "You have paused")
    page.get_by_role("button", name="Go on").tap()
    heading(page, "Practice")
    page.get_by_role("link", name="Start practice item 1").tap()

    rate_by_touch(page, 0.1)
    at_step(page, "instruction")
    answer_by_touch(page, "Yes")
    onset = seat.assignments.get(item__kind="practice").item.expected["onset"][0]
    page.locator(f'input[name="onset"][value="{onset}"]').tap()
    page.get_by_role("button", name="Confirm").tap()
    at_step(page, "prefix")
    answer_by_touch(page, "Yes")
    page.get_by_role("button", name="Confirm").tap()
    expect(page.get_by_text("That fits.")).to_be_visible()
    page.get_by_role("link", name="Go on").tap()
    page.get_by_role("button", name="Go on to the items").tap()

    heading(page, "Your items")
    page.get_by_role("link", name="Start item 1").tap()
    for assignment in seat.assignments.exclude(item__kind="practice").order_by("rank"):
        expect(page.locator(f'body[data-item="{assignment.token}"]')).to_be_attached()
        rate_by_touch(page, 0.9)
        if assignment.item.kind == "main":
            at_step(page, "instruction")
            answer_by_touch(page, "No")
            page.get_by_role("button", name="Confirm").tap()

    heading(page, "A few questions")
    page.get_by_label("Fluent").tap()
    page.get_by_label("4", exact=True).tap()
    page.get_by_role("button", name="Send and finish").tap()
    heading(page, "Thank you")
    expect(page.get_by_text("THANKS7", exact=True)).to_be_visible()
    given = dict(QuestionnaireAnswer.objects.values_list("question", "answer"))
    assert given == {"fluency": "fluent", "clarity": "4"}
    assert seat.assignments.unfinished().count() == 0
    quiet(page)
    context.close()


@pytest.mark.layout
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_phase_passes_axe_and_fits_at_both_widths(visitor, live_server, seat, scheme):
    visitor.emulate_media(color_scheme=scheme)
    pages = [(phase, "active") for phase in ("consent", "instructions", "practice", "main")]
    pages += [("questionnaire", "active"), ("main", "paused"), ("done", "finished")]
    pages += [("practice", "screened_out"), ("consent", "declined"), ("main", "expired")]
    for phase, state in pages:
        Seat.objects.filter(pk=seat.pk).update(phase=phase, state=state)
        visitor.goto(url(live_server, seat))
        look(visitor, f"seat-{phase}-{state}-{scheme}", full_page=True)
