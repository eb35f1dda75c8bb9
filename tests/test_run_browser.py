"""An agent run in a browser: keys, folds, links to steps, long texts, axe, how fast."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from benchmark.label_records import LabelRecord, PlaceRecord, SignalRecord
from benchmark.labelling import store_label, store_signals
from benchmark.models import Corpus, Trajectory, TrajectoryStep
from tests.browsing import look, quiet, sign_in
from tests.run_rows import make_run
from tests.test_pages_browser import in_the_dark

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def reader(page, client, researcher, live_server):
    return sign_in(page, client, researcher, live_server)


@pytest.fixture
def run(transactional_db) -> Trajectory:
    """A run of 130 steps, with texts of 20,000 characters, over 1 MB in all."""
    found = make_run(Corpus.objects.create(slug="plant"), 1, n_steps=130, question="a1" * 40)
    Trajectory.objects.filter(pk=found.pk).update(external_id="b2" * 60, model="c3" * 50)
    found.steps.all().delete()
    long = (
        "\n\n"
        + "\r\n".join(f"{n} the pump turns and the chiller hums" for n in range(500))[:20_000]
    )
    TrajectoryStep.objects.bulk_create(
        TrajectoryStep(
            trajectory=found,
            position=n,
            number=n,
            agent=("Sensors", "Planner", "Writer")[n % 3],
            thought=f"I look at step {n}.",
            observation=long if n % 2 else "short",
        )
        for n in range(1, 131)
    )
    places = tuple(PlaceRecord(n, "observation") for n in (3, 9, 120))
    label = LabelRecord("paper", True, ("factual",), (), places, "No such reading.")
    store_label(found, label)
    final = (PlaceRecord(None, "response", "logical", "propagated"),)
    store_label(found, LabelRecord("umpire", True, ("logical",), (), final, kind="judge"))
    store_label(found, LabelRecord("teal-otter", False, kind="person"))
    store_signals([(found.pk, SignalRecord("task_completion", False, "paper"))])
    return found


def focused(page) -> str:
    return page.evaluate("document.activeElement.id")


def test_the_pages_of_runs_hold_at_both_widths_and_in_the_dark(reader, live_server, run):
    TrajectoryStep.objects.filter(trajectory=run, position__gt=8).delete()
    Trajectory.objects.filter(pk=run.pk).update(n_steps=8)
    places = {
        "run": run.get_absolute_url(),
        "run-step": f"/trajectories/{run.pk}/steps/3/",
        "runs": "/corpora/plant/trajectories/?type=factual",
        "corpus-of-runs": "/corpora/plant/",
    }
    for name, place in places.items():
        reader.emulate_media(color_scheme="light")
        reader.goto(live_server.url + place)
        look(reader, name, full_page=True)
        in_the_dark(reader, name)


def test_keys_go_through_steps_and_named_steps_and_fold(reader, live_server, run):
    reader.goto(live_server.url + run.get_absolute_url())
    reader.keyboard.press("j")
    reader.keyboard.press("j")
    assert focused(reader) == "step-2"
    reader.keyboard.press("k")
    assert focused(reader) == "step-1"
    fold = reader.locator("#step-1 details[data-fold]")
    reader.keyboard.press("o")
    expect(fold).to_have_attribute("open", "")
    reader.keyboard.press("o")
    expect(fold).not_to_have_attribute("open", "")
    reader.keyboard.press("]")
    assert focused(reader) == "step-3"
    reader.keyboard.press("]")
    assert focused(reader) == "step-9"
    reader.keyboard.press("[")
    assert focused(reader) == "step-3"
    reader.keyboard.press("e")
    expect(reader.locator("#step-99 details[data-fold]")).to_have_attribute("open", "")
    reader.keyboard.press("e")
    expect(reader.locator("#step-99 details[data-fold]")).not_to_have_attribute("open", "")
    reader.locator("#step-9").focus()
    reader.keyboard.press("]")
    reader.wait_for_url("**/?step=120#step-120")
    expect(reader.locator("#step-120")).to_be_focused()
    reader.keyboard.press("?")
    expect(reader.get_by_text("next step that somebody names")).to_be_visible()
    quiet(reader)


def test_a_label_leads_to_its_step_and_the_step_to_its_label(reader, live_server, run):
    reader.goto(live_server.url + run.get_absolute_url())
    reader.get_by_role("link", name="step 9", exact=True).click()
    expect(reader.locator("#step-9")).to_be_focused()
    expect(reader.locator("#step-9")).to_be_in_viewport()
    reader.locator("#step-9 .mark").click()
    head = reader.locator(f"#label-{run.label_sets.get(rater__name='paper').pk}")
    expect(head).to_be_in_viewport()
    reader.goto(live_server.url + f"/trajectories/{run.pk}/?step=120#step-120")
    expect(reader.locator("#step-120")).to_be_in_viewport()
    expect(reader.locator("#step-120")).to_be_focused()


def test_on_a_phone_labels_are_folded_until_a_mark_leads_to_one(reader, live_server, run):
    fold = reader.locator("details[data-labels]")
    reader.goto(live_server.url + run.get_absolute_url())
    expect(fold).to_have_attribute("open", "")
    reader.set_viewport_size({"width": 390, "height": 800})
    reader.reload()
    expect(fold).not_to_have_attribute("open", "")
    reader.locator("#step-9 .mark").first.click()
    expect(fold).to_have_attribute("open", "")
    quiet(reader)


def test_what_was_left_out_is_fetched_into_its_place(reader, live_server, run):
    whole = run.steps.get(position=1).observation.replace("\r\n", "\n")
    reader.goto(live_server.url + run.get_absolute_url())
    step = reader.locator("#step-1")
    step.locator("summary").click()
    step.get_by_role("link", name="Show all").click()
    expect(step.locator(".cut")).to_have_count(0)
    assert "".join(step.locator("pre").all_text_contents()) == whole
    expect(step.locator("summary")).to_be_focused()
    quiet(reader)


def test_a_fetch_that_fails_leads_to_the_page_of_the_step(reader, live_server, run):
    reader.goto(live_server.url + run.get_absolute_url())
    reader.route("**/steps/1/?part=*", lambda route: route.abort())
    step = reader.locator("#step-1")
    step.locator("summary").click()
    step.get_by_role("link", name="Show all").click()
    reader.wait_for_url(f"**/trajectories/{run.pk}/steps/1/")
    expect(reader.get_by_role("heading", name="Step 1 of 130, in full")).to_be_visible()


def test_a_run_of_a_megabyte_is_open_in_a_second(reader, live_server, run):
    steps = run.steps.values_list("thought", "observation")
    assert sum(len(text) for row in steps for text in row) > 1_000_000
    reader.goto(live_server.url + "/corpora/")
    times = []
    for _ in range(3):
        reader.goto(live_server.url + run.get_absolute_url())
        spent = "performance.getEntriesByType('navigation')[0].loadEventEnd"
        times.append(reader.evaluate(spent))
    assert min(times) < 1000, times
