"""The list of runs and the run page: progress that ends by itself, results with their n."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from scoring.models import Chunk, DialogueScore, Run, RunResult, WorkerBeat


@pytest.fixture
def signed_in(client, researcher):
    client.force_login(researcher)
    return client


@pytest.fixture
def run(forked) -> Run:
    run = Run.objects.create(
        kind="task2",
        corpus=forked,
        parameters={"method": "flow_score", "encoder": "wordllama", "settings": {"seed": 3}},
        digest="a" * 64,
        state="running",
    )
    for ordinal, state in enumerate(("done", "done", "queued"), start=1):
        Chunk.objects.create(run=run, ordinal=ordinal, keys=[], size=8, state=state)
    return run


def body(page) -> str:
    assert page.status_code == 200
    return page.content.decode()


def aged(run: Run, seconds: int) -> None:
    Run.objects.filter(pk=run.pk).update(created_at=timezone.now() - timedelta(seconds=seconds))


def test_a_running_run_polls_and_a_finished_one_does_not(signed_in, run):
    url = f"/runs/{run.pk}/"
    page = body(signed_in.get(url))
    assert f'hx-get="{url}"' in page and 'hx-trigger="every 2s"' in page
    assert "16 of 24 dialogues scored" in page and "htmx-2" in page
    fragment = body(signed_in.get(url, headers={"HX-Request": "true"}))
    assert fragment.lstrip().startswith('<div id="live"') and "<html" not in fragment
    Run.objects.filter(pk=run.pk).update(state="done", finished_at=timezone.now())
    assert "hx-get" not in body(signed_in.get(url, headers={"HX-Request": "true"}))
    page = body(signed_in.get(url))
    assert "hx-get" not in page and "htmx-2" not in page


def test_caches_never_mix_the_page_and_its_fragment(signed_in, run):
    assert "HX-Request" in signed_in.get(f"/runs/{run.pk}/").headers["Vary"]


def test_a_silent_worker_is_said_after_15_seconds_and_not_before(signed_in, run):
    assert "heard from" not in body(signed_in.get(f"/runs/{run.pk}/"))
    aged(run, 60)
    assert "No worker has ever been heard from" in body(signed_in.get(f"/runs/{run.pk}/"))
    beat = WorkerBeat.objects.create(worker="w-1", seen_at=timezone.now() - timedelta(seconds=40))
    assert re.search(
        r"not been heard from for 4\d s|heard from for 4\d s",
        body(signed_in.get(f"/runs/{run.pk}/")),
    )
    beat.seen_at = timezone.now()
    beat.save()
    assert "heard from" not in body(signed_in.get(f"/runs/{run.pk}/"))


def test_a_part_under_a_running_lease_counts_as_a_sign_of_life(signed_in, run):
    aged(run, 60)
    run.chunks.filter(state="queued").update(
        state="running", token="t", lease_until=timezone.now() + timedelta(seconds=60)
    )
    assert "heard from" not in body(signed_in.get(f"/runs/{run.pk}/"))


def test_a_finished_run_needs_no_worker(signed_in, run):
    aged(run, 600)
    Run.objects.filter(pk=run.pk).update(state="done")
    assert "heard from" not in body(signed_in.get(f"/runs/{run.pk}/"))


def test_results_show_n_interval_and_what_was_left_out(signed_in, run):
    RunResult.objects.create(
        run=run, statistic="tau", group="WIC", value=0.912, n=4, skipped=1, ci_low=0.8, ci_high=1.0
    )
    RunResult.objects.create(
        run=run, statistic="tau", group="GR", value=None, reason="no source has all four", n=0
    )
    page = body(signed_in.get(f"/runs/{run.pk}/"))
    assert "0.912" in page and "[0.800, 1.000]" in page and '<svg class="ci"' in page
    assert "undefined: no source has all four" in page and "NaN" not in page


def test_dialogues_without_a_value_are_counted_by_reason(signed_in, run, forked):
    for dialogue in forked.dialogues.all()[:3]:
        DialogueScore.objects.create(run=run, dialogue=dialogue, reason="the fork has no turn")
    page = body(signed_in.get(f"/runs/{run.pk}/"))
    assert "Without a value: 3 of 3" in page and "<b>3</b>: the fork has no turn" in page


def test_the_run_names_its_parameters(signed_in, run):
    page = body(signed_in.get(f"/runs/{run.pk}/"))
    assert "{&quot;seed&quot;: 3}" in page and run.digest in page
    assert "encoder <b>wordllama</b>" in page


def test_a_failed_run_says_why(signed_in, run):
    Run.objects.filter(pk=run.pk).update(state="failed", failure="The disk is full.")
    page = body(signed_in.get(f"/runs/{run.pk}/"))
    assert "The disk is full." in page and "hx-get" not in page


def test_scores_come_in_pages_that_cost_the_same(
    signed_in, run, forked, django_assert_max_num_queries
):
    DialogueScore.objects.bulk_create(
        DialogueScore(run=run, dialogue=dialogue, value=0.5) for dialogue in forked.dialogues.all()
    )
    with django_assert_max_num_queries(14):
        page = body(signed_in.get(f"/runs/{run.pk}/"))
    rows = re.findall(r'<th scope="row" class="mono"><a href="/dialogues/', page)
    more = re.search(r'href="(\?after=\d+)#h-scores"', page).group(1)
    page = body(signed_in.get(f"/runs/{run.pk}/{more}"))
    rows += re.findall(r'<th scope="row" class="mono"><a href="/dialogues/', page)
    assert len(rows) == 64 and "#h-scores" in page


def test_the_list_shows_the_newest_first_in_pages_at_constant_cost(
    signed_in, forked, django_assert_max_num_queries
):
    Run.objects.bulk_create(
        Run(kind="task2", corpus=forked, parameters={}, digest=f"{i:064d}") for i in range(70)
    )
    with django_assert_max_num_queries(6):
        page = body(signed_in.get("/runs/"))
    keys = [int(k) for k in re.findall(r">Run (\d+)</a>", page)]
    assert len(keys) == 50 and keys == sorted(keys, reverse=True)
    older = re.search(r'href="(\?before=\d+)"', page).group(1)
    assert len(re.findall(r">Run (\d+)</a>", body(signed_in.get("/runs/" + older)))) == 20


def test_an_encoder_that_stands_in_is_named_on_the_pages_of_its_run(signed_in, run, forked):
    run.parameters |= {"encoder": "lexical", "encoder_note": "The lexical encoder stands in."}
    run.save()
    dialogue = forked.dialogues.first()
    turns = [{"number": 1, "node": "s0", "p": 0.5, "surprisal": 0.7}]
    DialogueScore.objects.create(run=run, dialogue=dialogue, value=0.5, turns=turns)
    for url in (f"/runs/{run.pk}/", f"/dialogues/{dialogue.pk}/"):
        assert "The lexical encoder stands in." in body(signed_in.get(url))


def test_scores_without_a_value_come_after_all_others(signed_in, run, forked):
    for i, dialogue in enumerate(forked.dialogues.order_by("pk")):
        reason = "" if i % 3 else "no text"
        DialogueScore.objects.create(
            run=run, dialogue=dialogue, value=0.5 if i % 3 else None, reason=reason
        )
    url, query, seen = f"/runs/{run.pk}/", "", []
    while True:
        page = body(signed_in.get(url + query))
        seen += re.findall(r'<td class="(num|undefined num)">(?:0\.5000|no text)</td>', page)
        more = re.search(r'href="(\?after=\d+)#h-scores"', page)
        if not more:
            break
        query = more.group(1)
    assert seen == ["num"] * 42 + ["undefined num"] * 22
