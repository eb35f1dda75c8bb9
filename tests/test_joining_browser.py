"""Coming and going in a real browser: forms pass the forgery check, and everybody can read them."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from annotation import invitations
from annotation.models import Seat, Study, Withdrawal
from annotation.seating import take
from tests.browsing import WATCH, look, sign_in
from tests.studies import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study(db) -> Study:
    return make_study(n_seats=2)


@pytest.fixture
def stranger(page):
    """A page of nobody, that notes what the content policy blocks."""
    page.add_init_script(WATCH)
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    return page


def test_from_the_link_to_the_first_page_and_back_by_the_code(
    stranger, live_server, study, researcher, browser
):
    _, token = invitations.create(study, label="", days=1, people=1, actor=researcher)
    stranger.goto(f"{live_server.url}/join/{token}/")
    look(stranger, "join-door")
    stranger.get_by_role("button", name="Take a place").click()
    expect(stranger.get_by_role("heading", name="Write this down")).to_be_visible()
    assert token not in stranger.url
    look(stranger, "join-welcome")
    name, code = stranger.locator("dd").all_inner_texts()
    stranger.get_by_role("link", name="go on").click()
    expect(stranger).to_have_url(re.compile("/(seats|items)/"))
    elsewhere = browser.new_context().new_page()
    elsewhere.goto(f"{live_server.url}/join/resume/")
    elsewhere.get_by_label("Pseudonym").fill(name)
    elsewhere.get_by_label("Code").fill("AAAA")
    elsewhere.get_by_role("button", name="Go on").click()
    expect(elsewhere.get_by_role("alert")).to_contain_text("No place has this pseudonym")
    elsewhere.get_by_label("Code").fill(code)
    elsewhere.get_by_label("Code").press("Enter")
    expect(elsewhere).to_have_url(re.compile("/(seats|items)/"))
    elsewhere.context.close()


def test_leaving_takes_two_steps_without_a_dialog(page, client, annotator, live_server, study):
    seat = take(study, annotator)
    visitor = sign_in(page, client, annotator, live_server)
    visitor.goto(f"{live_server.url}/seats/{seat.pseudonym}/withdraw/")
    look(visitor, "leave-choose")
    visitor.get_by_label(re.compile("^Erase them")).focus()
    visitor.keyboard.press("Space")
    visitor.keyboard.press("Enter")
    expect(visitor.get_by_role("heading", name="Erase your answers and leave?")).to_be_visible()
    assert not Withdrawal.objects.exists()
    look(visitor, "leave-confirm")
    visitor.get_by_role("button", name="Erase my answers and leave").click()
    expect(visitor.get_by_role("heading", name="You have left the study")).to_be_visible()
    look(visitor, "leave-receipt")
    assert Seat.objects.get(pk=seat.pk).user is None


def test_a_researcher_sees_the_link_once(page, client, researcher, live_server, study):
    visitor = sign_in(page, client, researcher, live_server)
    address = f"{live_server.url}/studies/{study.slug}/invitations/"
    visitor.goto(address)
    visitor.get_by_label("Label").fill("Lab")
    visitor.get_by_label("Label").press("Enter")
    link = visitor.get_by_label("Link", exact=True)
    expect(link).to_have_value(re.compile(f"^{live_server.url}/join/[\\w-]{{43}}/$"))
    look(visitor, "invitations")
    visitor.reload()
    expect(link).to_have_count(0)
