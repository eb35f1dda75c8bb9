"""The pages about people in a real browser: accessible, nothing inline, no sideways scroll."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation import judging, seating
from annotation.enrolment import assign_seat
from annotation.models import ProblemReport, Study
from tests.browsing import look, sign_in
from tests.studies import item_at, make_study

pytestmark = [
    pytest.mark.browser,
    pytest.mark.layout,
    pytest.mark.django_db(transaction=True),
]
NASTY = "<img src=x onerror=\"window.__violations.push('ran')\">" + "long" * 60


@pytest.fixture
def seat(annotator):
    seat = assign_seat(make_study(), annotator)
    Study.objects.update(rate_per_hour=12, currency="GBP")
    early = item_at(seat, k=1)
    judging.record_slider(early, 80)
    judging.record_confirmation(early, "no")
    ProblemReport.objects.create(assignment=early, text=NASTY)
    return seat


def test_the_pages_about_people_are_accessible(page, client, live_server, researcher, seat):
    sign_in(page, client, researcher, live_server)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for name in ("people", "person", "problems", "audit"):
            place = ["winter", seat.pseudonym] if name == "person" else ["winter"]
            page.goto(live_server.url + reverse(f"annotation:{name}", args=place))
            look(page, f"{name}-{scheme}")


def test_a_seat_is_paused_and_written_to_by_keyboard(page, client, live_server, researcher, seat):
    sign_in(page, client, researcher, live_server)
    page.goto(live_server.url + reverse("annotation:person", args=["winter", seat.pseudonym]))
    page.get_by_label("To the person").focus()
    page.keyboard.type("Take your time.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_text("waits on the pages of the person").wait_for()
    page.get_by_role("button", name="Pause").focus()
    page.keyboard.press("Enter")
    page.get_by_text("is paused now").wait_for()
    assert seat.messages.get().text == "Take your time."
    seat.refresh_from_db()
    assert seat.state == "paused"
    assert seating.resume(seat)
