"""The desks of a study in a real browser: people, exports, third looks, what was done."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation import auditing, exporting
from annotation.enrolment import assign_seat
from annotation.models import ProblemReport, Seat, Study
from annotation.rehearsal import simulate_study
from tests.browsing import look, sign_in
from tests.studies import make_study

pytestmark = [pytest.mark.browser, pytest.mark.layout, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study(annotator, researcher, settings, tmp_path) -> Study:
    settings.VAR_DIR = tmp_path
    study = make_study(n_seats=9, n_simulated=8, overlap=0.3)
    simulate_study(study)
    seat = assign_seat(study, annotator)
    ProblemReport.objects.create(assignment=seat.assignments.first(), text="A turn is cut off.")
    auditing.record("seat.extended", actor=researcher, seat=seat, hours=24)
    exporting.start(study, "csv", {}, researcher)
    return study


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_desk_of_a_study_passes_axe_and_fits_at_both_widths(
    page, client, researcher, live_server, study, scheme
):
    visitor = sign_in(page, client, researcher, live_server)
    visitor.emulate_media(color_scheme=scheme)
    for name in ("plan", "people", "problems", "audit", "invitations", "exports"):
        visitor.goto(live_server.url + reverse(f"annotation:{name}", args=[study.slug]))
        look(visitor, f"desk-{name}-{scheme}", full_page=True)
    seat = Seat.objects.exclude(user=None).get()
    visitor.goto(live_server.url + reverse("annotation:person", args=[study.slug, seat.pseudonym]))
    look(visitor, f"desk-person-{scheme}", full_page=True)


def test_the_queue_and_a_third_look_pass_axe_and_fit_at_both_widths(
    page, client, researcher, live_server, study
):
    visitor = sign_in(page, client, researcher, live_server)
    queue = reverse("annotation:adjudication", args=[study.slug])
    visitor.goto(f"{live_server.url}{queue}?judges=all&threshold=5")
    look(visitor, "desk-queue", full_page=True)
    visitor.locator("main table a").first.click()
    assert visitor.locator("form[method=post] [name=rating]").count() == 1
    look(visitor, "desk-third-look", full_page=True)


def test_leaving_passes_axe_and_fits_at_both_widths(page, client, annotator, live_server, study):
    visitor = sign_in(page, client, annotator, live_server)
    seat = study.seats.get(user=annotator)
    visitor.goto(live_server.url + reverse("annotation:withdraw", args=[seat.pseudonym]))
    look(visitor, "leave", full_page=True)
