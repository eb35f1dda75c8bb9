"""The planner in a real browser: set up, look, launch."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.models import Study
from tests.browsing import look, quiet, sign_in
from tests.small import make_corpus, make_forks

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def forks(transactional_db):
    return make_forks(make_corpus("base", n=6), "base-forks")


def set_up(visitor, live_server) -> None:
    visitor.goto(live_server.url + reverse("annotation:new-study"))
    visitor.get_by_label("Title").fill("Winter round")
    visitor.get_by_label("Name in addresses").fill("winter")
    visitor.get_by_label("Corpus of forks").select_option("base-forks")
    for label, value in (("Seats", 3), ("Of them simulated", 1), ("Forks per seat", 4)):
        visitor.get_by_label(label, exact=True).fill(str(value))
    visitor.get_by_label("Conformant per seat").fill("1")


def test_a_study_is_set_up_rehearsed_and_launched_by_hand(
    page, client, researcher, live_server, forks
):
    visitor = sign_in(page, client, researcher, live_server)
    set_up(visitor, live_server)
    visitor.get_by_role("button", name="Draw the draft").click()
    assert visitor.get_by_text("Nobody meets a source twice.", exact=True).is_visible()
    visitor.get_by_role("button", name="Rehearse").click()
    assert visitor.get_by_text("5 items were answered").is_visible()
    visitor.get_by_role("button", name="Launch the study").click()
    assert visitor.get_by_role("heading", name="Frozen at the launch").is_visible()
    assert Study.objects.get().state == Study.State.OPEN
    quiet(visitor)


@pytest.mark.layout
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_planners_pages_pass_axe_and_fit_at_both_widths(
    page, client, researcher, live_server, forks, scheme
):
    visitor = sign_in(page, client, researcher, live_server)
    visitor.emulate_media(color_scheme=scheme)
    set_up(visitor, live_server)
    look(visitor, f"plan-new-{scheme}", full_page=True)
    visitor.get_by_role("button", name="Draw the draft").click()
    for summary in visitor.locator("details > summary").all():
        if summary.is_visible():
            summary.click()
    visitor.keyboard.press("Escape")
    look(visitor, f"plan-draft-{scheme}", full_page=True)
    visitor.get_by_role("button", name="Launch the study").click()
    look(visitor, f"plan-open-{scheme}", full_page=True)
