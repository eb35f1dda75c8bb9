"""Starting, cancelling and taking up runs in the browser, with and without script."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from scoring import corpora as reading
from scoring import runs
from scoring.encoders import EncoderUnavailable
from scoring.methods import METHODS
from scoring.models import Chunk, Run, RunResult
from scoring.views.progress import in_words, progress, seconds_per_score

CHOICES = {
    "corpora": ["small-forks"],
    "kind": "task2",
    "task2-methods": ["flow_score", "turn_difference"],
    "encoders": ["lexical"],
    "bootstrap_seed": "7",
    "task2-flow_score-matching": "assignment",
    "task2-flow_score-same_role": "on",
}


@pytest.fixture
def inside(client, researcher):
    client.force_login(researcher)
    return client


def body(page, status: int = 200) -> str:
    assert page.status_code == status, page.content[:2000]
    return page.content.decode()


def test_the_address_fills_the_form_in(inside, forked):
    page = body(inside.get("/runs/new/?corpus=small-forks&kind=task3&method=novelty"))
    assert 'name="corpora" value="small-forks" checked' in page
    assert 'name="kind" value="task3" checked' in page
    assert 'value="novelty" checked' in page
    for methods in METHODS.values():
        assert all(method.label in page for method in methods.values())
    assert "no forks: for surprisal only" in page
    assert inside.get("/runs/new/?kind=task9").status_code == 400


def test_without_dialogues_it_says_what_to_do_first(inside, db):
    assert "No dialogues yet" in body(inside.get("/runs/new/"))


def test_the_work_is_shown_before_anything_starts(inside, forked):
    page = body(inside.post("/runs/new/", {**CHOICES, "look": "yes"}))
    assert "2 runs, each over <b>64</b> dialogues" in page
    assert "68 dialogues with 816 turns are read" in page
    assert "<b>lexical</b>: <b>34</b> texts have no vector yet" in page
    assert 'name="start"' in page and "Start 2 runs" in page
    assert not Run.objects.exists()


def test_runs_are_started_with_the_chosen_settings_and_shown_when_there(inside, researcher, forked):
    page = inside.post("/runs/new/", {**CHOICES, "start": "yes"}, follow=True)
    assert page.redirect_chain[-1][0] == "/runs/" and "2 runs started." in body(page)
    score, turns = Run.objects.order_by("pk")
    assert score.parameters["settings"] == {"matching": "assignment", "same_role": True}
    assert score.parameters["encoder"] == "lexical" and "encoder" not in turns.parameters
    assert score.parameters["bootstrap_seed"] == turns.parameters["bootstrap_seed"] == 7
    assert score.started_by == researcher

    again = {**CHOICES, "task2-methods": ["flow_score"], "start": "yes"}
    page = inside.post("/runs/new/", again, follow=True)
    assert page.redirect_chain[-1][0] == score.get_absolute_url()
    assert f"Nothing is computed twice: run {score.pk} had the same" in body(page)
    assert Run.objects.count() == 2


def test_all_methods_of_a_task_start_at_once(inside, forked, monkeypatch):
    read = []
    digest = reading.content_digest
    monkeypatch.setattr(reading, "content_digest", lambda scope: read.append(1) or digest(scope))
    inside.post("/runs/new/", {**CHOICES, "task2-all": "on", "start": "yes"})
    assert len(read) == 1, "the dialogues are read once for all runs of a form"
    found = set(Run.objects.values_list("parameters__method", flat=True))
    assert found == set(METHODS["task2"])


def test_an_empty_setting_is_its_default_and_others_do_not_matter(inside, forked):
    choices = {
        **CHOICES,
        "task2-methods": ["discounted_alignment"],
        "task2-discounted_alignment-discount": "",
        # Of a method and a task that were not chosen.
        "task2-random-seed": "many",
        "task3-ngram_it-alpha": "9",
        "start": "yes",
    }
    assert inside.post("/runs/new/", choices).status_code == 302
    assert Run.objects.get().parameters["settings"] == {"discount": 0.9}


WRONG = [
    ({"corpora": []}, "Choose at least one corpus."),
    ({"corpora": ["none"]}, "There is no such corpus."),
    ({"corpora": ["a\x00b"]}, "There is no such corpus."),
    ({"corpora": ["small"]}, "There is no fork in small"),
    ({"kind": ""}, "Choose a task."),
    ({"kind": "task9"}, "Choose a task."),
    ({"task2-methods": []}, "Choose at least one method."),
    ({"task2-methods": ["bleu"]}, "bleu is not one of the available choices"),
    ({"encoders": []}, "Choose at least one encoder for these methods."),
    ({"encoders": ["word2vec"]}, "word2vec is not one of the available choices"),
    ({"bootstrap_seed": "-1"}, "greater than or equal to 0"),
    ({"bootstrap_seed": "9" * 30}, "less than or equal to 4294967295"),
    ({"task2-flow_score-matching": "best"}, "best is not one of the available choices"),
]


def test_what_is_missing_is_said_at_its_field(inside, forked):
    for changes, sentence in WRONG:
        for button in ("look", "start"):
            page = body(inside.post("/runs/new/", {**CHOICES, **changes, button: "yes"}), 400)
            assert sentence in page and "Nothing was started." in page, (changes, button)
    assert not Run.objects.exists()


def test_weights_that_are_not_here_are_said(inside, forked, monkeypatch):
    def away(*args, **kwargs):
        raise EncoderUnavailable("Fetch the weights first.")

    monkeypatch.setattr("scoring.runs.start", away)
    page = body(inside.post("/runs/new/", {**CHOICES, "start": "yes"}), 400)
    assert "Fetch the weights first." in page


def test_a_run_is_cancelled_and_goes_on(inside, forked):
    run = runs.start("task2", [forked], {"method": "turn_difference"})
    page = body(inside.get(f"/runs/{run.pk}/"))
    assert f'action="/runs/{run.pk}/cancel/"' in page and "Cancel the run" in page
    page = body(inside.post(f"/runs/{run.pk}/cancel/", follow=True))
    assert "Cancelled" in page and "Go on" in page and "Cancel the run" not in page
    run.refresh_from_db()
    assert run.state == Run.State.CANCELLED and not run.chunks.waiting().exists()
    again = body(inside.post(f"/runs/{run.pk}/cancel/", follow=True))
    assert "The run had ended before." in again

    page = body(inside.post(f"/runs/{run.pk}/go-on/", follow=True))
    assert "The run goes on where it stopped." in page
    run.refresh_from_db()
    assert run.state == Run.State.QUEUED and run.chunks.waiting().exists()
    page = body(inside.post(f"/runs/{run.pk}/go-on/", follow=True))
    assert "neither cancelled nor did it fail" in page


def test_buttons_ask_for_the_token_of_the_session(researcher, forked):
    run = runs.start("task2", [forked], {"method": "turn_difference"})
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(researcher)
    for address in (f"/runs/{run.pk}/cancel/", f"/runs/{run.pk}/go-on/", "/runs/new/"):
        assert strict.post(address).status_code == 403
    run.refresh_from_db()
    assert run.state == Run.State.QUEUED


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, ""),
        (0, "less than a minute left"),
        (55, "about 1 minute left"),
        (65, "about 1 minute left"),
        (100, "about 2 minutes left"),
        (3600, "about 1 hour left"),
        (9000, "about 2 hours left"),
    ],
)
def test_time_left_is_said_as_people_say_it(seconds, words):
    assert in_words(seconds) == words


def test_the_pace_is_the_median_gap_so_that_a_pause_does_not_count():
    start = datetime(2026, 1, 1, tzinfo=UTC)
    ends = [(start + timedelta(seconds=s), 10) for s in (0, 20, 40, 60, 7260, 7280)]
    assert seconds_per_score(ends) == 2.0
    assert seconds_per_score(ends[:3]) == 2.0
    assert seconds_per_score(ends[:2]) is None


def test_the_time_left_follows_the_parts_that_finished_last(inside, forked):
    run = Run.objects.create(
        kind="task2", corpus=forked, parameters={}, digest="a" * 64, state="running"
    )
    now = datetime.now(UTC)
    for ordinal in range(10):
        ended = now - timedelta(seconds=60 * (4 - ordinal)) if ordinal < 5 else None
        state = "done" if ended else "queued"
        Chunk.objects.create(
            run=run, ordinal=ordinal, keys=[], size=8, state=state, finished_at=ended
        )
    assert progress(run).left == "about 5 minutes left"
    assert "about 5 minutes left" in body(inside.get(f"/runs/{run.pk}/"))
    run.chunks.update(finished_at=None)
    assert "time left not known yet" in body(inside.get(f"/runs/{run.pk}/"))
    runs.cancel(run)
    assert progress(run).left == ""


def test_results_per_workflow_and_k_are_folded_away(inside, forked):
    run = Run.objects.create(
        kind="task3", corpus=forked, parameters={}, digest="a" * 64, state="done"
    )
    for place in ({}, {"workflow": "table_book"}, {"k": 3}):
        RunResult.objects.create(run=run, statistic="error", group="WIC", value=1.5, n=4, **place)
    detail = {"ablation": {"0.25 each": 61.5}}
    RunResult.objects.create(
        run=run, statistic="score", group="all", value=70.0, n=4, detail=detail
    )
    page = body(inside.get(f"/runs/{run.pk}/"))
    assert page.count("<summary>Per workflow</summary>") == 1
    assert page.count("<summary>Per fork position</summary>") == 1
    assert "table_book" in page and "0.25 each" in page and "61.50" in page


def test_a_comparison_is_chosen_among_runs_that_are_done(inside, forked):
    first, second = (
        runs.work_through(runs.start("task2", [forked], {"method": method}))
        for method in ("turn_difference", "word_difference")
    )
    runs.start("task2", [forked], {"method": "random"})
    page = body(inside.get(f"/runs/new/comparison/?corpus=small-forks&reference={first.pk}"))
    assert (
        f'name="reference" value="{first.pk}" aria-label="Reference: run {first.pk}" checked'
        in page
    )
    assert page.count('name="reference"') == 2
    url = "/runs/new/comparison/?corpus=small-forks&task=task2"
    for choices, sentence in (
        ({"reference": first.pk, "baselines": [first.pk]}, "besides the reference"),
        ({"reference": "x", "baselines": [second.pk]}, "Choose the reference"),
        ({}, "Choose the reference"),
    ):
        assert sentence in body(inside.post(url, choices), 400)
    assert inside.get("/runs/new/comparison/?corpus=none").status_code == 400
    assert inside.get("/runs/new/comparison/?task=none").status_code == 400
    assert "Only one run is done" not in page
    assert "No run is done" in body(inside.get("/runs/new/comparison/?task=task3"))


def test_a_comparison_shows_differences_with_both_tests(inside, forked):
    parameters = [{"method": "turn_difference"}, {"method": "word_difference"}]
    first, second = (
        runs.work_through(runs.start("task2", [forked], given)) for given in parameters
    )
    url = "/runs/new/comparison/?corpus=small-forks&task=task2"
    page = inside.post(url, {"reference": first.pk, "baselines": [second.pk]}, follow=True)
    run = Run.objects.get(kind="comparison")
    assert page.redirect_chain[-1][0] == run.get_absolute_url()
    runs.work_through(run)
    page = body(inside.get(run.get_absolute_url()))
    assert f'reference: <a href="{first.get_absolute_url()}">run {first.pk}</a>' in page
    assert page.count(f'<a href="{second.get_absolute_url()}">Word count</a>') == 5
    assert "p, Wilcoxon" in page and "p, t test" in page
    assert 'href="/leaderboards/small-forks/task-2/"' in page
