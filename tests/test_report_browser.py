"""The study pages of researchers in a real browser."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.enrolment import assign_seat
from annotation.judging import record_confirmation, record_slider
from annotation.models import Study
from annotation.rehearsal import simulate_study
from tests.browsing import look, sign_in
from tests.studies import assistant_turns, item_at, make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study(annotator) -> Study:
    study = make_study(n_seats=9, n_simulated=8, overlap=0.3)
    simulate_study(study)
    fork = item_at(assign_seat(study, annotator), k=1, foil=False)
    record_slider(fork, 17)
    record_confirmation(fork, "yes", assistant_turns(fork.item.dialogue)[0])
    return study


@pytest.mark.layout
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_study_pages_pass_axe_and_fit_at_both_widths(
    page, client, researcher, live_server, study, scheme
):
    visitor = sign_in(page, client, researcher, live_server)
    visitor.emulate_media(color_scheme=scheme)
    visitor.goto(live_server.url + reverse("annotation:studies"))
    look(visitor, f"studies-{scheme}")
    visitor.goto(live_server.url + reverse("annotation:report", args=[study.slug]))
    assert visitor.get_by_text("made up by a seeded rule").is_visible()
    for summary in visitor.locator("details > summary", has_text="Mean ratings").all():
        summary.click()
    look(visitor, f"report-{scheme}", full_page=True)
