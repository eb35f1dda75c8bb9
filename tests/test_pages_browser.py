"""Every page in a real browser: nothing inline, no serious finding of axe, no sideways scroll.

In both themes, at the width of a phone and of a desk; at 320 px nothing scrolls sideways.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from annotation.enrolment import assign_seat
from benchmark.models import Dialogue, Workflow
from scoring.models import Chunk, DialogueScore, FlowGraph, Run, RunResult
from tests.boards import make_boards
from tests.browsing import look, quiet, sign_in
from tests.small import add_dialogue, make_trajectory
from tests.studies import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# Pages are looked at in parts, so that two processes can share them.
PARTS = 4
NASTY = "</script><img src=x onerror=\"window.__violations.push('ran')\">"
NODE = {"size": 4, "keywords": [], "vector": ""}


@pytest.fixture
def places(annotator) -> dict[str, str]:
    """Addresses of pages of every kind, each with something on it."""
    study = make_study()
    assign_seat(study, annotator)
    fork = Dialogue.objects.filter(forks__k=3).first()
    source = fork.forks.get().source
    workflow = Workflow.objects.get()
    odd = add_dialogue(source.corpus, None, "odd" * 30, [("action", NASTY, ""), ("user", "", "")])
    odd.warnings = {"empty turn": 1}
    odd.save()
    surprisal = Run.objects.create(
        kind="surprisal",
        corpus=fork.corpus,
        parameters={"encoder": "wordllama", "method": "surprisal"},
        digest="a" * 64,
        state="done",
    )
    for dialogue in (fork, odd):
        DialogueScore.objects.create(
            run=surprisal, dialogue=dialogue, value=0.2, turns=turn_rows(dialogue)
        )
    FlowGraph.objects.create(run=surprisal, workflow=workflow, graph=flow_graph())
    make_boards(fork.corpus)
    slugs = source.corpus.slug, fork.corpus.slug
    return {
        "home": "/",
        "profile": "/profile/",
        "corpora": "/corpora/",
        "corpus": f"/corpora/{slugs[0]}/",
        "forks": f"/corpora/{slugs[1]}/",
        "workflow": f"/corpora/{slugs[0]}/workflows/{workflow.name}/",
        "dialogues": f"/corpora/{slugs[1]}/dialogues/",
        "none-found": f"/corpora/{slugs[1]}/dialogues/?q=nothing",
        "fork": f"/dialogues/{fork.pk}/?turn=5",
        "source": f"/dialogues/{source.pk}/",
        "odd": f"/dialogues/{odd.pk}/",
        "trajectories": f"/corpora/{slugs[0]}/trajectories/",
        "trajectory": make_trajectory(source.corpus, NASTY).get_absolute_url(),
        "runs": "/runs/",
        "new-run": f"/runs/new/?corpus={slugs[1]}&kind=task3&method=ngram_it",
        "new-comparison": f"/runs/new/comparison/?corpus={slugs[1]}",
        "run": open_run(fork).get_absolute_url(),
        "run-done": surprisal.get_absolute_url(),
        "composition": f"/corpora/{slugs[1]}/composition/",
        "leaderboards": "/leaderboards/",
        "leaderboard-distances": f"/leaderboards/{slugs[1]}/task-2/",
        "leaderboard-onsets": f"/leaderboards/{slugs[1]}/task-3/?type=GR",
        "studies": "/studies/",
        "report": study.get_absolute_url(),
        "api": "/api/",
        "guidelines": "/help/",
    }


def turn_rows(dialogue: Dialogue) -> list[dict]:
    rows = [
        {"number": n, "node": "s0" if n % 2 else "u0", "p": 0.5 / n, "surprisal": math.log(2 * n)}
        for n in range(1, dialogue.n_turns)
    ]
    blank = {"node": None, "p": None, "surprisal": None, "reason": "blank_turn"}
    return [*rows, {"number": dialogue.n_turns, **blank}]


def flow_graph() -> dict:
    return {
        "dialogues": 3,
        "nodes": [
            {**NODE, "name": "s0", "role": "assistant", "label": NASTY},
            {**NODE, "name": "u0", "role": "user", "label": "Yes, that is right"},
        ],
        "counts": {"[start]": {"s0": 3}, "s0": {"u0": 5, "s0": 1}, "u0": {"s0": 3, "[end]": 3}},
    }


def open_run(fork: Dialogue) -> Run:
    run = Run.objects.create(
        kind="task2",
        corpus=fork.corpus,
        parameters={"encoder": "wordllama", "method": "flow_score"},
        digest="b" * 64,
        state="running",
    )
    Chunk.objects.create(run=run, ordinal=1, keys=[fork.pk], size=1, state="done")
    Chunk.objects.create(run=run, ordinal=2, keys=[], size=1)
    DialogueScore.objects.create(run=run, dialogue=fork, reason="the fork has no turn with text")
    for group, value in (("WIC", 0.9), ("GR", None), ("all", -0.4)):
        RunResult.objects.create(
            run=run,
            statistic="tau",
            group=group,
            value=value,
            reason="" if value else "no source has all four forks",
            n=4,
            ci_low=value and value - 0.3,
            ci_high=value and value + 0.05,
        )
    return run


@pytest.fixture
def reader(page, client, researcher, live_server):
    """A browser page of the signed-in researcher that notes what the content policy blocks."""
    return sign_in(page, client, researcher, live_server)


@pytest.mark.layout
@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_page_of_a_researcher_holds(reader, live_server, places, part):
    for name, place in list(places.items())[part::PARTS]:
        reader.emulate_media(color_scheme="light")
        reader.goto(live_server.url + place)
        if name in ("fork", "odd", "composition", "leaderboard-onsets"):
            expect(reader.locator(".chart.plot .main-svg").first).to_be_visible()
        look(reader, f"{name}-light", full_page=True)
        in_the_dark(reader, name)
        reader.set_viewport_size({"width": 320, "height": 700})
        assert reader.evaluate("document.documentElement.scrollWidth <= innerWidth"), name


def in_the_dark(page, name: str) -> None:
    """axe once more in the dark theme; colours do not depend on the width."""
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    quiet(page)
    found = Axe().run(page, options={"runOnly": ["color-contrast"]}).response["violations"]
    assert [node["html"][:120] for v in found for node in v["nodes"]] == [], name
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=f"{folder}/{name}-dark-1440.png", full_page=True)


def test_every_page_of_an_annotator_and_of_a_stranger_holds(
    page, client, annotator, live_server, places
):
    visitor = sign_in(page, client, annotator, live_server)
    for name in ("home", "profile", "guidelines"):
        visitor.goto(live_server.url + places[name])
        look(visitor, f"annotator-{name}", full_page=True)
        in_the_dark(visitor, f"annotator-{name}")
        visitor.emulate_media(color_scheme="light")
    visitor.goto(live_server.url + "/corpora/")
    visitor.problems.clear()
    look(visitor, "not-found")
    visitor.context.clear_cookies()
    visitor.goto(live_server.url + "/")
    expect(visitor.get_by_role("heading", name="Sign in")).to_be_visible()
    look(visitor, "sign-in")
    in_the_dark(visitor, "sign-in")


@pytest.mark.layout
def test_opened_parts_hold_too(reader, live_server, places):
    for name in ("fork", "workflow"):
        reader.goto(live_server.url + places[name])
        for summary in reader.locator("main details > summary").all():
            summary.click()
        look(reader, f"{name}-opened", full_page=True)
    reader.locator(".menu > summary").click()
    look(reader, "menu-opened")


def test_the_administration_holds_under_the_same_policy(page, client, admin_user, live_server):
    visitor = sign_in(page, client, admin_user, live_server)
    for place in ("/admin/", "/admin/scoring/run/", "/admin/auth/user/"):
        visitor.goto(live_server.url + place)
        quiet(visitor)


def test_the_theme_button_goes_round_and_is_remembered(reader, live_server, places):
    reader.goto(live_server.url + "/profile/")
    button, root = reader.locator("[data-theme-button]"), reader.locator("html")
    for theme in ("light", "dark"):
        button.click()
        expect(root).to_have_attribute("data-theme", theme)
    reader.reload()
    expect(root).to_have_attribute("data-theme", "dark")
    assert 'data-theme="dark"' in reader.context.request.get(live_server.url + "/").text()
    reader.locator("[data-theme-button]").click()
    assert root.get_attribute("data-theme") is None


def test_the_chart_follows_the_theme(reader, live_server, places):
    reader.goto(live_server.url + places["fork"])
    bar = reader.locator(".chart.plot .point path").first
    expect(bar).to_be_visible()
    before = bar.evaluate("e => getComputedStyle(e).fill")
    reader.locator("[data-theme-button]").click()
    reader.locator("[data-theme-button]").click()
    reader.wait_for_function(
        "old => getComputedStyle(document.querySelector('.chart.plot .point path')).fill !== old",
        arg=before,
    )
    quiet(reader)


def test_a_figure_is_saved_as_a_picture_by_the_browser_alone(reader, live_server, places):
    place = places["leaderboard-onsets"]
    reader.goto(live_server.url + place)
    figure = reader.locator("#curve")
    expect(figure.locator(".main-svg").first).to_be_visible()
    for word, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with reader.expect_download() as saved:
            figure.get_by_role("button", name=word).click()
        name = f"{place.split('/')[2]}-task3-curve.{word.lower()}"
        assert saved.value.suggested_filename == name
        assert Path(saved.value.path()).read_bytes().startswith(start)
    quiet(reader)


def test_keys_lead_through_a_dialogue(reader, live_server, places):
    reader.goto(live_server.url + places["fork"])
    keys = reader.keyboard
    keys.press("j")
    keys.press("j")
    assert reader.evaluate("document.activeElement.id") == "turn-2"
    keys.press("k")
    assert reader.evaluate("document.activeElement.id") == "turn-1"
    keys.press("t")
    expect(reader.get_by_role("region", name="Surprisal per turn")).to_be_visible()
    keys.press("?")
    expect(reader.locator("#keys")).to_be_visible()
    keys.press("Escape")
    here = reader.url
    keys.press("]")
    reader.wait_for_url(lambda url: url != here)
    reader.go_back()
    expect(reader).to_have_url(here)


def test_a_run_page_comes_to_rest_by_itself(reader, live_server, places):
    run = Run.objects.get(digest="b" * 64)
    asked = []
    reader.on("request", lambda r: asked.append(r.url) if "HX-Request".lower() in r.headers else 0)
    reader.goto(live_server.url + places["run"])
    expect(reader.locator("#live")).to_contain_text("1 of 2 dialogues scored")
    run.chunks.update(state="done")
    Run.objects.filter(pk=run.pk).update(state="done")
    expect(reader.locator("#live")).to_contain_text("2 of 2 dialogues scored", timeout=15_000)
    expect(reader.locator("#live")).not_to_have_attribute("hx-get", "/.*/", timeout=1_000)
    seen = len(asked)
    reader.wait_for_timeout(3_000)
    assert len(asked) == seen >= 1
    quiet(reader)


def test_pages_can_be_read_without_script(browser, client, researcher, live_server, places):
    client.force_login(researcher)
    context = browser.new_context(java_script_enabled=False)
    cookie = client.cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
    page = context.new_page()
    page.goto(live_server.url + places["fork"])
    page.locator("summary", has_text="Show as table").click()
    expect(page.get_by_role("region", name="Surprisal per turn")).to_be_visible()
    page.goto(live_server.url + places["dialogues"])
    page.locator("#f-type").select_option("GR")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator(".facts")).to_contain_text("found 24")
    context.close()
