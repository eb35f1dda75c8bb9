"""The study pages of researchers in a real browser."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from annotation.enrolment import assign_seat
from annotation.judging import record_confirmation, record_slider
from annotation.models import Study
from annotation.rehearsal import simulate_study
from tests.browsing import look, quiet, sign_in
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
    visitor.locator("[data-figure] svg.main-svg").last.wait_for()
    visitor.locator("details > summary", has_text="Show as table").first.click()
    look(visitor, f"report-{scheme}", full_page=True)
    visitor.goto(live_server.url + reverse("annotation:report-rows", args=[study.slug]))
    look(visitor, f"report-rows-{scheme}", full_page=True)


def test_every_figure_is_drawn_and_a_figure_leads_to_its_rows(
    page, client, researcher, live_server, study
):
    visitor = sign_in(page, client, researcher, live_server)
    visitor.goto(live_server.url + reverse("annotation:report", args=[study.slug]))
    simulated = visitor.locator("section", has=visitor.locator("#group-simulated"))
    for name in ("ratings", "recognised", "onsets", "before-the-fork", "ratings-by-type"):
        simulated.locator(f"#simulated-{name} svg.main-svg").first.wait_for()
    row = simulated.get_by_role("row", name="confirmed, foil on a fork")
    counted = row.locator(".num").last.inner_text().split(" of ")[1]
    row.get_by_role("link").click()
    assert visitor.locator(".facts b").first.inner_text() == counted
    visitor.get_by_label("Type").select_option("GR")
    visitor.get_by_role("button", name="Show").click()
    visitor.wait_for_load_state()
    assert "type=GR" in visitor.url
    assert int(visitor.locator(".facts b").first.inner_text()) < int(counted)
    quiet(visitor)


def test_the_report_prints_on_pages_with_its_title_and_whole_charts(
    page, client, researcher, live_server, study
):
    visitor = sign_in(page, client, researcher, live_server)
    visitor.emulate_media(color_scheme="dark")
    visitor.goto(live_server.url + reverse("annotation:report", args=[study.slug]))
    visitor.locator("[data-figure] svg.main-svg").last.wait_for()
    drawn = visitor.locator("[data-figure] svg.main-svg").count()
    printed = visitor.pdf(format="A4")
    pages = re.findall(rb"/Type\s*/Page\b(?!s)", printed)
    assert 3 <= len(pages) <= 20
    title = re.search(rb"/Title <FEFF([0-9A-F]+)>", printed)
    assert title
    assert "Winter round" in bytes.fromhex(title[1].decode()).decode("utf-16-be")
    assert visitor.locator("html").get_attribute("data-theme") is None
    assert visitor.locator("[data-figure] svg.main-svg").count() == drawn
    visitor.emulate_media(media="print")
    for part in (".topbar", ".foot", ".files", ".saves"):
        assert not visitor.locator(part).first.is_visible(), part
    assert visitor.get_by_role("table").first.is_visible()
    quiet(visitor)
