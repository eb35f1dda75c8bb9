"""Task 3 as a run: who is tested, what is fitted on what, answers, figures."""

from __future__ import annotations

import pytest

from benchmark.models import Dialogue, Fork, Turn
from scoring import onset_fits, onset_fitters, runs
from scoring.detection_metrics import detection
from scoring.methods import METHODS
from scoring.models import Calibration, FlowGraph, OnsetAnswer, Run
from scoring.onset_summaries import ALPHAS
from scoring.onsets import NO_ASSISTANT_TURN, answer_rows
from tests.small import add_dialogue, make_corpus, make_forks, said

IT = {"method": "ngram_it", "encoder": "lexical"}


@pytest.fixture
def tested(db):
    """Forks of one training and two test dialogues of six, three of which train."""
    source = make_corpus("six", n=6, workflow="six")
    spared = source.dialogues.filter(external_id__in=["six-1", "six-2", "six-5"])
    spared.update(conformant=None)
    forks = make_forks(source, "six-forks")
    spared.update(conformant=True)
    return forks


def done(corpora, parameters, **how):
    return runs.work_through(runs.start("task3", corpora, parameters, **how))


def value(run, statistic, group, **where):
    return run.results.get(statistic=statistic, group=group, **{"workflow": "", "k": 0, **where})


def answers(run):
    rows = run.onset_answers.order_by("dialogue_id")
    return list(rows.values_list("dialogue_id", "turn", "reason", "detail", "turns"))


def results(run):
    return list(
        run.results.order_by("statistic", "group", "workflow", "k").values_list(
            "statistic", "group", "workflow", "k", "value", "n", "skipped", "ci_low", "detail"
        )
    )


def test_the_test_set_is_the_other_half_and_its_forks(tested):
    run = done([tested], IT)
    seen = Dialogue.objects.filter(onset_answers__run=run)
    assert seen.filter(conformant=True).count() == 3
    assert seen.filter(corpus=tested).count() == 2 * 16
    assert not seen.filter(split="train").exists()
    assert not seen.filter(forks__source__split="train").exists()


def test_only_the_train_half_is_learned_from(tested, monkeypatch):
    learned = []
    fit = onset_fitters.fit

    def noting(method, train, settings, knowledge=None):
        learned.extend(turn.text for turns in train for turn in turns)
        return fit(method, train, settings, knowledge)

    monkeypatch.setattr(onset_fitters, "fit", noting)
    done([tested], IT)
    half = Turn.objects.filter(dialogue__split="train", dialogue__conformant=True)
    assert sorted(learned) == sorted(half.values_list("text", flat=True))


@pytest.mark.parametrize("method", sorted(METHODS["task3"]))
def test_every_method_answers_for_every_test_dialogue(tested, method):
    given = {"method": method}
    if METHODS["task3"][method].encoder:
        given["encoder"] = "lexical"
    run = done([tested], given)
    assert run.state == Run.State.DONE
    assert run.onset_answers.count() == 35
    for row in run.onset_answers.all():
        assert row.turn is None or row.detail["first"] <= row.turn <= row.detail["last"]
        assert row.reason == ""
    assert value(run, "score", "all").n == 35


def test_figures_are_those_of_the_answers(tested):
    run = done([tested], {**IT, "calibration": "in_sample"})
    rows = answer_rows(run)
    expected = detection(
        [(row.type, row.truth, row.answer) for row in rows if row.type],
        [(row.last, row.answer) for row in rows if not row.type],
    )
    assert expected.fork_coverage > 0
    for type_, error in expected.error_by_type.items():
        assert value(run, "error", type_).value == pytest.approx(error)
    assert value(run, "error", "all").value == pytest.approx(expected.fork_error)
    assert value(run, "coverage", "all").value == pytest.approx(expected.fork_coverage)
    assert value(run, "false_alarms", "conformant").value == expected.false_alarms
    assert {row.k for row in run.results.filter(statistic="error", group="WIC")} == {0, 1, 2, 3, 4}
    assert value(run, "score", "all", workflow="six").value == value(run, "score", "all").value
    assert len(value(run, "score", "all").detail["curve"]) == len(ALPHAS)


def test_trivial_baselines_have_the_properties_of_the_paper(tested):
    first, last = (done([tested], {"method": f"{place}_turn"}) for place in ("first", "last"))
    errors = [value(first, "error", type_).value for type_ in ("WIC", "SSPC", "GR", "CSC")]
    assert len(set(errors)) == 1
    assert value(last, "conformant_error", "conformant").value == 1.0
    assert value(first, "false_alarms", "conformant").value == 100.0
    for run in (first, last):
        assert value(run, "coverage", "all").value == 100.0
        assert value(run, "score", "all").value == pytest.approx(0, abs=0.01)
        assert value(run, "score", "all").detail["curve"] == []
        assert not run.calibrations.exists()


def test_random_turns_depend_on_the_seed_and_on_nothing_else(tested):
    whole = done([tested], {"method": "random_turn", "seed": 3})
    expected = answers(whole)
    whole.delete()
    assert answers(done([tested], {"method": "random_turn", "seed": 3}, chunk_dialogues=7)) == (
        expected
    )
    assert answers(done([tested], {"method": "random_turn", "seed": 4})) != expected


@pytest.mark.parametrize("form", ["in_sample", "leave_one_out"])
def test_parts_and_restarts_change_no_number(tested, form):
    given = {**IT, "calibration": form, "node_confidence": True, "alpha": 0.3}
    whole = done([tested], given)
    expected = answers(whole), results(whole)
    whole.delete()
    run = runs.start("task3", [tested], given, chunk_dialogues=5)
    for chunk in run.chunks.all():
        # Each part as if another worker did it: nothing is kept but what is stored.
        onset_fits._fitted.clear()
        assert runs.score_chunk(chunk.pk)
    run.refresh_from_db()
    assert (answers(run), results(run)) == expected
    assert FlowGraph.objects.filter(run=run).count() == run.calibrations.count() == 1


def test_what_was_fitted_on_changed_dialogues_does_not_outlive_the_change(tested):
    given = {**IT, "calibration": "in_sample"}
    whole = done([tested], given)
    expected = answers(whole), results(whole)
    whole.delete()
    run = runs.start("task3", [tested], given)
    train = Dialogue.objects.filter(external_id__in=["six-0", "six-1"])
    train.update(split="")
    with pytest.raises(runs.RunFailed, match="changed while they were scored"):
        runs.work_through(run)
    train.update(split="train")
    again = done([tested], given)
    assert again.pk == run.pk
    assert (answers(again), results(again)) == expected


def test_a_detector_is_fitted_once_per_worker_and_workflow(tested, monkeypatch):
    calls = []
    fit = onset_fitters.fit
    monkeypatch.setattr(onset_fitters, "fit", lambda *given: calls.append(1) or fit(*given))
    done([tested], {"method": "novelty", "encoder": "lexical"}, chunk_dialogues=5)
    assert len(calls) == 1
    assert len(onset_fits._fitted) <= onset_fits.KEPT


def test_too_few_training_dialogues_flag_nothing_and_say_so(tested):
    run = done([tested], {"method": "novelty", "encoder": "lexical", "alpha": 0.1})
    assert not run.onset_answers.filter(turn__isnull=False).exists()
    detail = value(run, "false_alarms", "conformant").detail
    assert (detail["silent_workflows"], detail["expectation"]) == (1, 0.0)
    row = value(run, "error", "all")
    assert (row.value, row.reason) == (None, "no dialogue of the group was flagged")
    assert "too few dialogues" in Calibration.objects.get(run=run).detail["promise"]


def test_dialogues_that_cannot_be_judged_say_why(tested):
    Turn.objects.filter(dialogue__corpus=tested, role="assistant").filter(
        dialogue=Fork.objects.filter(source__split="test", type="GR", k=1).first().dialogue
    ).update(text=" ")
    run = done([tested], IT)
    row = run.onset_answers.exclude(reason="").get()
    assert (row.turn, row.reason, row.detail) == (None, NO_ASSISTANT_TURN, {})
    found = value(run, "coverage", "GR")
    assert (found.n, found.skipped, found.detail["reasons"]) == (7, 1, {NO_ASSISTANT_TURN: 1})


def test_a_workflow_with_nothing_to_learn_from_is_left_out_with_its_reason(tested):
    Dialogue.objects.filter(split="train").update(conformant=None)
    run = done([tested], IT)
    assert set(run.onset_answers.values_list("reason", flat=True)) == {onset_fits.NOTHING_FITTED}
    found = value(run, "score", "all")
    assert (found.value, found.n, found.skipped) == (None, 0, 35)


def test_forks_with_several_injections_are_left_out_with_a_count(tested):
    fork = Fork.objects.filter(source__split="test", type="GR", k=2).first()
    dialogue = fork.dialogue_id
    fork.pk, fork.ordinal, fork.k = None, 2, 4
    fork.save()
    run = done([tested], IT)
    assert not run.onset_answers.filter(dialogue=dialogue).exists()
    assert value(run, "score", "all").detail["several_injections"] == 1
    assert value(run, "coverage", "GR").n == 7


def test_corpora_without_a_tested_fork_are_refused_with_a_sentence(tested):
    with pytest.raises(ValueError, match="no fork of a test dialogue in six"):
        runs.start("task3", [tested.dialogues.first().forks.get().source.corpus], IT)
    with pytest.raises(ValueError, match="order is 4; it must be one of 2, 3, 6, 10"):
        runs.start("task3", [tested], {**IT, "order": 4})


def test_labels_are_read_of_training_dialogues_only(tested, monkeypatch):
    given = {"method": "workflow_aware", "encoder": "lexical", "alpha": 0.3}
    run = done([tested], given)
    expected = answers(run)
    run.delete()
    Turn.objects.exclude(dialogue__split="train").update(label="greet")
    assert answers(done([tested], given)) == expected


def test_a_part_costs_a_constant_number_of_statements(tested, django_assert_max_num_queries):
    run = runs.start("task3", [tested], {"method": "last_turn"}, chunk_dialogues=1000)
    with django_assert_max_num_queries(30):
        assert runs.score_chunk(run.chunks.get().pk)
    assert OnsetAnswer.objects.count() == 35


def test_a_dialogue_is_known_by_its_own_corpus_in_the_rows(tested):
    flow = Dialogue.objects.filter(corpus__slug="six").first().workflow
    add_dialogue(flow.corpus, flow, "late", said(1), conformant=True, split="test", fmt="messages")
    rows = answer_rows(done([tested], IT))
    assert "six/messages/late" in {row.source for row in rows if not row.type}
    assert {row.source for row in rows if row.type} < {row.source for row in rows if not row.type}
