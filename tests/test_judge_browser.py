"""Pages of judges in a browser: axe at both widths, light and dark, and the ways between them."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browsing import look, sign_in
from tests.judge_texts import judge_texts
from tests.run_studies import make_runs
from tests.test_judge_pages import answered
from tests.test_pages_browser import in_the_dark

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def reader(page, client, researcher, live_server):
    return sign_in(page, client, researcher, live_server)


@pytest.fixture
def judge(transactional_db):
    corpus = make_runs("plant", models=3, questions=4)
    texts = [*judge_texts(11, seed=2), "I would have to see more."]
    judges = [
        answered(corpus, texts[-version:] + texts[:-version], version) for version in (1, 2, 3)
    ]
    return judges[1]


def test_the_pages_of_judges_hold(reader, live_server, judge):
    places = {
        "judges": "/judges/",
        "judge": f"/judges/{judge.pk}/",
        "prompts": "/prompts/",
        "prompt": "/prompts/whole-run/2/",
        "prompt-variants": "/corpora/plant/prompt-variants/",
    }
    for name, place in places.items():
        reader.emulate_media(color_scheme="light")
        reader.goto(live_server.url + place)
        look(reader, name, full_page=True)
        in_the_dark(reader, name)


def test_from_the_list_to_what_was_written_and_what_changed(reader, live_server, judge):
    reader.goto(live_server.url + "/corpora/")
    reader.get_by_role("link", name="Judges").click()
    reader.get_by_role("link", name=judge.name).click()
    reader.get_by_label("Status").select_option("not readable")
    reader.get_by_role("button", name="Filter").click()
    expect(reader.get_by_text("holds no JSON object").first).to_be_visible()
    reader.get_by_text("Word for word", exact=True).first.click()
    expect(reader.get_by_text("I would have to see more.").first).to_be_visible()
    reader.get_by_role("link", name="whole-run@2", exact=True).click()
    expect(reader.get_by_role("heading", name="What changed against version 1")).to_be_visible()
    reader.get_by_label("Version to compare with").select_option("version 8")
    expect(reader.get_by_role("heading", name="What changed against version 8")).to_be_visible()
    reader.get_by_role("link", name=judge.name).click()
    reader.get_by_role("link", name="Other variants").click()
    expect(reader.get_by_role("heading", name="What each axis changes")).to_be_visible()
    reader.get_by_text("Show as table").first.click()
    expect(reader.get_by_role("columnheader", name="Not readable")).to_be_visible()
