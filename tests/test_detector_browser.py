"""The pages of detectors in a browser: axe at both widths, light and dark, and starting by key."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from scoring import runs
from tests.browsing import look, sign_in
from tests.test_label_runs import STEPS, TRUTH, make_runs
from tests.test_pages_browser import in_the_dark

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def reader(page, client, researcher, live_server):
    return sign_in(page, client, researcher, live_server)


@pytest.fixture
def detected(transactional_db):
    corpus, _ = make_runs(n=16, questions=4)
    found = [runs.work_through(runs.start("labels", [corpus], STEPS))]
    for method in ("run_length", "majority"):
        given = {"method": method, "truth": TRUTH}
        found.append(runs.work_through(runs.start("labels", [corpus], given)))
    return found


def test_the_pages_of_detectors_hold(reader, live_server, detected):
    places = {
        "detectors": "/corpora/agent-runs/detectors/",
        "detector-run": detected[0].get_absolute_url(),
        "new-detector": "/runs/new/?corpus=agent-runs&kind=labels",
    }
    for name, place in places.items():
        reader.emulate_media(color_scheme="light")
        reader.goto(live_server.url + place)
        look(reader, name, full_page=True)
        in_the_dark(reader, name)


def test_a_detector_is_started_by_keyboard(reader, live_server, detected):
    reader.goto(live_server.url + "/runs/new/?corpus=agent-runs&kind=labels")
    expect(reader.get_by_label("Truth: the labels of")).to_have_value(TRUTH)
    expect(reader.get_by_role("heading", name="Methods of Task 2")).to_be_hidden()
    reader.get_by_role("checkbox", name="Step position").focus()
    reader.keyboard.press("Space")
    reader.get_by_role("button", name="See what this will do").press("Enter")
    expect(reader.get_by_text("16 agent runs with 48 steps are read")).to_be_visible()
    reader.get_by_role("button", name="Start 2 runs").press("Enter")
    expect(reader.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
