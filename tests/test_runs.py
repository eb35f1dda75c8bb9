"""Scoring runs: started once, scored part by part, summed up, resumed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmark.models import Corpus, Dialogue, Fork
from scoring import corpora as reading
from scoring import encoders, leases, runs, tasks
from scoring.corpora import with_sources
from scoring.dialogue_distances import METHODS
from scoring.models import Chunk, DialogueScore, FlowGraph, Run, RunResult
from tests.small import add_dialogue, make_corpus, make_forks, said
from tests.test_embeddings import CountingEncoder

TASK2 = {"method": "flow_score", "encoder": "lexical"}
SURPRISAL = {"encoder": "lexical"}


@pytest.fixture
def eager(settings):
    from dialfork_site.celery import app

    before = app.conf.task_always_eager
    app.conf.task_always_eager = True
    yield
    app.conf.task_always_eager = before


def done(kind, corpora, parameters, **how):
    return runs.work_through(runs.start(kind, corpora, parameters, **how))


def rows_of(run):
    """Scores and results without ids, to compare runs."""
    scores = run.scores.order_by("dialogue_id").values_list(
        "dialogue_id", "value", "reason", "detail", "turns"
    )
    results = run.results.order_by("group", "workflow").values_list(
        "statistic", "group", "value", "reason", "n", "skipped", "ci_low", "ci_high", "detail"
    )
    return list(scores), list(results)


# -- task 2 ------------------------------------------------------------------------------------


def test_task_two_gives_every_fork_a_distance_and_a_tau_per_type(corpus, forked):
    run = done("task2", [forked], TASK2)

    assert run.state == Run.State.DONE
    assert run.finished_at is not None
    assert run.scores.count() == forked.dialogues.count() == 64
    taus = {
        row.group: row for row in run.results.filter(statistic="tau", workflow="").order_by("pk")
    }
    assert list(taus) == ["WIC", "SSPC", "GR", "CSC", "all"]
    assert {row.n for group, row in taus.items() if group != "all"} == {4}
    assert taus["WIC"].value == pytest.approx(1.0)
    assert taus["all"].n == 16
    assert taus["all"].value == pytest.approx(
        np.mean([row.value for group, row in taus.items() if group != "all"])
    )
    assert all(row.ci_low <= row.value <= row.ci_high for row in taus.values())


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_scores_every_fork_or_says_why_not(corpus, forked, method):
    run = done("task2", [forked], {"method": method, "encoder": "lexical"})
    assert run.scores.count() == 64
    for score in run.scores.all():
        assert (score.value is None) == bool(score.reason)
        assert score.value is None or math.isfinite(score.value)
    assert run.results.get(group="all", workflow="").n == 16


def test_turn_difference_cannot_order_forks_of_equal_length(corpus, forked):
    run = done("task2", [forked], {"method": "turn_difference"})
    row = run.results.get(group="GR", workflow="")
    assert (row.value, row.n, row.detail["constant"]) == (0.0, 4, 4)
    assert "encoder" not in run.parameters


def test_a_dialogue_with_several_injections_has_no_place_in_task_two(corpus, forked):
    fork = Fork.objects.filter(type="GR", k=2).first()
    fork.pk, fork.ordinal, fork.k = None, 2, 4
    fork.save()
    run = done("task2", [forked], TASK2)
    assert run.scores.count() == 63
    row = run.results.get(group="GR", workflow="")
    assert (row.n, row.skipped) == (3, 1)
    assert row.detail["reasons"] == {"fewer than four forks": 1}


def test_a_fork_that_says_nothing_is_skipped_with_its_reason(corpus, forked):
    silent = Fork.objects.filter(type="CSC", k=1).first().dialogue
    silent.turns.update(text=" ")
    run = done("task2", [forked], {"method": "flow_dtw", "encoder": "lexical"})
    score = run.scores.get(dialogue=silent)
    assert (score.value, score.reason) == (None, "one_dialogue_is_empty")
    row = run.results.get(group="CSC", workflow="")
    assert (row.n, row.skipped) == (3, 1)
    assert row.detail["reasons"] == {"one_dialogue_is_empty": 1}


def test_a_corpus_without_forks_is_refused_with_a_sentence(corpus):
    with pytest.raises(ValueError, match="There is no fork in small"):
        runs.start("task2", [corpus], TASK2)
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"method": "bleu"}, "it must be one of flow_score, mean"),
        ({"method": "mean", "matching": "greedy"}, "method mean has no setting 'matching'"),
        ({"method": "mean", "encoder": "word2vec"}, "'word2vec' is not known"),
    ],
)
def test_unknown_parameters_are_refused_with_a_sentence(corpus, forked, parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        runs.start("task2", [forked], parameters)


# -- surprisal ---------------------------------------------------------------------------------


def test_surprisal_covers_sources_and_forks_turn_by_turn(corpus, forked):
    run = done("surprisal", [forked], SURPRISAL)
    assert run.scores.count() == 4 + 64
    assert [c.slug for c in with_sources([forked])] == ["small", "small-forks"]
    score = run.scores.filter(dialogue__corpus=forked).first()
    assert [turn["number"] for turn in score.turns] == list(range(1, 13))
    for turn in score.turns:
        assert turn["surprisal"] == pytest.approx(-math.log(turn["p"]))
    groups = {row.group: row for row in run.results.all()}
    assert groups["conformant, train half"].n == groups["conformant, test half"].n == 2
    assert groups["conformant, test half"].value > groups["WIC"].value
    assert (groups["WIC"].n, groups["WIC"].skipped) == (16, 0)


def test_the_flow_graph_is_fitted_once_on_the_train_half_only(corpus, forked):
    first = done("surprisal", [forked], SURPRISAL)
    graph = FlowGraph.objects.get(run=first).graph
    assert graph["dialogues"] == 2

    Dialogue.objects.filter(split="test").update(conformant=None, digest="changed")
    second = done("surprisal", [forked], SURPRISAL)
    assert second.pk != first.pk
    assert FlowGraph.objects.get(run=second).graph == graph


def test_turns_that_are_not_scored_keep_their_number_and_say_why(corpus):
    flow = corpus.workflows.get()
    turns = [("system", "You book tables.", ""), *said(0)[:2], ("assistant", " ", ""), *said(0)[4:]]
    odd = add_dialogue(corpus, flow, "odd", turns)
    run = done("surprisal", [corpus], SURPRISAL)
    score = run.scores.get(dialogue=odd)
    assert [t["number"] for t in score.turns] == list(range(1, len(turns) + 1))
    assert score.turns[0]["reason"] == "role_is_not_scored"
    assert score.turns[3]["reason"] == "blank_turn"
    assert score.turns[3]["surprisal"] is None
    assert score.turns[4]["surprisal"] > 0


def test_undefined_scores_carry_a_reason(corpus):
    lone = add_dialogue(corpus, None, "lone", said(0))
    other = make_corpus("unfitted", n=1, workflow="other")
    unfitted = other.dialogues.get()
    Dialogue.objects.filter(pk=unfitted.pk).update(conformant=None)
    silent = add_dialogue(corpus, corpus.workflows.get(), "silent", [("user", "  ", "")])
    run = done("surprisal", [corpus, other], SURPRISAL)

    assert run.scores.get(dialogue=lone).reason == "the dialogue has no workflow"
    assert "no conformant dialogue" in run.scores.get(dialogue=unfitted).reason
    assert run.scores.get(dialogue=silent).reason == "no_scored_turn"
    row = run.results.get(group="other", workflow="")
    assert (row.value, row.n, row.skipped) == (None, 0, 3)
    assert row.reason


def test_dialogues_without_a_turn_are_never_scored(corpus):
    empty = add_dialogue(corpus, corpus.workflows.get(), "empty", [])
    run = done("surprisal", [corpus], SURPRISAL)
    assert not run.scores.filter(dialogue=empty).exists()


# -- one run per set of parameters -------------------------------------------------------------


def test_starting_the_same_run_twice_gives_the_same_run(corpus, forked, researcher):
    first = runs.start("task2", [forked], TASK2, by=researcher)
    assert runs.start("task2", [forked], dict(reversed(TASK2.items()))).pk == first.pk
    runs.work_through(first)
    again = runs.start("task2", [forked], TASK2)
    assert (again.pk, again.state) == (first.pk, Run.State.DONE)
    assert first.started_by == researcher


def test_other_settings_and_changed_dialogues_are_another_run(corpus, forked):
    first = runs.start("task2", [forked], TASK2)
    assert runs.start("task2", [forked], {**TASK2, "same_role": True}).pk != first.pk
    Dialogue.objects.filter(corpus=corpus, external_id="table_book-0").update(digest="f" * 64)
    assert runs.start("task2", [forked], TASK2).pk != first.pk


def test_two_runs_keep_their_scores_apart(corpus, forked):
    flow = done("task2", [forked], TASK2)
    mean = done("task2", [forked], {**TASK2, "method": "mean"})
    assert flow.scores.count() == mean.scores.count() == 64
    assert DialogueScore.objects.count() == 128


def test_the_size_of_the_parts_changes_no_score(corpus, forked):
    whole = done("task2", [forked], TASK2)
    expected = rows_of(whole)
    whole.delete()
    parts = runs.start("task2", [forked], TASK2, chunk_dialogues=17)
    assert [chunk.size for chunk in parts.chunks.all()] == [16, 16, 16, 16]
    assert rows_of(runs.work_through(parts)) == expected


def test_scoring_a_part_again_replaces_its_rows(corpus, forked):
    run = done("task2", [forked], TASK2)
    expected = rows_of(run)
    run.chunks.update(state=Chunk.State.QUEUED)
    Run.objects.filter(pk=run.pk).update(state=Run.State.QUEUED)
    assert rows_of(runs.work_through(run)) == expected


def test_each_distinct_text_of_a_run_is_encoded_once(corpus, forked, monkeypatch):
    counting = CountingEncoder()
    counting.name = "lexical"
    monkeypatch.setitem(encoders._cache, "lexical", counting)
    done("task2", [forked], TASK2, chunk_dialogues=17)
    done("surprisal", [forked], SURPRISAL, chunk_dialogues=5)
    encoded = [text for call in counting.calls for text in call]
    assert len(encoded) == len(set(encoded))
    texts = set()
    for dialogue in Dialogue.objects.all():
        texts |= set(dialogue.turns.values_list("text", flat=True))
    assert set(encoded) == texts


def test_a_part_costs_a_constant_number_of_statements(corpus, django_assert_max_num_queries):
    wide = make_forks(make_corpus("wide", n=12, workflow="wide"), "wide-forks")
    run = runs.start("task2", [wide], {"method": "shared_prefix"}, chunk_dialogues=1000)
    with django_assert_max_num_queries(30):
        assert runs.score_chunk(run.chunks.get().pk)
    assert run.scores.count() == 12 * 16


# -- parts, failure, resumption ----------------------------------------------------------------


def test_progress_is_asked_of_the_parts(corpus, forked):
    run = runs.start("task2", [forked], TASK2, chunk_dialogues=17)
    assert runs.progress(run) == {
        "done": 0,
        "total": 64,
        "state": "queued",
        "failed": "",
        "worker_seen": False,
    }
    runs.score_chunk(run.chunks.first().pk)
    leases.claim(run.chunks.waiting().first().pk)
    run.refresh_from_db()
    assert run.remaining().count() == 3
    assert runs.progress(run) == {
        "done": 16,
        "total": 64,
        "state": "running",
        "failed": "",
        "worker_seen": True,
    }


def test_a_part_that_cannot_be_scored_fails_the_run_with_the_reason(corpus, forked, monkeypatch):
    run = runs.start("task2", [forked], TASK2)

    def broken(pairs, **settings):
        raise encoders.EncoderUnavailable("The weights are gone.")

    monkeypatch.setitem(METHODS, "flow_score", broken)
    with pytest.raises(runs.RunFailed, match="The weights are gone"):
        runs.work_through(run)
    run.refresh_from_db()
    assert (run.state, run.failure) == (Run.State.FAILED, "The weights are gone.")
    assert not run.scores.exists()

    monkeypatch.undo()
    again = runs.start("task2", [forked], TASK2)
    assert again.pk == run.pk
    assert runs.work_through(again).state == Run.State.DONE


def test_a_worker_with_another_revision_does_not_mix_its_scores_in(corpus, forked, monkeypatch):
    run = runs.start("task2", [forked], TASK2)
    monkeypatch.setattr(encoders.LexicalEncoder, "revision", "lexical-2")
    with pytest.raises(runs.RunFailed, match="this worker has lexical-2"):
        runs.work_through(run)


def test_dialogues_that_change_under_a_run_fail_it(corpus, forked):
    run = runs.start("task2", [forked], TASK2)
    Dialogue.objects.filter(corpus=corpus).update(split="test")
    with pytest.raises(runs.RunFailed, match="changed while they were scored"):
        runs.work_through(run)
    assert not run.results.exists()


def test_a_lost_part_is_left_to_who_took_it(corpus, forked, monkeypatch):
    run = runs.start("task2", [forked], TASK2)
    chunk = run.chunks.get()

    def taken_over(pairs, **settings):
        Chunk.objects.filter(pk=chunk.pk).update(token="another")
        return distances(pairs, **settings)

    distances = METHODS["flow_score"]
    monkeypatch.setitem(METHODS, "flow_score", taken_over)
    assert runs.score_chunk(chunk.pk) is False
    assert not run.scores.exists()
    chunk.refresh_from_db()
    assert (chunk.state, chunk.token) == ("running", "another")


def test_a_worker_that_ended_before_the_summary_loses_nothing(corpus, forked, eager):
    run = done("task2", [forked], TASK2)
    expected = rows_of(run)
    RunResult.objects.all().delete()
    Run.objects.update(state=Run.State.RUNNING, finished_at=None)
    assert [left.pk for left in runs.unfinished()] == [run.pk]
    tasks.send_waiting()
    assert rows_of(run) == expected
    run.refresh_from_db()
    assert run.state == Run.State.DONE


def test_the_plan_task_scores_a_run_to_its_end(corpus, forked, eager):
    run = runs.start("task2", [forked], TASK2, chunk_dialogues=17)
    tasks.plan_run(run.pk)
    run.refresh_from_db()
    assert run.state == Run.State.DONE
    assert run.results.get(group="all", workflow="").n == 16


def test_waiting_parts_are_sent_once_until_their_message_is_old(corpus, forked, monkeypatch):
    sent = []
    monkeypatch.setattr(tasks.score_chunk_task, "delay", sent.append)
    run = runs.start("task2", [forked], TASK2, chunk_dialogues=17)
    tasks.plan_run(run.pk)
    assert tasks.send_waiting() == 0
    assert sent == list(run.chunks.values_list("pk", flat=True))

    leases.claim(sent[0])
    assert leases.sweep(boot="another.1.start") == 1
    assert tasks.send_waiting() == 1
    assert sent[-1] == sent[0]


def test_runs_go_with_their_corpus(corpus, forked):
    done("task2", [forked], TASK2)
    Fork.objects.all().delete()
    forked.delete()
    assert Corpus.objects.get() == corpus
    assert not Run.objects.exists()
    assert not DialogueScore.objects.exists()


def test_a_cancelled_run_scores_no_further_part_and_goes_on_when_asked(corpus, forked):
    given = {"method": "shared_prefix"}
    run = runs.start("task2", [forked], given, chunk_dialogues=17)
    first, *rest = run.chunks.values_list("pk", flat=True)
    assert runs.score_chunk(first)
    assert runs.cancel(run)
    assert run.state == Run.State.CANCELLED
    assert not any(runs.score_chunk(pk) for pk in rest)
    with pytest.raises(runs.RunFailed, match="cancelled"):
        runs.work_through(run)
    scored = run.scores.count()
    assert scored
    again = runs.start("task2", [forked], given)
    assert (again.pk, again.state) == (run.pk, Run.State.QUEUED)
    runs.work_through(again)
    assert again.scores.count() > scored
    assert not runs.cancel(again)


def test_a_part_that_ends_after_the_cancel_keeps_its_scores(corpus, forked):
    run = runs.start("task2", [forked], {"method": "shared_prefix"})
    chunk = run.chunks.get()
    lease = leases.claim(chunk.pk)
    runs.cancel(run)
    with leases.finishing(lease):
        runs.store([])
    runs.finish(run)
    run.refresh_from_db()
    assert (run.state, run.results.count()) == (Run.State.CANCELLED, 0)
    assert run.chunks.get().finished_at is not None


def test_dialogues_are_fitted_in_the_same_order_whatever_the_database_sorts_by(corpus):
    names = ["b", "B", "a-1", "a1", "É", "e"]
    for name, dialogue in zip(names, Dialogue.objects.order_by("pk"), strict=False):
        Dialogue.objects.filter(pk=dialogue.pk).update(external_id=name)
    found = reading.by_outside_name(Dialogue.objects.filter(corpus=corpus))
    ids = [Dialogue.objects.get(pk=pk).external_id for pk in found]
    assert ids == sorted(ids)
    assert len(ids) == 4


def test_a_fork_with_one_injection_is_told_from_one_with_several(corpus, forked):
    fork = Fork.objects.order_by("pk").first()
    single, composite = Fork.objects.single(), Fork.objects.composite()
    assert (single.count(), composite.count()) == (64, 0)
    Fork.objects.create(
        dialogue=fork.dialogue,
        source=fork.source,
        ordinal=2,
        type="GR",
        variant="survey",
        k=4,
        fork_assistant_turn=5,
        fork_turn=9,
        instruction="Ask about music.",
        seed=1,
        replay="exact",
        generator="by hand",
    )
    assert (single.all().count(), composite.all().count()) == (63, 1)
    assert composite.all().get().dialogue_id == fork.dialogue_id
