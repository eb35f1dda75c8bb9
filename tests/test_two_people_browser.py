"""Two people at once on one study, each in a browser of their own, never meet."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from playwright.sync_api import expect

from annotation.enrolment import assign_seat
from annotation.models import Assignment, Seat, SliderRating
from tests.browsing import quiet, sign_in
from tests.studies import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


class Person:
    """Somebody at work in a browser, and every item that was served to them."""

    def __init__(self, browser, user, live_server, seat: Seat) -> None:
        page = browser.new_context().new_page()
        self.page = sign_in(page, Client(), user, live_server)
        self.site, self.seat = live_server.url, seat
        self.served: list[str] = []

    def begin(self) -> None:
        first = self.seat.assignments.order_by("rank").first()
        self.page.goto(self.site + reverse("annotation:item", args=[first.token]))

    def answer(self, rating: int) -> None:
        """The item on the screen, all its steps, until the next one or the end is there."""
        page = self.page
        expect(page.locator('form[data-draft="rate"]')).to_be_visible()
        here = page.locator("body").get_attribute("data-item")
        self.served.append(here)
        page.locator('input[name="rating"]').fill(str(rating))
        page.get_by_role("button", name="Confirm rating").click()
        page.locator(".seg label", has_text="No").click()
        page.get_by_role("button", name="Confirm").click()
        last = page.locator(f'body[data-item="{here}"] form[data-draft="prefix"]')
        gone = page.locator(f'body:not([data-item="{here}"])')
        expect(last.or_(gone).first).to_be_visible()
        if last.is_visible():
            page.locator(".seg label", has_text="Mostly").click()
            page.get_by_role("button", name="Confirm and go on").click()
            expect(gone).to_be_visible()
        quiet(page)


def test_two_people_at_once_never_meet(browser, annotator, other_annotator, live_server):
    study = make_study(n_seats=2, forks_per_seat=2, conformant_per_seat=0, overlap=1.0)
    ann, bo = (
        Person(browser, user, live_server, assign_seat(study, user))
        for user in (annotator, other_annotator)
    )
    ann.begin()
    bo.begin()
    for rating in (81, 82):
        ann.answer(rating)
        bo.answer(100 - rating)
    for one, other in ((ann, bo), (bo, ann)):
        own = list(one.seat.assignments.order_by("rank").values_list("token", flat=True))
        assert one.served == own
        for token in other.served:
            for name in ("item", "rate", "instruction", "prefix", "skip"):
                path = reverse(f"annotation:{name}", args=[token])
                assert one.page.request.get(one.site + path).status == 404, name
        seats = one.page.request.get(
            one.site + reverse("annotation:seat", args=[other.seat.pseudonym])
        )
        assert seats.status == 404
        one.seat.refresh_from_db()
        assert one.seat.state == Seat.State.FINISHED
        one.page.context.close()
    assert not Assignment.objects.filter(finished_at=None).exists()
    given = SliderRating.objects.order_by("value").values_list("assignment__seat__user", "value")
    assert [value for user, value in given if user == bo.seat.user_id] == [18, 19]
    assert [value for user, value in given if user == ann.seat.user_id] == [81, 82]
