"""The pages of label statistics in a real browser: drawn, readable, and the same as their files."""

from __future__ import annotations

import csv

import pytest
from django.urls import reverse

from annotation.models import Study
from annotation.rehearsal import simulate_study
from benchmark.models import Rater
from tests.browsing import look, quiet, sign_in
from tests.run_studies import JUDGE_NAME, TRUTH, make_run_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


# The distance of every card of the comparison to the card above it in its column.
GAPS = """() => {
  const cards = [...document.querySelectorAll(".grid.figures")].pop().children;
  const boxes = [...cards].map((card) => card.getBoundingClientRect());
  return boxes.flatMap((box) => {
    const above = boxes.filter((one) => one.left === box.left && one.bottom <= box.top);
    return above.length ? [box.top - Math.max(...above.map((one) => one.bottom))] : [];
  });
}"""


@pytest.fixture
def study() -> Study:
    """A rehearsed study, two seats of which stand for people."""
    study = make_run_study(n_simulated=4)
    simulate_study(study)
    seats = study.seats.filter(number__lte=2)
    seats.update(simulated=False)
    Rater.objects.filter(name__in=seats.values("pseudonym")).update(simulated=False)
    return study


@pytest.mark.layout
@pytest.mark.parametrize(
    ("name", "scheme"), [("labels", "dark"), ("report", "light"), ("report-rows", "dark")]
)
def test_label_pages_pass_axe_and_fit_at_both_widths(
    page, client, researcher, live_server, study, name, scheme
):
    visitor = sign_in(page, client, researcher, live_server)
    visitor.emulate_media(color_scheme=scheme)
    slug = study.corpora.get().slug if name == "labels" else study.slug
    visitor.goto(live_server.url + reverse(f"annotation:{name}", args=[slug]))
    if name != "report-rows":
        visitor.locator("[data-figure] svg.main-svg").last.wait_for()
    look(visitor, f"runs-{name}-{scheme}", full_page=True)


def test_every_figure_is_drawn_and_saved_as_its_table_says(
    page, client, researcher, live_server, study
):
    visitor = sign_in(page, client, researcher, live_server)
    query = {"one": TRUTH, "other": JUDGE_NAME}
    slug = study.corpora.get().slug
    visitor.goto(live_server.url + reverse("annotation:labels", args=[slug], query=query))
    boxes = visitor.locator("[data-figure]")
    assert boxes.count() > 8
    assert boxes.count() == visitor.locator("[data-figure]:has(svg.main-svg)").count()
    gaps = visitor.evaluate(GAPS)
    assert len(gaps) > 4 and max(gaps) < 40, "a card stands right below the one above it"
    card = visitor.locator("#pair-agreement")
    card.get_by_text("Show as table").click()
    shown = card.locator("tbody tr th").all_inner_texts()
    with visitor.expect_download() as saving:
        card.get_by_role("link", name="CSV").click()
    with open(saving.value.path(), newline="") as file:
        assert [row["measure"] for row in csv.DictReader(file)] == shown
    quiet(visitor)


def test_another_rater_is_chosen_and_a_difference_leads_to_its_run(
    page, client, researcher, live_server, study
):
    visitor = sign_in(page, client, researcher, live_server)
    slug = study.corpora.get().slug
    visitor.goto(live_server.url + reverse("annotation:labels", args=[slug]))
    visitor.get_by_label("Reference").select_option(TRUTH)
    visitor.get_by_label("Compared with").select_option("people")
    visitor.get_by_label("Several people on one run").select_option("each")
    visitor.get_by_role("button", name="Show", exact=True).click()
    assert "rule=each" in visitor.url and "one=truth" in visitor.url
    assert visitor.locator("#h-pair").inner_text() == f"people against {TRUTH}"
    rows = visitor.locator("section[aria-labelledby=h-apart] tbody tr")
    if rows.count():
        rows.first.get_by_role("link").first.click()
        assert "/trajectories/" in visitor.url
    quiet(visitor)
